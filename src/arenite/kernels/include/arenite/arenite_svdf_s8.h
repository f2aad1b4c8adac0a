/* A layer over time (SVDF), int8, with a state of int8. */
#ifndef ARENITE_SVDF_S8_H
#define ARENITE_SVDF_S8_H

#include "arenite_port.h"
#include "arenite_svdf.h"

typedef arenite_svdf_params arenite_svdf_s8_params;

/* The oldest feature of a filter makes room for the newest; returns the products with the weights of time. */
ARENITE_INLINE uint32_t arenite_svdf_s8_time(int32_t memory, int8_t *past, int8_t newest,
                                             const int8_t *weights) {
    uint32_t sum = 0;
    for (int32_t i = 0; i + 1 < memory; ++i) {
        const int8_t feature = past[i + 1];
        past[i] = feature;
        sum += (uint32_t)(feature * weights[i]);
    }
    past[memory - 1] = newest;
    return sum + (uint32_t)(newest * weights[memory - 1]);
}

/* Features are packed by four, [ceil(filters / 4)][inputs][4], with zeros for what is not there, and their
 * biases, which contain -zero_point * sum(weights), come in whole fours. `time` is [filters][memory]; biases
 * contain -state_zero_point * sum(time). The state is [batches][filters][memory]. */
ARENITE_INLINE void arenite_svdf_s8_core(const arenite_svdf_s8_params *params, const int8_t *input,
                                         const int8_t *features, const int32_t *feature_biases,
                                         const int8_t *time, const int32_t *biases, int8_t *state,
                                         int8_t *output) {
    const int32_t filters = params->units * params->rank, memory = params->memory;
    for (int32_t batch = 0; batch < params->batches; ++batch, input += params->inputs) {
        const int8_t *weights = features;
        const int8_t *row = time;
        const int32_t *bias = biases;
        int32_t left = params->rank;
        uint32_t sum = (uint32_t)*bias++;
        for (int32_t filter = 0; filter < filters; filter += 4, weights += 4 * params->inputs) {
            uint32_t sums[4];
            arenite_svdf_features(params->inputs, input, weights, feature_biases + filter, sums);
            for (int32_t i = 0; i < 4 && filter + i < filters; ++i) {
                const int8_t newest = (int8_t)arenite_svdf_newest(params, sums[i], INT8_MIN, INT8_MAX);
                sum += arenite_svdf_s8_time(memory, state, newest, row);
                state += memory;
                row += memory;
                if (--left == 0) {
                    *output++ = arenite_svdf_result(params, sum);
                    left = params->rank;
                    sum = filter + i + 1 < filters ? (uint32_t)*bias++ : 0;
                }
            }
        }
    }
}

ARENITE_SHARED void arenite_svdf_s8(const arenite_svdf_s8_params *params, const int8_t *input,
                                    const int8_t *features, const int32_t *feature_biases, const int8_t *time,
                                    const int32_t *biases, int8_t *state, int8_t *output) {
    arenite_svdf_s8_core(params, input, features, feature_biases, time, biases, state, output);
}

#endif
