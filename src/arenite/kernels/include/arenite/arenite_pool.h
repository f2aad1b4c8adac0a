/* What pools share: the windows over an NHWC tensor, of which cells outside it do not count. */
#ifndef ARENITE_POOL_H
#define ARENITE_POOL_H

#include "arenite_fixedpoint.h"
#include "arenite_port.h"

typedef struct {
    int32_t batches;
    int32_t input_height;
    int32_t input_width;
    int32_t channels;
    int32_t output_height;
    int32_t output_width;
    int32_t filter_height;
    int32_t filter_width;
    int32_t stride_height;
    int32_t stride_width;
    int32_t pad_top;
    int32_t pad_left;
    int32_t low;
    int32_t high;
} arenite_pool_params;

/* The part of a window that lies inside: its first cell, counted in elements, and how many there are. */
typedef struct {
    int32_t first;
    int32_t rows;
    int32_t columns;
} arenite_pool_window;

ARENITE_INLINE arenite_pool_window arenite_pool_window_at(const arenite_pool_params *params, int32_t batch,
                                                          int32_t y, int32_t x) {
    const int32_t from_y = y * params->stride_height - params->pad_top;
    const int32_t from_x = x * params->stride_width - params->pad_left;
    const int32_t top = arenite_clamp(from_y, 0, params->input_height);
    const int32_t left = arenite_clamp(from_x, 0, params->input_width);
    const int32_t bottom = arenite_clamp(from_y + params->filter_height, 0, params->input_height);
    const int32_t right = arenite_clamp(from_x + params->filter_width, 0, params->input_width);
    const int32_t row = batch * params->input_height + top;
    const arenite_pool_window window = {
        (row * params->input_width + left) * params->channels,
        bottom - top,
        right - left,
    };
    return window;
}

/* Runs a statement for each element of the result, with its window, and the first cell of its channel. */
#define ARENITE_FOR_EACH_WINDOW(params, window, cell, ...)                                                   \
    for (int32_t arenite_b = 0; arenite_b < (params)->batches; ++arenite_b) {                                \
        for (int32_t arenite_y = 0; arenite_y < (params)->output_height; ++arenite_y) {                      \
            for (int32_t arenite_x = 0; arenite_x < (params)->output_width; ++arenite_x) {                   \
                const arenite_pool_window window =                                                           \
                    arenite_pool_window_at(params, arenite_b, arenite_y, arenite_x);                         \
                for (int32_t arenite_c = 0; arenite_c < (params)->channels; ++arenite_c) {                   \
                    const int32_t cell = window.first + arenite_c;                                           \
                    __VA_ARGS__                                                                              \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
    }

/* Runs a statement for each cell of a window, with its place. */
#define ARENITE_FOR_EACH_CELL(params, window, cell, at, ...)                                                 \
    for (int32_t arenite_i = 0; arenite_i < (window).rows; ++arenite_i) {                                    \
        int32_t at = (cell) + arenite_i * (params)->input_width * (params)->channels;                        \
        for (int32_t arenite_j = 0; arenite_j < (window).columns; ++arenite_j) {                             \
            __VA_ARGS__                                                                                      \
            at += (params)->channels;                                                                        \
        }                                                                                                    \
    }

/* A sum over cells divided by their number, halves away from zero (C's division truncates), limited. */
ARENITE_INLINE int32_t arenite_pool_mean(const arenite_pool_params *params, arenite_pool_window window,
                                         int32_t total) {
    const int32_t cells = window.rows * window.columns;
    const int32_t mean = (total > 0 ? total + cells / 2 : total - cells / 2) / cells;
    return arenite_clamp(mean, params->low, params->high);
}

#endif
