#ifndef ARENITE_MEAN_S16_H
#define ARENITE_MEAN_S16_H

#include "arenite_fixedpoint.h"
#include "arenite_port.h"

typedef struct {
    int32_t kept[3]; /* dimensions of the result, and their strides in the input */
    int32_t kept_strides[3];
    int32_t reduced[3]; /* dimensions that one result is over */
    int32_t reduced_strides[3];
    int32_t multiplier;
    int32_t shift;
} arenite_mean_s16_params;

ARENITE_INLINE int16_t arenite_mean_s16_element(const arenite_mean_s16_params *params, const int16_t *input) {
    int32_t total = 0;
    for (int32_t i = 0; i < params->reduced[0]; ++i) {
        for (int32_t j = 0; j < params->reduced[1]; ++j) {
            const int16_t *row = input + i * params->reduced_strides[0] + j * params->reduced_strides[1];
            for (int32_t k = 0; k < params->reduced[2]; ++k) {
                total += row[k * params->reduced_strides[2]];
            }
        }
    }
    return (int16_t)arenite_clamp(arenite_requantize(total, params->multiplier, params->shift), -32768,
                                  32767);
}

/* Mean or sum over some dimensions; neighbours that are both kept or both reduced are one dimension here. */
ARENITE_INLINE void arenite_mean_s16(const arenite_mean_s16_params *params, const int16_t *input,
                                     int16_t *output) {
    for (int32_t i = 0; i < params->kept[0]; ++i) {
        for (int32_t j = 0; j < params->kept[1]; ++j) {
            const int16_t *row = input + i * params->kept_strides[0] + j * params->kept_strides[1];
            for (int32_t k = 0; k < params->kept[2]; ++k) {
                *output++ = arenite_mean_s16_element(params, row + k * params->kept_strides[2]);
            }
        }
    }
}

#endif
