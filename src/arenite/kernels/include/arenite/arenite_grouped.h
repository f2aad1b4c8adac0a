/* What convolutions in groups share that compute one result at a time: their loops. */
#ifndef ARENITE_GROUPED_H
#define ARENITE_GROUPED_H

#include "arenite_port.h"

/* Runs a statement for each result, of output channel o: `group` is where the image's channels of its group
 * start, `row` where its weights do, [filter_height][filter_width][channels of a group], and (top, left) is
 * its window's first tap. */
#define ARENITE_FOR_EACH_RESULT(params, group, row, o, top, left, ...)                                       \
    const int32_t arenite_taken = (params)->input_channels / (params)->groups;                               \
    const int32_t arenite_given = (params)->output_channels / (params)->groups;                              \
    const int32_t arenite_inner = (params)->filter_height * (params)->filter_width * arenite_taken;          \
    for (int32_t arenite_b = 0; arenite_b < (params)->batches; ++arenite_b) {                                \
        const int32_t arenite_image =                                                                        \
            arenite_b * (params)->input_height * (params)->input_width * (params)->input_channels;           \
        for (int32_t arenite_y = 0; arenite_y < (params)->output_height; ++arenite_y) {                      \
            const int32_t top = arenite_y * (params)->stride_height - (params)->pad_top;                     \
            for (int32_t arenite_x = 0; arenite_x < (params)->output_width; ++arenite_x) {                   \
                const int32_t left = arenite_x * (params)->stride_width - (params)->pad_left;                \
                for (int32_t o = 0; o < (params)->output_channels; ++o) {                                    \
                    const int32_t group = arenite_image + o / arenite_given * arenite_taken;                 \
                    const int32_t row = o * arenite_inner;                                                   \
                    __VA_ARGS__                                                                              \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
    }

/* Runs a statement for each product of a result whose tap lies inside the image: of the input at `x`, counted
 * from the group's first element, and the weight at `w`, counted from the row's. */
#define ARENITE_FOR_EACH_PRODUCT(params, top, left, x, w, ...)                                               \
    {                                                                                                        \
        const int32_t arenite_channels = (params)->input_channels / (params)->groups;                        \
        int32_t arenite_tap = 0;                                                                             \
        for (int32_t arenite_i = 0; arenite_i < (params)->filter_height; ++arenite_i) {                      \
            const int32_t arenite_v = (top) + arenite_i * (params)->dilation_height;                         \
            for (int32_t arenite_j = 0; arenite_j < (params)->filter_width; ++arenite_j) {                   \
                const int32_t arenite_u = (left) + arenite_j * (params)->dilation_width;                     \
                if (arenite_v >= 0 && arenite_v < (params)->input_height && arenite_u >= 0 &&                \
                    arenite_u < (params)->input_width) {                                                     \
                    int32_t x = (arenite_v * (params)->input_width + arenite_u) * (params)->input_channels;  \
                    for (int32_t w = arenite_tap; w < arenite_tap + arenite_channels; ++w, ++x) {            \
                        __VA_ARGS__                                                                          \
                    }                                                                                        \
                }                                                                                            \
                arenite_tap += arenite_channels;                                                             \
            }                                                                                                \
        }                                                                                                    \
    }

#endif
