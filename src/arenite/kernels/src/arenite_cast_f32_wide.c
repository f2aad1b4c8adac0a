#include "arenite_cast_f32_wide.h"

void arenite_cast_f32_wide_entry(const arenite_cast_f32_wide_params *params, const float *input,
                                 uint8_t *output);

void arenite_cast_f32_wide_entry(const arenite_cast_f32_wide_params *params, const float *input,
                                 uint8_t *output) {
    arenite_cast_f32_wide(params, input, output);
}
