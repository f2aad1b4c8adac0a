#ifndef ARENITE_ADD_N_S32_H
#define ARENITE_ADD_N_S32_H

#include "arenite_add_n.h"
#include "arenite_port.h"

typedef struct {
    int32_t nelem;
    int32_t count; /* of values; the others are null */
} arenite_add_n_s32_params;

/* The sum of up to eight values, wrapping at 32 bits. May run in place. */
ARENITE_INLINE void arenite_add_n_s32(const arenite_add_n_s32_params *params, const int32_t *a,
                                      const int32_t *b, const int32_t *c, const int32_t *d, const int32_t *e,
                                      const int32_t *f, const int32_t *g, const int32_t *h, int32_t *output) {
    const int32_t *const values[8] = {a, b, c, d, e, f, g, h};
    ARENITE_ADD_N(params, values, uint32_t, 0, i, total, { output[i] = (int32_t)total; })
}

#endif
