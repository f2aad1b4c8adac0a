#include "arenite_max_pool_s16.h"

void arenite_max_pool_s16_entry(const arenite_max_pool_s16_params *params, const int16_t *input,
                                int16_t *output);

void arenite_max_pool_s16_entry(const arenite_max_pool_s16_params *params, const int16_t *input,
                                int16_t *output) {
    arenite_max_pool_s16(params, input, output);
}
