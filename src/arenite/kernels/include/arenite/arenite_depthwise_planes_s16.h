/* Depthwise convolution, int16 with int8 weights, NHWC, any multiplier. */
#ifndef ARENITE_DEPTHWISE_PLANES_S16_H
#define ARENITE_DEPTHWISE_PLANES_S16_H

#include "arenite_fixedpoint.h"
#include "arenite_planes.h"
#include "arenite_port.h"
#include "arenite_rescale_s64.h"

typedef arenite_planes_params arenite_depthwise_planes_s16_params;

/* Apart, so that each has all registers to itself. */
ARENITE_SHARED void arenite_depthwise_planes_s16_3x3_1(const arenite_planes_params *params,
                                                       const arenite_planes_job *job, const int16_t *plane,
                                                       void *output, int32_t at) {
    arenite_planes_channel(params, job, plane, output, at, 1, 1);
}

ARENITE_SHARED void arenite_depthwise_planes_s16_3x3_2(const arenite_planes_params *params,
                                                       const arenite_planes_job *job, const int16_t *plane,
                                                       void *output, int32_t at) {
    arenite_planes_channel(params, job, plane, output, at, 1, 2);
}

ARENITE_SHARED void arenite_depthwise_planes_s16_any(const arenite_planes_params *params,
                                                     const arenite_planes_job *job, const int16_t *plane,
                                                     void *output, int32_t at) {
    arenite_planes_channel(params, job, plane, output, at, 1, 0);
}

ARENITE_INLINE void arenite_depthwise_planes_s16_channel(const arenite_planes_params *params,
                                                         const arenite_planes_job *job, const int16_t *plane,
                                                         void *output, int32_t at) {
    if (!arenite_planes_are_small(params)) {
        arenite_depthwise_planes_s16_any(params, job, plane, output, at);
    } else if (params->stride_width == 1) {
        arenite_depthwise_planes_s16_3x3_1(params, job, plane, output, at);
    } else {
        arenite_depthwise_planes_s16_3x3_2(params, job, plane, output, at);
    }
}

/* Weights are [channels * multiplier][filter_height][filter_width], and sums fit 32 bits, or wrap there. */
ARENITE_INLINE void arenite_depthwise_planes_s16_core(const arenite_depthwise_planes_s16_params *params,
                                                      const int16_t *input, const int16_t *weights,
                                                      const int64_t *biases, const int32_t *multipliers,
                                                      const int8_t *shifts, int16_t *output, int16_t *plane) {
    ARENITE_PLANES(params, int16_t, input, weights, biases, multipliers, shifts, output, plane,
                   arenite_depthwise_planes_s16_channel);
}

ARENITE_SHARED void arenite_depthwise_planes_s16(const arenite_depthwise_planes_s16_params *params,
                                                 const int16_t *input, const int16_t *weights,
                                                 const int64_t *biases, const int32_t *multipliers,
                                                 const int8_t *shifts, int16_t *output, int16_t *plane) {
    arenite_depthwise_planes_s16_core(params, input, weights, biases, multipliers, shifts, output, plane);
}

#endif
