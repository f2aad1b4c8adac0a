#include "arenite_cumsum_s32.h"

void arenite_cumsum_s32_entry(const arenite_cumsum_s32_params *params, const int32_t *input, int32_t *output);

void arenite_cumsum_s32_entry(const arenite_cumsum_s32_params *params, const int32_t *input,
                              int32_t *output) {
    arenite_cumsum_s32(params, input, output);
}
