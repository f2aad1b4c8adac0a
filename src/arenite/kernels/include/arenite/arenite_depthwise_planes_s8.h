/* Depthwise convolution, int8, NHWC, any multiplier. Each channel of a band of rows is first copied into a
 * padded plane, where three neighbouring results at a time share the weights in registers and the inputs
 * between them. */
#ifndef ARENITE_DEPTHWISE_PLANES_S8_H
#define ARENITE_DEPTHWISE_PLANES_S8_H

#include "arenite_port.h"
#include "arenite_requantize.h"
#include "arenite_three.h"

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

/* One output channel of one band. */
typedef struct {
    const int8_t *weights;
    int32_t bias;
    int32_t multiplier;
    int32_t right; /* -shift - 1 */
    int32_t nudge; /* 2 * zero_point + 1 */
    int32_t narrow;
    int32_t rows;
    int32_t width;
    int32_t plane_step;  /* from one output row's inputs to the next one's */
    int32_t tap_step;    /* from one filter row's inputs to the next one's */
    int32_t output_step; /* from one result to the next */
} arenite_depthwise_planes_s8_job;

/* A filter of 3x3 taps side by side, at a stride that is known when compiled; sums are narrow. */
ARENITE_INLINE void arenite_depthwise_planes_s8_3x3(const arenite_depthwise_planes_s8_job *job,
                                                    const int8_t *plane, int8_t *output, int32_t stride) {
    const int8_t *const w = job->weights;
    const int32_t tap_step = job->tap_step, output_step = job->output_step;
    for (int32_t rows = job->rows; rows > 0; --rows) {
        const int8_t *p = plane;
        ARENITE_AS_WRITTEN
        for (int32_t left = job->width; left > 0; left -= 3) {
            const int8_t *q = p;
            uint32_t s0 = (uint32_t)job->bias, s1 = s0, s2 = s0;
            ARENITE_ADD_THREE(q, w, stride);
            q += tap_step;
            ARENITE_ADD_THREE(q, w + 3, stride);
            q += tap_step;
            ARENITE_ADD_THREE(q, w + 6, stride);
            const int32_t multiplier = job->multiplier, right = job->right, nudge = job->nudge;
            *output = (int8_t)arenite_requantize_narrow((int32_t)s0, multiplier, right, nudge);
            output += output_step;
            if (left > 1) {
                *output = (int8_t)arenite_requantize_narrow((int32_t)s1, multiplier, right, nudge);
                output += output_step;
            }
            if (left > 2) {
                *output = (int8_t)arenite_requantize_narrow((int32_t)s2, multiplier, right, nudge);
                output += output_step;
            }
            p += 3 * stride;
            ARENITE_OPAQUE(p);
            ARENITE_OPAQUE(output);
        }
        plane += job->plane_step;
    }
}

/* Apart, so that each has all registers to itself. */
ARENITE_SHARED void arenite_depthwise_planes_s8_3x3_1(const arenite_depthwise_planes_s8_job *job,
                                                      const int8_t *plane, int8_t *output) {
    arenite_depthwise_planes_s8_3x3(job, plane, output, 1);
}

ARENITE_SHARED void arenite_depthwise_planes_s8_3x3_2(const arenite_depthwise_planes_s8_job *job,
                                                      const int8_t *plane, int8_t *output) {
    arenite_depthwise_planes_s8_3x3(job, plane, output, 2);
}

/* Any filter. */
ARENITE_SHARED void arenite_depthwise_planes_s8_any(const arenite_depthwise_planes_s8_params *params,
                                                    const arenite_depthwise_planes_s8_job *job,
                                                    const int8_t *plane, int8_t *output) {
    const int32_t stride = params->stride_width, dilation = params->dilation_width;
    for (int32_t rows = job->rows; rows > 0; --rows) {
        const int8_t *p = plane;
        for (int32_t left = job->width; left > 0; left -= 3) {
            uint32_t sums[3] = {(uint32_t)job->bias, (uint32_t)job->bias, (uint32_t)job->bias};
            const int8_t *w = job->weights, *first = p;
            for (int32_t ky = params->filter_height; ky > 0; --ky) {
                const int8_t *tap = first;
                for (int32_t kx = params->filter_width; kx > 0; --kx) {
                    const int32_t weight = *w++;
                    sums[0] += (uint32_t)(tap[0] * weight);
                    sums[1] += (uint32_t)(tap[stride] * weight);
                    sums[2] += (uint32_t)(tap[2 * stride] * weight);
                    tap += dilation;
                }
                first += job->tap_step;
            }
            for (int32_t i = 0; i < 3 && i < left; ++i) {
                *output = arenite_requantize_s8(sums[i], job->multiplier, -job->right - 1, job->nudge >> 1,
                                                job->narrow);
                output += job->output_step;
            }
            p += 3 * stride;
        }
        plane += job->plane_step;
    }
}

/* The part of a band's planes that lies inside the image. */
typedef struct {
    int32_t first; /* in the plane */
    int32_t rows;
    int32_t columns;
} arenite_depthwise_planes_s8_inside;

/* Fills the plane with the zero point; the part of it that channels are copied into. */
ARENITE_INLINE arenite_depthwise_planes_s8_inside arenite_depthwise_planes_s8_clear(
    const arenite_depthwise_planes_s8_params *params, int32_t top, int32_t rows, int8_t *plane) {
    const int32_t width = params->plane_width, room = width - params->pad_left;
    const int32_t bottom = top + rows < params->input_height ? top + rows : params->input_height;
    const int32_t above = top < 0 ? -top : 0;
    const arenite_depthwise_planes_s8_inside inside = {
        above * width + params->pad_left,
        bottom - (top + above),
        room < params->input_width ? room : params->input_width,
    };
    for (int32_t i = 0; i < rows * width; ++i) {
        plane[i] = (int8_t)params->input_zero_point;
    }
    return inside;
}

/* Copies one channel. */
ARENITE_INLINE void arenite_depthwise_planes_s8_copy(const arenite_depthwise_planes_s8_params *params,
                                                     const arenite_depthwise_planes_s8_inside *inside,
                                                     const int8_t *source, int8_t *plane) {
    const int32_t channels = params->input_channels, columns = inside->columns;
    const int32_t source_step = (params->input_width - columns) * channels;
    const int32_t plane_step = params->plane_width - columns;
    int8_t *target = plane + inside->first;
    for (int32_t rows = inside->rows; rows > 0; --rows) {
        int32_t left = columns;
        ARENITE_AS_WRITTEN
        for (; left >= 2; left -= 2) {
            const int8_t first = source[0], second = source[channels];
            target[0] = first;
            target[1] = second;
            target += 2;
            source += 2 * channels;
            ARENITE_OPAQUE(source);
        }
        if (left > 0) {
            *target++ = *source;
            source += channels;
        }
        source += source_step;
        target += plane_step;
    }
}

/* Weights are [channels * multiplier][filter_height][filter_width]; biases contain -zero_point *
 * sum(weights). */
ARENITE_INLINE void arenite_depthwise_planes_s8_core(const arenite_depthwise_planes_s8_params *params,
                                                     const int8_t *input, const int8_t *weights,
                                                     const int32_t *biases, const int32_t *multipliers,
                                                     const int8_t *shifts, int8_t *output, int8_t *plane) {
    const int32_t row_nelem = params->input_width * params->input_channels;
    const int32_t taps = params->filter_height * params->filter_width;
    const int32_t outputs = params->input_channels * params->multiplier;
    const int32_t reach = (params->filter_height - 1) * params->dilation_height + 1;
    const int32_t small = params->narrow && params->filter_height == 3 && params->filter_width == 3 &&
                          params->dilation_width == 1 && params->stride_width <= 2;
    arenite_depthwise_planes_s8_job job;
    job.nudge = 2 * params->output_zero_point + 1;
    job.narrow = params->narrow;
    job.width = params->output_width;
    job.plane_step = params->plane_width * params->stride_height;
    job.tap_step = params->plane_width * params->dilation_height;
    job.output_step = outputs;
    int8_t *target = output;
    for (int32_t batch = 0; batch < params->batches; ++batch) {
        for (int32_t y = 0; y < params->output_height; y += params->band_height) {
            const int32_t left = params->output_height - y;
            const int32_t top = y * params->stride_height - params->pad_top;
            job.rows = left < params->band_height ? left : params->band_height;
            job.weights = weights;
            const arenite_depthwise_planes_s8_inside inside = arenite_depthwise_planes_s8_clear(
                params, top, (job.rows - 1) * params->stride_height + reach, plane);
            const int8_t *source = input + (top < 0 ? 0 : top) * row_nelem;
            int32_t o = 0;
            for (int32_t c = 0; c < params->input_channels; ++c) {
                arenite_depthwise_planes_s8_copy(params, &inside, source + c, plane);
                for (int32_t m = 0; m < params->multiplier; ++m, ++o, job.weights += taps) {
                    job.bias = biases[o];
                    job.multiplier = multipliers[o];
                    job.right = -shifts[o] - 1;
                    if (small && params->stride_width == 1) {
                        arenite_depthwise_planes_s8_3x3_1(&job, plane, target + o);
                    } else if (small) {
                        arenite_depthwise_planes_s8_3x3_2(&job, plane, target + o);
                    } else {
                        arenite_depthwise_planes_s8_any(params, &job, plane, target + o);
                    }
                }
            }
            target += job.rows * outputs * params->output_width;
        }
        input += row_nelem * params->input_height;
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
