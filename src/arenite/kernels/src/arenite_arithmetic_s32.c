#include "arenite_arithmetic_s32.h"

void arenite_arithmetic_s32_entry(const arenite_arithmetic_s32_params *params, const int32_t *a,
                                  const int32_t *b, int32_t *output);

void arenite_arithmetic_s32_entry(const arenite_arithmetic_s32_params *params, const int32_t *a,
                                  const int32_t *b, int32_t *output) {
    arenite_arithmetic_s32(params, a, b, output);
}
