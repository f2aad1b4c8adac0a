#include "arenite_take.h"

void arenite_take_entry(const arenite_take_params *params, const uint8_t *input, const int32_t *places,
                        uint8_t *output);

void arenite_take_entry(const arenite_take_params *params, const uint8_t *input, const int32_t *places,
                        uint8_t *output) {
    arenite_take(params, input, places, output);
}
