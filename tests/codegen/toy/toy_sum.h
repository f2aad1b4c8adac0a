#ifndef TOY_SUM_H
#define TOY_SUM_H

#include <stdint.h>

#include "arenite_port.h"

typedef struct {
    int32_t count;
} toy_sum_params;

ARENITE_INLINE void toy_sum(const toy_sum_params *params, const int8_t *x, int8_t *y, int32_t *sums) {
    for (int32_t i = 0; i < params->count; ++i) {
        sums[i] = x[i] + (i == 0 ? 0 : sums[i - 1]);
    }
    for (int32_t i = 0; i < params->count; ++i) {
        y[i] = (int8_t)(uint8_t)sums[i];
    }
}

#endif
