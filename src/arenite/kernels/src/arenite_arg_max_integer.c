#include "arenite_arg_max_integer.h"

void arenite_arg_max_integer_entry(const arenite_arg_max_integer_params *params, const uint8_t *input,
                                   uint8_t *output);

void arenite_arg_max_integer_entry(const arenite_arg_max_integer_params *params, const uint8_t *input,
                                   uint8_t *output) {
    arenite_arg_max_integer(params, input, output);
}
