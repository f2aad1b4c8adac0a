#include "arenite_cast_integer_f32.h"

void arenite_cast_integer_f32_entry(const arenite_cast_integer_f32_params *params, const uint8_t *input,
                                    float *output);

void arenite_cast_integer_f32_entry(const arenite_cast_integer_f32_params *params, const uint8_t *input,
                                    float *output) {
    arenite_cast_integer_f32(params, input, output);
}
