#include "arenite_quads_u8.h"

void arenite_quads_u8_entry(const arenite_quads_u8_params *params, const uint8_t *input,
                            const int8_t *weights, const int32_t *biases, const int32_t *multipliers,
                            const int8_t *shifts, uint8_t *output, uint8_t *patch);

void arenite_quads_u8_entry(const arenite_quads_u8_params *params, const uint8_t *input,
                            const int8_t *weights, const int32_t *biases, const int32_t *multipliers,
                            const int8_t *shifts, uint8_t *output, uint8_t *patch) {
    arenite_quads_u8(params, input, weights, biases, multipliers, shifts, output, patch);
}
