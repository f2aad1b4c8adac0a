#include "arenite_compare_s64.h"

void arenite_compare_s64_entry(const arenite_compare_s64_params *params, const int64_t *a, const int64_t *b,
                               uint8_t *output);

void arenite_compare_s64_entry(const arenite_compare_s64_params *params, const int64_t *a, const int64_t *b,
                               uint8_t *output) {
    arenite_compare_s64(params, a, b, output);
}
