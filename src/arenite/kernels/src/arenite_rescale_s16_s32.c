#include "arenite_rescale_s16_s32.h"

void arenite_rescale_s16_s32_entry(const arenite_rescale_s16_s32_params *params, const int16_t *input,
                                   int32_t *output);

void arenite_rescale_s16_s32_entry(const arenite_rescale_s16_s32_params *params, const int16_t *input,
                                   int32_t *output) {
    arenite_rescale_s16_s32(params, input, output);
}
