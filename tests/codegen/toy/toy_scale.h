#ifndef TOY_SCALE_H
#define TOY_SCALE_H

#include <stdint.h>

#include "arenite_port.h"

typedef struct {
    int32_t count;
    int16_t gains[2];
    float unused;
} toy_scale_params;

/* y may be x; bias may be null. */
ARENITE_INLINE void toy_scale(const toy_scale_params *params, const int8_t *x, const int16_t *table,
                              const int32_t *bias, int8_t *y) {
    for (int32_t i = 0; i < params->count; ++i) {
        const int32_t sum = table[x[i] + 128] + (bias != 0 ? bias[0] : 0);
        y[i] = (int8_t)(uint8_t)sum;
    }
}

#endif
