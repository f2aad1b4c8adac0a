/* From 32-bit accumulators to 8-bit results, rounded twice as TFLite-Micro's reference kernels round.
 *
 * A real multiplier in [2^-32, 2^30) is M * 2^(shift - 31) with M in [2^30, 2^31). Tables hold `2 * M - 2^32`
 * as `multiplier`, in [-2^31, 0): then (accumulator << 32) + accumulator * multiplier is 2 * accumulator * M.
 */
#ifndef ARENITE_REQUANTIZE_H
#define ARENITE_REQUANTIZE_H

#include "arenite_port.h"

/* accumulator * M / 2^31, rounded to nearest, halves upwards. */
ARENITE_INLINE int32_t arenite_scale(int32_t accumulator, int32_t multiplier) {
    const int64_t nudged = (int64_t)(((uint64_t)(uint32_t)accumulator << 32) | 0x80000000u);
    return (int32_t)((nudged + (int64_t)accumulator * multiplier) >> 32);
}

/* An int8 from a sum that may lie outside. */
ARENITE_INLINE int32_t arenite_saturate_s8(int32_t value) {
    const int32_t bounded = value < -128 ? -128 : value;
    return bounded > 127 ? 127 : bounded;
}

/* For shift in [-31, -1] and |accumulator| < 2^30; `right` is -shift - 1, `nudge` 2 * zero_point + 1. */
ARENITE_INLINE int32_t arenite_requantize_narrow(int32_t accumulator, int32_t multiplier, int32_t right,
                                                 int32_t nudge) {
    const int32_t scaled = arenite_scale(accumulator, multiplier);
    /* Halves away from zero: a negative number is lowered first. The last bit is shifted out apart, so that a
     * half and the zero point are added at once. */
    return arenite_saturate_s8((((scaled + (scaled >> 31)) >> right) + nudge) >> 1);
}

/* For any accumulator and shift in [-31, 30], or below -31 for a multiplier of 0; a shift to the left drops
 * what leaves 32 bits. */
ARENITE_SHARED int32_t arenite_requantize_wide(int32_t accumulator, int32_t multiplier, int32_t shift,
                                               int32_t zero_point) {
    const int32_t left = shift > 0 ? shift : 0;
    const int32_t right = shift > 0 ? 0 : -shift;
    if (right > 31) {
        return zero_point;
    }
    const int32_t scaled = arenite_scale((int32_t)((uint32_t)accumulator << left), multiplier);
    /* What is shifted out, against a half, which a negative number must exceed. */
    const uint32_t mask = (1u << right) - 1u;
    const uint32_t half = (mask >> 1) + (scaled < 0 ? 1u : 0u);
    const int32_t rounded = (scaled >> right) + (((uint32_t)scaled & mask) > half ? 1 : 0);
    return rounded < -128 - zero_point ? -128 : rounded > 127 - zero_point ? 127 : rounded + zero_point;
}

/* The right one of both. */
ARENITE_INLINE int8_t arenite_requantize_s8(uint32_t sum, int32_t multiplier, int32_t shift,
                                            int32_t zero_point, int32_t narrow) {
    return (int8_t)(narrow
                        ? arenite_requantize_narrow((int32_t)sum, multiplier, -shift - 1, 2 * zero_point + 1)
                        : arenite_requantize_wide((int32_t)sum, multiplier, shift, zero_point));
}

/* The bounds of a fused activation, applied to finished results; nothing where they are the type's own. */
ARENITE_INLINE void arenite_clamp_s8(int8_t *values, int32_t nelem, int32_t low, int32_t high) {
    if (low <= -128 && high >= 127) {
        return;
    }
    for (int32_t i = 0; i < nelem; ++i) {
        const int32_t bounded = values[i] < low ? low : values[i];
        values[i] = (int8_t)(bounded > high ? high : bounded);
    }
}

#endif
