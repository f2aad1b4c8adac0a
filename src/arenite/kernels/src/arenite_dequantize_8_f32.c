#include "arenite_dequantize_8_f32.h"

void arenite_dequantize_8_f32_entry(const arenite_dequantize_8_f32_params *params, const uint8_t *input,
                                    float *output);

void arenite_dequantize_8_f32_entry(const arenite_dequantize_8_f32_params *params, const uint8_t *input,
                                    float *output) {
    arenite_dequantize_8_f32(params, input, output);
}
