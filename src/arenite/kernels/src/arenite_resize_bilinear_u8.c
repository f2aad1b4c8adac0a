#include "arenite_resize_bilinear_u8.h"

void arenite_resize_bilinear_u8_entry(const arenite_resize_bilinear_u8_params *params, const uint8_t *input,
                                      const int32_t *places, const float *fractions, uint8_t *output);

void arenite_resize_bilinear_u8_entry(const arenite_resize_bilinear_u8_params *params, const uint8_t *input,
                                      const int32_t *places, const float *fractions, uint8_t *output) {
    arenite_resize_bilinear_u8(params, input, places, fractions, output);
}
