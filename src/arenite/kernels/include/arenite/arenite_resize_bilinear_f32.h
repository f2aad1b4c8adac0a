#ifndef ARENITE_RESIZE_BILINEAR_F32_H
#define ARENITE_RESIZE_BILINEAR_F32_H

#include "arenite_port.h"

typedef struct {
    int32_t batch;
    int32_t image_nelem; /* of the input */
    int32_t rows;        /* of the result */
    int32_t columns;
    int32_t depth;
} arenite_resize_bilinear_f32_params;

/* Each pixel between four: `places` holds, for each row and then for each column of the result, where the
 * lower and the upper neighbour start; `fractions` how far it is from the lower one. Rounds after each
 * operation, in TFLite's order. */
ARENITE_INLINE void arenite_resize_bilinear_f32(const arenite_resize_bilinear_f32_params *params,
                                                const float *input, const int32_t *places,
                                                const float *fractions, float *output) {
    ARENITE_ROUND_EACH
    for (int32_t image = 0; image < params->batch; ++image) {
        for (int32_t row = 0; row < params->rows; ++row) {
            const float *upper = input + places[2 * row];
            const float *lower = input + places[2 * row + 1];
            const float down = fractions[row];
            for (int32_t n = 0; n < params->columns; ++n) {
                const int32_t *column = places + 2 * (params->rows + n);
                const float across = fractions[params->rows + n];
                for (int32_t c = 0; c < params->depth; ++c) {
                    float total = upper[column[0] + c] * (1.0f - down) * (1.0f - across);
                    total = total + lower[column[0] + c] * down * (1.0f - across);
                    total = total + upper[column[1] + c] * (1.0f - down) * across;
                    *output++ = total + lower[column[1] + c] * down * across;
                }
            }
        }
        input += params->image_nelem;
    }
}

#endif
