/* Depthwise convolution, uint8, NHWC, any multiplier. */
#ifndef ARENITE_DEPTHWISE_PLANES_U8_H
#define ARENITE_DEPTHWISE_PLANES_U8_H

#include "arenite_fixedpoint.h"
#include "arenite_planes.h"
#include "arenite_port.h"
#include "arenite_rescale_s64.h"

typedef arenite_planes_params arenite_depthwise_planes_u8_params;

/* Apart, so that each has all registers to itself. */
ARENITE_SHARED void arenite_depthwise_planes_u8_3x3_1(const arenite_planes_params *params,
                                                      const arenite_planes_job *job, const int16_t *plane,
                                                      void *output, int32_t at) {
    arenite_planes_channel(params, job, plane, output, at, 0, 1);
}

ARENITE_SHARED void arenite_depthwise_planes_u8_3x3_2(const arenite_planes_params *params,
                                                      const arenite_planes_job *job, const int16_t *plane,
                                                      void *output, int32_t at) {
    arenite_planes_channel(params, job, plane, output, at, 0, 2);
}

ARENITE_SHARED void arenite_depthwise_planes_u8_any(const arenite_planes_params *params,
                                                    const arenite_planes_job *job, const int16_t *plane,
                                                    void *output, int32_t at) {
    arenite_planes_channel(params, job, plane, output, at, 0, 0);
}

ARENITE_INLINE void arenite_depthwise_planes_u8_channel(const arenite_planes_params *params,
                                                        const arenite_planes_job *job, const int16_t *plane,
                                                        void *output, int32_t at) {
    if (!arenite_planes_are_small(params)) {
        arenite_depthwise_planes_u8_any(params, job, plane, output, at);
    } else if (params->stride_width == 1) {
        arenite_depthwise_planes_u8_3x3_1(params, job, plane, output, at);
    } else {
        arenite_depthwise_planes_u8_3x3_2(params, job, plane, output, at);
    }
}

/* Weights are [channels * multiplier][filter_height][filter_width], less their zero point. */
ARENITE_INLINE void arenite_depthwise_planes_u8_core(const arenite_depthwise_planes_u8_params *params,
                                                     const uint8_t *input, const int16_t *weights,
                                                     const int32_t *biases, const int32_t *multipliers,
                                                     const int8_t *shifts, uint8_t *output, int16_t *plane) {
    ARENITE_PLANES(params, uint8_t, input, weights, biases, multipliers, shifts, output, plane,
                   arenite_depthwise_planes_u8_channel);
}

ARENITE_SHARED void arenite_depthwise_planes_u8(const arenite_depthwise_planes_u8_params *params,
                                                const uint8_t *input, const int16_t *weights,
                                                const int32_t *biases, const int32_t *multipliers,
                                                const int8_t *shifts, uint8_t *output, int16_t *plane) {
    arenite_depthwise_planes_u8_core(params, input, weights, biases, multipliers, shifts, output, plane);
}

#endif
