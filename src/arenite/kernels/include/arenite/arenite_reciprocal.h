/* Reciprocals in fixed point. */
#ifndef ARENITE_RECIPROCAL_H
#define ARENITE_RECIPROCAL_H

#include "arenite_fixedpoint.h"
#include "arenite_port.h"

/* 1 / (1 + a) for a in [0, 1), in Q31, by three Newton-Raphson steps from 48/17 - 32/17 x (gemmlowp). */
ARENITE_INLINE int32_t arenite_one_over_one_plus(int32_t a) {
    const int32_t half = (int32_t)(((uint32_t)a + 0x80000000u) >> 1);
    int32_t x = 1515870810 + arenite_high_mul(half, -1010580540);
    for (int32_t step = 0; step < 3; ++step) {
        x += arenite_high_mul(x, (1 << 29) - arenite_high_mul(half, x)) * 4;
    }
    return x >= 1 << 30 ? INT32_MAX : x * 2;
}

#endif
