#ifndef ARENITE_DEQUANTIZE_S32_F32_H
#define ARENITE_DEQUANTIZE_S32_F32_H

#include "arenite_port.h"

typedef struct {
    int32_t nelem;
    int32_t zero_point;
    float scale;
} arenite_dequantize_s32_f32_params;

/* scale * (stored - zero_point), in double, since a float does not hold every int32. May run in place. */
ARENITE_INLINE void arenite_dequantize_s32_f32(const arenite_dequantize_s32_f32_params *params,
                                               const int32_t *input, float *output) {
    for (int32_t i = 0; i < params->nelem; ++i) {
        const double centred = (double)input[i] - (double)params->zero_point;
        output[i] = (float)((double)params->scale * centred);
    }
}

#endif
