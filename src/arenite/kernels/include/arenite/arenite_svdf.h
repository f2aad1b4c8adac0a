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

/* The oldest feature of a filter makes room for the newest; returns the products with the weights of time. */
#define ARENITE_SVDF_REMEMBER(symbol, type)                                                                  \
    ARENITE_INLINE uint32_t symbol(int32_t memory, type *past, type newest, const type *weights) {           \
        uint32_t sum = 0;                                                                                    \
        for (int32_t i = 0; i + 1 < memory; ++i) {                                                           \
            const type feature = past[i + 1];                                                                \
            past[i] = feature;                                                                               \
            sum += (uint32_t)(feature * weights[i]);                                                         \
        }                                                                                                    \
        past[memory - 1] = newest;                                                                           \
        return sum + (uint32_t)(newest * weights[memory - 1]);                                               \
    }

/* A layer whose state and weights of time are of a type, for which `remember` is the function above.
 *
 * Features are packed by four, [ceil(filters / 4)][inputs][4], with zeros for what is not there, and their
 * biases, which contain -zero_point * sum(weights), come in whole fours. `time` is [filters][memory]; biases
 * contain -state_zero_point * sum(time). The state is [batches][filters][memory]. */
#define ARENITE_SVDF(params, type, low, high, remember, input, features, feature_biases, time, biases,       \
                     state, output)                                                                          \
    do {                                                                                                     \
        const int32_t filters = (params)->units * (params)->rank, memory = (params)->memory;                 \
        for (int32_t batch = 0; batch < (params)->batches; ++batch, (input) += (params)->inputs) {           \
            const int8_t *weights = (features);                                                              \
            const type *row = (time);                                                                        \
            const int32_t *bias = (biases);                                                                  \
            int32_t left = (params)->rank;                                                                   \
            uint32_t sum = (uint32_t)*bias++;                                                                \
            for (int32_t filter = 0; filter < filters; filter += 4, weights += 4 * (params)->inputs) {       \
                uint32_t sums[4];                                                                            \
                arenite_svdf_features((params)->inputs, input, weights, (feature_biases) + filter, sums);    \
                for (int32_t i = 0; i < 4 && filter + i < filters; ++i) {                                    \
                    const type newest = (type)arenite_svdf_newest(params, sums[i], low, high);               \
                    sum += remember(memory, state, newest, row);                                             \
                    (state) += memory;                                                                       \
                    row += memory;                                                                           \
                    if (--left == 0) {                                                                       \
                        *(output)++ = arenite_svdf_result(params, sum);                                      \
                        left = (params)->rank;                                                               \
                        sum = filter + i + 1 < filters ? (uint32_t)*bias++ : 0;                              \
                    }                                                                                        \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
    } while (0)

#endif
