#ifndef ARENITE_QUANTIZE_F32_8_H
#define ARENITE_QUANTIZE_F32_8_H

#include "arenite_port.h"
#include "arenite_quantize_f32.h"

typedef arenite_quantize_f32_params arenite_quantize_f32_8_params;

ARENITE_INLINE void arenite_quantize_f32_8(const arenite_quantize_f32_8_params *params, const float *input,
                                           uint8_t *output) {
    for (int32_t i = 0; i < params->nelem; ++i) {
        output[i] = (uint8_t)arenite_quantize_f32(params, input[i]);
    }
}

#endif
