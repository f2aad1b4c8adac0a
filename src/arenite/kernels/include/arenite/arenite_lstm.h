/* What recurrent layers (LSTM) with a cell of int16 share: all four gates of one unit at a time. */
#ifndef ARENITE_LSTM_H
#define ARENITE_LSTM_H

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
    int32_t clip;      /* largest magnitude of the cell; 32768: none */
} arenite_lstm_params;

/* What a unit gives, not yet limited to its type, once its gates' arguments are known; its cell changes. */
ARENITE_INLINE int32_t arenite_lstm_unit(const arenite_lstm_params *params, const uint16_t *points,
                                         const int32_t *arguments, int16_t *cell) {
    const int32_t into = arenite_gates_sigmoid(points, arenite_clamp_16(arguments[0]));
    const int32_t forget = arenite_gates_sigmoid(points, arenite_clamp_16(arguments[1]));
    const int32_t fresh = arenite_gates_tanh(points, arenite_clamp_16(arguments[2]), 12);
    const int32_t out = arenite_gates_sigmoid(points, arenite_clamp_16(arguments[3]));
    const int32_t kept = arenite_requantize(forget * *cell, params->forget_multiplier, params->forget_shift);
    const int32_t added = arenite_requantize(into * fresh, params->update_multiplier, params->update_shift);
    int32_t next = arenite_clamp_16(arenite_clamp_16(kept) + arenite_clamp_16(added));
    if (params->clip < 32768) {
        next = arenite_clamp(next, -params->clip, params->clip);
    }
    *cell = (int16_t)next;
    const int32_t given = arenite_requantize(out * arenite_gates_tanh(points, next, params->cell_bits),
                                             params->output_multiplier, params->output_shift);
    return given + params->output_zero_point;
}

/* Steps through a sequence of elements of `type`, limited to [low, high]. A statement adds to the arguments
 * of the gates of `unit` what the inputs from `values` on and what was given last, from `last` on,
 * contribute. What all units gave last is needed until the step is done, so it is replaced afterwards. */
#define ARENITE_LSTM(params, type, low, high, input, points, output_state, cell_state, output, values, last, \
                     unit, arguments, ...)                                                                   \
    for (int32_t arenite_b = 0; arenite_b < (params)->batches; ++arenite_b) {                                \
        type *const last = (output_state) + arenite_b * (params)->units;                                     \
        int16_t *const arenite_cell = (cell_state) + arenite_b * (params)->units;                            \
        for (int32_t arenite_s = 0; arenite_s < (params)->steps; ++arenite_s) {                              \
            const int32_t arenite_row = (params)->time_major ? arenite_s * (params)->batches + arenite_b     \
                                                             : arenite_b * (params)->steps + arenite_s;      \
            const type *const values = (input) + arenite_row * (params)->inputs;                             \
            type *const arenite_given = (output) + arenite_row * (params)->units;                            \
            for (int32_t unit = 0; unit < (params)->units; ++unit) {                                         \
                int32_t arguments[4] = {0, 0, 0, 0};                                                         \
                __VA_ARGS__                                                                                  \
                arenite_given[unit] = (type)arenite_clamp(                                                   \
                    arenite_lstm_unit(params, points, arguments, arenite_cell + unit), low, high);           \
            }                                                                                                \
            for (int32_t unit = 0; unit < (params)->units; ++unit) {                                         \
                last[unit] = arenite_given[unit];                                                            \
            }                                                                                                \
        }                                                                                                    \
    }

#endif
