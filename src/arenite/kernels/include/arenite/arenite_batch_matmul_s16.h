#ifndef ARENITE_BATCH_MATMUL_S16_H
#define ARENITE_BATCH_MATMUL_S16_H

#include "arenite_port.h"

typedef struct {
    int32_t batch[3];
    int32_t batch_strides_x[3]; /* 0 where an operand repeats */
    int32_t batch_strides_y[3];
    int32_t rows;
    int32_t depth;
    int32_t columns;
    int32_t row_stride; /* of x */
    int32_t depth_stride_x;
    int32_t depth_stride_y;
    int32_t column_stride; /* of y */
    int32_t multiplier;    /* of 15 bits */
    int32_t right;         /* 15 - shift, positive */
} arenite_batch_matmul_s16_params;

ARENITE_INLINE int16_t arenite_batch_matmul_s16_element(const arenite_batch_matmul_s16_params *params,
                                                        const int16_t *x, const int16_t *y) {
    int64_t total = 0;
    for (int32_t k = 0; k < params->depth; ++k) {
        total += (int32_t)x[k * params->depth_stride_x] * y[k * params->depth_stride_y];
    }
    /* Rounded once, halves upwards. */
    const int64_t scaled =
        (total * params->multiplier + ((int64_t)1 << (params->right - 1))) >> params->right;
    return (int16_t)(scaled < -32768 ? -32768 : scaled > 32767 ? 32767 : scaled);
}

/* Products of matrices, the leading dimensions broadcast. */
ARENITE_INLINE void arenite_batch_matmul_s16(const arenite_batch_matmul_s16_params *params, const int16_t *x,
                                             const int16_t *y, int16_t *output) {
    for (int32_t i = 0; i < params->batch[0]; ++i) {
        for (int32_t j = 0; j < params->batch[1]; ++j) {
            for (int32_t k = 0; k < params->batch[2]; ++k) {
                const int16_t *row = x + i * params->batch_strides_x[0] + j * params->batch_strides_x[1] +
                                     k * params->batch_strides_x[2];
                const int16_t *matrix = y + i * params->batch_strides_y[0] + j * params->batch_strides_y[1] +
                                        k * params->batch_strides_y[2];
                for (int32_t r = 0; r < params->rows; ++r) {
                    for (int32_t c = 0; c < params->columns; ++c) {
                        *output++ =
                            arenite_batch_matmul_s16_element(params, row, matrix + c * params->column_stride);
                    }
                    row += params->row_stride;
                }
            }
        }
    }
}

#endif
