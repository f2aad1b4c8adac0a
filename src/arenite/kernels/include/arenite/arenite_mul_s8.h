#ifndef ARENITE_MUL_S8_H
#define ARENITE_MUL_S8_H

#include "arenite_port.h"
#include "arenite_fixedpoint.h"

typedef struct {
    int32_t sizes[4]; /* of the result; an operand's stride is 0 where it repeats */
    int32_t strides_a[4];
    int32_t strides_b[4];
    int32_t zero_point_a;
    int32_t zero_point_b;
    int32_t multiplier;
    int32_t shift;
    int32_t zero_point;
    int32_t low;
    int32_t high;
} arenite_mul_s8_params;

ARENITE_INLINE int8_t arenite_mul_s8_element(const arenite_mul_s8_params *params, int32_t a, int32_t b,
                                             int32_t multiplier) {
    /* At most 16 bits and the sign. */
    const int32_t product = (a - params->zero_point_a) * (b - params->zero_point_b);
    if (params->shift > 0) {
        const int32_t scaled = arenite_requantize(product, multiplier, params->shift);
        return (int8_t)arenite_clamp(scaled + params->zero_point, params->low, params->high);
    }
    return arenite_store_s8(arenite_scale_doubled(2 * product, multiplier), params->shift, params->zero_point,
                            params->low, params->high);
}

/* Product of two tensors that broadcast. May run in place of an operand as large as the result. */
ARENITE_INLINE void arenite_mul_s8(const arenite_mul_s8_params *params, const int8_t *a, const int8_t *b,
                                   int8_t *output) {
    int32_t multiplier = params->multiplier;
    ARENITE_OPAQUE(multiplier);
    for (int32_t i = 0; i < params->sizes[0]; ++i) {
        for (int32_t j = 0; j < params->sizes[1]; ++j) {
            for (int32_t k = 0; k < params->sizes[2]; ++k) {
                const int8_t *row_a =
                    a + i * params->strides_a[0] + j * params->strides_a[1] + k * params->strides_a[2];
                const int8_t *row_b =
                    b + i * params->strides_b[0] + j * params->strides_b[1] + k * params->strides_b[2];
                for (int32_t n = 0; n < params->sizes[3]; ++n) {
                    *output++ = arenite_mul_s8_element(params, row_a[n * params->strides_a[3]],
                                                       row_b[n * params->strides_b[3]], multiplier);
                }
            }
        }
    }
}

#endif
