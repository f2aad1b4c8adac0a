#ifndef ARENITE_REAL_H
#define ARENITE_REAL_H

#include "arenite_port.h"

/* Between real numbers and what a quantized network stores: real = scale * (stored - zero_point). */

/* round(real / scale) + zero_point, halves away from zero, saturating; NaN becomes the zero point. */
ARENITE_INLINE int32_t arenite_stored(float real, float scale, int32_t zero_point, int32_t low,
                                      int32_t high) {
    const float quotient = real / scale;
    /* Compared before it is converted: C leaves the conversion of what does not fit undefined. */
    if (!(quotient > (float)(low - zero_point))) {
        const int32_t is_nan = quotient != quotient;
        return is_nan ? zero_point : low;
    }
    if (quotient >= (float)(high - zero_point)) {
        return high;
    }
    int32_t whole = (int32_t)quotient;
    const float fraction = quotient - (float)whole;
    if (fraction >= 0.5f) {
        ++whole;
    } else if (fraction <= -0.5f) {
        --whole;
    }
    return whole + zero_point;
}

ARENITE_INLINE float arenite_real(int32_t stored, float scale, int32_t zero_point) {
    return scale * (float)(stored - zero_point);
}

ARENITE_INLINE void arenite_store_int8_t(const float *reals, int8_t *to, int32_t nelem, float scale,
                                         int32_t zero_point) {
    for (int32_t i = 0; i < nelem; ++i) {
        to[i] = (int8_t)arenite_stored(reals[i], scale, zero_point, -128, 127);
    }
}

ARENITE_INLINE void arenite_store_uint8_t(const float *reals, uint8_t *to, int32_t nelem, float scale,
                                          int32_t zero_point) {
    for (int32_t i = 0; i < nelem; ++i) {
        to[i] = (uint8_t)arenite_stored(reals[i], scale, zero_point, 0, 255);
    }
}

ARENITE_INLINE void arenite_store_int16_t(const float *reals, int16_t *to, int32_t nelem, float scale,
                                          int32_t zero_point) {
    for (int32_t i = 0; i < nelem; ++i) {
        to[i] = (int16_t)arenite_stored(reals[i], scale, zero_point, -32768, 32767);
    }
}

ARENITE_INLINE void arenite_load_int8_t(const int8_t *from, float *reals, int32_t nelem, float scale,
                                        int32_t zero_point) {
    for (int32_t i = 0; i < nelem; ++i) {
        reals[i] = arenite_real(from[i], scale, zero_point);
    }
}

ARENITE_INLINE void arenite_load_uint8_t(const uint8_t *from, float *reals, int32_t nelem, float scale,
                                         int32_t zero_point) {
    for (int32_t i = 0; i < nelem; ++i) {
        reals[i] = arenite_real(from[i], scale, zero_point);
    }
}

ARENITE_INLINE void arenite_load_int16_t(const int16_t *from, float *reals, int32_t nelem, float scale,
                                         int32_t zero_point) {
    for (int32_t i = 0; i < nelem; ++i) {
        reals[i] = arenite_real(from[i], scale, zero_point);
    }
}

#endif
