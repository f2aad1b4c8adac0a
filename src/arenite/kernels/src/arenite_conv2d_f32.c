#include "arenite_conv2d_f32.h"

void arenite_conv2d_f32_entry(const arenite_conv2d_f32_params *params, const float *input,
                              const float *weights, const float *biases, float *output);

void arenite_conv2d_f32_entry(const arenite_conv2d_f32_params *params, const float *input,
                              const float *weights, const float *biases, float *output) {
    arenite_conv2d_f32(params, input, weights, biases, output);
}
