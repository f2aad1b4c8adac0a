/* What both SVDF kernels share: four features at a time. */
#ifndef ARENITE_SVDF_H
#define ARENITE_SVDF_H

#include "arenite_fixedpoint.h"
#include "arenite_port.h"

typedef struct {
    int32_t batches;
    int32_t inputs;
    int32_t units;
    int32_t rank;
    int32_t memory;
    int32_t feature_multiplier;
    int32_t feature_shift;
    int32_t state_zero_point;
    int32_t multiplier;
    int32_t shift;
    int32_t output_zero_point;
    int32_t clamp_low;
    int32_t clamp_high;
} arenite_svdf_params;

/* Four sums of stored inputs times weights, which are packed [inputs][4]. */
ARENITE_INLINE void arenite_svdf_features(int32_t inputs, const int8_t *input, const int8_t *weights,
                                          const int32_t *biases, uint32_t *sums) {
    uint32_t s0 = (uint32_t)biases[0], s1 = (uint32_t)biases[1];
    uint32_t s2 = (uint32_t)biases[2], s3 = (uint32_t)biases[3];
    for (int32_t n = inputs; n > 0; --n) {
        const int32_t value = *input++;
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

/* A feature as it is stored: saturated first, then offset. */
ARENITE_INLINE int32_t arenite_svdf_newest(const arenite_svdf_params *params, uint32_t sum, int32_t low,
                                           int32_t high) {
    const int32_t scaled =
        arenite_requantize((int32_t)sum, params->feature_multiplier, params->feature_shift);
    return arenite_clamp(scaled, low, high) + params->state_zero_point;
}

ARENITE_INLINE int8_t arenite_svdf_result(const arenite_svdf_params *params, uint32_t sum) {
    const int32_t scaled = arenite_requantize((int32_t)sum, params->multiplier, params->shift);
    return (int8_t)arenite_clamp(scaled + params->output_zero_point, params->clamp_low, params->clamp_high);
}

#endif
