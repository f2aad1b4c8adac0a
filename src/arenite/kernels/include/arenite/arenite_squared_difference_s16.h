#ifndef ARENITE_SQUARED_DIFFERENCE_S16_H
#define ARENITE_SQUARED_DIFFERENCE_S16_H

#include "arenite_broadcast.h"
#include "arenite_fixedpoint.h"
#include "arenite_port.h"

typedef struct {
    int32_t sizes[4]; /* of the result; an operand's stride is 0 where it repeats */
    int32_t strides_a[4];
    int32_t strides_b[4];
    int32_t zero_point_a;
    int32_t zero_point_b;
    int32_t multiplier_a;
    int32_t shift_a;
    int32_t multiplier_b;
    int32_t shift_b;
    int32_t multiplier;
    int32_t shift;
    int32_t zero_point;
} arenite_squared_difference_s16_params;

ARENITE_INLINE int16_t arenite_squared_difference_s16_element(
    const arenite_squared_difference_s16_params *params, int32_t a, int32_t b) {
    const int32_t wide_a = (a - params->zero_point_a) * (1 << 0);
    const int32_t wide_b = (b - params->zero_point_b) * (1 << 0);
    const int32_t difference = arenite_requantize(wide_a, params->multiplier_a, params->shift_a) -
                               arenite_requantize(wide_b, params->multiplier_b, params->shift_b);
    const int32_t square = (int32_t)((uint32_t)difference * (uint32_t)difference);
    const int32_t scaled = arenite_requantize(square, params->multiplier, params->shift);
    return (int16_t)arenite_clamp(scaled + params->zero_point, INT16_MIN, INT16_MAX);
}

/* The square of the difference of two elements. May run in place of an operand as large as the result. */
ARENITE_INLINE void arenite_squared_difference_s16(const arenite_squared_difference_s16_params *params,
                                                   const int16_t *a, const int16_t *b, int16_t *output) {
    ARENITE_FOR_EACH_PAIR(params, at_a, at_b,
                          *output++ = arenite_squared_difference_s16_element(params, a[at_a], b[at_b]);)
}

#endif
