/* From one quantization to another, for all pairs of types: a kernel per pair. */
#ifndef ARENITE_RESCALE_H
#define ARENITE_RESCALE_H

#include "arenite_fixedpoint.h"
#include "arenite_port.h"

ARENITE_INLINE int32_t arenite_rescale(int32_t stored, int32_t from_zero_point, int32_t multiplier,
                                       int32_t shift, int32_t zero_point, int64_t low, int64_t high) {
    const int32_t centred = (int32_t)((uint32_t)stored - (uint32_t)from_zero_point);
    const int64_t result = (int64_t)arenite_requantize(centred, multiplier, shift) + zero_point;
    return (int32_t)(result < low ? low : result > high ? high : result);
}

/* Defines the struct and the kernel of one pair. */
#define ARENITE_RESCALE_KERNEL(symbol, from_type, to_type, low, high)                                        \
    typedef struct {                                                                                         \
        int32_t nelem;                                                                                       \
        int32_t from_zero_point;                                                                             \
        int32_t multiplier;                                                                                  \
        int32_t shift;                                                                                       \
        int32_t zero_point;                                                                                  \
    } symbol##_params;                                                                                       \
                                                                                                             \
    ARENITE_INLINE void symbol(const symbol##_params *params, const from_type *input, to_type *output) {     \
        for (int32_t i = 0; i < params->nelem; ++i) {                                                        \
            output[i] = (to_type)arenite_rescale(input[i], params->from_zero_point, params->multiplier,      \
                                                 params->shift, params->zero_point, low, high);              \
        }                                                                                                    \
    }

#endif
