#include "arenite_space_to_batch.h"

void arenite_space_to_batch_entry(const arenite_space_to_batch_params *params, const uint8_t *input,
                                  uint8_t *output);

void arenite_space_to_batch_entry(const arenite_space_to_batch_params *params, const uint8_t *input,
                                  uint8_t *output) {
    arenite_space_to_batch(params, input, output);
}
