#ifndef ARENITE_SQUARED_DIFFERENCE_S8_H
#define ARENITE_SQUARED_DIFFERENCE_S8_H

#include "arenite_broadcast.h"
#include "arenite_fixedpoint.h"
#include "arenite_port.h"
#include "arenite_squared_difference.h"

typedef arenite_squared_difference_params arenite_squared_difference_s8_params;

/* The square of the difference of two elements. May run in place of an operand as large as the result. */
ARENITE_INLINE void arenite_squared_difference_s8(const arenite_squared_difference_s8_params *params,
                                                  const int8_t *a, const int8_t *b, int8_t *output) {
    ARENITE_FOR_EACH_PAIR(params, at_a, at_b, {
        const int32_t found = arenite_squared_difference(params, a[at_a], b[at_b], 7);
        *output++ = (int8_t)arenite_clamp(found, INT8_MIN, INT8_MAX);
    })
}

#endif
