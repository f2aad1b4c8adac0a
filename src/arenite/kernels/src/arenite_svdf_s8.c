#include "arenite_svdf_s8.h"

void arenite_svdf_s8_entry(const arenite_svdf_s8_params *params, const int8_t *input, const int8_t *features,
                           const int32_t *feature_biases, const int8_t *time, const int32_t *biases,
                           int8_t *state, int8_t *output);

void arenite_svdf_s8_entry(const arenite_svdf_s8_params *params, const int8_t *input, const int8_t *features,
                           const int32_t *feature_biases, const int8_t *time, const int32_t *biases,
                           int8_t *state, int8_t *output) {
    arenite_svdf_s8(params, input, features, feature_biases, time, biases, state, output);
}
