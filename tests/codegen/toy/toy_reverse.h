#ifndef TOY_REVERSE_H
#define TOY_REVERSE_H

#include <stdint.h>

#include "arenite_port.h"

typedef struct {
    int32_t count;
} toy_reverse_params;

ARENITE_INLINE void toy_reverse(const toy_reverse_params *params, const int8_t *x, int8_t *y) {
    for (int32_t i = 0; i < params->count; ++i) {
        y[i] = x[params->count - 1 - i];
    }
}

#endif
