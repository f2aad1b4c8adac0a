#include "arenite_extremum_s8.h"

void arenite_extremum_s8_entry(const arenite_extremum_s8_params *params, const int8_t *a, const int8_t *b,
                               int8_t *output);

void arenite_extremum_s8_entry(const arenite_extremum_s8_params *params, const int8_t *a, const int8_t *b,
                               int8_t *output) {
    arenite_extremum_s8(params, a, b, output);
}
