/* What transposed convolutions share: which taps reach a result. */
#ifndef ARENITE_TRANSPOSED_H
#define ARENITE_TRANSPOSED_H

#include "arenite_port.h"

/* The first tap along one dimension that reaches a result, and the input element that it reaches it from. */
typedef struct {
    int32_t tap;
    int32_t at;
} arenite_transposed_start;

ARENITE_INLINE arenite_transposed_start arenite_transposed_next(arenite_transposed_start start,
                                                                int32_t stride) {
    if (++start.tap == stride) {
        start.tap = 0;
        ++start.at;
    }
    return start;
}

#endif
