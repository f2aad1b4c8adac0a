/* From a float to what is stored for it. */
#ifndef ARENITE_QUANTIZE_F32_H
#define ARENITE_QUANTIZE_F32_H

#include "arenite_port.h"

typedef struct {
    int32_t nelem;
    float scale;
    int32_t zero_point;
    int32_t low; /* limits of the stored type */
    int32_t high;
} arenite_quantize_f32_params;

/* round(real / scale) + zero_point, halves away from zero, saturating; NaN becomes the zero point. */
ARENITE_INLINE int32_t arenite_quantize_f32(const arenite_quantize_f32_params *params, float real) {
    const float quotient = real / params->scale;
    /* Compared before it is converted: C leaves the conversion of what does not fit undefined. */
    if (!(quotient > (float)(params->low - params->zero_point))) {
        const int32_t is_nan = quotient != quotient;
        return is_nan ? params->zero_point : params->low;
    }
    if (quotient >= (float)(params->high - params->zero_point)) {
        return params->high;
    }
    int32_t whole = (int32_t)quotient;
    const float fraction = quotient - (float)whole;
    if (fraction >= 0.5f) {
        ++whole;
    } else if (fraction <= -0.5f) {
        --whole;
    }
    return whole + params->zero_point;
}

#endif
