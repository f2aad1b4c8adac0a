/* A recurrent layer (LSTM), int8, with a cell of int16: all four gates of one unit at a time. */
#ifndef ARENITE_LSTM_S8_H
#define ARENITE_LSTM_S8_H

#include "arenite_fixedpoint.h"
#include "arenite_gates.h"
#include "arenite_port.h"

typedef struct {
    int32_t batches;
    int32_t steps;
    int32_t inputs;
    int32_t units;
    int32_t time_major;           /* the input is [steps][batches][inputs], else [batches][steps][inputs] */
    int32_t input_multipliers[4]; /* of the gates input, forget, cell, output */
    int32_t input_shifts[4];
    int32_t recurrent_multipliers[4];
    int32_t recurrent_shifts[4];
    int32_t forget_multiplier;
    int32_t forget_shift;
    int32_t update_multiplier;
    int32_t update_shift;
    int32_t output_multiplier;
    int32_t output_shift;
    int32_t output_zero_point;
    int32_t cell_bits; /* the cell's fractional bits */
    int32_t clip;      /* largest magnitude of the cell; 0: none */
} arenite_lstm_s8_params;

/* Adds to the arguments of four gates what `length` values contribute; weights are [length][4]. */
ARENITE_INLINE void arenite_lstm_s8_contribute(const int8_t *values, int32_t length, const int8_t *weights,
                                               const int32_t *biases, const int32_t *multipliers,
                                               const int32_t *shifts, int32_t *arguments) {
    uint32_t s0 = (uint32_t)biases[0], s1 = (uint32_t)biases[1];
    uint32_t s2 = (uint32_t)biases[2], s3 = (uint32_t)biases[3];
    for (int32_t n = length; n > 0; --n) {
        const int32_t value = *values++;
        s0 += (uint32_t)(value * weights[0]);
        s1 += (uint32_t)(value * weights[1]);
        s2 += (uint32_t)(value * weights[2]);
        s3 += (uint32_t)(value * weights[3]);
        weights += 4;
    }
    const uint32_t sums[4] = {s0, s1, s2, s3};
    for (int32_t i = 0; i < 4; ++i) {
        arguments[i] += arenite_clamp_16(arenite_requantize((int32_t)sums[i], multipliers[i], shifts[i]));
    }
}

/* What a unit gives, once its gates' arguments are known; its cell changes. */
ARENITE_INLINE int8_t arenite_lstm_s8_unit(const arenite_lstm_s8_params *params, const uint16_t *points,
                                           const int32_t *arguments, int16_t *cell) {
    const int32_t into = arenite_gates_sigmoid(points, arenite_clamp_16(arguments[0]));
    const int32_t forget = arenite_gates_sigmoid(points, arenite_clamp_16(arguments[1]));
    const int32_t fresh = arenite_gates_tanh(points, arenite_clamp_16(arguments[2]), 12);
    const int32_t out = arenite_gates_sigmoid(points, arenite_clamp_16(arguments[3]));
    const int32_t kept = arenite_requantize(forget * *cell, params->forget_multiplier, params->forget_shift);
    const int32_t added = arenite_requantize(into * fresh, params->update_multiplier, params->update_shift);
    int32_t next = arenite_clamp_16(arenite_clamp_16(kept) + arenite_clamp_16(added));
    if (params->clip > 0) {
        next = arenite_clamp(next, -params->clip, params->clip);
    }
    *cell = (int16_t)next;
    const int32_t given = arenite_requantize(out * arenite_gates_tanh(points, next, params->cell_bits),
                                             params->output_multiplier, params->output_shift);
    return (int8_t)arenite_clamp(given + params->output_zero_point, INT8_MIN, INT8_MAX);
}

/* Weights are [units][inputs][4] and [units][units][4], biases [units][4]; they contain -zero_point *
 * sum(weights). What all units gave last is needed until the step is done, so it is replaced afterwards. */
ARENITE_INLINE void arenite_lstm_s8_core(const arenite_lstm_s8_params *params, const int8_t *input,
                                         const int8_t *weights, const int32_t *biases,
                                         const int8_t *recurrent_weights, const int32_t *recurrent_biases,
                                         const uint16_t *points, int8_t *output_state, int16_t *cell_state,
                                         int8_t *output) {
    const int32_t inputs = params->inputs, units = params->units;
    for (int32_t batch = 0; batch < params->batches; ++batch) {
        int8_t *last = output_state + batch * units;
        int16_t *cell = cell_state + batch * units;
        for (int32_t step = 0; step < params->steps; ++step) {
            const int32_t row =
                params->time_major ? step * params->batches + batch : batch * params->steps + step;
            const int8_t *values = input + row * inputs;
            int8_t *given = output + row * units;
            for (int32_t unit = 0; unit < units; ++unit) {
                int32_t arguments[4] = {0, 0, 0, 0};
                arenite_lstm_s8_contribute(values, inputs, weights + unit * inputs * 4, biases + unit * 4,
                                           params->input_multipliers, params->input_shifts, arguments);
                arenite_lstm_s8_contribute(last, units, recurrent_weights + unit * units * 4,
                                           recurrent_biases + unit * 4, params->recurrent_multipliers,
                                           params->recurrent_shifts, arguments);
                given[unit] = arenite_lstm_s8_unit(params, points, arguments, cell + unit);
            }
            for (int32_t unit = 0; unit < units; ++unit) {
                last[unit] = given[unit];
            }
        }
    }
}

ARENITE_SHARED void arenite_lstm_s8(const arenite_lstm_s8_params *params, const int8_t *input,
                                    const int8_t *weights, const int32_t *biases,
                                    const int8_t *recurrent_weights, const int32_t *recurrent_biases,
                                    const uint16_t *points, int8_t *output_state, int16_t *cell_state,
                                    int8_t *output) {
    arenite_lstm_s8_core(params, input, weights, biases, recurrent_weights, recurrent_biases, points,
                         output_state, cell_state, output);
}

#endif
