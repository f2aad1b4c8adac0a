#ifndef ARENITE_ADD_N_F32_H
#define ARENITE_ADD_N_F32_H

#include "arenite_add_n.h"
#include "arenite_port.h"

typedef struct {
    int32_t nelem;
    int32_t count; /* of values; the others are null */
} arenite_add_n_f32_params;

/* The sum of up to eight values, from the first on. May run in place. */
ARENITE_INLINE void arenite_add_n_f32(const arenite_add_n_f32_params *params, const float *a, const float *b,
                                      const float *c, const float *d, const float *e, const float *f,
                                      const float *g, const float *h, float *output) {
    const float *const values[8] = {a, b, c, d, e, f, g, h};
    ARENITE_ADD_N(params, values, float, 0.0f, i, total, { output[i] = total; })
}

#endif
