#include "arenite_arg_max_s8.h"

void arenite_arg_max_s8_entry(const arenite_arg_max_s8_params *params, const int8_t *input, uint8_t *output);

void arenite_arg_max_s8_entry(const arenite_arg_max_s8_params *params, const int8_t *input, uint8_t *output) {
    arenite_arg_max_s8(params, input, output);
}
