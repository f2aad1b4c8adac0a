/* A layer over time (SVDF), int8, with a state of int16. */
#ifndef ARENITE_SVDF_S8_S16_H
#define ARENITE_SVDF_S8_S16_H

#include "arenite_port.h"
#include "arenite_svdf.h"

typedef arenite_svdf_params arenite_svdf_s8_s16_params;

ARENITE_SVDF_REMEMBER(arenite_svdf_s8_s16_remember, int16_t)

ARENITE_INLINE void arenite_svdf_s8_s16_core(const arenite_svdf_s8_s16_params *params, const int8_t *input,
                                             const int8_t *features, const int32_t *feature_biases,
                                             const int16_t *time, const int32_t *biases, int16_t *state,
                                             int8_t *output) {
    ARENITE_SVDF(params, int16_t, INT16_MIN, INT16_MAX, arenite_svdf_s8_s16_remember, input, features,
                 feature_biases, time, biases, state, output);
}

ARENITE_SHARED void arenite_svdf_s8_s16(const arenite_svdf_s8_s16_params *params, const int8_t *input,
                                        const int8_t *features, const int32_t *feature_biases,
                                        const int16_t *time, const int32_t *biases, int16_t *state,
                                        int8_t *output) {
    arenite_svdf_s8_s16_core(params, input, features, feature_biases, time, biases, state, output);
}

#endif
