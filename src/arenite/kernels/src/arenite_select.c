#include "arenite_select.h"

void arenite_select_entry(const arenite_select_params *params, const uint8_t *condition, const uint8_t *x,
                          const uint8_t *y, uint8_t *output);

void arenite_select_entry(const arenite_select_params *params, const uint8_t *condition, const uint8_t *x,
                          const uint8_t *y, uint8_t *output) {
    arenite_select(params, condition, x, y, output);
}
