/* Convolution, uint8 with uint8 weights, each with its zero point, NHWC, any filter: four channels at a time.
 */
#ifndef ARENITE_QUADS_U8_H
#define ARENITE_QUADS_U8_H

#include "arenite_fixedpoint.h"
#include "arenite_port.h"
#include "arenite_quads.h"

typedef arenite_quads_params arenite_quads_u8_params;

/* What weights that lie `zero_point` too high add to every sum of a pixel. */
ARENITE_INLINE uint32_t arenite_quads_u8_excess(const arenite_quads_pixel *pixel, int32_t length,
                                                int32_t zero_point) {
    const uint8_t *row = pixel->data;
    uint32_t total = 0;
    for (int32_t rows = pixel->rows; rows > 0; --rows) {
        for (int32_t i = 0; i < length; ++i) {
            total += row[i];
        }
        row += pixel->row_step;
    }
    return total * (uint32_t)zero_point;
}

/* Weights are 128 lower, as int8, packed by four channels, [ceil(channels / 4)][K][4], with zeros for what is
 * not there; weight_zero_point is 128 lower, too. Biases contain what both zero points add for every window
 * alike, and come in whole fours. All channels have one multiplier and one shift. */
ARENITE_INLINE void arenite_quads_u8_core(const arenite_quads_u8_params *params, const uint8_t *input,
                                          const int8_t *weights, const int32_t *biases,
                                          const int32_t *multipliers, const int8_t *shifts, uint8_t *output,
                                          uint8_t *patch) {
    const int32_t outputs = params->output_channels, zero_point = params->output_zero_point;
    const int32_t low = params->clamp_low, high = params->clamp_high;
    const int32_t narrow = params->narrow, once = params->once;
    const int32_t multiplier = multipliers[0], shift = shifts[0];
    const int32_t taken = params->filter_height * params->filter_width * params->input_channels;
    ARENITE_FOR_EACH_QUAD_PIXEL(params, input, 1, patch, pixel, {
        /* What fills a gathered window up does not count. */
        const int32_t counted = pixel.rows == 1 ? taken : pixel.length;
        const uint32_t excess = params->weight_zero_point == 0
                                    ? 0
                                    : arenite_quads_u8_excess(&pixel, counted, params->weight_zero_point);
        const int8_t *w = weights;
        for (int32_t o = 0; o < outputs; o += 4) {
            uint32_t s0 = (uint32_t)biases[o] - excess, s1 = (uint32_t)biases[o + 1] - excess;
            uint32_t s2 = (uint32_t)biases[o + 2] - excess, s3 = (uint32_t)biases[o + 3] - excess;
            const uint8_t *row = pixel.data;
            int32_t rows = pixel.rows;
            do {
                const uint8_t *a = row;
                ARENITE_QUAD_RUN(pixel.length);
                row += pixel.row_step;
            } while (--rows > 0);
            const int32_t left = outputs - o;
            *output++ = arenite_store_u8(s0, multiplier, shift, zero_point, narrow, once, low, high);
            if (left > 1) {
                *output++ = arenite_store_u8(s1, multiplier, shift, zero_point, narrow, once, low, high);
            }
            if (left > 2) {
                *output++ = arenite_store_u8(s2, multiplier, shift, zero_point, narrow, once, low, high);
            }
            if (left > 3) {
                *output++ = arenite_store_u8(s3, multiplier, shift, zero_point, narrow, once, low, high);
            }
        }
    })
}

ARENITE_SHARED void arenite_quads_u8(const arenite_quads_u8_params *params, const uint8_t *input,
                                     const int8_t *weights, const int32_t *biases, const int32_t *multipliers,
                                     const int8_t *shifts, uint8_t *output, uint8_t *patch) {
    arenite_quads_u8_core(params, input, weights, biases, multipliers, shifts, output, patch);
}

#endif
