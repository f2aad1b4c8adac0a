#include "arenite_average_pool_u8.h"

void arenite_average_pool_u8_entry(const arenite_average_pool_u8_params *params, const uint8_t *input,
                                   uint8_t *output);

void arenite_average_pool_u8_entry(const arenite_average_pool_u8_params *params, const uint8_t *input,
                                   uint8_t *output) {
    arenite_average_pool_u8(params, input, output);
}
