#ifndef ARENITE_DEQUANTIZE_8_F32_H
#define ARENITE_DEQUANTIZE_8_F32_H

#include "arenite_port.h"

typedef struct {
    int32_t nelem;
    int32_t sign;       /* 128 for int8, which makes its bytes ascend; 0 for uint8 */
    int32_t zero_point; /* plus `sign` */
    float scale;
} arenite_dequantize_8_f32_params;

/* scale * (stored - zero_point) */
ARENITE_INLINE void arenite_dequantize_8_f32(const arenite_dequantize_8_f32_params *params,
                                             const uint8_t *input, float *output) {
    for (int32_t i = 0; i < params->nelem; ++i) {
        output[i] = params->scale * (float)((input[i] ^ params->sign) - params->zero_point);
    }
}

#endif
