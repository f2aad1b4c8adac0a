#include "arenite_resize_bilinear_f32.h"

void arenite_resize_bilinear_f32_entry(const arenite_resize_bilinear_f32_params *params, const float *input,
                                       const int32_t *places, const float *fractions, float *output);

void arenite_resize_bilinear_f32_entry(const arenite_resize_bilinear_f32_params *params, const float *input,
                                       const int32_t *places, const float *fractions, float *output) {
    arenite_resize_bilinear_f32(params, input, places, fractions, output);
}
