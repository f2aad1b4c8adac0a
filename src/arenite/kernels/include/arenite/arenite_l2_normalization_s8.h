#ifndef ARENITE_L2_NORMALIZATION_S8_H
#define ARENITE_L2_NORMALIZATION_S8_H

#include "arenite_fixedpoint.h"
#include "arenite_inverse_sqrt.h"
#include "arenite_port.h"

typedef struct {
    int32_t rows;
    int32_t depth;
    int32_t zero_point; /* of the input; that of the output is 0, and its scale 1 / 128 */
} arenite_l2_normalization_s8_params;

/* Each row, divided by its Euclidean norm. May run in place. */
ARENITE_INLINE void arenite_l2_normalization_s8(const arenite_l2_normalization_s8_params *params,
                                                const int8_t *input, int8_t *output) {
    for (int32_t row = 0; row < params->rows; ++row) {
        uint32_t total = 0;
        for (int32_t i = 0; i < params->depth; ++i) {
            const int32_t x = input[i] - params->zero_point;
            total += (uint32_t)(x * x);
        }
        const arenite_factor factor = arenite_inverse_sqrt((int32_t)total);
        for (int32_t i = 0; i < params->depth; ++i) {
            const int32_t x = input[i] - params->zero_point;
            const int32_t scaled = arenite_requantize(x, factor.multiplier, factor.shift + 7);
            output[i] = (int8_t)arenite_clamp(scaled, -128, 127);
        }
        input += params->depth;
        output += params->depth;
    }
}

#endif
