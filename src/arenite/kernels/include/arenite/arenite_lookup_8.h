#ifndef ARENITE_LOOKUP_8_H
#define ARENITE_LOOKUP_8_H

#include "arenite_port.h"

typedef struct {
    int32_t nelem;
} arenite_lookup_8_params;

/* output[i] = table[input[i]], on bytes: any function of one 8-bit operand. May run in place. */
ARENITE_INLINE void arenite_lookup_8(const arenite_lookup_8_params *params, const uint8_t *input,
                                     const uint8_t *table, uint8_t *output) {
    const int32_t nelem = params->nelem;
    for (int32_t i = 0; i < nelem; ++i) {
        output[i] = table[input[i]];
    }
}

#endif
