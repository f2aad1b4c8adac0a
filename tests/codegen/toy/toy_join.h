#ifndef TOY_JOIN_H
#define TOY_JOIN_H

#include <stdint.h>

#include "arenite_port.h"

typedef struct {
    int32_t count;
} toy_join_params;

ARENITE_INLINE void toy_join(const toy_join_params *params, const int8_t *x, int8_t *y) {
    for (int32_t i = 0; i < params->count; ++i) {
        y[2 * i] = x[i];
    }
}

#endif
