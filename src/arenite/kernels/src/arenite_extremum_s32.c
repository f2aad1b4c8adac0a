#include "arenite_extremum_s32.h"

void arenite_extremum_s32_entry(const arenite_extremum_s32_params *params, const int32_t *a, const int32_t *b,
                                int32_t *output);

void arenite_extremum_s32_entry(const arenite_extremum_s32_params *params, const int32_t *a, const int32_t *b,
                                int32_t *output) {
    arenite_extremum_s32(params, a, b, output);
}
