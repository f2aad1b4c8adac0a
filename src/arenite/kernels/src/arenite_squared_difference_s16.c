#include "arenite_squared_difference_s16.h"

void arenite_squared_difference_s16_entry(const arenite_squared_difference_s16_params *params,
                                          const int16_t *a, const int16_t *b, int16_t *output);

void arenite_squared_difference_s16_entry(const arenite_squared_difference_s16_params *params,
                                          const int16_t *a, const int16_t *b, int16_t *output) {
    arenite_squared_difference_s16(params, a, b, output);
}
