/* Convolution, int8, NHWC, any filter, in groups, without scratch: one result at a time. */
#ifndef ARENITE_CONV2D_GROUPED_S8_H
#define ARENITE_CONV2D_GROUPED_S8_H

#include "arenite_grouped.h"
#include "arenite_port.h"
#include "arenite_requantize.h"

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
    int32_t output_zero_point;
    int32_t clamp_low;
    int32_t clamp_high;
    int32_t narrow; /* sums below 2^30, all shifts in [-31, -1] */
} arenite_conv2d_grouped_s8_params;

/* Weights are [output_channels][filter_height][filter_width][input_channels / groups]; biases are the model's
 * own. */
ARENITE_INLINE void arenite_conv2d_grouped_s8_core(const arenite_conv2d_grouped_s8_params *params,
                                                   const int8_t *input, const int8_t *weights,
                                                   const int32_t *biases, const int32_t *multipliers,
                                                   const int8_t *shifts, int8_t *output) {
    const int32_t zero_point = params->input_zero_point;
    int8_t *target = output;
    ARENITE_FOR_EACH_RESULT(params, group, row, o, top, left, {
        const int8_t *const data = input + group;
        const int8_t *const taps = weights + row;
        uint32_t sum = (uint32_t)biases[o];
        ARENITE_FOR_EACH_PRODUCT(params, top, left, x, w,
                                 { sum += (uint32_t)((data[x] - zero_point) * taps[w]); })
        *target++ =
            arenite_requantize_s8(sum, multipliers[o], shifts[o], params->output_zero_point, params->narrow);
    })
    arenite_clamp_s8(output, (int32_t)(target - output), params->clamp_low, params->clamp_high);
}

ARENITE_SHARED void arenite_conv2d_grouped_s8(const arenite_conv2d_grouped_s8_params *params,
                                              const int8_t *input, const int8_t *weights,
                                              const int32_t *biases, const int32_t *multipliers,
                                              const int8_t *shifts, int8_t *output) {
    arenite_conv2d_grouped_s8_core(params, input, weights, biases, multipliers, shifts, output);
}

#endif
