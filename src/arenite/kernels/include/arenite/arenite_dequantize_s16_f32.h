#ifndef ARENITE_DEQUANTIZE_S16_F32_H
#define ARENITE_DEQUANTIZE_S16_F32_H

#include "arenite_port.h"

typedef struct {
    int32_t nelem;
    int32_t zero_point;
    float scale;
} arenite_dequantize_s16_f32_params;

/* scale * (stored - zero_point) */
ARENITE_INLINE void arenite_dequantize_s16_f32(const arenite_dequantize_s16_f32_params *params,
                                               const int16_t *input, float *output) {
    for (int32_t i = 0; i < params->nelem; ++i) {
        output[i] = params->scale * (float)(input[i] - params->zero_point);
    }
}

#endif
