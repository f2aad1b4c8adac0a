/* Transposed convolution, int16 with int8 weights, NHWC: one result at a time gathers what reaches it. */
#ifndef ARENITE_TRANSPOSE_CONV_S16_H
#define ARENITE_TRANSPOSE_CONV_S16_H

#include "arenite_fixedpoint.h"
#include "arenite_port.h"
#include "arenite_rescale_s64.h"
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
    int32_t clamp_low;
    int32_t clamp_high;
} arenite_transpose_conv_s16_params;

/* Products of int16 and int8 whose sum 32 bits hold. */
#define ARENITE_TRANSPOSE_CONV_S16_CHUNK 504

ARENITE_INLINE int64_t arenite_transpose_conv_s16_tap(const int16_t *pixel, const int8_t *weights,
                                                      int32_t channels) {
    int64_t total = 0;
    for (int32_t left = channels; left > 0; left -= ARENITE_TRANSPOSE_CONV_S16_CHUNK) {
        uint32_t sum = 0;
        for (int32_t n = left < ARENITE_TRANSPOSE_CONV_S16_CHUNK ? left : ARENITE_TRANSPOSE_CONV_S16_CHUNK;
             n > 0; --n) {
            sum += (uint32_t)(*pixel++ * *weights++);
        }
        total += (int32_t)sum;
    }
    return total;
}

/* The sum of one result; `weights` are its channel's, [filter_height][filter_width][channels]. */
ARENITE_INLINE int64_t arenite_transpose_conv_s16_sum(const arenite_transpose_conv_s16_params *params,
                                                      const int16_t *image, const int8_t *weights,
                                                      arenite_transposed_start row,
                                                      arenite_transposed_start column) {
    const int32_t channels = params->input_channels;
    int64_t total = 0;
    for (int32_t ky = row.tap, y = row.at; ky < params->filter_height; ky += params->stride_height, --y) {
        if (y < 0 || y >= params->input_height) {
            continue;
        }
        for (int32_t kx = column.tap, x = column.at; kx < params->filter_width;
             kx += params->stride_width, --x) {
            if (x >= 0 && x < params->input_width) {
                total += arenite_transpose_conv_s16_tap(image + (y * params->input_width + x) * channels,
                                                        weights + (ky * params->filter_width + kx) * channels,
                                                        channels);
            }
        }
    }
    return total;
}

/* Weights are [output_channels][filter_height][filter_width][channels]. */
ARENITE_INLINE void arenite_transpose_conv_s16_core(const arenite_transpose_conv_s16_params *params,
                                                    const int16_t *input, const int8_t *weights,
                                                    const int64_t *biases, const int32_t *multipliers,
                                                    const int8_t *shifts, int16_t *output) {
    const int32_t image_nelem = params->input_height * params->input_width * params->input_channels;
    const int32_t inner = params->filter_height * params->filter_width * params->input_channels;
    for (int32_t batch = 0; batch < params->batches; ++batch, input += image_nelem) {
        arenite_transposed_start row = {params->pad_top % params->stride_height,
                                        params->pad_top / params->stride_height};
        for (int32_t y = 0; y < params->output_height; ++y) {
            arenite_transposed_start column = {params->pad_left % params->stride_width,
                                               params->pad_left / params->stride_width};
            for (int32_t x = 0; x < params->output_width; ++x) {
                for (int32_t o = 0; o < params->output_channels; ++o) {
                    const int64_t sum =
                        arenite_transpose_conv_s16_sum(params, input, weights + o * inner, row, column);
                    *output++ = arenite_store_s64(sum + biases[o], multipliers[o], shifts[o], 1,
                                                  params->clamp_low, params->clamp_high);
                }
                column = arenite_transposed_next(column, params->stride_width);
            }
            row = arenite_transposed_next(row, params->stride_height);
        }
    }
}

ARENITE_SHARED void arenite_transpose_conv_s16(const arenite_transpose_conv_s16_params *params,
                                               const int16_t *input, const int8_t *weights,
                                               const int64_t *biases, const int32_t *multipliers,
                                               const int8_t *shifts, int16_t *output) {
    arenite_transpose_conv_s16_core(params, input, weights, biases, multipliers, shifts, output);
}

#endif
