#include "arenite_add_n_f32.h"

void arenite_add_n_f32_entry(const arenite_add_n_f32_params *params, const float *a, const float *b,
                             const float *c, const float *d, const float *e, const float *f, const float *g,
                             const float *h, float *output);

void arenite_add_n_f32_entry(const arenite_add_n_f32_params *params, const float *a, const float *b,
                             const float *c, const float *d, const float *e, const float *f, const float *g,
                             const float *h, float *output) {
    arenite_add_n_f32(params, a, b, c, d, e, f, g, h, output);
}
