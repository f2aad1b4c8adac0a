#include "arenite_conv2d_grouped_s8.h"

void arenite_conv2d_grouped_s8_entry(const arenite_conv2d_grouped_s8_params *params, const int8_t *input,
                                     const int8_t *weights, const int32_t *biases, const int32_t *multipliers,
                                     const int8_t *shifts, int8_t *output);

void arenite_conv2d_grouped_s8_entry(const arenite_conv2d_grouped_s8_params *params, const int8_t *input,
                                     const int8_t *weights, const int32_t *biases, const int32_t *multipliers,
                                     const int8_t *shifts, int8_t *output) {
    arenite_conv2d_grouped_s8(params, input, weights, biases, multipliers, shifts, output);
}
