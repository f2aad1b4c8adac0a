#ifndef ARENITE_SIGMOID_S16_H
#define ARENITE_SIGMOID_S16_H

#include "arenite_port.h"

typedef struct {
    int32_t nelem;
    int32_t multiplier; /* of 15 bits: to a scale of 1 / (3 * 4096) */
    int32_t right;
    int32_t tangent; /* the hyperbolic tangent, else the logistic function */
} arenite_sigmoid_s16_params;

/* table[i] is the logistic function of i / 24 in 16 bits. */
ARENITE_INLINE int32_t arenite_sigmoid_s16_logistic(const uint16_t *table, int32_t x) {
    const uint32_t magnitude = (uint32_t)(x < 0 ? -x : x);
    const uint32_t place = magnitude >> 9;
    uint32_t result = 0x7FFFu << 10;
    if (place < 255) {
        const uint32_t low = table[place];
        result = (low << 9) + (magnitude & 511u) * (table[place + 1] - low);
    }
    return (int32_t)((x >= 0 ? result + 512u : (1u << 25) - result + 511u) >> 10);
}

ARENITE_INLINE int32_t arenite_sigmoid_s16_tangent(const uint16_t *table, int32_t x) {
    const uint32_t magnitude = (uint32_t)(x < 0 ? -x : x);
    const uint32_t place = magnitude >> 8;
    int32_t result = 0xFFFF << 8;
    if (place < 255) {
        const uint32_t low = table[place];
        result = (int32_t)((low << 8) + (magnitude & 255u) * (table[place + 1] - low));
    }
    return (x >= 0 ? result - (1 << 23) + 128 : (1 << 23) - result + 127) >> 8;
}

/* Logistic function or hyperbolic tangent, interpolated between 256 points. May run in place. */
ARENITE_INLINE void arenite_sigmoid_s16(const arenite_sigmoid_s16_params *params, const int16_t *input,
                                        const uint16_t *table, int16_t *output) {
    const int32_t half = params->right > 0 ? 1 << (params->right - 1) : 0;
    for (int32_t i = 0; i < params->nelem; ++i) {
        const int32_t x = (input[i] * params->multiplier + half) >> params->right;
        output[i] = (int16_t)(params->tangent ? arenite_sigmoid_s16_tangent(table, x)
                                              : arenite_sigmoid_s16_logistic(table, x));
    }
}

#endif
