/* Matrix product of rows of inputs with weights, int8: four outputs at a time. */
#ifndef ARENITE_FULLY_CONNECTED_S8_H
#define ARENITE_FULLY_CONNECTED_S8_H

#include "arenite_port.h"
#include "arenite_requantize.h"

typedef struct {
    int32_t rows;
    int32_t inputs;
    int32_t outputs;
    int32_t output_zero_point;
    int32_t clamp_low;
    int32_t clamp_high;
    int32_t narrow; /* sums below 2^30, all shifts in [-31, -1] */
} arenite_fully_connected_s8_params;

#define ARENITE_FULLY_CONNECTED_STEP(k)                                                                      \
    do {                                                                                                     \
        const int32_t x = a[k];                                                                              \
        s0 += (uint32_t)(x * w[4 * (k)]);                                                                    \
        s1 += (uint32_t)(x * w[4 * (k) + 1]);                                                                \
        s2 += (uint32_t)(x * w[4 * (k) + 2]);                                                                \
        s3 += (uint32_t)(x * w[4 * (k) + 3]);                                                                \
    } while (0)

/* Weights are packed by four outputs, [ceil(outputs / 4)][inputs][4], with zeros for what is not there.
 * Biases contain -zero_point * sum(weights), and like multipliers and shifts come in whole fours. */
ARENITE_INLINE void arenite_fully_connected_s8_core(const arenite_fully_connected_s8_params *params,
                                                    const int8_t *input, const int8_t *weights,
                                                    const int32_t *biases, const int32_t *multipliers,
                                                    const int8_t *shifts, int8_t *output) {
    const int32_t inputs = params->inputs, outputs = params->outputs;
    const int32_t zero_point = params->output_zero_point, narrow = params->narrow;
    int8_t *target = output;
    for (int32_t row = 0; row < params->rows; ++row, input += inputs) {
        const int8_t *w = weights;
        for (int32_t o = 0; o < outputs; o += 4) {
            uint32_t s0 = (uint32_t)biases[o], s1 = (uint32_t)biases[o + 1];
            uint32_t s2 = (uint32_t)biases[o + 2], s3 = (uint32_t)biases[o + 3];
            const int8_t *a = input;
            int32_t n = inputs;
            ARENITE_AS_WRITTEN
            for (; n >= 8; n -= 8) {
                ARENITE_FULLY_CONNECTED_STEP(0);
                ARENITE_FULLY_CONNECTED_STEP(1);
                ARENITE_FULLY_CONNECTED_STEP(2);
                ARENITE_FULLY_CONNECTED_STEP(3);
                ARENITE_FULLY_CONNECTED_STEP(4);
                ARENITE_FULLY_CONNECTED_STEP(5);
                ARENITE_FULLY_CONNECTED_STEP(6);
                ARENITE_FULLY_CONNECTED_STEP(7);
                a += 8;
                w += 32;
                ARENITE_OPAQUE(a);
                ARENITE_OPAQUE(w);
            }
            ARENITE_AS_WRITTEN
            for (; n > 0; --n) {
                ARENITE_FULLY_CONNECTED_STEP(0);
                ++a;
                w += 4;
            }
            const uint32_t sums[4] = {s0, s1, s2, s3};
            for (int32_t i = 0; i < 4 && o + i < outputs; ++i) {
                *target++ =
                    arenite_requantize_s8(sums[i], multipliers[o + i], shifts[o + i], zero_point, narrow);
            }
        }
    }
    arenite_clamp_s8(output, params->rows * outputs, params->clamp_low, params->clamp_high);
}

#undef ARENITE_FULLY_CONNECTED_STEP

ARENITE_SHARED void arenite_fully_connected_s8(const arenite_fully_connected_s8_params *params,
                                               const int8_t *input, const int8_t *weights,
                                               const int32_t *biases, const int32_t *multipliers,
                                               const int8_t *shifts, int8_t *output) {
    arenite_fully_connected_s8_core(params, input, weights, biases, multipliers, shifts, output);
}

#endif
