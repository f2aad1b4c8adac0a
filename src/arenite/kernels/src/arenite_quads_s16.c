#include "arenite_quads_s16.h"

void arenite_quads_s16_entry(const arenite_quads_s16_params *params, const int16_t *input,
                             const int8_t *weights, const int64_t *biases, const int32_t *multipliers,
                             const int8_t *shifts, int16_t *output, int16_t *patch);

void arenite_quads_s16_entry(const arenite_quads_s16_params *params, const int16_t *input,
                             const int8_t *weights, const int64_t *biases, const int32_t *multipliers,
                             const int8_t *shifts, int16_t *output, int16_t *patch) {
    arenite_quads_s16(params, input, weights, biases, multipliers, shifts, output, patch);
}
