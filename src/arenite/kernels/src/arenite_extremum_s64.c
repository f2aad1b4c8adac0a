#include "arenite_extremum_s64.h"

void arenite_extremum_s64_entry(const arenite_extremum_s64_params *params, const int64_t *a, const int64_t *b,
                                int64_t *output);

void arenite_extremum_s64_entry(const arenite_extremum_s64_params *params, const int64_t *a, const int64_t *b,
                                int64_t *output) {
    arenite_extremum_s64(params, a, b, output);
}
