#include "arenite_rescale_s16_s16.h"

void arenite_rescale_s16_s16_entry(const arenite_rescale_s16_s16_params *params, const int16_t *input,
                                   int16_t *output);

void arenite_rescale_s16_s16_entry(const arenite_rescale_s16_s16_params *params, const int16_t *input,
                                   int16_t *output) {
    arenite_rescale_s16_s16(params, input, output);
}
