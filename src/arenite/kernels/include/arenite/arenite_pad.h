#ifndef ARENITE_PAD_H
#define ARENITE_PAD_H

#include "arenite_bytes.h"
#include "arenite_port.h"

typedef struct {
    int32_t sizes[3];
    int32_t row_nbytes;       /* the innermost of four dimensions */
    int32_t before_nbytes[4]; /* bytes of padding on either side of each dimension */
    int32_t after_nbytes[4];
    int32_t value;
} arenite_pad_params;

/* A tensor with equal bytes around it, in up to four dimensions. Writes each byte once, in order. */
ARENITE_INLINE void arenite_pad(const arenite_pad_params *params, const uint8_t *input, uint8_t *output) {
    const uint8_t value = (uint8_t)params->value;
    output = arenite_fill(output, value, params->before_nbytes[0]);
    for (int32_t i = 0; i < params->sizes[0]; ++i) {
        output = arenite_fill(output, value, params->before_nbytes[1]);
        for (int32_t j = 0; j < params->sizes[1]; ++j) {
            output = arenite_fill(output, value, params->before_nbytes[2]);
            for (int32_t k = 0; k < params->sizes[2]; ++k) {
                output = arenite_fill(output, value, params->before_nbytes[3]);
                output = arenite_copy(output, input, params->row_nbytes);
                input += params->row_nbytes;
                output = arenite_fill(output, value, params->after_nbytes[3]);
            }
            output = arenite_fill(output, value, params->after_nbytes[2]);
        }
        output = arenite_fill(output, value, params->after_nbytes[1]);
    }
    arenite_fill(output, value, params->after_nbytes[0]);
}

#endif
