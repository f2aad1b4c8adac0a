#ifndef ARENITE_CAST_F32_WIDE_H
#define ARENITE_CAST_F32_WIDE_H

#include "arenite_integers.h"
#include "arenite_port.h"

typedef struct {
    int32_t nelem;
    int32_t output_nbytes; /* 4: unsigned; 8: signed */
} arenite_cast_f32_wide_params;

/* Without its fraction, limited to [low, 2^bits - 1], where `above` is 2^bits; NaN is 0. */
ARENITE_INLINE int64_t arenite_truncate_wide(float value, float below, float above, int64_t low,
                                             int64_t high) {
    if (value >= above) {
        return high;
    }
    if (value <= below) {
        return low;
    }
    return value == value ? (int64_t)value : 0;
}

/* Floats as integers that 32 bits with a sign do not hold. */
ARENITE_INLINE void arenite_cast_f32_wide(const arenite_cast_f32_wide_params *params, const float *input,
                                          uint8_t *output) {
    const int32_t is_long = params->output_nbytes == 8;
    for (int32_t i = 0; i < params->nelem; ++i) {
        const int64_t value = is_long ? arenite_truncate_wide(input[i], -9223372036854775808.0f,
                                                              9223372036854775808.0f, INT64_MIN, INT64_MAX)
                                      : arenite_truncate_wide(input[i], 0.0f, 4294967296.0f, 0, UINT32_MAX);
        arenite_store_integer(output, (int32_t)(uint32_t)(uint64_t)value, 4);
        if (is_long) {
            arenite_store_integer(output + 4, (int32_t)(uint32_t)((uint64_t)value >> 32), 4);
        }
        output += params->output_nbytes;
    }
}

#endif
