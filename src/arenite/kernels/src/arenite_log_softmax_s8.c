#include "arenite_log_softmax_s8.h"

void arenite_log_softmax_s8_entry(const arenite_log_softmax_s8_params *params, const int8_t *input,
                                  const int32_t *exponentials, int8_t *output);

void arenite_log_softmax_s8_entry(const arenite_log_softmax_s8_params *params, const int8_t *input,
                                  const int32_t *exponentials, int8_t *output) {
    arenite_log_softmax_s8(params, input, exponentials, output);
}
