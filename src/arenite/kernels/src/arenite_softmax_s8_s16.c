#include "arenite_softmax_s8_s16.h"

void arenite_softmax_s8_s16_entry(const arenite_softmax_s8_s16_params *params, const int8_t *input,
                                  const int32_t *exponentials, int16_t *output);

void arenite_softmax_s8_s16_entry(const arenite_softmax_s8_s16_params *params, const int8_t *input,
                                  const int32_t *exponentials, int16_t *output) {
    arenite_softmax_s8_s16(params, input, exponentials, output);
}
