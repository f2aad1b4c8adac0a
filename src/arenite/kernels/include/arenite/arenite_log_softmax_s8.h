#ifndef ARENITE_LOG_SOFTMAX_S8_H
#define ARENITE_LOG_SOFTMAX_S8_H

#include "arenite_fixedpoint.h"
#include "arenite_logarithm.h"
#include "arenite_port.h"

typedef struct {
    int32_t rows;
    int32_t depth;
    int32_t multiplier; /* from distances of codes to logarithms with 5 integer bits */
    int32_t shift;
    int32_t radius;          /* the largest distance that counts */
    int32_t back_multiplier; /* from logarithms to distances */
    int32_t back_shift;
} arenite_log_softmax_s8_params;

ARENITE_INLINE void arenite_log_softmax_s8_row(const arenite_log_softmax_s8_params *params,
                                               const int8_t *input, const int32_t *exponentials,
                                               int8_t *output) {
    int32_t largest = -128;
    for (int32_t i = 0; i < params->depth; ++i) {
        largest = input[i] > largest ? input[i] : largest;
    }
    int32_t total = 0;
    for (int32_t i = 0; i < params->depth; ++i) {
        total += arenite_shift_right(exponentials[largest - input[i]], 12);
    }
    const int32_t log_total = arenite_logarithm_q12(total);
    const int32_t reach =
        arenite_requantize(log_total + INT32_MIN, params->back_multiplier, params->back_shift);
    const int32_t lowest = reach > -params->radius - 1 ? reach : -params->radius - 1;
    for (int32_t i = 0; i < params->depth; ++i) {
        const int32_t distance = input[i] - largest;
        int32_t stored = -128;
        if (distance > lowest) {
            const int32_t scaled = arenite_requantize(distance, params->multiplier, params->shift);
            stored = arenite_clamp(arenite_shift_right(scaled - log_total, 22) + 127, -128, 127);
        }
        output[i] = (int8_t)stored;
    }
}

/* The logarithm of the softmax of each row; exponentials[d] belongs to a code that is d below its row's
 * largest. May run in place. */
ARENITE_INLINE void arenite_log_softmax_s8(const arenite_log_softmax_s8_params *params, const int8_t *input,
                                           const int32_t *exponentials, int8_t *output) {
    for (int32_t row = 0; row < params->rows; ++row) {
        arenite_log_softmax_s8_row(params, input, exponentials, output);
        input += params->depth;
        output += params->depth;
    }
}

#endif
