#include "arenite_resize_bilinear_s16.h"

void arenite_resize_bilinear_s16_entry(const arenite_resize_bilinear_s16_params *params, const int16_t *input,
                                       const int32_t *places, int16_t *output);

void arenite_resize_bilinear_s16_entry(const arenite_resize_bilinear_s16_params *params, const int16_t *input,
                                       const int32_t *places, int16_t *output) {
    arenite_resize_bilinear_s16(params, input, places, output);
}
