/* Inverse square roots in fixed point. */
#ifndef ARENITE_INVERSE_SQRT_H
#define ARENITE_INVERSE_SQRT_H

#include "arenite_fixedpoint.h"
#include "arenite_saturate.h"
#include "arenite_port.h"

/* multiplier * 2^(shift - 31) */
typedef struct {
    int32_t multiplier;
    int32_t shift;
} arenite_factor;

/* 1 / sqrt(value) for a positive number: Newton-Raphson steps from 1, with three integer bits (gemmlowp). For
 * 0, as for 1, the largest multiplier. */
ARENITE_SHARED arenite_factor arenite_inverse_sqrt(int32_t value) {
    arenite_factor factor = {INT32_MAX, 0};
    if (value <= 1) {
        return factor;
    }
    int32_t shift = 11;
    for (; value >= 1 << 29; value /= 4) {
        ++shift;
    }
    for (; value < 1 << 27; value *= 4) {
        --shift;
    }
    const int32_t half = arenite_shift_right(value >> 1, 1);
    int32_t x = 1 << 28;
    for (int32_t step = 0; step < 5; ++step) {
        const int32_t cube = arenite_shift_left_saturating(arenite_high_mul(arenite_high_mul(x, x), x), 6);
        const int32_t next = arenite_high_mul((1 << 28) + (1 << 27), x) - arenite_high_mul(half, cube);
        x = arenite_shift_left_saturating(next, 3);
    }
    x = arenite_high_mul(x, 1518500250); /* sqrt(1/2) */
    factor.multiplier = shift < 0 ? (int32_t)((uint32_t)x << -shift) : x;
    factor.shift = shift < 0 ? 0 : -shift;
    return factor;
}

#endif
