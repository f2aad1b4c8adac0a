#include "arenite_copy_rows.h"

void arenite_copy_rows_entry(const arenite_copy_rows_params *params, const uint8_t *input, uint8_t *output);

void arenite_copy_rows_entry(const arenite_copy_rows_params *params, const uint8_t *input, uint8_t *output) {
    arenite_copy_rows(params, input, output);
}
