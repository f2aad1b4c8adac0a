#include "arenite_copy_strided.h"

void arenite_copy_strided_entry(const arenite_copy_strided_params *params, const uint8_t *input,
                                uint8_t *output);

void arenite_copy_strided_entry(const arenite_copy_strided_params *params, const uint8_t *input,
                                uint8_t *output) {
    arenite_copy_strided(params, input, output);
}
