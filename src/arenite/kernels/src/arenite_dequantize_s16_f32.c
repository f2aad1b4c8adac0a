#include "arenite_dequantize_s16_f32.h"

void arenite_dequantize_s16_f32_entry(const arenite_dequantize_s16_f32_params *params, const int16_t *input,
                                      float *output);

void arenite_dequantize_s16_f32_entry(const arenite_dequantize_s16_f32_params *params, const int16_t *input,
                                      float *output) {
    arenite_dequantize_s16_f32(params, input, output);
}
