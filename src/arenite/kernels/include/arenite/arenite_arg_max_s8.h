#ifndef ARENITE_ARG_MAX_S8_H
#define ARENITE_ARG_MAX_S8_H

#include "arenite_port.h"

typedef struct {
    int32_t outer;
    int32_t size; /* of the dimension that is searched */
    int32_t inner;
    int32_t flip; /* 0 for the greatest, -1 for the least: inverting all bits turns the order round */
} arenite_arg_max_s8_params;

/* The index of the first element that none is greater than, or less than. */
ARENITE_INLINE void arenite_arg_max_s8(const arenite_arg_max_s8_params *params, const int8_t *input,
                                       int32_t *output) {
    for (int32_t i = 0; i < params->outer; ++i) {
        for (int32_t j = 0; j < params->inner; ++j) {
            const int8_t *element = input + j;
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
            *output++ = index;
        }
        input += params->size * params->inner;
    }
}

#endif
