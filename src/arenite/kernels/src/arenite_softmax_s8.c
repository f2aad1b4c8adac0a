#include "arenite_softmax_s8.h"

void arenite_softmax_s8_entry(const arenite_softmax_s8_params *params, const int8_t *input,
                              const int32_t *exponentials, int8_t *output);

void arenite_softmax_s8_entry(const arenite_softmax_s8_params *params, const int8_t *input,
                              const int32_t *exponentials, int8_t *output) {
    arenite_softmax_s8(params, input, exponentials, output);
}
