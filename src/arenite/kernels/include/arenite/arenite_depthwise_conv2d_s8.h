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

/* Weights are [channels * multiplier][filter_height][filter_width]; biases are the model's own. */
ARENITE_INLINE void arenite_depthwise_conv2d_s8_core(const arenite_depthwise_conv2d_s8_params *params,
                                                     const int8_t *input, const int8_t *weights,
                                                     const int32_t *biases, const int32_t *multipliers,
                                                     const int8_t *shifts, int8_t *output) {
    const int32_t row_nelem = params->input_width * params->input_channels;
    const int32_t x_step = params->dilation_width * params->input_channels;
    const int32_t y_step = params->dilation_height * row_nelem;
    const int32_t taps = params->filter_height * params->filter_width;
    const int32_t zero_point = params->input_zero_point;
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
                const int32_t skipped = rows.first * params->filter_width + columns.first;
                const int32_t corner =
                    (top + rows.first * params->dilation_height) * row_nelem +
                    (left + columns.first * params->dilation_width) * params->input_channels;
                int32_t o = 0;
                for (int32_t c = 0; c < params->input_channels; ++c) {
                    for (int32_t m = 0; m < params->multiplier; ++m, ++o) {
                        const int8_t *row_weights = weights + o * taps + skipped;
                        int32_t at = corner + c;
                        uint32_t sum = (uint32_t)biases[o];
                        for (int32_t ky = rows.first; ky < rows.last; ++ky) {
                            const int8_t *w = row_weights;
                            int32_t tap = at;
                            ARENITE_AS_WRITTEN
                            for (int32_t n = columns.last - columns.first; n > 0; --n) {
                                sum += (uint32_t)((input[tap] - zero_point) * *w++);
                                tap += x_step;
                            }
                            row_weights += params->filter_width;
                            at += y_step;
                        }
                        *target++ = (int8_t)arenite_requantize_wide((int32_t)sum, multipliers[o], shifts[o],
                                                                    params->output_zero_point);
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
