#ifndef ARENITE_SOFTMAX_S8_H
#define ARENITE_SOFTMAX_S8_H

#include "arenite_fixedpoint.h"
#include "arenite_port.h"
#include "arenite_softmax.h"

typedef struct {
    int32_t rows;
    int32_t depth;
} arenite_softmax_s8_params;

/* Softmax of each row; exponentials[d] belongs to a code that is d below its row's largest. May run in place.
 */
ARENITE_INLINE void arenite_softmax_s8(const arenite_softmax_s8_params *params, const int8_t *input,
                                       const int32_t *exponentials, int8_t *output) {
    for (int32_t row = 0; row < params->rows; ++row) {
        const arenite_softmax_scale scale = arenite_softmax_scale_of(params->depth, input, exponentials);
        const int32_t shift = scale.shift + 23;
        for (int32_t i = 0; i < params->depth; ++i) {
            const int32_t scaled = arenite_high_mul(scale.reciprocal, exponentials[scale.largest - input[i]]);
            const int32_t share = shift > 31 ? 0 : arenite_shift_right(scaled, shift);
            output[i] = (int8_t)(share < 255 ? share - 128 : 127);
        }
        input += params->depth;
        output += params->depth;
    }
}

#endif
