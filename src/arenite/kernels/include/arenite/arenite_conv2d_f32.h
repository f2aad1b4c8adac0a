/* Convolution, float, NHWC, any filter, in groups: depthwise convolutions and matrix products too. */
#ifndef ARENITE_CONV2D_F32_H
#define ARENITE_CONV2D_F32_H

#include "arenite_grouped.h"
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

/* Weights are [output_channels][filter_height][filter_width][input_channels / groups]; sums are over taps,
 * then channels of a group, in that order. */
ARENITE_INLINE void arenite_conv2d_f32_core(const arenite_conv2d_f32_params *params, const float *input,
                                            const float *weights, const float *biases,
                                            float *output){ARENITE_ROUND_EACH ARENITE_FOR_EACH_RESULT(
    params, group, row, o, top, left,
    {
        const float *const data = input + group;
        const float *const taps = weights + row;
        float sum = 0.0f;
        ARENITE_FOR_EACH_PRODUCT(params, top, left, x, w, { sum += data[x] * taps[w]; })
        sum += biases[o];
        const float bounded = sum < params->clamp_low ? params->clamp_low : sum;
        *output++ = bounded > params->clamp_high ? params->clamp_high : bounded;
    })}

ARENITE_SHARED void arenite_conv2d_f32(const arenite_conv2d_f32_params *params, const float *input,
                                       const float *weights, const float *biases, float *output) {
    arenite_conv2d_f32_core(params, input, weights, biases, output);
}

#endif
