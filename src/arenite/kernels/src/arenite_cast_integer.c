#include "arenite_cast_integer.h"

void arenite_cast_integer_entry(const arenite_cast_integer_params *params, const uint8_t *input,
                                uint8_t *output);

void arenite_cast_integer_entry(const arenite_cast_integer_params *params, const uint8_t *input,
                                uint8_t *output) {
    arenite_cast_integer(params, input, output);
}
