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

/* The sum over the taps of one result that lie inside the image; `weights` are the channel's. */
ARENITE_INLINE uint32_t arenite_depthwise_conv2d_s8_sum(const arenite_depthwise_conv2d_s8_params *params,
                                                        const int8_t *plane, const int8_t *weights,
                                                        int32_t top, int32_t left) {
    const int32_t zero_point = params->input_zero_point, channels = params->input_channels;
    uint32_t sum = 0;
    for (int32_t ky = 0, y = top; ky < params->filter_height; ++ky, y += params->dilation_height) {
        if (y >= 0 && y < params->input_height) {
            const int8_t *row = plane + y * params->input_width * channels;
            for (int32_t kx = 0, x = left; kx < params->filter_width; ++kx, x += params->dilation_width) {
                if (x >= 0 && x < params->input_width) {
                    sum += (uint32_t)((row[x * channels] - zero_point) * weights[kx]);
                }
            }
        }
        weights += params->filter_width;
    }
    return sum;
}

/* Weights are [channels * multiplier][filter_height][filter_width]; biases are the model's own. */
ARENITE_INLINE void arenite_depthwise_conv2d_s8_core(const arenite_depthwise_conv2d_s8_params *params,
                                                     const int8_t *input, const int8_t *weights,
                                                     const int32_t *biases, const int32_t *multipliers,
                                                     const int8_t *shifts, int8_t *output) {
    const int32_t image_nelem = params->input_height * params->input_width * params->input_channels;
    const int32_t taps = params->filter_height * params->filter_width;
    int8_t *target = output;
    for (int32_t batch = 0; batch < params->batches; ++batch, input += image_nelem) {
        for (int32_t y = 0; y < params->output_height; ++y) {
            const int32_t top = y * params->stride_height - params->pad_top;
            for (int32_t x = 0; x < params->output_width; ++x) {
                const int32_t left = x * params->stride_width - params->pad_left;
                int32_t o = 0;
                for (int32_t c = 0; c < params->input_channels; ++c) {
                    for (int32_t m = 0; m < params->multiplier; ++m, ++o) {
                        const uint32_t sum =
                            arenite_depthwise_conv2d_s8_sum(params, input + c, weights + o * taps, top, left);
                        *target++ = (int8_t)arenite_requantize_wide((int32_t)(sum + (uint32_t)biases[o]),
                                                                    multipliers[o], shifts[o],
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
