/* A recurrent layer (LSTM), int16 with int8 weights, and a cell of int16. */
#ifndef ARENITE_LSTM_S16_H
#define ARENITE_LSTM_S16_H

#include "arenite_fixedpoint.h"
#include "arenite_gates.h"
#include "arenite_lstm.h"
#include "arenite_port.h"
#include "arenite_rescale_s64.h"

typedef arenite_lstm_params arenite_lstm_s16_params;

/* Products of int16 and int8 whose sum 32 bits hold. */
#define ARENITE_LSTM_S16_CHUNK 504

/* Adds to the arguments of four gates what `length` values and biases (or null) contribute, rounded once, by
 * multipliers of 15 bits; weights are [length][4]. */
ARENITE_INLINE void arenite_lstm_s16_contribute(const int16_t *values, int32_t length, const int8_t *weights,
                                                const int64_t *biases, const int32_t *multipliers,
                                                const int32_t *shifts, int32_t *arguments) {
    int64_t totals[4] = {0, 0, 0, 0};
    for (int32_t left = length; left > 0; left -= ARENITE_LSTM_S16_CHUNK) {
        uint32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        for (int32_t n = left < ARENITE_LSTM_S16_CHUNK ? left : ARENITE_LSTM_S16_CHUNK; n > 0; --n) {
            const int32_t value = *values++;
            s0 += (uint32_t)(value * weights[0]);
            s1 += (uint32_t)(value * weights[1]);
            s2 += (uint32_t)(value * weights[2]);
            s3 += (uint32_t)(value * weights[3]);
            weights += 4;
        }
        totals[0] += (int32_t)s0;
        totals[1] += (int32_t)s1;
        totals[2] += (int32_t)s2;
        totals[3] += (int32_t)s3;
    }
    for (int32_t i = 0; i < 4; ++i) {
        const int64_t total = totals[i] + (biases == NULL ? 0 : biases[i]);
        arguments[i] += arenite_store_s64(total, multipliers[i], shifts[i], 1, INT16_MIN, INT16_MAX);
    }
}

/* Weights are [units][inputs][4] and [units][units][4], biases [units][4]. */
ARENITE_INLINE void arenite_lstm_s16_core(const arenite_lstm_s16_params *params, const int16_t *input,
                                          const int8_t *weights, const int64_t *biases,
                                          const int8_t *recurrent_weights, const uint16_t *points,
                                          int16_t *output_state, int16_t *cell_state, int16_t *output) {
    const int32_t inputs = params->inputs, units = params->units;
    ARENITE_LSTM(
        params, int16_t, INT16_MIN, INT16_MAX, input, points, output_state, cell_state, output, values, last,
        unit, arguments, {
            arenite_lstm_s16_contribute(values, inputs, weights + unit * inputs * 4, biases + unit * 4,
                                        params->input_multipliers, params->input_shifts, arguments);
            arenite_lstm_s16_contribute(last, units, recurrent_weights + unit * units * 4, NULL,
                                        params->recurrent_multipliers, params->recurrent_shifts, arguments);
        })
}

ARENITE_SHARED void arenite_lstm_s16(const arenite_lstm_s16_params *params, const int16_t *input,
                                     const int8_t *weights, const int64_t *biases,
                                     const int8_t *recurrent_weights, const uint16_t *points,
                                     int16_t *output_state, int16_t *cell_state, int16_t *output) {
    arenite_lstm_s16_core(params, input, weights, biases, recurrent_weights, points, output_state, cell_state,
                          output);
}

#endif
