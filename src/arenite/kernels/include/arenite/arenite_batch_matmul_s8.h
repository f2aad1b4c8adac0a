#ifndef ARENITE_BATCH_MATMUL_S8_H
#define ARENITE_BATCH_MATMUL_S8_H

#include "arenite_fixedpoint.h"
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
    int32_t zero_point_x;
    int32_t zero_point_y;
    int32_t multiplier;
    int32_t shift;
    int32_t zero_point;
} arenite_batch_matmul_s8_params;

ARENITE_INLINE int8_t arenite_batch_matmul_s8_element(const arenite_batch_matmul_s8_params *params,
                                                      const int8_t *x, const int8_t *y) {
    uint32_t total = 0;
    for (int32_t k = 0; k < params->depth; ++k) {
        const int32_t a = x[k * params->depth_stride_x] - params->zero_point_x;
        const int32_t b = y[k * params->depth_stride_y] - params->zero_point_y;
        total += (uint32_t)(a * b);
    }
    const int32_t scaled = arenite_requantize((int32_t)total, params->multiplier, params->shift);
    return (int8_t)arenite_clamp(scaled + params->zero_point, -128, 127);
}

/* Products of matrices, the leading dimensions broadcast. */
ARENITE_INLINE void arenite_batch_matmul_s8(const arenite_batch_matmul_s8_params *params, const int8_t *x,
                                            const int8_t *y, int8_t *output) {
    for (int32_t i = 0; i < params->batch[0]; ++i) {
        for (int32_t j = 0; j < params->batch[1]; ++j) {
            for (int32_t k = 0; k < params->batch[2]; ++k) {
                const int8_t *row = x + i * params->batch_strides_x[0] + j * params->batch_strides_x[1] +
                                    k * params->batch_strides_x[2];
                const int8_t *matrix = y + i * params->batch_strides_y[0] + j * params->batch_strides_y[1] +
                                       k * params->batch_strides_y[2];
                for (int32_t r = 0; r < params->rows; ++r) {
                    for (int32_t c = 0; c < params->columns; ++c) {
                        *output++ =
                            arenite_batch_matmul_s8_element(params, row, matrix + c * params->column_stride);
                    }
                    row += params->row_stride;
                }
            }
        }
    }
}

#endif
