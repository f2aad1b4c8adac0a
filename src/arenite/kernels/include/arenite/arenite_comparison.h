/* What comparisons of all types share. */
#ifndef ARENITE_COMPARISON_H
#define ARENITE_COMPARISON_H

#include "arenite_port.h"

#define ARENITE_EQUAL 0
#define ARENITE_NOT_EQUAL 1
#define ARENITE_LESS 2
#define ARENITE_LESS_EQUAL 3

ARENITE_INLINE uint8_t arenite_compare(int32_t operation, int64_t a, int64_t b) {
    switch (operation) {
    case ARENITE_EQUAL:
        return a == b;
    case ARENITE_NOT_EQUAL:
        return a != b;
    case ARENITE_LESS:
        return a < b;
    default:
        return a <= b;
    }
}

#endif
