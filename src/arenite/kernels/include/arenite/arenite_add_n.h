/* What sums of up to eight values share. */
#ifndef ARENITE_ADD_N_H
#define ARENITE_ADD_N_H

#include "arenite_port.h"

/* For each element i, a sum of `type` from `start` on, and a statement with it. params has nelem and count.
 */
#define ARENITE_ADD_N(params, values, type, start, i, total, ...)                                            \
    for (int32_t i = 0; i < (params)->nelem; ++i) {                                                          \
        type total = start;                                                                                  \
        for (int32_t arenite_n = 0; arenite_n < (params)->count; ++arenite_n) {                              \
            total += (type)(values)[arenite_n][i];                                                           \
        }                                                                                                    \
        __VA_ARGS__                                                                                          \
    }

#endif
