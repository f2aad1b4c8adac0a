/* What softmax kernels share: the scale of one row. */
#ifndef ARENITE_SOFTMAX_H
#define ARENITE_SOFTMAX_H

#include "arenite_fixedpoint.h"
#include "arenite_port.h"
#include "arenite_reciprocal.h"

/* Each exponential times reciprocal / 2^31 / 2^shift is its share of the row, in Q31. */
typedef struct {
    int32_t largest;
    int32_t reciprocal;
    int32_t shift;
} arenite_softmax_scale;

ARENITE_INLINE arenite_softmax_scale arenite_softmax_scale_of(int32_t depth, const int8_t *input,
                                                              const int32_t *exponentials) {
    arenite_softmax_scale scale = {-128, 0, 12};
    for (int32_t i = 0; i < depth; ++i) {
        scale.largest = input[i] > scale.largest ? input[i] : scale.largest;
    }
    uint32_t total = 0;
    for (int32_t i = 0; i < depth; ++i) {
        total += (uint32_t)arenite_shift_right(exponentials[scale.largest - input[i]], 12);
    }
    for (; total < 0x80000000u; total *= 2) {
        --scale.shift;
    }
    scale.reciprocal = arenite_one_over_one_plus((int32_t)(total - 0x80000000u));
    return scale;
}

#endif
