#ifndef ARENITE_CUMSUM_S8_H
#define ARENITE_CUMSUM_S8_H

#include "arenite_cumsum.h"
#include "arenite_fixedpoint.h"
#include "arenite_port.h"

typedef struct {
    int32_t outer;
    int32_t size; /* of the dimension that is summed along */
    int32_t inner;
    int32_t first; /* where along it the sum begins, and elements from one to the next */
    int32_t step;
    int32_t exclusive; /* an element is not part of its own sum */
    int32_t source_zero_point;
    int32_t multiplier;
    int32_t shift;
    int32_t zero_point;
} arenite_cumsum_s8_params;

ARENITE_INLINE int8_t arenite_cumsum_s8_stored(const arenite_cumsum_s8_params *params, int32_t total) {
    /* 19 more bits, as TFLite-Micro has them; what leaves 32 bits is lost there too. */
    const int32_t wide = (int32_t)((uint32_t)total << 19);
    const int32_t stored = arenite_requantize(wide, params->multiplier, params->shift) + params->zero_point;
    return (int8_t)arenite_clamp(stored, -128, 127);
}

/* The sum of all elements up to each one, from what TFLite-Micro starts from. May run in place. */
ARENITE_INLINE void arenite_cumsum_s8(const arenite_cumsum_s8_params *params, const int8_t *input,
                                      int8_t *output) {
    const int32_t zero_point = params->source_zero_point;
    ARENITE_CUMSUM(params, int32_t, -zero_point, place, input[place] - zero_point, sum,
                   { output[place] = arenite_cumsum_s8_stored(params, sum); })
}

#endif
