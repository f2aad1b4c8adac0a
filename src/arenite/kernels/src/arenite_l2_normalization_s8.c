#include "arenite_l2_normalization_s8.h"

void arenite_l2_normalization_s8_entry(const arenite_l2_normalization_s8_params *params, const int8_t *input,
                                       int8_t *output);

void arenite_l2_normalization_s8_entry(const arenite_l2_normalization_s8_params *params, const int8_t *input,
                                       int8_t *output) {
    arenite_l2_normalization_s8(params, input, output);
}
