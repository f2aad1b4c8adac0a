/* A recurrent layer (LSTM), int8, with a cell of int16: all four gates of one unit at a time. */
#ifndef ARENITE_LSTM_S8_H
#define ARENITE_LSTM_S8_H

#include "arenite_fixedpoint.h"
#include "arenite_gates.h"
#include "arenite_lstm.h"
#include "arenite_port.h"

typedef arenite_lstm_params arenite_lstm_s8_params;

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

/* Weights are [units][inputs][4] and [units][units][4], biases [units][4]; they contain -zero_point *
 * sum(weights). */
ARENITE_INLINE void arenite_lstm_s8_core(const arenite_lstm_s8_params *params, const int8_t *input,
                                         const int8_t *weights, const int32_t *biases,
                                         const int8_t *recurrent_weights, const int32_t *recurrent_biases,
                                         const uint16_t *points, int8_t *output_state, int16_t *cell_state,
                                         int8_t *output) {
    const int32_t inputs = params->inputs, units = params->units;
    ARENITE_LSTM(params, int8_t, INT8_MIN, INT8_MAX, input, points, output_state, cell_state, output, values,
                 last, unit, arguments, {
                     arenite_lstm_s8_contribute(values, inputs, weights + unit * inputs * 4,
                                                biases + unit * 4, params->input_multipliers,
                                                params->input_shifts, arguments);
                     arenite_lstm_s8_contribute(last, units, recurrent_weights + unit * units * 4,
                                                recurrent_biases + unit * 4, params->recurrent_multipliers,
                                                params->recurrent_shifts, arguments);
                 })
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
