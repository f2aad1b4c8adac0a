/* Convolution, float, NHWC, any filter, in groups: depthwise convolutions and matrix products too. */
#ifndef ARENITE_CONV2D_F32_H
#define ARENITE_CONV2D_F32_H

#include "arenite_port.h"

typedef struct {
    int32_t batches;
    int32_t input_height;
    int32_t input_width;
    int32_t input_channels;
    int32_t output_height;
    int32_t output_width;
    int32_t output_channels;
    int32_t groups;
    int32_t filter_height;
    int32_t filter_width;
    int32_t stride_height;
    int32_t stride_width;
    int32_t dilation_height;
    int32_t dilation_width;
    int32_t pad_top;
    int32_t pad_left;
    float clamp_low;
    float clamp_high;
} arenite_conv2d_f32_params;

/* The sum over taps, then channels of a group, in that order: `weights` are one output channel's. */
ARENITE_INLINE float arenite_conv2d_f32_sum(const arenite_conv2d_f32_params *params, const float *group,
                                            const float *weights, int32_t top, int32_t left) {
    ARENITE_ROUND_EACH
    const int32_t channels = params->input_channels / params->groups;
    float sum = 0.0f;
    for (int32_t ky = 0, y = top; ky < params->filter_height; ++ky, y += params->dilation_height) {
        for (int32_t kx = 0, x = left; kx < params->filter_width; ++kx, x += params->dilation_width) {
            if (y >= 0 && y < params->input_height && x >= 0 && x < params->input_width) {
                const float *pixel = group + (y * params->input_width + x) * params->input_channels;
                for (int32_t c = 0; c < channels; ++c) {
                    sum += pixel[c] * weights[c];
                }
            }
            weights += channels;
        }
    }
    return sum;
}

/* Weights are [output_channels][filter_height][filter_width][input_channels / groups]. */
ARENITE_INLINE void arenite_conv2d_f32_core(const arenite_conv2d_f32_params *params, const float *input,
                                            const float *weights, const float *biases, float *output) {
    const int32_t taken = params->input_channels / params->groups;
    const int32_t given = params->output_channels / params->groups;
    const int32_t inner = params->filter_height * params->filter_width * taken;
    const int32_t image_nelem = params->input_height * params->input_width * params->input_channels;
    for (int32_t batch = 0; batch < params->batches; ++batch, input += image_nelem) {
        for (int32_t y = 0; y < params->output_height; ++y) {
            const int32_t top = y * params->stride_height - params->pad_top;
            for (int32_t x = 0; x < params->output_width; ++x) {
                const int32_t left = x * params->stride_width - params->pad_left;
                for (int32_t o = 0; o < params->output_channels; ++o) {
                    const float sum = arenite_conv2d_f32_sum(params, input + o / given * taken,
                                                             weights + o * inner, top, left) +
                                      biases[o];
                    const float bounded = sum < params->clamp_low ? params->clamp_low : sum;
                    *output++ = bounded > params->clamp_high ? params->clamp_high : bounded;
                }
            }
        }
    }
}

ARENITE_SHARED void arenite_conv2d_f32(const arenite_conv2d_f32_params *params, const float *input,
                                       const float *weights, const float *biases, float *output) {
    arenite_conv2d_f32_core(params, input, weights, biases, output);
}

#endif
