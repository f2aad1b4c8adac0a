/* Depthwise convolution, int8, NHWC, any multiplier. Each channel of a band of rows is first copied into a
 * padded plane, where three neighbouring results at a time share the weights in registers and the inputs
 * between them. */
#ifndef ARENITE_DEPTHWISE_PLANES_S8_H
#define ARENITE_DEPTHWISE_PLANES_S8_H

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
    int32_t band_height; /* output rows per plane */
    int32_t plane_width; /* what a multiple of three results needs */
    int32_t input_zero_point;
    int32_t output_zero_point;
    int32_t clamp_low;
    int32_t clamp_high;
    int32_t narrow; /* sums below 2^30, all shifts in [-31, -1] */
} arenite_depthwise_planes_s8_params;

typedef struct {
    int32_t bias;
    int32_t multiplier;
    int32_t shift;
    int32_t zero_point;
    int32_t narrow;
} arenite_depthwise_planes_s8_channel;

typedef struct {
    uint32_t s0;
    uint32_t s1;
    uint32_t s2;
} arenite_depthwise_planes_s8_sums;

/* Copies `rows` rows of one channel from row `top` on; what lies outside the image becomes the zero point. */
ARENITE_INLINE void arenite_depthwise_planes_s8_fill(const arenite_depthwise_planes_s8_params *params,
                                                     const int8_t *channel, int32_t top, int32_t rows,
                                                     int8_t *plane) {
    const int32_t channels = params->input_channels, width = params->input_width;
    const int32_t before = params->pad_left, plane_width = params->plane_width;
    const int32_t room = plane_width - before;
    const int32_t taken = room < width ? room : width;
    const int8_t zero_point = (int8_t)params->input_zero_point;
    for (int32_t y = top; y < top + rows; ++y) {
        int8_t *const end = plane + plane_width;
        if (y >= 0 && y < params->input_height) {
            const int8_t *source = channel + y * width * channels;
            for (int32_t i = 0; i < before; ++i) {
                *plane++ = zero_point;
            }
            for (int32_t i = 0; i < taken; ++i, source += channels) {
                *plane++ = *source;
            }
        }
        while (plane < end) {
            *plane++ = zero_point;
        }
    }
}

/* Three results of a filter that is three taps wide, without dilation, at a stride that is known when
 * compiled. */
ARENITE_INLINE arenite_depthwise_planes_s8_sums arenite_depthwise_planes_s8_three(
    const int8_t *p, const int8_t *w, int32_t rows, int32_t row_step, int32_t stride) {
    arenite_depthwise_planes_s8_sums sums = {0, 0, 0};
    do {
        const int32_t w0 = w[0], w1 = w[1], w2 = w[2];
        sums.s0 += (uint32_t)(p[0] * w0);
        sums.s0 += (uint32_t)(p[1] * w1);
        sums.s0 += (uint32_t)(p[2] * w2);
        sums.s1 += (uint32_t)(p[stride] * w0);
        sums.s1 += (uint32_t)(p[stride + 1] * w1);
        sums.s1 += (uint32_t)(p[stride + 2] * w2);
        sums.s2 += (uint32_t)(p[2 * stride] * w0);
        sums.s2 += (uint32_t)(p[2 * stride + 1] * w1);
        sums.s2 += (uint32_t)(p[2 * stride + 2] * w2);
        w += 3;
        p += row_step;
    } while (--rows > 0);
    return sums;
}

/* Three results of any filter. */
ARENITE_INLINE arenite_depthwise_planes_s8_sums arenite_depthwise_planes_s8_any(
    const arenite_depthwise_planes_s8_params *params, const int8_t *p, const int8_t *w, int32_t row_step) {
    arenite_depthwise_planes_s8_sums sums = {0, 0, 0};
    const int32_t stride = params->stride_width, dilation = params->dilation_width;
    for (int32_t ky = 0; ky < params->filter_height; ++ky) {
        const int8_t *tap = p;
        for (int32_t kx = params->filter_width; kx > 0; --kx) {
            const int32_t weight = *w++;
            sums.s0 += (uint32_t)(tap[0] * weight);
            sums.s1 += (uint32_t)(tap[stride] * weight);
            sums.s2 += (uint32_t)(tap[2 * stride] * weight);
            tap += dilation;
        }
        p += row_step;
    }
    return sums;
}

ARENITE_INLINE int8_t arenite_depthwise_planes_s8_result(const arenite_depthwise_planes_s8_channel *channel,
                                                         uint32_t sum) {
    return arenite_requantize_s8(sum + (uint32_t)channel->bias, channel->multiplier, channel->shift,
                                 channel->zero_point, channel->narrow);
}

/* One channel's results of a band: rows of `output`, whose elements are `step` apart. */
ARENITE_INLINE void arenite_depthwise_planes_s8_band(const arenite_depthwise_planes_s8_params *params,
                                                     const arenite_depthwise_planes_s8_channel *channel,
                                                     const int8_t *plane, const int8_t *weights, int32_t rows,
                                                     int32_t step, int8_t *output) {
    const int32_t row_step = params->plane_width * params->dilation_height;
    const int32_t plane_step = params->plane_width * params->stride_height;
    const int32_t height = params->filter_height, stride = params->stride_width;
    const int32_t three = params->filter_width == 3 && params->dilation_width == 1;
    for (; rows > 0; --rows, plane += plane_step) {
        const int8_t *p = plane;
        for (int32_t left = params->output_width; left > 0; left -= 3, p += 3 * stride) {
            const arenite_depthwise_planes_s8_sums sums =
                three && stride == 1
                    ? arenite_depthwise_planes_s8_three(p, weights, height, row_step, 1)
                    : (three && stride == 2
                           ? arenite_depthwise_planes_s8_three(p, weights, height, row_step, 2)
                           : arenite_depthwise_planes_s8_any(params, p, weights, row_step));
            *output = arenite_depthwise_planes_s8_result(channel, sums.s0);
            output += step;
            if (left > 1) {
                *output = arenite_depthwise_planes_s8_result(channel, sums.s1);
                output += step;
            }
            if (left > 2) {
                *output = arenite_depthwise_planes_s8_result(channel, sums.s2);
                output += step;
            }
        }
    }
}

/* Weights are [channels * multiplier][filter_height][filter_width]; biases contain -zero_point *
 * sum(weights). */
ARENITE_INLINE void arenite_depthwise_planes_s8_core(const arenite_depthwise_planes_s8_params *params,
                                                     const int8_t *input, const int8_t *weights,
                                                     const int32_t *biases, const int32_t *multipliers,
                                                     const int8_t *shifts, int8_t *output, int8_t *plane) {
    const int32_t image_nelem = params->input_height * params->input_width * params->input_channels;
    const int32_t taps = params->filter_height * params->filter_width;
    const int32_t outputs = params->input_channels * params->multiplier;
    const int32_t row_nelem = outputs * params->output_width;
    const int32_t reach = (params->filter_height - 1) * params->dilation_height + 1;
    int8_t *target = output;
    for (int32_t batch = 0; batch < params->batches; ++batch, input += image_nelem) {
        for (int32_t y = 0; y < params->output_height; y += params->band_height) {
            const int32_t left = params->output_height - y;
            const int32_t rows = left < params->band_height ? left : params->band_height;
            int32_t o = 0;
            for (int32_t c = 0; c < params->input_channels; ++c) {
                arenite_depthwise_planes_s8_fill(params, input + c,
                                                 y * params->stride_height - params->pad_top,
                                                 (rows - 1) * params->stride_height + reach, plane);
                for (int32_t m = 0; m < params->multiplier; ++m, ++o) {
                    const arenite_depthwise_planes_s8_channel channel = {
                        biases[o], multipliers[o], shifts[o], params->output_zero_point, params->narrow,
                    };
                    arenite_depthwise_planes_s8_band(params, &channel, plane, weights + o * taps, rows,
                                                     outputs, target + o);
                }
            }
            target += rows * row_nelem;
        }
    }
    arenite_clamp_s8(output, (int32_t)(target - output), params->clamp_low, params->clamp_high);
}

ARENITE_SHARED void arenite_depthwise_planes_s8(const arenite_depthwise_planes_s8_params *params,
                                                const int8_t *input, const int8_t *weights,
                                                const int32_t *biases, const int32_t *multipliers,
                                                const int8_t *shifts, int8_t *output, int8_t *plane) {
    arenite_depthwise_planes_s8_core(params, input, weights, biases, multipliers, shifts, output, plane);
}

#endif
