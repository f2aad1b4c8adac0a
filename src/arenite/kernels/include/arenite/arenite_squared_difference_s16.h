#ifndef ARENITE_SQUARED_DIFFERENCE_S16_H
#define ARENITE_SQUARED_DIFFERENCE_S16_H

#include "arenite_broadcast.h"
#include "arenite_fixedpoint.h"
#include "arenite_port.h"
#include "arenite_squared_difference.h"

typedef arenite_squared_difference_params arenite_squared_difference_s16_params;

/* The square of the difference of two elements. May run in place of an operand as large as the result. */
ARENITE_INLINE void arenite_squared_difference_s16(const arenite_squared_difference_s16_params *params,
                                                   const int16_t *a, const int16_t *b, int16_t *output) {
    ARENITE_FOR_EACH_PAIR(params, at_a, at_b, {
        const int32_t found = arenite_squared_difference(params, a[at_a], b[at_b], 0);
        *output++ = (int16_t)arenite_clamp(found, INT16_MIN, INT16_MAX);
    })
}

#endif
