/* Convolution, uint8, NHWC, any filter, in groups; one result at a time. */
#ifndef ARENITE_CONV2D_U8_H
#define ARENITE_CONV2D_U8_H

#include "arenite_fixedpoint.h"
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
    int32_t input_zero_point;
    int32_t multiplier;
    int32_t shift;
    int32_t output_zero_point;
    int32_t clamp_low;
    int32_t clamp_high;
    int32_t once; /* sums are rounded once, else twice */
} arenite_conv2d_u8_params;

/* Weights are [output_channels][filter_height][filter_width][input_channels / groups], less their zero point.
 */
ARENITE_INLINE void arenite_conv2d_u8_core(const arenite_conv2d_u8_params *params, const uint8_t *input,
                                           const int16_t *weights, const int32_t *biases, uint8_t *output) {
    const int32_t zero_point = params->input_zero_point;
    ARENITE_FOR_EACH_RESULT(params, group, row, o, top, left, {
        const uint8_t *const data = input + group;
        const int16_t *const taps = weights + row;
        uint32_t sum = (uint32_t)biases[o];
        ARENITE_FOR_EACH_PRODUCT(params, top, left, x, w,
                                 { sum += (uint32_t)((data[x] - zero_point) * taps[w]); })
        *output++ = arenite_store_u8(sum, params->multiplier, params->shift, params->output_zero_point, 0,
                                     params->once, params->clamp_low, params->clamp_high);
    })
}

ARENITE_SHARED void arenite_conv2d_u8(const arenite_conv2d_u8_params *params, const uint8_t *input,
                                      const int16_t *weights, const int32_t *biases, uint8_t *output) {
    arenite_conv2d_u8_core(params, input, weights, biases, output);
}

#endif
