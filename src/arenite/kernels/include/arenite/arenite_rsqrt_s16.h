#ifndef ARENITE_RSQRT_S16_H
#define ARENITE_RSQRT_S16_H

#include "arenite_fixedpoint.h"
#include "arenite_inverse_sqrt.h"
#include "arenite_port.h"

typedef struct {
    int32_t nelem;
    int32_t multiplier;
    int32_t shift; /* 20 less than that of the root, which is widened by as many bits */
} arenite_rsqrt_s16_params;

/* 1 / sqrt of each element; what is not positive gives the largest result. May run in place. */
ARENITE_INLINE void arenite_rsqrt_s16(const arenite_rsqrt_s16_params *params, const int16_t *input,
                                      int16_t *output) {
    for (int32_t i = 0; i < params->nelem; ++i) {
        int32_t stored = 32767;
        if (input[i] > 0) {
            const arenite_factor root = arenite_inverse_sqrt(input[i]);
            const int32_t wide = arenite_requantize(1, root.multiplier, root.shift + 20);
            stored =
                arenite_clamp(arenite_requantize(wide, params->multiplier, params->shift), -32768, 32767);
        }
        output[i] = (int16_t)stored;
    }
}

#endif
