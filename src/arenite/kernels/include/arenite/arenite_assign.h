#ifndef ARENITE_ASSIGN_H
#define ARENITE_ASSIGN_H

#include "arenite_bytes.h"
#include "arenite_port.h"

typedef struct {
    int32_t nbytes;
} arenite_assign_params;

/* What is kept until the next assignment. */
ARENITE_INLINE void arenite_assign(const arenite_assign_params *params, const uint8_t *input,
                                   uint8_t *state) {
    arenite_copy(state, input, params->nbytes);
}

#endif
