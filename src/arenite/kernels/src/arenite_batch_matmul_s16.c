#include "arenite_batch_matmul_s16.h"

void arenite_batch_matmul_s16_entry(const arenite_batch_matmul_s16_params *params, const int16_t *x,
                                    const int16_t *y, int16_t *output);

void arenite_batch_matmul_s16_entry(const arenite_batch_matmul_s16_params *params, const int16_t *x,
                                    const int16_t *y, int16_t *output) {
    arenite_batch_matmul_s16(params, x, y, output);
}
