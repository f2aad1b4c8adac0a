#ifndef ARENITE_QUANTIZE_F32_8_H
#define ARENITE_QUANTIZE_F32_8_H

#include "arenite_port.h"

typedef struct {
    int32_t nelem;
    float scale;
    int32_t zero_point;
    int32_t low; /* limits of the stored type: int8 or uint8 */
    int32_t high;
} arenite_quantize_f32_8_params;

/* round(real / scale) + zero_point, halves away from zero, saturating; NaN becomes the zero point. */
ARENITE_INLINE uint8_t arenite_quantize_f32_8_element(const arenite_quantize_f32_8_params *params,
                                                      float real) {
    const float quotient = real / params->scale;
    /* Compared before it is converted: C leaves the conversion of what does not fit undefined. */
    if (!(quotient > (float)(params->low - params->zero_point))) {
        const int32_t is_nan = quotient != quotient;
        return (uint8_t)(is_nan ? params->zero_point : params->low);
    }
    if (quotient >= (float)(params->high - params->zero_point)) {
        return (uint8_t)params->high;
    }
    int32_t whole = (int32_t)quotient;
    const float fraction = quotient - (float)whole;
    if (fraction >= 0.5f) {
        ++whole;
    } else if (fraction <= -0.5f) {
        --whole;
    }
    return (uint8_t)(whole + params->zero_point);
}

ARENITE_INLINE void arenite_quantize_f32_8(const arenite_quantize_f32_8_params *params, const float *input,
                                           uint8_t *output) {
    for (int32_t i = 0; i < params->nelem; ++i) {
        output[i] = arenite_quantize_f32_8_element(params, input[i]);
    }
}

#endif
