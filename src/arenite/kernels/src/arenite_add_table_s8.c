#include "arenite_add_table_s8.h"

void arenite_add_table_s8_entry(const arenite_add_table_s8_params *params, const uint8_t *a, const uint8_t *b,
                                const int32_t *table_a, const int32_t *table_b, int8_t *output);

void arenite_add_table_s8_entry(const arenite_add_table_s8_params *params, const uint8_t *a, const uint8_t *b,
                                const int32_t *table_a, const int32_t *table_b, int8_t *output) {
    arenite_add_table_s8(params, a, b, table_a, table_b, output);
}
