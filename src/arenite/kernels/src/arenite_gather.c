#include "arenite_gather.h"

void arenite_gather_entry(const arenite_gather_params *params, const uint8_t *input, const int32_t *indices,
                          uint8_t *output);

void arenite_gather_entry(const arenite_gather_params *params, const uint8_t *input, const int32_t *indices,
                          uint8_t *output) {
    arenite_gather(params, input, indices, output);
}
