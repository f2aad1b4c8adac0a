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

/* doubled / 2 * multiplier / 2^31, rounded to nearest, halves upwards: SMMULR, as long as the compiler does
 * not see that the multiplier is a constant. */
ARENITE_INLINE int32_t arenite_scale_doubled(int32_t doubled, int32_t multiplier) {
    return (int32_t)(((int64_t)doubled * multiplier + 0x80000000LL) >> 32);
}

/* scaled * 2^shift + zero_point within bounds, halves away from zero, for |scaled| < 2^31 - 1 and shift in
 * [-31, 0]. The last bit is shifted out apart, so that a half and the zero point are added at once. */
ARENITE_INLINE int8_t arenite_store_s8(int32_t scaled, int32_t shift, int32_t zero_point, int32_t low,
                                       int32_t high) {
    const int32_t right = shift < 0 ? -shift - 1 : 0;
    const int32_t stored =
        shift < 0 ? (((scaled + (scaled >> 31)) >> right) + (2 * zero_point + 1)) >> 1 : scaled + zero_point;
    return (int8_t)arenite_clamp(stored, low, high);
}

/* accumulator * multiplier * 2^(shift - 31), rounded once, halves away from zero; for multiplier in [0, 2^31)
 * and shift in [-31, 30]. */
ARENITE_INLINE int64_t arenite_requantize_once(int32_t accumulator, int32_t multiplier, int32_t shift) {
    const int64_t product = (int64_t)accumulator * multiplier;
    return (product - (product < 0 ? 1 : 0) + ((int64_t)1 << (30 - shift))) >> (31 - shift);
}

/* A uint8 from a sum that wraps at 32 bits, rounded `once` or twice, halves away from zero. `narrow`: it
 * stays below 2^30, and the shift is in [-31, -1]. */
ARENITE_INLINE uint8_t arenite_store_u8(uint32_t sum, int32_t multiplier, int32_t shift, int32_t zero_point,
                                        int32_t narrow, int32_t once, int32_t low, int32_t high) {
    if (narrow) {
        /* Negative numbers are lowered where they are rounded last. */
        const int32_t doubled = (int32_t)(2u * sum);
        const int32_t scaled = once ? (int32_t)(((int64_t)doubled * multiplier + (doubled >> 31)) >> 32)
                                    : arenite_scale_doubled(doubled, multiplier);
        const int32_t lowered = once ? scaled : scaled + (scaled >> 31);
        return (uint8_t)arenite_clamp(((lowered >> (-shift - 1)) + (2 * zero_point + 1)) >> 1, low, high);
    }
    const int64_t scaled = once ? arenite_requantize_once((int32_t)sum, multiplier, shift)
                                : arenite_requantize((int32_t)sum, multiplier, shift);
    const int64_t stored = scaled + zero_point;
    return (uint8_t)(stored < low ? low : stored > high ? high : stored);
}

#endif
