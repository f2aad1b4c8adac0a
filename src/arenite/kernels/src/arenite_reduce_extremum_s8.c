#include "arenite_reduce_extremum_s8.h"

void arenite_reduce_extremum_s8_entry(const arenite_reduce_extremum_s8_params *params, const int8_t *input,
                                      int8_t *output);

void arenite_reduce_extremum_s8_entry(const arenite_reduce_extremum_s8_params *params, const int8_t *input,
                                      int8_t *output) {
    arenite_reduce_extremum_s8(params, input, output);
}
