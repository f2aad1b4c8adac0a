#include "arenite_lstm_s16.h"

void arenite_lstm_s16_entry(const arenite_lstm_s16_params *params, const int16_t *input,
                            const int8_t *weights, const int64_t *biases, const int8_t *recurrent_weights,
                            const uint16_t *points, int16_t *output_state, int16_t *cell_state,
                            int16_t *output);

void arenite_lstm_s16_entry(const arenite_lstm_s16_params *params, const int16_t *input,
                            const int8_t *weights, const int64_t *biases, const int8_t *recurrent_weights,
                            const uint16_t *points, int16_t *output_state, int16_t *cell_state,
                            int16_t *output) {
    arenite_lstm_s16(params, input, weights, biases, recurrent_weights, points, output_state, cell_state,
                     output);
}
