#include "arenite_prelu_s16.h"

void arenite_prelu_s16_entry(const arenite_prelu_s16_params *params, const int16_t *a, const int8_t *b,
                             int16_t *output);

void arenite_prelu_s16_entry(const arenite_prelu_s16_params *params, const int16_t *a, const int8_t *b,
                             int16_t *output) {
    arenite_prelu_s16(params, a, b, output);
}
