#include "arenite_softmax_s16.h"

void arenite_softmax_s16_entry(const arenite_softmax_s16_params *params, const int16_t *input,
                               const int16_t *exponentials, const int16_t *reciprocals, int16_t *output);

void arenite_softmax_s16_entry(const arenite_softmax_s16_params *params, const int16_t *input,
                               const int16_t *exponentials, const int16_t *reciprocals, int16_t *output) {
    arenite_softmax_s16(params, input, exponentials, reciprocals, output);
}
