#include "arenite_lookup_8.h"

void arenite_lookup_8_entry(const arenite_lookup_8_params *params, const uint8_t *input, const uint8_t *table,
                            uint8_t *output);

void arenite_lookup_8_entry(const arenite_lookup_8_params *params, const uint8_t *input, const uint8_t *table,
                            uint8_t *output) {
    arenite_lookup_8(params, input, table, output);
}
