#ifndef ARENITE_SOFTMAX_S8_H
#define ARENITE_SOFTMAX_S8_H

#include "arenite_port.h"
#include "arenite_fixedpoint.h"

typedef struct {
    int32_t rows;
    int32_t depth;
} arenite_softmax_s8_params;

/* 1 / (1 + a) for a in [0, 1), in Q31, by three Newton-Raphson steps from 48/17 - 32/17 x (gemmlowp). */
ARENITE_INLINE int32_t arenite_one_over_one_plus(int32_t a) {
    const int32_t half = (int32_t)(((uint32_t)a + 0x80000000u) >> 1);
    int32_t x = 1515870810 + arenite_high_mul(half, -1010580540);
    for (int32_t step = 0; step < 3; ++step) {
        x += arenite_high_mul(x, (1 << 29) - arenite_high_mul(half, x)) * 4;
    }
    return x >= 1 << 30 ? INT32_MAX : x * 2;
}

ARENITE_INLINE void arenite_softmax_s8_row(int32_t depth, const int8_t *input, const int32_t *exponentials,
                                           int8_t *output) {
    int32_t largest = -128;
    for (int32_t i = 0; i < depth; ++i) {
        largest = input[i] > largest ? input[i] : largest;
    }
    uint32_t total = 0;
    for (int32_t i = 0; i < depth; ++i) {
        total += (uint32_t)arenite_shift_right(exponentials[largest - input[i]], 12);
    }
    int32_t headroom = 0;
    for (; total < 0x80000000u; total *= 2) {
        ++headroom;
    }
    const int32_t reciprocal = arenite_one_over_one_plus((int32_t)(total - 0x80000000u));
    const int32_t shift = 35 - headroom;
    for (int32_t i = 0; i < depth; ++i) {
        const int32_t scaled = arenite_high_mul(reciprocal, exponentials[largest - input[i]]);
        const int32_t stored = shift > 31 ? -128 : arenite_shift_right(scaled, shift) - 128;
        output[i] = (int8_t)(stored < 127 ? stored : 127);
    }
}

/* Softmax of each row; exponentials[d] belongs to a code that is d below its row's largest. May run in place.
 */
ARENITE_INLINE void arenite_softmax_s8(const arenite_softmax_s8_params *params, const int8_t *input,
                                       const int32_t *exponentials, int8_t *output) {
    for (int32_t row = 0; row < params->rows; ++row) {
        arenite_softmax_s8_row(params->depth, input, exponentials, output);
        input += params->depth;
        output += params->depth;
    }
}

#endif
