#include "arenite_rescale_s16_s8.h"

void arenite_rescale_s16_s8_entry(const arenite_rescale_s16_s8_params *params, const int16_t *input,
                                  int8_t *output);

void arenite_rescale_s16_s8_entry(const arenite_rescale_s16_s8_params *params, const int16_t *input,
                                  int8_t *output) {
    arenite_rescale_s16_s8(params, input, output);
}
