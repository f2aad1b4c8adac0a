/* Depthwise convolution, int8, NHWC, any multiplier, without scratch: one result at a time. */
#ifndef ARENITE_DEPTHWISE_CONV2D_S8_H
#define ARENITE_DEPTHWISE_CONV2D_S8_H

#include "arenite_port.h"
#include "arenite_requantize.h"

typedef struct {
    int32_t batches;
    int32_t input_height;
    int32_t input_width;
    int32_t input_channels;
    int32_t output_height;
    int32_t output_width;
    int32_t multiplier;
    int32_t filter_height;
    int32_t filter_width;
    int32_t stride_height;
    int32_t stride_width;
    int32_t dilation_height;
    int32_t dilation_width;
    int32_t pad_top;
    int32_t pad_left;
    int32_t input_zero_point;
    int32_t output_zero_point;
    int32_t clamp_low;
    int32_t clamp_high;
    int32_t narrow; /* sums below 2^30, all shifts in [-31, -1] */
} arenite_depthwise_conv2d_s8_params;

/* Along one dimension, the taps [first, last) of a window that lie inside the image. */
typedef struct {
    int32_t first;
    int32_t last;
} arenite_depthwise_conv2d_s8_taps;

ARENITE_INLINE arenite_depthwise_conv2d_s8_taps arenite_depthwise_conv2d_s8_inside(int32_t start,
                                                                                   int32_t size, int32_t taps,
                                                                                   int32_t dilation) {
    const int32_t first = start < 0 ? (dilation - 1 - start) / dilation : 0;
    const int32_t last = start < size ? (size - start + dilation - 1) / dilation : 0;
    const arenite_depthwise_conv2d_s8_taps inside = {first, last < taps ? last : taps};
    return inside;
}

/* The part of a window that lies inside the image, for any channel. */
typedef struct {
    int32_t rows;
    int32_t columns;
    int32_t row_step; /* from one filter row's inputs to the next one's */
    int32_t column_step;
    int32_t skipped; /* weights from the end of one row to the start of the next */
    int32_t zero_point;
} arenite_depthwise_conv2d_s8_window;

ARENITE_SHARED uint32_t arenite_depthwise_conv2d_s8_sum(const arenite_depthwise_conv2d_s8_window *window,
                                                        const int8_t *input, const int8_t *weights) {
    const int32_t column_step = window->column_step, zero_point = window->zero_point;
    uint32_t sum = 0;
    ARENITE_AS_WRITTEN
    for (int32_t rows = window->rows; rows > 0; --rows) {
        int32_t tap = 0;
        ARENITE_AS_WRITTEN
        for (int32_t columns = window->columns; columns > 0; --columns) {
            sum += (uint32_t)((input[tap] - zero_point) * *weights++);
            tap += column_step;
        }
        input += window->row_step;
        weights += window->skipped;
    }
    return sum;
}

/* Weights are [channels * multiplier][filter_height][filter_width]; biases are the model's own. */
ARENITE_INLINE void arenite_depthwise_conv2d_s8_core(const arenite_depthwise_conv2d_s8_params *params,
                                                     const int8_t *input, const int8_t *weights,
                                                     const int32_t *biases, const int32_t *multipliers,
                                                     const int8_t *shifts, int8_t *output) {
    const int32_t row_nelem = params->input_width * params->input_channels;
    const int32_t taps = params->filter_height * params->filter_width;
    arenite_depthwise_conv2d_s8_window window;
    window.row_step = params->dilation_height * row_nelem;
    window.column_step = params->dilation_width * params->input_channels;
    window.zero_point = params->input_zero_point;
    int8_t *target = output;
    for (int32_t batch = 0; batch < params->batches; ++batch, input += row_nelem * params->input_height) {
        for (int32_t y = 0; y < params->output_height; ++y) {
            const int32_t top = y * params->stride_height - params->pad_top;
            const arenite_depthwise_conv2d_s8_taps rows = arenite_depthwise_conv2d_s8_inside(
                top, params->input_height, params->filter_height, params->dilation_height);
            for (int32_t x = 0; x < params->output_width; ++x) {
                const int32_t left = x * params->stride_width - params->pad_left;
                const arenite_depthwise_conv2d_s8_taps columns = arenite_depthwise_conv2d_s8_inside(
                    left, params->input_width, params->filter_width, params->dilation_width);
                const int32_t first = rows.first * params->filter_width + columns.first;
                const int32_t corner =
                    (top + rows.first * params->dilation_height) * row_nelem +
                    (left + columns.first * params->dilation_width) * params->input_channels;
                const int32_t inside = rows.first < rows.last && columns.first < columns.last;
                window.rows = rows.last - rows.first;
                window.columns = columns.last - columns.first;
                window.skipped = params->filter_width - window.columns;
                int32_t o = 0;
                for (int32_t c = 0; c < params->input_channels; ++c) {
                    for (int32_t m = 0; m < params->multiplier; ++m, ++o) {
                        uint32_t sum = (uint32_t)biases[o];
                        if (inside) {
                            sum += arenite_depthwise_conv2d_s8_sum(&window, input + corner + c,
                                                                   weights + o * taps + first);
                        }
                        *target++ = arenite_requantize_s8(sum, multipliers[o], shifts[o],
                                                          params->output_zero_point, params->narrow);
                    }
                }
            }
        }
    }
    arenite_clamp_s8(output, (int32_t)(target - output), params->clamp_low, params->clamp_high);
}

ARENITE_SHARED void arenite_depthwise_conv2d_s8(const arenite_depthwise_conv2d_s8_params *params,
                                                const int8_t *input, const int8_t *weights,
                                                const int32_t *biases, const int32_t *multipliers,
                                                const int8_t *shifts, int8_t *output) {
    arenite_depthwise_conv2d_s8_core(params, input, weights, biases, multipliers, shifts, output);
}

#endif
