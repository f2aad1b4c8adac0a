#include "arenite_batch_matmul_s8.h"

void arenite_batch_matmul_s8_entry(const arenite_batch_matmul_s8_params *params, const int8_t *x,
                                   const int8_t *y, int8_t *output);

void arenite_batch_matmul_s8_entry(const arenite_batch_matmul_s8_params *params, const int8_t *x,
                                   const int8_t *y, int8_t *output) {
    arenite_batch_matmul_s8(params, x, y, output);
}
