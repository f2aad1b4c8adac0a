#ifndef ARENITE_ADD_TABLE_S8_H
#define ARENITE_ADD_TABLE_S8_H

#include "arenite_fixedpoint.h"
#include "arenite_port.h"

typedef struct {
    int32_t sizes[4]; /* of the result; an operand's stride is 0 where it repeats */
    int32_t strides_a[4];
    int32_t strides_b[4];
    int32_t multiplier;
    int32_t shift; /* at most 0 */
    int32_t zero_point;
    int32_t low;
    int32_t high;
} arenite_add_table_s8_params;

/* Like arenite_add_s8, with twice the operands' share in the sum looked up, by their bytes. */
ARENITE_INLINE void arenite_add_table_s8(const arenite_add_table_s8_params *params, const uint8_t *a,
                                         const uint8_t *b, const int32_t *table_a, const int32_t *table_b,
                                         int8_t *output) {
    int32_t multiplier = params->multiplier;
    ARENITE_OPAQUE(multiplier);
    for (int32_t i = 0; i < params->sizes[0]; ++i) {
        for (int32_t j = 0; j < params->sizes[1]; ++j) {
            for (int32_t k = 0; k < params->sizes[2]; ++k) {
                const uint8_t *row_a =
                    a + i * params->strides_a[0] + j * params->strides_a[1] + k * params->strides_a[2];
                const uint8_t *row_b =
                    b + i * params->strides_b[0] + j * params->strides_b[1] + k * params->strides_b[2];
                for (int32_t n = 0; n < params->sizes[3]; ++n) {
                    const int32_t doubled =
                        table_a[row_a[n * params->strides_a[3]]] + table_b[row_b[n * params->strides_b[3]]];
                    const int32_t scaled = arenite_scale_doubled(doubled, multiplier);
                    *output++ = arenite_store_s8(scaled, params->shift, params->zero_point, params->low,
                                                 params->high);
                }
            }
        }
    }
}

#endif
