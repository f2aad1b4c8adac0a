#include "arenite_cumsum_f32.h"

void arenite_cumsum_f32_entry(const arenite_cumsum_f32_params *params, const float *input, float *output);

void arenite_cumsum_f32_entry(const arenite_cumsum_f32_params *params, const float *input, float *output) {
    arenite_cumsum_f32(params, input, output);
}
