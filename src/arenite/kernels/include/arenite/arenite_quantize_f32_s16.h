#ifndef ARENITE_QUANTIZE_F32_S16_H
#define ARENITE_QUANTIZE_F32_S16_H

#include "arenite_port.h"
#include "arenite_quantize_f32.h"

typedef arenite_quantize_f32_params arenite_quantize_f32_s16_params;

ARENITE_INLINE void arenite_quantize_f32_s16(const arenite_quantize_f32_s16_params *params,
                                             const float *input, int16_t *output) {
    for (int32_t i = 0; i < params->nelem; ++i) {
        output[i] = (int16_t)arenite_quantize_f32(params, input[i]);
    }
}

#endif
