#include "arenite_lookup_8_f32.h"

void arenite_lookup_8_f32_entry(const arenite_lookup_8_f32_params *params, const uint8_t *input,
                                const float *table, float *output);

void arenite_lookup_8_f32_entry(const arenite_lookup_8_f32_params *params, const uint8_t *input,
                                const float *table, float *output) {
    arenite_lookup_8_f32(params, input, table, output);
}
