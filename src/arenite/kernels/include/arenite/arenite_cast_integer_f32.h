#ifndef ARENITE_CAST_INTEGER_F32_H
#define ARENITE_CAST_INTEGER_F32_H

#include "arenite_integers.h"
#include "arenite_port.h"

typedef struct {
    int32_t nelem;
    int32_t input_nbytes; /* of an element: 1, 2, 4 or 8 */
    int32_t input_signed;
} arenite_cast_integer_f32_params;

ARENITE_INLINE void arenite_cast_integer_f32(const arenite_cast_integer_f32_params *params,
                                             const uint8_t *input, float *output) {
    for (int32_t i = 0; i < params->nelem; ++i) {
        const int32_t value = arenite_load_integer(input, params->input_nbytes, params->input_signed);
        if (params->input_nbytes == 8) {
            const uint32_t high = (uint32_t)arenite_load_integer(input + 4, 4, 1);
            const uint64_t wide = (uint64_t)high << 32 | (uint32_t)value;
            output[i] = params->input_signed ? (float)(int64_t)wide : (float)wide;
        } else {
            output[i] = params->input_signed ? (float)value : (float)(uint32_t)value;
        }
        input += params->input_nbytes;
    }
}

#endif
