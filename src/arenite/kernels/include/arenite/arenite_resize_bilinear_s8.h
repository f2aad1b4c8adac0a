#ifndef ARENITE_RESIZE_BILINEAR_S8_H
#define ARENITE_RESIZE_BILINEAR_S8_H

#include "arenite_port.h"

typedef struct {
    int32_t batch;
    int32_t image_nbytes; /* of the input */
    int32_t rows;         /* of the result */
    int32_t columns;
    int32_t depth;
} arenite_resize_bilinear_s8_params;

/* Each pixel between four: `places` holds, for each row and then for each column of the result, where the
 * lower and the upper neighbour start, and how far it is from the lower one, in 1/1024. */
ARENITE_INLINE void arenite_resize_bilinear_s8(const arenite_resize_bilinear_s8_params *params,
                                               const int8_t *input, const int32_t *places, int8_t *output) {
    for (int32_t image = 0; image < params->batch; ++image) {
        for (int32_t row = 0; row < params->rows; ++row) {
            const int8_t *upper = input + places[3 * row];
            const int8_t *lower = input + places[3 * row + 1];
            const int32_t down = places[3 * row + 2];
            const int32_t *column = places + 3 * params->rows;
            for (int32_t n = 0; n < params->columns; ++n) {
                const int32_t left = column[0];
                const int32_t right = column[1];
                const int32_t across = column[2];
                for (int32_t c = 0; c < params->depth; ++c) {
                    /* Within 27 bits, as the weights make up 2^20. */
                    const int32_t above = upper[left + c] * (1024 - across) + upper[right + c] * across;
                    const int32_t below = lower[left + c] * (1024 - across) + lower[right + c] * across;
                    const int32_t total = above * (1024 - down) + below * down;
                    /* Halves away from zero. */
                    *output++ = (int8_t)((total + (1 << 19) - (total < 0 ? 1 : 0)) >> 20);
                }
                column += 3;
            }
        }
        input += params->image_nbytes;
    }
}

#endif
