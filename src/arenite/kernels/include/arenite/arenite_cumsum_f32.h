#ifndef ARENITE_CUMSUM_F32_H
#define ARENITE_CUMSUM_F32_H

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
    for (int32_t i = 0; i < params->outer; ++i) {
        for (int32_t j = 0; j < params->inner; ++j) {
            int32_t place = i * params->size * params->inner + j + params->first;
            float total = 0.0f;
            for (int32_t k = 0; k < params->size; ++k) {
                const float next = total + input[place];
                output[place] = params->exclusive ? total : next;
                total = next;
                place += params->step;
            }
        }
    }
}

#endif
