#include "arenite_quantize_f32_s16.h"

void arenite_quantize_f32_s16_entry(const arenite_quantize_f32_s16_params *params, const float *input,
                                    int16_t *output);

void arenite_quantize_f32_s16_entry(const arenite_quantize_f32_s16_params *params, const float *input,
                                    int16_t *output) {
    arenite_quantize_f32_s16(params, input, output);
}
