#ifndef ARENITE_DIV_S8_H
#define ARENITE_DIV_S8_H

#include "arenite_broadcast.h"
#include "arenite_fixedpoint.h"
#include "arenite_port.h"

typedef struct {
    int32_t sizes[4]; /* of the result; an operand's stride is 0 where it repeats */
    int32_t strides_a[4];
    int32_t strides_b[4];
    int32_t zero_point_a;
    int32_t zero_point_b;
    int32_t multiplier;
    int32_t shift; /* at most 22 */
    int32_t zero_point;
    int32_t low;
    int32_t high;
} arenite_div_s8_params;

/* Bits up to the leading one of a number below 256. */
ARENITE_INLINE int32_t arenite_length_u8(int32_t value) {
    int32_t length = 0;
    for (; value > 0; value >>= 1) {
        ++length;
    }
    return length;
}

/* numerator / denominator, neither wider than 8 bits and the sign, the denominator positive. */
ARENITE_INLINE int32_t arenite_div_s8_quotient(const arenite_div_s8_params *params,
                                               const int32_t *reciprocals, int32_t numerator,
                                               int32_t denominator) {
    const int32_t headroom = 31 - arenite_length_u8(numerator < 0 ? -numerator - 1 : numerator);
    const int32_t wide = (int32_t)((uint32_t)numerator << headroom);
    const int32_t unscaled = arenite_high_mul(wide, reciprocals[denominator]);
    const int32_t scaled = arenite_high_mul(unscaled, params->multiplier);
    const int32_t right = headroom + arenite_length_u8(denominator) - 1 - params->shift;
    return right > 31 ? 0 : arenite_shift_right(scaled, right);
}

ARENITE_INLINE int8_t arenite_div_s8_element(const arenite_div_s8_params *params, const int32_t *reciprocals,
                                             int32_t a, int32_t b) {
    const int32_t x = a - params->zero_point_a;
    const int32_t y = b - params->zero_point_b;
    if (y == 0 && x != 0) {
        return (int8_t)(x > 0 ? params->high : params->low);
    }
    const int32_t quotient = y == 0  ? 0
                             : y < 0 ? arenite_div_s8_quotient(params, reciprocals, -x, -y)
                                     : arenite_div_s8_quotient(params, reciprocals, x, y);
    return (int8_t)arenite_clamp(quotient + params->zero_point, params->low, params->high);
}

/* Quotients; reciprocals[d] is 1 / d, brought into (1/2, 1], in Q31. What is divided by 0 is limited as
 * infinity is. May run in place of an operand as large as the result. */
ARENITE_INLINE void arenite_div_s8(const arenite_div_s8_params *params, const int8_t *a, const int8_t *b,
                                   const int32_t *reciprocals, int8_t *output) {
    ARENITE_FOR_EACH_PAIR(params, at_a, at_b,
                          *output++ = arenite_div_s8_element(params, reciprocals, a[at_a], b[at_b]);)
}

#endif
