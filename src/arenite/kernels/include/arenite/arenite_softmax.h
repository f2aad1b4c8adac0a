/* What softmax kernels share: the scale of one row. */
#ifndef ARENITE_SOFTMAX_H
#define ARENITE_SOFTMAX_H

#include "arenite_fixedpoint.h"
#include "arenite_port.h"

/* Each exponential times reciprocal / 2^31 / 2^shift is its share of the row, in Q31. */
typedef struct {
    int32_t largest;
    int32_t reciprocal;
    int32_t shift;
} arenite_softmax_scale;

/* 1 / (1 + a) for a in [0, 1), in Q31, by three Newton-Raphson steps from 48/17 - 32/17 x (gemmlowp). */
ARENITE_INLINE int32_t arenite_one_over_one_plus(int32_t a) {
    const int32_t half = (int32_t)(((uint32_t)a + 0x80000000u) >> 1);
    int32_t x = 1515870810 + arenite_high_mul(half, -1010580540);
    for (int32_t step = 0; step < 3; ++step) {
        x += arenite_high_mul(x, (1 << 29) - arenite_high_mul(half, x)) * 4;
    }
    return x >= 1 << 30 ? INT32_MAX : x * 2;
}

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
