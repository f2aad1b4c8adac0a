#ifndef ARENITE_MAX_POOL_S8_H
#define ARENITE_MAX_POOL_S8_H

#include "arenite_fixedpoint.h"
#include "arenite_pool.h"
#include "arenite_port.h"

typedef arenite_pool_params arenite_max_pool_s8_params;

/* The largest cell of each window. */
ARENITE_INLINE void arenite_max_pool_s8(const arenite_max_pool_s8_params *params, const int8_t *input,
                                        int8_t *output) {
    ARENITE_FOR_EACH_WINDOW(params, window, cell, {
        int32_t largest = params->low;
        ARENITE_FOR_EACH_CELL(params, window, cell, at,
                              { largest = input[at] > largest ? input[at] : largest; })
        *output++ = (int8_t)(largest < params->high ? largest : params->high);
    })
}

#endif
