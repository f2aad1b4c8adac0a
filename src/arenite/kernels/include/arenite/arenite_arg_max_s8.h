#ifndef ARENITE_ARG_MAX_S8_H
#define ARENITE_ARG_MAX_S8_H

#include "arenite_arg_max.h"
#include "arenite_integers.h"
#include "arenite_port.h"

typedef struct {
    int32_t outer;
    int32_t size; /* of the dimension that is searched */
    int32_t inner;
    int32_t flip; /* bits to invert: all for the least, the uppermost for a type without a sign */
    int32_t output_nbytes;
} arenite_arg_max_s8_params;

/* The index of the first element that none is greater than, or less than. */
ARENITE_INLINE void arenite_arg_max_s8(const arenite_arg_max_s8_params *params, const int8_t *input,
                                       uint8_t *output) {
    ARENITE_FOR_EACH_SEARCH(params, first, {
        const int8_t *element = input + first;
        int32_t best = *element ^ params->flip;
        int32_t index = 0;
        for (int32_t k = 1; k < params->size; ++k) {
            element += params->inner;
            const int32_t value = *element ^ params->flip;
            if (value > best) {
                best = value;
                index = k;
            }
        }
        output = arenite_store_index(output, index, params->output_nbytes);
    })
}

#endif
