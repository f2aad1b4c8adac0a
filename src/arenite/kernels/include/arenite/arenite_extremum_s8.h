#ifndef ARENITE_EXTREMUM_S8_H
#define ARENITE_EXTREMUM_S8_H

#include "arenite_broadcast.h"
#include "arenite_port.h"

typedef struct {
    int32_t sizes[4]; /* of the result; an operand's stride is 0 where it repeats */
    int32_t strides_a[4];
    int32_t strides_b[4];
    int32_t largest; /* else the smallest */
} arenite_extremum_s8_params;

/* The larger or the smaller of two elements. May run in place of an operand as large as the result. */
ARENITE_INLINE void arenite_extremum_s8(const arenite_extremum_s8_params *params, const int8_t *a,
                                        const int8_t *b, int8_t *output) {
    ARENITE_FOR_EACH_PAIR(params, at_a, at_b, {
        const int8_t x = a[at_a];
        const int8_t y = b[at_b];
        *output++ = (params->largest ? x > y : x < y) ? x : y;
    })
}

#endif
