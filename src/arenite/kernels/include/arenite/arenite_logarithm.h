/* The natural logarithm in fixed point. */
#ifndef ARENITE_LOGARITHM_H
#define ARENITE_LOGARITHM_H

#include "arenite_fixedpoint.h"
#include "arenite_reciprocal.h"
#include "arenite_saturate.h"
#include "arenite_port.h"

/* log(x) with 5 integer bits, for x >= 1 with 12: x is a power of two, with or without a half in the
 * exponent, times r around sqrt(sqrt(1/2)); the logarithm of r is a rational function of q = 2 (r -
 * sqrt(sqrt(1/2))) (TFLite). */
ARENITE_SHARED int32_t arenite_logarithm_q12(int32_t x) {
    const int32_t sqrt_half = 1518500250;
    const int32_t fourth_root_half = 1805811301;
    const int32_t quarter = 1 << 23; /* with 6 integer bits, as all that is added up */
    const int32_t zeros = arenite_leading_zeros((uint32_t)x);
    const int32_t whole = arenite_shift_left_saturating(
        arenite_high_mul(arenite_shift_left_saturating(x, zeros - 1), sqrt_half), 1);
    const int32_t whole_power = (12 - zeros) * (1 << 25) + quarter;
    const int32_t headroom = arenite_leading_zeros((uint32_t)arenite_high_mul(x, sqrt_half)) - 1;
    const int32_t broken = arenite_shift_left_saturating(x, headroom);
    const int32_t broken_power = (12 - headroom) * (1 << 25) - quarter;
    const int32_t r = whole < broken ? whole : broken;
    const int32_t power = whole_power > broken_power ? whole_power : broken_power;
    const int32_t middle = (int32_t)(((int64_t)r + fourth_root_half + 1) >> 1);
    const int32_t q = (r - fourth_root_half) * 2;
    const int32_t square = arenite_high_mul(q, q);
    const int32_t numerator =
        arenite_high_mul(q, r) + arenite_high_mul(arenite_high_mul(q, square), 117049297);
    const int32_t denominator =
        arenite_high_mul(middle, 1057819769 + q + arenite_high_mul(127690142, square)) +
        arenite_high_mul(638450708, q);
    const int32_t quotient =
        arenite_high_mul(arenite_shift_right(numerator, 6), arenite_one_over_one_plus(denominator));
    return arenite_shift_left_saturating(arenite_high_mul(power, 1488522236) + quotient, 1); /* log(2) */
}

#endif
