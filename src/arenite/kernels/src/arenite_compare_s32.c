#include "arenite_compare_s32.h"

void arenite_compare_s32_entry(const arenite_compare_s32_params *params, const int32_t *a, const int32_t *b,
                               uint8_t *output);

void arenite_compare_s32_entry(const arenite_compare_s32_params *params, const int32_t *a, const int32_t *b,
                               uint8_t *output) {
    arenite_compare_s32(params, a, b, output);
}
