#ifndef ARENITE_LOOKUP_8_F32_H
#define ARENITE_LOOKUP_8_F32_H

#include "arenite_port.h"

typedef struct {
    int32_t nelem;
} arenite_lookup_8_f32_params;

/* output[i] = table[input[i]]: dequantization without any arithmetic. */
ARENITE_INLINE void arenite_lookup_8_f32(const arenite_lookup_8_f32_params *params, const uint8_t *input,
                                         const float *table, float *output) {
    const int32_t nelem = params->nelem;
    for (int32_t i = 0; i < nelem; ++i) {
        output[i] = table[input[i]];
    }
}

#endif
