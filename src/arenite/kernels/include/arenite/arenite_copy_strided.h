#ifndef ARENITE_COPY_STRIDED_H
#define ARENITE_COPY_STRIDED_H

#include "arenite_bytes.h"
#include "arenite_port.h"

typedef struct {
    int32_t sizes[5];         /* of loops, outermost first */
    int32_t input_strides[5]; /* in bytes; 0 repeats, less than 0 goes backwards */
    int32_t output_strides[5];
    int32_t input_start; /* of the first row */
    int32_t output_start;
    int32_t row_nbytes;
} arenite_copy_strided_params;

ARENITE_INLINE void arenite_copy_strided_plane(const arenite_copy_strided_params *params,
                                               const uint8_t *input, uint8_t *output) {
    for (int32_t k = 0; k < params->sizes[2]; ++k) {
        for (int32_t l = 0; l < params->sizes[3]; ++l) {
            const uint8_t *from = input + l * params->input_strides[3];
            uint8_t *to = output + l * params->output_strides[3];
            for (int32_t m = 0; m < params->sizes[4]; ++m) {
                arenite_copy(to, from, params->row_nbytes);
                from += params->input_strides[4];
                to += params->output_strides[4];
            }
        }
        input += params->input_strides[2];
        output += params->output_strides[2];
    }
}

/* Rows of bytes from places that five loops walk over, to places that they walk over too. */
ARENITE_INLINE void arenite_copy_strided(const arenite_copy_strided_params *params, const uint8_t *input,
                                         uint8_t *output) {
    input += params->input_start;
    output += params->output_start;
    for (int32_t i = 0; i < params->sizes[0]; ++i) {
        for (int32_t j = 0; j < params->sizes[1]; ++j) {
            arenite_copy_strided_plane(params, input + j * params->input_strides[1],
                                       output + j * params->output_strides[1]);
        }
        input += params->input_strides[0];
        output += params->output_strides[0];
    }
}

#endif
