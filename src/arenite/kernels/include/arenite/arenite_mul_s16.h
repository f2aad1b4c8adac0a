#ifndef ARENITE_MUL_S16_H
#define ARENITE_MUL_S16_H

#include "arenite_broadcast.h"
#include "arenite_fixedpoint.h"
#include "arenite_port.h"

typedef struct {
    int32_t sizes[4]; /* of the result; an operand's stride is 0 where it repeats */
    int32_t strides_a[4];
    int32_t strides_b[4];
    int32_t multiplier;
    int32_t shift;
    int32_t low;
    int32_t high;
} arenite_mul_s16_params;

ARENITE_INLINE int16_t arenite_mul_s16_element(const arenite_mul_s16_params *params, int32_t a, int32_t b) {
    const int32_t scaled = arenite_requantize(a * b, params->multiplier, params->shift);
    return (int16_t)arenite_clamp(scaled, params->low, params->high);
}

/* Product of two tensors with zero points 0. May run in place of an operand as large as the result. */
ARENITE_INLINE void arenite_mul_s16(const arenite_mul_s16_params *params, const int16_t *a, const int16_t *b,
                                    int16_t *output) {
    ARENITE_FOR_EACH_PAIR(params, at_a, at_b, *output++ = arenite_mul_s16_element(params, a[at_a], b[at_b]);)
}

#endif
