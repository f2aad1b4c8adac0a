#include "arenite_resize_bilinear_s8.h"

void arenite_resize_bilinear_s8_entry(const arenite_resize_bilinear_s8_params *params, const int8_t *input,
                                      const int32_t *places, int8_t *output);

void arenite_resize_bilinear_s8_entry(const arenite_resize_bilinear_s8_params *params, const int8_t *input,
                                      const int32_t *places, int8_t *output) {
    arenite_resize_bilinear_s8(params, input, places, output);
}
