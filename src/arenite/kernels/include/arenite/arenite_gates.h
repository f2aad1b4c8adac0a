/* Sigmoid and hyperbolic tangent of 16 bits, with 15 fractional bits in their results. */
#ifndef ARENITE_GATES_H
#define ARENITE_GATES_H

#include "arenite_fixedpoint.h"
#include "arenite_port.h"
#include "arenite_sigmoid_s16.h"

/* sigmoid(x / 2^12) * 2^15 for x in 16 bits. */
ARENITE_INLINE int32_t arenite_gates_sigmoid(const uint16_t *points, int32_t x) {
    return arenite_sigmoid_s16_logistic(points, 3 * x);
}

/* tanh(x / 2^bits) * 2^15 for x in 16 bits. */
ARENITE_INLINE int32_t arenite_gates_tanh(const uint16_t *points, int32_t x, int32_t bits) {
    const int32_t scaled =
        bits > 12 ? (3 * x + (1 << (bits - 13))) >> (bits - 12) : 3 * x * (1 << (12 - bits));
    return arenite_sigmoid_s16_tangent(points, scaled);
}

ARENITE_INLINE int32_t arenite_clamp_16(int32_t value) {
    return arenite_clamp(value, INT16_MIN, INT16_MAX);
}

#endif
