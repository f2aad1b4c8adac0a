#include "arenite_add_n_s32.h"

void arenite_add_n_s32_entry(const arenite_add_n_s32_params *params, const int32_t *a, const int32_t *b,
                             const int32_t *c, const int32_t *d, const int32_t *e, const int32_t *f,
                             const int32_t *g, const int32_t *h, int32_t *output);

void arenite_add_n_s32_entry(const arenite_add_n_s32_params *params, const int32_t *a, const int32_t *b,
                             const int32_t *c, const int32_t *d, const int32_t *e, const int32_t *f,
                             const int32_t *g, const int32_t *h, int32_t *output) {
    arenite_add_n_s32(params, a, b, c, d, e, f, g, h, output);
}
