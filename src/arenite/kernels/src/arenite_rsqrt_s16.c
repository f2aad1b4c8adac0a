#include "arenite_rsqrt_s16.h"

void arenite_rsqrt_s16_entry(const arenite_rsqrt_s16_params *params, const int16_t *input, int16_t *output);

void arenite_rsqrt_s16_entry(const arenite_rsqrt_s16_params *params, const int16_t *input, int16_t *output) {
    arenite_rsqrt_s16(params, input, output);
}
