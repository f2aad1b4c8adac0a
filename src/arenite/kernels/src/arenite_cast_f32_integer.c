#include "arenite_cast_f32_integer.h"

void arenite_cast_f32_integer_entry(const arenite_cast_f32_integer_params *params, const float *input,
                                    uint8_t *output);

void arenite_cast_f32_integer_entry(const arenite_cast_f32_integer_params *params, const float *input,
                                    uint8_t *output) {
    arenite_cast_f32_integer(params, input, output);
}
