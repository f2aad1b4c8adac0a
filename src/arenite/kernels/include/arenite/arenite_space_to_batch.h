#ifndef ARENITE_SPACE_TO_BATCH_H
#define ARENITE_SPACE_TO_BATCH_H

#include "arenite_bytes.h"
#include "arenite_port.h"

typedef struct {
    int32_t batch;
    int32_t height;
    int32_t width;
    int32_t depth_nbytes;
    int32_t block_height;
    int32_t block_width;
    int32_t top; /* padding */
    int32_t left;
    int32_t output_height;
    int32_t output_width;
    int32_t value; /* of the padding's bytes */
} arenite_space_to_batch_params;

/* One line of the result: every block_width-th pixel of a line of the input, from `column` on. */
ARENITE_INLINE uint8_t *arenite_space_to_batch_line(const arenite_space_to_batch_params *params,
                                                    const uint8_t *line, int32_t column, uint8_t *output) {
    for (int32_t x = 0; x < params->output_width; ++x) {
        if (column < 0 || column >= params->width) {
            output = arenite_fill(output, (uint8_t)params->value, params->depth_nbytes);
        } else {
            output = arenite_copy(output, line + column * params->depth_nbytes, params->depth_nbytes);
        }
        column += params->block_width;
    }
    return output;
}

/* Each place in a block becomes images of its own. */
ARENITE_INLINE void arenite_space_to_batch(const arenite_space_to_batch_params *params, const uint8_t *input,
                                           uint8_t *output) {
    const int32_t line_nbytes = params->width * params->depth_nbytes;
    const int32_t places = params->block_height * params->block_width;
    for (int32_t place = 0; place < places; ++place) {
        const int32_t column = place % params->block_width - params->left;
        for (int32_t image = 0; image < params->batch; ++image) {
            int32_t row = place / params->block_width - params->top;
            for (int32_t y = 0; y < params->output_height; ++y) {
                if (row < 0 || row >= params->height) {
                    output = arenite_fill(output, (uint8_t)params->value,
                                          params->output_width * params->depth_nbytes);
                } else {
                    const uint8_t *line = input + (image * params->height + row) * line_nbytes;
                    output = arenite_space_to_batch_line(params, line, column, output);
                }
                row += params->block_height;
            }
        }
    }
}

#endif
