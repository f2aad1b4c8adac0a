#include "arenite_conv2d_u8.h"

void arenite_conv2d_u8_entry(const arenite_conv2d_u8_params *params, const uint8_t *input,
                             const int16_t *weights, const int32_t *biases, uint8_t *output);

void arenite_conv2d_u8_entry(const arenite_conv2d_u8_params *params, const uint8_t *input,
                             const int16_t *weights, const int32_t *biases, uint8_t *output) {
    arenite_conv2d_u8(params, input, weights, biases, output);
}
