#ifndef ARENITE_PRELU_S8_H
#define ARENITE_PRELU_S8_H

#include "arenite_broadcast.h"
#include "arenite_fixedpoint.h"
#include "arenite_port.h"

typedef struct {
    int32_t sizes[4]; /* of the result; an operand's stride is 0 where it repeats */
    int32_t strides_a[4];
    int32_t strides_b[4];
    int32_t zero_point_a;
    int32_t zero_point_b;
    int32_t multiplier_below; /* of products */
    int32_t shift_below;
    int32_t multiplier_above;
    int32_t shift_above;
    int32_t zero_point;
} arenite_prelu_s8_params;

ARENITE_INLINE int8_t arenite_prelu_s8_element(const arenite_prelu_s8_params *params, int32_t a,
                                               int32_t alpha) {
    const int32_t x = a - params->zero_point_a;
    const int32_t scaled = x >= 0 ? arenite_requantize(x, params->multiplier_above, params->shift_above)
                                  : arenite_requantize(x * (alpha - params->zero_point_b),
                                                       params->multiplier_below, params->shift_below);
    return (int8_t)arenite_clamp(scaled + params->zero_point, INT8_MIN, INT8_MAX);
}

/* Each element, below 0 times alpha (b). May run in place of the input (a). */
ARENITE_INLINE void arenite_prelu_s8(const arenite_prelu_s8_params *params, const int8_t *a, const int8_t *b,
                                     int8_t *output) {
    ARENITE_FOR_EACH_PAIR(params, at_a, at_b, *output++ = arenite_prelu_s8_element(params, a[at_a], b[at_b]);)
}

#endif
