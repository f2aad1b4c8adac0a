#ifndef ARENITE_SOFTMAX_S8_S16_H
#define ARENITE_SOFTMAX_S8_S16_H

#include "arenite_fixedpoint.h"
#include "arenite_port.h"
#include "arenite_softmax.h"

typedef struct {
    int32_t rows;
    int32_t depth;
} arenite_softmax_s8_s16_params;

/* Like arenite_softmax_s8, with 16 bits of each share. */
ARENITE_INLINE void arenite_softmax_s8_s16(const arenite_softmax_s8_s16_params *params, const int8_t *input,
                                           const int32_t *exponentials, int16_t *output) {
    for (int32_t row = 0; row < params->rows; ++row) {
        const arenite_softmax_scale scale = arenite_softmax_scale_of(params->depth, input, exponentials);
        for (int32_t i = 0; i < params->depth; ++i) {
            const int32_t scaled = arenite_high_mul(scale.reciprocal, exponentials[scale.largest - input[i]]);
            const int32_t share = arenite_shift_right(scaled, scale.shift + 15);
            output[i] = (int16_t)(share < 65535 ? share - 32768 : 32767);
        }
        input += params->depth;
        output += params->depth;
    }
}

#endif
