#ifndef ARENITE_COMPARE_S32_H
#define ARENITE_COMPARE_S32_H

#include "arenite_broadcast.h"
#include "arenite_comparison.h"
#include "arenite_port.h"

typedef struct {
    int32_t sizes[4]; /* of the result; an operand's stride is 0 where it repeats */
    int32_t strides_a[4];
    int32_t strides_b[4];
    int32_t operation;
} arenite_compare_s32_params;

/* Compares two elements. */
ARENITE_INLINE void arenite_compare_s32(const arenite_compare_s32_params *params, const int32_t *a,
                                        const int32_t *b, uint8_t *output) {
    ARENITE_FOR_EACH_PAIR(params, at_a, at_b,
                          *output++ = arenite_compare(params->operation, a[at_a], b[at_b]);)
}

#endif
