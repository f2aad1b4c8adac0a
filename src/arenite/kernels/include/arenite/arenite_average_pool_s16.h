#ifndef ARENITE_AVERAGE_POOL_S16_H
#define ARENITE_AVERAGE_POOL_S16_H

#include "arenite_fixedpoint.h"
#include "arenite_pool.h"
#include "arenite_port.h"

typedef arenite_pool_params arenite_average_pool_s16_params;

/* The mean over each window. */
ARENITE_INLINE void arenite_average_pool_s16(const arenite_average_pool_s16_params *params,
                                             const int16_t *input, int16_t *output) {
    ARENITE_FOR_EACH_WINDOW(params, window, cell, {
        int32_t total = 0;
        ARENITE_FOR_EACH_CELL(params, window, cell, at, { total += input[at]; })
        *output++ = (int16_t)arenite_pool_mean(params, window, total);
    })
}

#endif
