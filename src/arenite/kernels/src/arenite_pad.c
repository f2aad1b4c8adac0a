#include "arenite_pad.h"

void arenite_pad_entry(const arenite_pad_params *params, const uint8_t *input, uint8_t *output);

void arenite_pad_entry(const arenite_pad_params *params, const uint8_t *input, uint8_t *output) {
    arenite_pad(params, input, output);
}
