#include "arenite_assign.h"

void arenite_assign_entry(const arenite_assign_params *params, const uint8_t *input, uint8_t *state);

void arenite_assign_entry(const arenite_assign_params *params, const uint8_t *input, uint8_t *state) {
    arenite_assign(params, input, state);
}
