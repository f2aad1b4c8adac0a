/* Sigmoid and hyperbolic tangent of 16 bits, with 15 fractional bits in their results: chords between 256
 * points of 65536 * sigmoid(i / 24). */
#ifndef ARENITE_GATES_H
#define ARENITE_GATES_H

#include "arenite_fixedpoint.h"
#include "arenite_port.h"

/* The chord's value at a magnitude of which `bits` bits are the fraction, shifted left by as many. */
ARENITE_INLINE int32_t arenite_gates_chord(const uint16_t *points, int32_t magnitude, int32_t bits) {
    const int32_t index = magnitude >> bits;
    const int32_t left = points[index], right = points[index + 1];
    return left * (1 << bits) + (magnitude & ((1 << bits) - 1)) * (right - left);
}

/* sigmoid(x / 2^12) * 2^15 for x in 16 bits. */
ARENITE_INLINE int32_t arenite_gates_sigmoid(const uint16_t *points, int32_t x) {
    const int32_t scaled = 3 * x, magnitude = scaled < 0 ? -scaled : scaled;
    const int32_t value = magnitude >> 9 >= 255 ? 0x7FFF * 1024 : arenite_gates_chord(points, magnitude, 9);
    return (scaled < 0 ? (1 << 25) - value + 511 : value + 512) >> 10;
}

/* tanh(x / 2^bits) * 2^15 for x in 16 bits. */
ARENITE_INLINE int32_t arenite_gates_tanh(const uint16_t *points, int32_t x, int32_t bits) {
    const int32_t scaled =
        bits > 12 ? (3 * x + (1 << (bits - 13))) >> (bits - 12) : 3 * x * (1 << (12 - bits));
    const int32_t magnitude = scaled < 0 ? -scaled : scaled;
    const int32_t value = magnitude >> 8 >= 255 ? 0xFFFF * 256 : arenite_gates_chord(points, magnitude, 8);
    return (scaled < 0 ? (1 << 23) - value + 127 : value - (1 << 23) + 128) >> 8;
}

ARENITE_INLINE int32_t arenite_clamp_16(int32_t value) {
    return arenite_clamp(value, INT16_MIN, INT16_MAX);
}

#endif
