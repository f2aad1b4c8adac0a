#ifndef ARENITE_CAST_INTEGER_H
#define ARENITE_CAST_INTEGER_H

#include "arenite_integers.h"
#include "arenite_port.h"

typedef struct {
    int32_t nelem;
    int32_t input_nbytes; /* of an element: 1, 2 or 4 */
    int32_t input_signed;
    int32_t output_nbytes;
    int32_t to_bool; /* whether it is not 0 is what counts */
} arenite_cast_integer_params;

/* Integers as integers of another width; what does not fit wraps around. */
ARENITE_INLINE void arenite_cast_integer(const arenite_cast_integer_params *params, const uint8_t *input,
                                         uint8_t *output) {
    for (int32_t i = 0; i < params->nelem; ++i) {
        const int32_t value = arenite_load_integer(input, params->input_nbytes, params->input_signed);
        arenite_store_integer(output, params->to_bool ? value != 0 : value, params->output_nbytes);
        input += params->input_nbytes;
        output += params->output_nbytes;
    }
}

#endif
