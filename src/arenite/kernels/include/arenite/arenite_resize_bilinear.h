/* What interpolations between four pixels share. */
#ifndef ARENITE_RESIZE_BILINEAR_H
#define ARENITE_RESIZE_BILINEAR_H

#include "arenite_port.h"

typedef struct {
    int32_t batch;
    int32_t image_nelem; /* of the input */
    int32_t rows;        /* of the result */
    int32_t columns;
    int32_t depth;
} arenite_resize_bilinear_params;

/* Four neighbours: the elements from which on each has its channels. */
typedef struct {
    int32_t top_left;
    int32_t bottom_left;
    int32_t top_right;
    int32_t bottom_right;
} arenite_neighbours;

/* Runs a statement for each pixel of the result. `places` holds, for each row and then for each column of the
 * result, `width` numbers: where its lower and its upper neighbour start, and what the statement asks for in
 * `row` and `column`. `at` are the pixel's neighbours, `r` and `c` its row and its column. */
#define ARENITE_FOR_EACH_PIXEL(params, places, width, at, row, column, ...)                                  \
    for (int32_t arenite_b = 0; arenite_b < (params)->batch; ++arenite_b) {                                  \
        const int32_t arenite_image = arenite_b * (params)->image_nelem;                                     \
        const int32_t *row = places;                                                                         \
        for (int32_t r = 0; r < (params)->rows; ++r, row += (width)) {                                       \
            const int32_t *column = (places) + (width) * (params)->rows;                                     \
            for (int32_t c = 0; c < (params)->columns; ++c, column += (width)) {                             \
                const arenite_neighbours at = {                                                              \
                    arenite_image + row[0] + column[0],                                                      \
                    arenite_image + row[1] + column[0],                                                      \
                    arenite_image + row[0] + column[1],                                                      \
                    arenite_image + row[1] + column[1],                                                      \
                };                                                                                           \
                __VA_ARGS__                                                                                  \
            }                                                                                                \
        }                                                                                                    \
    }

/* Between four floats; rounds after each operation, in TFLite's order. */
ARENITE_INLINE float arenite_between_f32(float top_left, float bottom_left, float top_right,
                                         float bottom_right, float down, float across) {
    ARENITE_ROUND_EACH
    float total = top_left * (1.0f - down) * (1.0f - across);
    total = total + bottom_left * down * (1.0f - across);
    total = total + top_right * (1.0f - down) * across;
    return total + bottom_right * down * across;
}

#endif
