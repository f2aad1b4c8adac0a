#include "arenite_add_s16.h"

void arenite_add_s16_entry(const arenite_add_s16_params *params, const int16_t *a, const int16_t *b,
                           int16_t *output);

void arenite_add_s16_entry(const arenite_add_s16_params *params, const int16_t *a, const int16_t *b,
                           int16_t *output) {
    arenite_add_s16(params, a, b, output);
}
