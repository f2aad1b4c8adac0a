/* y = -x in stored numbers, saturating: the kernel of an op that lives outside Arenite. */
#ifndef NEGATE_S8_H
#define NEGATE_S8_H

#include "arenite_port.h"

typedef struct {
    int32_t count;
} negate_s8_params;

ARENITE_INLINE void negate_s8(const negate_s8_params *params, const int8_t *x, int8_t *y) {
    for (int32_t i = 0; i < params->count; ++i) {
        y[i] = x[i] == -128 ? 127 : (int8_t)-x[i];
    }
}

#endif
