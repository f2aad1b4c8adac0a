#ifndef ARENITE_MEAN_S8_H
#define ARENITE_MEAN_S8_H

#include "arenite_port.h"
#include "arenite_fixedpoint.h"

typedef struct {
    int32_t kept[3]; /* dimensions of the result, and their strides in the input */
    int32_t kept_strides[3];
    int32_t reduced[3]; /* dimensions that one mean is over */
    int32_t reduced_strides[3];
    int32_t offset; /* elements in one mean times the input's zero point */
    int32_t multiplier;
    int32_t shift;
    int32_t zero_point;
} arenite_mean_s8_params;

ARENITE_INLINE int8_t arenite_mean_s8_element(const arenite_mean_s8_params *params, const int8_t *input) {
    int32_t total = -params->offset;
    for (int32_t i = 0; i < params->reduced[0]; ++i) {
        for (int32_t j = 0; j < params->reduced[1]; ++j) {
            const int8_t *row = input + i * params->reduced_strides[0] + j * params->reduced_strides[1];
            for (int32_t k = 0; k < params->reduced[2]; ++k) {
                total += row[k * params->reduced_strides[2]];
            }
        }
    }
    const int32_t stored = arenite_requantize(total, params->multiplier, params->shift) + params->zero_point;
    return (int8_t)arenite_clamp(stored, -128, 127);
}

/* Mean over some dimensions; neighbours that are both kept or both reduced are one dimension here. */
ARENITE_INLINE void arenite_mean_s8(const arenite_mean_s8_params *params, const int8_t *input,
                                    int8_t *output) {
    for (int32_t i = 0; i < params->kept[0]; ++i) {
        for (int32_t j = 0; j < params->kept[1]; ++j) {
            const int8_t *row = input + i * params->kept_strides[0] + j * params->kept_strides[1];
            for (int32_t k = 0; k < params->kept[2]; ++k) {
                *output++ = arenite_mean_s8_element(params, row + k * params->kept_strides[2]);
            }
        }
    }
}

#endif
