/* What both squared differences share. */
#ifndef ARENITE_SQUARED_DIFFERENCE_H
#define ARENITE_SQUARED_DIFFERENCE_H

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
} arenite_squared_difference_params;

/* The square of the difference of two elements, which are widened by some bits first; not limited yet. */
ARENITE_INLINE int32_t arenite_squared_difference(const arenite_squared_difference_params *params, int32_t a,
                                                  int32_t b, int32_t bits) {
    const int32_t wide_a = (a - params->zero_point_a) * (1 << bits);
    const int32_t wide_b = (b - params->zero_point_b) * (1 << bits);
    const int32_t difference = arenite_requantize(wide_a, params->multiplier_a, params->shift_a) -
                               arenite_requantize(wide_b, params->multiplier_b, params->shift_b);
    const int32_t square = (int32_t)((uint32_t)difference * (uint32_t)difference);
    return arenite_requantize(square, params->multiplier, params->shift) + params->zero_point;
}

#endif
