#include "arenite_logical.h"

void arenite_logical_entry(const arenite_logical_params *params, const uint8_t *a, const uint8_t *b,
                           uint8_t *output);

void arenite_logical_entry(const arenite_logical_params *params, const uint8_t *a, const uint8_t *b,
                           uint8_t *output) {
    arenite_logical(params, a, b, output);
}
