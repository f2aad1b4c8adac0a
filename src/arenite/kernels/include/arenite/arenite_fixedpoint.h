/* Fixed-point arithmetic on 32 bits, for any operands, rounded as gemmlowp rounds. */
#ifndef ARENITE_FIXEDPOINT_H
#define ARENITE_FIXEDPOINT_H

#include "arenite_port.h"

ARENITE_INLINE int32_t arenite_clamp(int32_t value, int32_t low, int32_t high) {
    const int32_t bounded = value < low ? low : value;
    return bounded > high ? high : bounded;
}

/* a * b / 2^31, rounded to nearest, halves upwards; not both -2^31. */
ARENITE_INLINE int32_t arenite_high_mul(int32_t a, int32_t b) {
    return (int32_t)(((int64_t)a * b + (1 << 30)) >> 31);
}

/* value / 2^exponent, rounded to nearest, halves away from zero, for exponent in [0, 31]. */
ARENITE_INLINE int32_t arenite_shift_right(int32_t value, int32_t exponent) {
    const int32_t mask = (int32_t)((1u << exponent) - 1u);
    const int32_t threshold = (mask >> 1) + (value < 0 ? 1 : 0);
    return (value >> exponent) + ((value & mask) > threshold ? 1 : 0);
}

/* accumulator * multiplier * 2^(shift - 31), rounded twice, for multiplier in [0, 2^31) and shift in [-31,
 * 30]; a shift to the left drops what leaves 32 bits. */
ARENITE_INLINE int32_t arenite_requantize(int32_t accumulator, int32_t multiplier, int32_t shift) {
    const int32_t left = shift > 0 ? shift : 0;
    const int32_t right = shift > 0 ? 0 : -shift;
    const int32_t shifted = (int32_t)((uint32_t)accumulator << left);
    return arenite_shift_right(arenite_high_mul(shifted, multiplier), right);
}

/* The same for accumulators and shifts such that accumulator * 2^(shift + 1) has at most 30 bits besides the
 * sign: doubled, the product's upper word is what is wanted, and rounding cannot overflow. */
ARENITE_INLINE int32_t arenite_requantize_small(int32_t accumulator, int32_t multiplier, int32_t shift) {
    const int32_t doubled = accumulator * (1 << (shift > 0 ? shift + 1 : 1));
    const int32_t scaled = (int32_t)(((int64_t)doubled * multiplier + 0x80000000LL) >> 32);
    if (shift >= 0) {
        return scaled;
    }
    /* Halves away from zero: a negative number gets one less than a half. */
    return (scaled + (int32_t)(1u << (-shift - 1)) + (scaled >> 31)) >> -shift;
}

#endif
