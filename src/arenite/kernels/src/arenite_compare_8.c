#include "arenite_compare_8.h"

void arenite_compare_8_entry(const arenite_compare_8_params *params, const uint8_t *a, const uint8_t *b,
                             const uint16_t *table_a, const uint16_t *table_b, uint8_t *output);

void arenite_compare_8_entry(const arenite_compare_8_params *params, const uint8_t *a, const uint8_t *b,
                             const uint16_t *table_a, const uint16_t *table_b, uint8_t *output) {
    arenite_compare_8(params, a, b, table_a, table_b, output);
}
