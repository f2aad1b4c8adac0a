#ifndef ARENITE_SOFTMAX_S16_H
#define ARENITE_SOFTMAX_S16_H

#include "arenite_fixedpoint.h"
#include "arenite_port.h"

typedef struct {
    int32_t rows;
    int32_t depth;
    int32_t multiplier; /* from codes to steps of 10 / 65535 */
    int32_t shift;
} arenite_softmax_s16_params;

/* A function of 16 bits between 513 points. */
ARENITE_INLINE int32_t arenite_interpolate_s16(const int16_t *table, int32_t value) {
    const int32_t place = 256 + (value >> 7);
    return table[place] + (((table[place + 1] - table[place]) * (value & 127) + 64) >> 7);
}

ARENITE_INLINE void arenite_softmax_s16_row(const arenite_softmax_s16_params *params, const int16_t *input,
                                            const int16_t *exponentials, const int16_t *reciprocals,
                                            int16_t *output) {
    int32_t largest = -32768;
    for (int32_t i = 0; i < params->depth; ++i) {
        largest = input[i] > largest ? input[i] : largest;
    }
    int32_t total = 0;
    for (int32_t i = 0; i < params->depth; ++i) {
        const int32_t scaled = arenite_requantize(input[i] - largest, params->multiplier, params->shift);
        const int32_t exponential =
            arenite_interpolate_s16(exponentials, arenite_clamp(scaled + 32767, -32768, 32767));
        output[i] = (int16_t)exponential;
        total += exponential;
    }
    int32_t headroom = 0;
    for (uint32_t shifted = (uint32_t)total; shifted < 0x40000000u; shifted *= 2) {
        ++headroom;
    }
    const int32_t mantissa = (int32_t)((((int64_t)total << headroom) + (1 << 13)) >> 14);
    const int32_t reciprocal =
        arenite_interpolate_s16(reciprocals, arenite_clamp(mantissa - 98304, -32768, 32767));
    const int32_t right = 30 - headroom;
    for (int32_t i = 0; i < params->depth; ++i) {
        const int32_t scaled = (output[i] * reciprocal + (1 << (right - 1))) >> right;
        output[i] = (int16_t)arenite_clamp(scaled, 0, 32767);
    }
}

/* Softmax of each row, its exponentials and its reciprocal interpolated. May run in place. */
ARENITE_INLINE void arenite_softmax_s16(const arenite_softmax_s16_params *params, const int16_t *input,
                                        const int16_t *exponentials, const int16_t *reciprocals,
                                        int16_t *output) {
    for (int32_t row = 0; row < params->rows; ++row) {
        arenite_softmax_s16_row(params, input, exponentials, reciprocals, output);
        input += params->depth;
        output += params->depth;
    }
}

#endif
