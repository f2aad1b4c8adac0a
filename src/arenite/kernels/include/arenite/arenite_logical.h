#ifndef ARENITE_LOGICAL_H
#define ARENITE_LOGICAL_H

#include "arenite_broadcast.h"
#include "arenite_port.h"

typedef struct {
    int32_t sizes[4]; /* of the result; an operand's stride is 0 where it repeats */
    int32_t strides_a[4];
    int32_t strides_b[4];
    int32_t either; /* or, else and */
} arenite_logical_params;

/* Whether one or both of two truth values hold. May run in place of an operand as large as the result. */
ARENITE_INLINE void arenite_logical(const arenite_logical_params *params, const uint8_t *a, const uint8_t *b,
                                    uint8_t *output) {
    ARENITE_FOR_EACH_PAIR(params, at_a, at_b, {
        const int32_t x = a[at_a] != 0;
        const int32_t y = b[at_b] != 0;
        *output++ = (uint8_t)(params->either ? x | y : x & y);
    })
}

#endif
