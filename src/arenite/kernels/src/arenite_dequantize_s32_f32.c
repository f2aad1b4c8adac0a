#include "arenite_dequantize_s32_f32.h"

void arenite_dequantize_s32_f32_entry(const arenite_dequantize_s32_f32_params *params, const int32_t *input,
                                      float *output);

void arenite_dequantize_s32_f32_entry(const arenite_dequantize_s32_f32_params *params, const int32_t *input,
                                      float *output) {
    arenite_dequantize_s32_f32(params, input, output);
}
