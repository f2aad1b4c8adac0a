#ifndef ARENITE_CAST_F32_INTEGER_H
#define ARENITE_CAST_F32_INTEGER_H

#include "arenite_integers.h"
#include "arenite_port.h"

typedef struct {
    int32_t nelem;
    int32_t output_nbytes; /* of an element: 1, 2 or 4 */
    int32_t low;           /* limits of the result */
    int32_t high;
    int32_t to_bool; /* whether it is not 0 is what counts */
} arenite_cast_f32_integer_params;

/* Without its fraction, limited; NaN is 0. */
ARENITE_INLINE int32_t arenite_truncate(float value, int32_t low, int32_t high) {
    if (value >= (float)high) {
        return high;
    }
    if (value <= (float)low) {
        return low;
    }
    return value == value ? (int32_t)value : 0;
}

ARENITE_INLINE void arenite_cast_f32_integer(const arenite_cast_f32_integer_params *params,
                                             const float *input, uint8_t *output) {
    for (int32_t i = 0; i < params->nelem; ++i) {
        const int32_t value = params->to_bool ? (input[i] == 0.0f ? 0 : 1)
                                              : arenite_truncate(input[i], params->low, params->high);
        arenite_store_integer(output, value, params->output_nbytes);
        output += params->output_nbytes;
    }
}

#endif
