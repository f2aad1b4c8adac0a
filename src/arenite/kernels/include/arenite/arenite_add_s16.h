#ifndef ARENITE_ADD_S16_H
#define ARENITE_ADD_S16_H

#include "arenite_broadcast.h"
#include "arenite_fixedpoint.h"
#include "arenite_port.h"

typedef struct {
    int32_t sizes[4]; /* of the result; an operand's stride is 0 where it repeats */
    int32_t strides_a[4];
    int32_t strides_b[4];
    int32_t subtract;
    int32_t multiplier_a;
    int32_t shift_a;
    int32_t multiplier_b;
    int32_t shift_b;
    int32_t multiplier;
    int32_t shift;
    int32_t low;
    int32_t high;
} arenite_add_s16_params;

ARENITE_INLINE int16_t arenite_add_s16_element(const arenite_add_s16_params *params, int32_t a, int32_t b) {
    const int32_t x = arenite_requantize(a * (1 << 15), params->multiplier_a, params->shift_a);
    const int32_t y = arenite_requantize(b * (1 << 15), params->multiplier_b, params->shift_b);
    const int32_t total = params->subtract ? x - y : x + y;
    const int32_t scaled = arenite_requantize(total, params->multiplier, params->shift);
    return (int16_t)arenite_clamp(scaled, params->low, params->high);
}

/* Sum or difference of two tensors with zero points 0. May run in place of an operand as large as the result.
 */
ARENITE_INLINE void arenite_add_s16(const arenite_add_s16_params *params, const int16_t *a, const int16_t *b,
                                    int16_t *output) {
    ARENITE_FOR_EACH_PAIR(params, at_a, at_b, *output++ = arenite_add_s16_element(params, a[at_a], b[at_b]);)
}

#endif
