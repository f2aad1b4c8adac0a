#ifndef ARENITE_ADD_N_S8_H
#define ARENITE_ADD_N_S8_H

#include "arenite_add_n.h"
#include "arenite_fixedpoint.h"
#include "arenite_port.h"

typedef struct {
    int32_t nelem;
    int32_t count;  /* of values; the others are null */
    int32_t offset; /* to their sum */
    int32_t multiplier;
    int32_t shift;
    int32_t zero_point;
} arenite_add_n_s8_params;

/* The sum of up to eight values. May run in place. */
ARENITE_INLINE void arenite_add_n_s8(const arenite_add_n_s8_params *params, const int8_t *a, const int8_t *b,
                                     const int8_t *c, const int8_t *d, const int8_t *e, const int8_t *f,
                                     const int8_t *g, const int8_t *h, int8_t *output) {
    const int8_t *const values[8] = {a, b, c, d, e, f, g, h};
    ARENITE_ADD_N(params, values, int32_t, params->offset, i, total, {
        /* 19 more bits, as TFLite-Micro has them; what leaves 32 bits is lost there too. */
        const int32_t wide = (int32_t)((uint32_t)total << 19);
        const int32_t stored =
            arenite_requantize(wide, params->multiplier, params->shift) + params->zero_point;
        output[i] = (int8_t)arenite_clamp(stored, -128, 127);
    })
}

#endif
