/* Convolution, int16 with int8 weights, NHWC, any filter, in groups; one result at a time. */
#ifndef ARENITE_CONV2D_S16_H
#define ARENITE_CONV2D_S16_H

#include "arenite_fixedpoint.h"
#include "arenite_grouped.h"
#include "arenite_port.h"
#include "arenite_rescale_s64.h"

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

/* Weights are [output_channels][filter_height][filter_width][input_channels / groups]. */
ARENITE_INLINE void arenite_conv2d_s16_core(const arenite_conv2d_s16_params *params, const int16_t *input,
                                            const int8_t *weights, const int64_t *biases,
                                            const int32_t *multipliers, const int8_t *shifts,
                                            int16_t *output) {
    const int32_t low = params->clamp_low, high = params->clamp_high;
    ARENITE_FOR_EACH_RESULT(params, group, row, o, top, left, {
        const int16_t *const data = input + group;
        const int8_t *const taps = weights + row;
        int64_t total = biases[o];
        if (params->wide) {
            ARENITE_FOR_EACH_PRODUCT(params, top, left, x, w, { total += data[x] * taps[w]; })
        } else {
            uint32_t sum = 0;
            ARENITE_FOR_EACH_PRODUCT(params, top, left, x, w, { sum += (uint32_t)(data[x] * taps[w]); })
            total += (int32_t)sum;
        }
        *output++ = arenite_store_s64(total, multipliers[o], shifts[o], params->once, low, high);
    })
}

ARENITE_SHARED void arenite_conv2d_s16(const arenite_conv2d_s16_params *params, const int16_t *input,
                                       const int8_t *weights, const int64_t *biases,
                                       const int32_t *multipliers, const int8_t *shifts, int16_t *output) {
    arenite_conv2d_s16_core(params, input, weights, biases, multipliers, shifts, output);
}

#endif
