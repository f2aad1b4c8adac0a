#ifndef ARENITE_ARG_MAX_F32_H
#define ARENITE_ARG_MAX_F32_H

#include "arenite_arg_max.h"
#include "arenite_integers.h"
#include "arenite_port.h"

typedef struct {
    int32_t outer;
    int32_t size; /* of the dimension that is searched */
    int32_t inner;
    int32_t least; /* whether the least one is wanted */
    int32_t output_nbytes;
} arenite_arg_max_f32_params;

/* The index of the first element that none is greater than, or less than. */
ARENITE_INLINE void arenite_arg_max_f32(const arenite_arg_max_f32_params *params, const float *input,
                                        uint8_t *output) {
    ARENITE_FOR_EACH_SEARCH(params, first, {
        const float *element = input + first;
        float best = *element;
        int32_t index = 0;
        for (int32_t k = 1; k < params->size; ++k) {
            element += params->inner;
            const float value = *element;
            if (params->least ? value < best : value > best) {
                best = value;
                index = k;
            }
        }
        output = arenite_store_index(output, index, params->output_nbytes);
    })
}

#endif
