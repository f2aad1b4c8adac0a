#ifndef ARENITE_CAST_INTEGER_H
#define ARENITE_CAST_INTEGER_H

#include "arenite_integers.h"
#include "arenite_port.h"

typedef struct {
    int32_t nelem;
    int32_t input_nbytes; /* of an element: 1, 2, 4 or 8 */
    int32_t input_signed;
    int32_t output_nbytes;
    int32_t to_bool; /* whether it is not 0 is what counts */
} arenite_cast_integer_params;

/* Integers as integers of another width; what does not fit wraps around. */
ARENITE_INLINE void arenite_cast_integer(const arenite_cast_integer_params *params, const uint8_t *input,
                                         uint8_t *output) {
    for (int32_t i = 0; i < params->nelem; ++i) {
        const int32_t low = arenite_load_integer(input, params->input_nbytes, params->input_signed);
        const int32_t high = arenite_load_upper(input, low, params->input_nbytes, params->input_signed);
        if (params->to_bool) {
            *output = (uint8_t)(low != 0 || high != 0);
        } else {
            arenite_store_integer(output, low, params->output_nbytes);
        }
        if (params->output_nbytes > 4) {
            arenite_store_integer(output + 4, high, 4);
        }
        input += params->input_nbytes;
        output += params->output_nbytes;
    }
}

#endif
