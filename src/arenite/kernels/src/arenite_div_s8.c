#include "arenite_div_s8.h"

void arenite_div_s8_entry(const arenite_div_s8_params *params, const int8_t *a, const int8_t *b,
                          const int32_t *reciprocals, int8_t *output);

void arenite_div_s8_entry(const arenite_div_s8_params *params, const int8_t *a, const int8_t *b,
                          const int32_t *reciprocals, int8_t *output) {
    arenite_div_s8(params, a, b, reciprocals, output);
}
