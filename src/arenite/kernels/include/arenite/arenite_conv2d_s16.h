/* Convolution, int16 with int8 weights, NHWC, any filter, in groups: depthwise convolutions and matrix
 * products too. */
#ifndef ARENITE_CONV2D_S16_H
#define ARENITE_CONV2D_S16_H

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
    int32_t clamp_low;
    int32_t clamp_high;
    int32_t once; /* sums of 64 bits are rounded once, by multipliers of 15 bits; else of 32 bits, twice */
    int32_t wide; /* sums of products may leave 32 bits */
} arenite_conv2d_s16_params;

/* The sum over the taps of one result that lie inside the image; `weights` are one output channel's. */
ARENITE_INLINE int64_t arenite_conv2d_s16_sum(const arenite_conv2d_s16_params *params, const int16_t *group,
                                              const int8_t *weights, int32_t top, int32_t left) {
    const int32_t channels = params->input_channels / params->groups;
    int64_t total = 0;
    uint32_t sum = 0;
    for (int32_t ky = 0, y = top; ky < params->filter_height; ++ky, y += params->dilation_height) {
        for (int32_t kx = 0, x = left; kx < params->filter_width; ++kx, x += params->dilation_width) {
            if (y >= 0 && y < params->input_height && x >= 0 && x < params->input_width) {
                const int16_t *pixel = group + (y * params->input_width + x) * params->input_channels;
                if (params->wide) {
                    for (int32_t c = 0; c < channels; ++c) {
                        total += (int64_t)(pixel[c] * weights[c]);
                    }
                } else {
                    for (int32_t c = 0; c < channels; ++c) {
                        sum += (uint32_t)(pixel[c] * weights[c]);
                    }
                }
            }
            weights += channels;
        }
    }
    return params->wide ? total : (int64_t)(int32_t)sum;
}

/* A sum of up to 48 bits times multiplier * 2^(shift - 15), halves upwards; what leaves 32 bits is dropped.
 */
ARENITE_INLINE int32_t arenite_conv2d_s16_rescale(int64_t sum, int32_t multiplier, int32_t shift) {
    const int32_t right = 15 - shift;
    return (int32_t)(uint32_t)((sum * multiplier + ((int64_t)1 << (right - 1))) >> right);
}

/* Weights are [output_channels][filter_height][filter_width][input_channels / groups]. */
ARENITE_INLINE void arenite_conv2d_s16_core(const arenite_conv2d_s16_params *params, const int16_t *input,
                                            const int8_t *weights, const int64_t *biases,
                                            const int32_t *multipliers, const int8_t *shifts,
                                            int16_t *output) {
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
                    const int64_t sum = arenite_conv2d_s16_sum(params, input + o / given * taken,
                                                               weights + o * inner, top, left) +
                                        biases[o];
                    const int32_t scaled =
                        params->once ? arenite_conv2d_s16_rescale(sum, multipliers[o], shifts[o])
                                     : arenite_requantize((int32_t)(uint32_t)sum, multipliers[o], shifts[o]);
                    *output++ = (int16_t)arenite_clamp(scaled, params->clamp_low, params->clamp_high);
                }
            }
        }
    }
}

ARENITE_SHARED void arenite_conv2d_s16(const arenite_conv2d_s16_params *params, const int16_t *input,
                                       const int8_t *weights, const int64_t *biases,
                                       const int32_t *multipliers, const int8_t *shifts, int16_t *output) {
    arenite_conv2d_s16_core(params, input, weights, biases, multipliers, shifts, output);
}

#endif
