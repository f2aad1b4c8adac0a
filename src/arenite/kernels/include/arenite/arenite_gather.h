#ifndef ARENITE_GATHER_H
#define ARENITE_GATHER_H

#include "arenite_bytes.h"
#include "arenite_port.h"

typedef struct {
    int32_t batches;
    int32_t outer;
    int32_t outer_nbytes; /* of the input, from one outer index to the next */
    int32_t count;        /* index vectors in a batch, of `depth` indices each */
    int32_t depth;
    int32_t limits[5]; /* of each index: how many values it can have, and bytes from one to the next */
    int32_t strides[5];
    int32_t row_nbytes;
} arenite_gather_params;

/* Rows of bytes by index vectors; an index out of range stands for the nearest one that is in it. */
ARENITE_INLINE void arenite_gather(const arenite_gather_params *params, const uint8_t *input,
                                   const int32_t *indices, uint8_t *output) {
    for (int32_t batch = 0; batch < params->batches; ++batch) {
        for (int32_t i = 0; i < params->outer; ++i) {
            const int32_t *vector = indices;
            for (int32_t n = 0; n < params->count; ++n) {
                const uint8_t *row = input;
                for (int32_t d = 0; d < params->depth; ++d) {
                    const int32_t last = params->limits[d] - 1;
                    const int32_t index = vector[d] < 0 ? 0 : vector[d] > last ? last : vector[d];
                    row += index * params->strides[d];
                }
                output = arenite_copy(output, row, params->row_nbytes);
                vector += params->depth;
            }
            input += params->outer_nbytes;
        }
        indices += params->count * params->depth;
    }
}

#endif
