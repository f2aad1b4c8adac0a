#ifndef ARENITE_COPY_ROWS_H
#define ARENITE_COPY_ROWS_H

#include "arenite_bytes.h"
#include "arenite_port.h"

typedef struct {
    int32_t rows;
    int32_t row_nbytes;
    int32_t stride_nbytes; /* from row to row of the output */
} arenite_copy_rows_params;

/* Rows that lie side by side, to where each has a place in a longer row. */
ARENITE_INLINE void arenite_copy_rows(const arenite_copy_rows_params *params, const uint8_t *input,
                                      uint8_t *output) {
    for (int32_t row = 0; row < params->rows; ++row) {
        arenite_copy(output, input, params->row_nbytes);
        input += params->row_nbytes;
        output += params->stride_nbytes;
    }
}

#endif
