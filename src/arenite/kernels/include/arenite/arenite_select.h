#ifndef ARENITE_SELECT_H
#define ARENITE_SELECT_H

#include "arenite_bytes.h"
#include "arenite_port.h"

typedef struct {
    int32_t sizes[4];
    int32_t condition_strides[4]; /* in bytes */
    int32_t x_strides[4];
    int32_t y_strides[4];
    int32_t row_nbytes;
} arenite_select_params;

/* Rows of bytes of x where the condition is not 0, else of y. */
ARENITE_INLINE void arenite_select(const arenite_select_params *params, const uint8_t *condition,
                                   const uint8_t *x, const uint8_t *y, uint8_t *output) {
    for (int32_t i = 0; i < params->sizes[0]; ++i) {
        for (int32_t j = 0; j < params->sizes[1]; ++j) {
            for (int32_t k = 0; k < params->sizes[2]; ++k) {
                const int32_t *strides = params->condition_strides;
                const uint8_t *which = condition + i * strides[0] + j * strides[1] + k * strides[2];
                strides = params->x_strides;
                const uint8_t *first = x + i * strides[0] + j * strides[1] + k * strides[2];
                strides = params->y_strides;
                const uint8_t *second = y + i * strides[0] + j * strides[1] + k * strides[2];
                for (int32_t l = 0; l < params->sizes[3]; ++l) {
                    output = arenite_copy(output, *which ? first : second, params->row_nbytes);
                    which += params->condition_strides[3];
                    first += params->x_strides[3];
                    second += params->y_strides[3];
                }
            }
        }
    }
}

#endif
