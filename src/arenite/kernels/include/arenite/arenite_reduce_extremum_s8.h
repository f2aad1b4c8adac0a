#ifndef ARENITE_REDUCE_EXTREMUM_S8_H
#define ARENITE_REDUCE_EXTREMUM_S8_H

#include "arenite_port.h"

typedef struct {
    int32_t kept[3]; /* dimensions of the result, and their strides in the input */
    int32_t kept_strides[3];
    int32_t reduced[3]; /* dimensions that one result is over */
    int32_t reduced_strides[3];
    int32_t largest; /* else the smallest */
} arenite_reduce_extremum_s8_params;

ARENITE_INLINE int8_t arenite_reduce_extremum_s8_element(const arenite_reduce_extremum_s8_params *params,
                                                         const int8_t *input) {
    int8_t found = *input;
    for (int32_t i = 0; i < params->reduced[0]; ++i) {
        for (int32_t j = 0; j < params->reduced[1]; ++j) {
            const int8_t *row = input + i * params->reduced_strides[0] + j * params->reduced_strides[1];
            for (int32_t k = 0; k < params->reduced[2]; ++k) {
                const int8_t x = row[k * params->reduced_strides[2]];
                found = (params->largest ? x > found : x < found) ? x : found;
            }
        }
    }
    return found;
}

/* The largest or the smallest element over some dimensions; neighbours that are both kept or both reduced are
 * one dimension here. */
ARENITE_INLINE void arenite_reduce_extremum_s8(const arenite_reduce_extremum_s8_params *params,
                                               const int8_t *input, int8_t *output) {
    for (int32_t i = 0; i < params->kept[0]; ++i) {
        for (int32_t j = 0; j < params->kept[1]; ++j) {
            const int8_t *row = input + i * params->kept_strides[0] + j * params->kept_strides[1];
            for (int32_t k = 0; k < params->kept[2]; ++k) {
                *output++ = arenite_reduce_extremum_s8_element(params, row + k * params->kept_strides[2]);
            }
        }
    }
}

#endif
