/* Convolution, uint8 with uint8 weights, each with its zero point, NHWC, any filter, in groups: depthwise
 * convolutions and matrix products too. */
#ifndef ARENITE_CONV2D_U8_H
#define ARENITE_CONV2D_U8_H

#include "arenite_fixedpoint.h"
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
    int32_t input_zero_point;
    int32_t weight_zero_point;
    int32_t multiplier;
    int32_t shift;
    int32_t output_zero_point;
    int32_t clamp_low;
    int32_t clamp_high;
} arenite_conv2d_u8_params;

/* The sum over the taps of one result that lie inside the image; `weights` are one output channel's. The
 * weights' zero point counts once for each input, so the inputs are summed too. */
ARENITE_INLINE uint32_t arenite_conv2d_u8_sum(const arenite_conv2d_u8_params *params, const uint8_t *group,
                                              const uint8_t *weights, int32_t top, int32_t left) {
    const int32_t channels = params->input_channels / params->groups;
    const int32_t zero_point = params->input_zero_point;
    uint32_t products = 0, inputs = 0;
    for (int32_t ky = 0, y = top; ky < params->filter_height; ++ky, y += params->dilation_height) {
        for (int32_t kx = 0, x = left; kx < params->filter_width; ++kx, x += params->dilation_width) {
            if (y >= 0 && y < params->input_height && x >= 0 && x < params->input_width) {
                const uint8_t *pixel = group + (y * params->input_width + x) * params->input_channels;
                for (int32_t c = 0; c < channels; ++c) {
                    const int32_t value = pixel[c] - zero_point;
                    products += (uint32_t)(value * weights[c]);
                    inputs += (uint32_t)value;
                }
            }
            weights += channels;
        }
    }
    return products - inputs * (uint32_t)params->weight_zero_point;
}

/* Weights are [output_channels][filter_height][filter_width][input_channels / groups]. */
ARENITE_INLINE void arenite_conv2d_u8_core(const arenite_conv2d_u8_params *params, const uint8_t *input,
                                           const uint8_t *weights, const int32_t *biases, uint8_t *output) {
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
                    const uint32_t sum = arenite_conv2d_u8_sum(params, input + o / given * taken,
                                                               weights + o * inner, top, left) +
                                         (uint32_t)biases[o];
                    const int32_t scaled =
                        arenite_requantize((int32_t)sum, params->multiplier, params->shift);
                    *output++ = (uint8_t)arenite_clamp(scaled + params->output_zero_point, params->clamp_low,
                                                       params->clamp_high);
                }
            }
        }
    }
}

ARENITE_SHARED void arenite_conv2d_u8(const arenite_conv2d_u8_params *params, const uint8_t *input,
                                      const uint8_t *weights, const int32_t *biases, uint8_t *output) {
    arenite_conv2d_u8_core(params, input, weights, biases, output);
}

#endif
