#include "arenite_add_n_s8.h"

void arenite_add_n_s8_entry(const arenite_add_n_s8_params *params, const int8_t *a, const int8_t *b,
                            const int8_t *c, const int8_t *d, const int8_t *e, const int8_t *f,
                            const int8_t *g, const int8_t *h, int8_t *output);

void arenite_add_n_s8_entry(const arenite_add_n_s8_params *params, const int8_t *a, const int8_t *b,
                            const int8_t *c, const int8_t *d, const int8_t *e, const int8_t *f,
                            const int8_t *g, const int8_t *h, int8_t *output) {
    arenite_add_n_s8(params, a, b, c, d, e, f, g, h, output);
}
