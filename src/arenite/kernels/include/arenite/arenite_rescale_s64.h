/* From sums of 64 bits to 16-bit results. */
#ifndef ARENITE_RESCALE_S64_H
#define ARENITE_RESCALE_S64_H

#include "arenite_fixedpoint.h"
#include "arenite_port.h"

/* A sum of up to 48 bits times multiplier * 2^(shift - 15), halves upwards; what leaves 32 bits is dropped.
 */
ARENITE_INLINE int32_t arenite_rescale_s64(int64_t sum, int32_t multiplier, int32_t shift) {
    const int32_t right = 15 - shift;
    return (int32_t)(uint32_t)((sum * multiplier + ((int64_t)1 << (right - 1))) >> right);
}

/* Rounded once, by a multiplier of 15 bits; else twice, and the sum wraps at 32 bits. */
ARENITE_INLINE int16_t arenite_store_s64(int64_t sum, int32_t multiplier, int32_t shift, int32_t once,
                                         int32_t low, int32_t high) {
    const int32_t scaled = once ? arenite_rescale_s64(sum, multiplier, shift)
                                : arenite_requantize((int32_t)(uint32_t)(uint64_t)sum, multiplier, shift);
    return (int16_t)arenite_clamp(scaled, low, high);
}

/* The same of a sum of 32 bits. From 33 bits on, what is shifted out of the lower half does not count. */
ARENITE_INLINE int16_t arenite_store_s32(uint32_t sum, int32_t multiplier, int32_t shift, int32_t once,
                                         int32_t low, int32_t high) {
    int32_t scaled;
    if (!once) {
        scaled = arenite_requantize((int32_t)sum, multiplier, shift);
    } else if (shift < -1) {
        const int64_t product = (int64_t)(int32_t)sum * (int32_t)((uint32_t)multiplier << 16);
        scaled = ((int32_t)(product >> 32) + (1 << (-shift - 2))) >> (-shift - 1);
    } else {
        scaled = arenite_rescale_s64((int32_t)sum, multiplier, shift);
    }
    return (int16_t)arenite_clamp(scaled, low, high);
}

#endif
