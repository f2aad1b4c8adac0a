#ifndef ARENITE_TAKE_H
#define ARENITE_TAKE_H

#include "arenite_bytes.h"
#include "arenite_port.h"

typedef struct {
    int32_t outer; /* repetitions of all rows, and bytes of the input from one to the next */
    int32_t outer_nbytes;
    int32_t rows;
    int32_t columns;
    int32_t cell_nbytes;
} arenite_take_params;

/* A grid of cells from places that add up: one table entry for the row, one for the column, in bytes. */
ARENITE_INLINE void arenite_take(const arenite_take_params *params, const uint8_t *input,
                                 const int32_t *places, uint8_t *output) {
    const int32_t *columns = places + params->rows;
    for (int32_t i = 0; i < params->outer; ++i) {
        for (int32_t row = 0; row < params->rows; ++row) {
            const uint8_t *line = input + places[row];
            for (int32_t column = 0; column < params->columns; ++column) {
                output = arenite_copy(output, line + columns[column], params->cell_nbytes);
            }
        }
        input += params->outer_nbytes;
    }
}

#endif
