/* What searches for the greatest or the least element along one dimension share. */
#ifndef ARENITE_ARG_MAX_H
#define ARENITE_ARG_MAX_H

#include "arenite_integers.h"
#include "arenite_port.h"

/* Runs a statement for each search, with the place of its first element; params has outer, size and inner. */
#define ARENITE_FOR_EACH_SEARCH(params, first, ...)                                                          \
    for (int32_t arenite_i = 0; arenite_i < (params)->outer; ++arenite_i) {                                  \
        for (int32_t arenite_j = 0; arenite_j < (params)->inner; ++arenite_j) {                              \
            const int32_t first = arenite_i * (params)->size * (params)->inner + arenite_j;                  \
            __VA_ARGS__                                                                                      \
        }                                                                                                    \
    }

/* Stores an index of 4 or 8 bytes, and tells where the next one goes. */
ARENITE_INLINE uint8_t *arenite_store_index(uint8_t *to, int32_t index, int32_t nbytes) {
    arenite_store_integer(to, index, 4);
    if (nbytes > 4) {
        arenite_store_integer(to + 4, 0, 4);
    }
    return to + nbytes;
}

#endif
