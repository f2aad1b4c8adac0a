/* Transposed convolution, int8, NHWC: four output channels at a time. Every result gathers what reaches it:
 * of the filter's taps those that are a whole number of strides away from an input pixel. */
#ifndef ARENITE_TRANSPOSE_CONV_S8_H
#define ARENITE_TRANSPOSE_CONV_S8_H

#include "arenite_port.h"
#include "arenite_requantize.h"
#include "arenite_transposed.h"

typedef struct {
    int32_t batches;
    int32_t input_height;
    int32_t input_width;
    int32_t input_channels;
    int32_t output_height;
    int32_t output_width;
    int32_t output_channels;
    int32_t filter_height;
    int32_t filter_width;
    int32_t stride_height;
    int32_t stride_width;
    int32_t pad_top;
    int32_t pad_left;
    int32_t input_zero_point;
    int32_t output_zero_point;
    int32_t clamp_low;
    int32_t clamp_high;
    int32_t narrow; /* sums below 2^30, all shifts in [-31, -1] */
} arenite_transpose_conv_s8_params;

/* Adds one input pixel times one tap to the sums of four channels. */
ARENITE_INLINE void arenite_transpose_conv_s8_tap(uint32_t *sums, const int8_t *pixel, const int8_t *weights,
                                                  int32_t channels, int32_t zero_point) {
    uint32_t s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3];
    ARENITE_AS_WRITTEN
    for (int32_t c = channels; c > 0; --c) {
        const int32_t value = *pixel++ - zero_point;
        s0 += (uint32_t)(value * weights[0]);
        s1 += (uint32_t)(value * weights[1]);
        s2 += (uint32_t)(value * weights[2]);
        s3 += (uint32_t)(value * weights[3]);
        weights += 4;
    }
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
}

/* The sums of four channels of one result; `weights` are theirs, [filter_height][filter_width][channels][4].
 */
ARENITE_INLINE void arenite_transpose_conv_s8_sums(const arenite_transpose_conv_s8_params *params,
                                                   const int8_t *image, const int8_t *weights,
                                                   arenite_transposed_start row,
                                                   arenite_transposed_start column, uint32_t *sums) {
    const int32_t channels = params->input_channels;
    for (int32_t ky = row.tap, y = row.at; ky < params->filter_height; ky += params->stride_height, --y) {
        if (y < 0 || y >= params->input_height) {
            continue;
        }
        for (int32_t kx = column.tap, x = column.at; kx < params->filter_width;
             kx += params->stride_width, --x) {
            if (x >= 0 && x < params->input_width) {
                arenite_transpose_conv_s8_tap(sums, image + (y * params->input_width + x) * channels,
                                              weights + (ky * params->filter_width + kx) * channels * 4,
                                              channels, params->input_zero_point);
            }
        }
    }
}

/* Weights are packed by four outputs, [ceil(outputs / 4)][filter_height][filter_width][channels][4], with
 * zeros for what is not there. Biases are the model's own, and like multipliers and shifts come in whole
 * fours. */
ARENITE_INLINE void arenite_transpose_conv_s8_core(const arenite_transpose_conv_s8_params *params,
                                                   const int8_t *input, const int8_t *weights,
                                                   const int32_t *biases, const int32_t *multipliers,
                                                   const int8_t *shifts, int8_t *output) {
    const int32_t image_nelem = params->input_height * params->input_width * params->input_channels;
    const int32_t group_nelem = params->filter_height * params->filter_width * params->input_channels * 4;
    const int32_t outputs = params->output_channels;
    int8_t *target = output;
    for (int32_t batch = 0; batch < params->batches; ++batch, input += image_nelem) {
        arenite_transposed_start row = {params->pad_top % params->stride_height,
                                        params->pad_top / params->stride_height};
        for (int32_t y = 0; y < params->output_height; ++y) {
            arenite_transposed_start column = {params->pad_left % params->stride_width,
                                               params->pad_left / params->stride_width};
            for (int32_t x = 0; x < params->output_width; ++x) {
                const int8_t *group = weights;
                for (int32_t o = 0; o < outputs; o += 4, group += group_nelem) {
                    uint32_t sums[4] = {(uint32_t)biases[o], (uint32_t)biases[o + 1], (uint32_t)biases[o + 2],
                                        (uint32_t)biases[o + 3]};
                    arenite_transpose_conv_s8_sums(params, input, group, row, column, sums);
                    for (int32_t i = 0; i < 4 && o + i < outputs; ++i) {
                        *target++ = arenite_requantize_s8(sums[i], multipliers[o + i], shifts[o + i],
                                                          params->output_zero_point, params->narrow);
                    }
                }
                column = arenite_transposed_next(column, params->stride_width);
            }
            row = arenite_transposed_next(row, params->stride_height);
        }
    }
    arenite_clamp_s8(output, (int32_t)(target - output), params->clamp_low, params->clamp_high);
}

ARENITE_SHARED void arenite_transpose_conv_s8(const arenite_transpose_conv_s8_params *params,
                                              const int8_t *input, const int8_t *weights,
                                              const int32_t *biases, const int32_t *multipliers,
                                              const int8_t *shifts, int8_t *output) {
    arenite_transpose_conv_s8_core(params, input, weights, biases, multipliers, shifts, output);
}

#endif
