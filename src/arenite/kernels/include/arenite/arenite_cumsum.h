/* What sums along a dimension share. */
#ifndef ARENITE_CUMSUM_H
#define ARENITE_CUMSUM_H

#include "arenite_port.h"

/* Sums of `type` from `start` on: adds `element` at each `place`, and runs a statement with the `sum` there.
 * params has outer, size, inner, first, step and exclusive. */
#define ARENITE_CUMSUM(params, type, start, place, element, sum, ...)                                        \
    for (int32_t arenite_i = 0; arenite_i < (params)->outer; ++arenite_i) {                                  \
        for (int32_t arenite_j = 0; arenite_j < (params)->inner; ++arenite_j) {                              \
            int32_t place = arenite_i * (params)->size * (params)->inner + arenite_j + (params)->first;      \
            type arenite_total = start;                                                                      \
            for (int32_t arenite_k = 0; arenite_k < (params)->size; ++arenite_k) {                           \
                const type arenite_next = arenite_total + (element);                                         \
                const type sum = (params)->exclusive ? arenite_total : arenite_next;                         \
                __VA_ARGS__                                                                                  \
                arenite_total = arenite_next;                                                                \
                place += (params)->step;                                                                     \
            }                                                                                                \
        }                                                                                                    \
    }

#endif
