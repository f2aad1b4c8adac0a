#include "arenite_lstm_s8.h"

void arenite_lstm_s8_entry(const arenite_lstm_s8_params *params, const int8_t *input, const int8_t *weights,
                           const int32_t *biases, const int8_t *recurrent_weights,
                           const int32_t *recurrent_biases, const uint16_t *points, int8_t *output_state,
                           int16_t *cell_state, int8_t *output);

void arenite_lstm_s8_entry(const arenite_lstm_s8_params *params, const int8_t *input, const int8_t *weights,
                           const int32_t *biases, const int8_t *recurrent_weights,
                           const int32_t *recurrent_biases, const uint16_t *points, int8_t *output_state,
                           int16_t *cell_state, int8_t *output) {
    arenite_lstm_s8(params, input, weights, biases, recurrent_weights, recurrent_biases, points, output_state,
                    cell_state, output);
}
