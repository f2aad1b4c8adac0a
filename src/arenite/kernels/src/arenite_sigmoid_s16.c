#include "arenite_sigmoid_s16.h"

void arenite_sigmoid_s16_entry(const arenite_sigmoid_s16_params *params, const int16_t *input,
                               const uint16_t *table, int16_t *output);

void arenite_sigmoid_s16_entry(const arenite_sigmoid_s16_params *params, const int16_t *input,
                               const uint16_t *table, int16_t *output) {
    arenite_sigmoid_s16(params, input, table, output);
}
