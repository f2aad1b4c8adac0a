#ifndef ARENITE_CUMSUM_F32_H
#define ARENITE_CUMSUM_F32_H

#include "arenite_cumsum.h"
#include "arenite_port.h"

typedef struct {
    int32_t outer;
    int32_t size; /* of the dimension that is summed along */
    int32_t inner;
    int32_t first; /* where along it the sum begins, and elements from one to the next */
    int32_t step;
    int32_t exclusive; /* an element is not part of its own sum */
} arenite_cumsum_f32_params;

/* The sum of all elements up to each one. May run in place. */
ARENITE_INLINE void arenite_cumsum_f32(const arenite_cumsum_f32_params *params, const float *input,
                                       float *output) {
    ARENITE_CUMSUM(params, float, 0.0f, place, input[place], sum, { output[place] = sum; })
}

#endif
