/* A layer over time (SVDF), int8, with a state of int8. */
#ifndef ARENITE_SVDF_S8_H
#define ARENITE_SVDF_S8_H

#include "arenite_port.h"
#include "arenite_svdf.h"

typedef arenite_svdf_params arenite_svdf_s8_params;

ARENITE_SVDF_REMEMBER(arenite_svdf_s8_remember, int8_t)

ARENITE_INLINE void arenite_svdf_s8_core(const arenite_svdf_s8_params *params, const int8_t *input,
                                         const int8_t *features, const int32_t *feature_biases,
                                         const int8_t *time, const int32_t *biases, int8_t *state,
                                         int8_t *output) {
    ARENITE_SVDF(params, int8_t, INT8_MIN, INT8_MAX, arenite_svdf_s8_remember, input, features,
                 feature_biases, time, biases, state, output);
}

ARENITE_SHARED void arenite_svdf_s8(const arenite_svdf_s8_params *params, const int8_t *input,
                                    const int8_t *features, const int32_t *feature_biases, const int8_t *time,
                                    const int32_t *biases, int8_t *state, int8_t *output) {
    arenite_svdf_s8_core(params, input, features, feature_biases, time, biases, state, output);
}

#endif
