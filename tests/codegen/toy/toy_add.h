#ifndef TOY_ADD_H
#define TOY_ADD_H

#include <stdint.h>

#include "arenite_port.h"

typedef struct {
    int32_t count;
} toy_add_params;

/* y may be a or b. */
ARENITE_INLINE void toy_add(const toy_add_params *params, const int8_t *a, const int8_t *b, int8_t *y) {
    for (int32_t i = 0; i < params->count; ++i) {
        y[i] = (int8_t)(uint8_t)(a[i] + b[i]);
    }
}

#endif
