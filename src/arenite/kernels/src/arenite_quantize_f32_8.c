#include "arenite_quantize_f32_8.h"

void arenite_quantize_f32_8_entry(const arenite_quantize_f32_8_params *params, const float *input,
                                  uint8_t *output);

void arenite_quantize_f32_8_entry(const arenite_quantize_f32_8_params *params, const float *input,
                                  uint8_t *output) {
    arenite_quantize_f32_8(params, input, output);
}
