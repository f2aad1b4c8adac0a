#include "arenite_arg_max_f32.h"

void arenite_arg_max_f32_entry(const arenite_arg_max_f32_params *params, const float *input, uint8_t *output);

void arenite_arg_max_f32_entry(const arenite_arg_max_f32_params *params, const float *input,
                               uint8_t *output) {
    arenite_arg_max_f32(params, input, output);
}
