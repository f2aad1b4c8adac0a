#ifndef ARENITE_ARG_MAX_INTEGER_H
#define ARENITE_ARG_MAX_INTEGER_H

#include "arenite_arg_max.h"
#include "arenite_integers.h"
#include "arenite_port.h"

typedef struct {
    int32_t outer;
    int32_t size; /* of the dimension that is searched */
    int32_t inner;
    int32_t flip;         /* bits to invert: all for the least, the uppermost for a type without a sign */
    int32_t input_nbytes; /* of an element: 1, 2 or 4 */
    int32_t input_signed;
    int32_t output_nbytes;
} arenite_arg_max_integer_params;

/* The index of the first element that none is greater than, or less than, for integers of any width. */
ARENITE_INLINE void arenite_arg_max_integer(const arenite_arg_max_integer_params *params,
                                            const uint8_t *input, uint8_t *output) {
    const int32_t nbytes = params->input_nbytes, is_signed = params->input_signed;
    ARENITE_FOR_EACH_SEARCH(params, first, {
        const uint8_t *element = input + first * nbytes;
        int32_t best = arenite_load_integer(element, nbytes, is_signed) ^ params->flip;
        int32_t index = 0;
        for (int32_t k = 1; k < params->size; ++k) {
            element += params->inner * nbytes;
            const int32_t value = arenite_load_integer(element, nbytes, is_signed) ^ params->flip;
            if (value > best) {
                best = value;
                index = k;
            }
        }
        output = arenite_store_index(output, index, params->output_nbytes);
    })
}

#endif
