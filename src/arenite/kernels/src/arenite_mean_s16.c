#include "arenite_mean_s16.h"

void arenite_mean_s16_entry(const arenite_mean_s16_params *params, const int16_t *input, int16_t *output);

void arenite_mean_s16_entry(const arenite_mean_s16_params *params, const int16_t *input, int16_t *output) {
    arenite_mean_s16(params, input, output);
}
