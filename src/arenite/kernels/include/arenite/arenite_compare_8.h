#ifndef ARENITE_COMPARE_8_H
#define ARENITE_COMPARE_8_H

#include "arenite_broadcast.h"
#include "arenite_comparison.h"
#include "arenite_port.h"

typedef struct {
    int32_t sizes[4]; /* of the result; an operand's stride is 0 where it repeats */
    int32_t strides_a[4];
    int32_t strides_b[4];
    int32_t operation;
} arenite_compare_8_params;

/* Compares what two tables of 256 say of the operands' bytes. May run in place of an operand as large as the
 * result. */
ARENITE_INLINE void arenite_compare_8(const arenite_compare_8_params *params, const uint8_t *a,
                                      const uint8_t *b, const uint16_t *table_a, const uint16_t *table_b,
                                      uint8_t *output) {
    ARENITE_FOR_EACH_PAIR(params, at_a, at_b,
                          *output++ = arenite_compare(params->operation, table_a[a[at_a]], table_b[b[at_b]]);)
}

#endif
