#include "arenite_mul_s16.h"

void arenite_mul_s16_entry(const arenite_mul_s16_params *params, const int16_t *a, const int16_t *b,
                           int16_t *output);

void arenite_mul_s16_entry(const arenite_mul_s16_params *params, const int16_t *a, const int16_t *b,
                           int16_t *output) {
    arenite_mul_s16(params, a, b, output);
}
