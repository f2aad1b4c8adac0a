/* Convolution, int16 with int8 weights, NHWC, any filter: four channels at a time. */
#ifndef ARENITE_QUADS_S16_H
#define ARENITE_QUADS_S16_H

#include "arenite_fixedpoint.h"
#include "arenite_port.h"
#include "arenite_quads.h"
#include "arenite_rescale_s64.h"

typedef arenite_quads_params arenite_quads_s16_params;

/* Products of int16 and int8 whose sum 32 bits hold. */
#define ARENITE_QUADS_S16_CHUNK 504

/* Adds the sums of four channels of one pixel, each piece of a row apart. */
ARENITE_INLINE void arenite_quads_s16_wide(const arenite_quads_pixel *pixel, const int8_t *w,
                                           int64_t *totals) {
    const int16_t *row = (const int16_t *)(const void *)pixel->data;
    int32_t rows = pixel->rows;
    do {
        const int16_t *a = row;
        for (int32_t left = pixel->length; left > 0; left -= ARENITE_QUADS_S16_CHUNK) {
            uint32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
            ARENITE_QUAD_RUN(left < ARENITE_QUADS_S16_CHUNK ? left : ARENITE_QUADS_S16_CHUNK);
            totals[0] += (int32_t)s0;
            totals[1] += (int32_t)s1;
            totals[2] += (int32_t)s2;
            totals[3] += (int32_t)s3;
        }
        row += pixel->row_step;
    } while (--rows > 0);
}

/* The same for sums that fit 32 bits, or wrap there. */
ARENITE_INLINE void arenite_quads_s16_narrow(const arenite_quads_pixel *pixel, const int8_t *w,
                                             uint32_t *sums) {
    const int16_t *row = (const int16_t *)(const void *)pixel->data;
    uint32_t s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3];
    int32_t rows = pixel->rows;
    do {
        const int16_t *a = row;
        ARENITE_QUAD_RUN(pixel->length);
        row += pixel->row_step;
    } while (--rows > 0);
    sums[0] = s0;
    sums[1] = s1;
    sums[2] = s2;
    sums[3] = s3;
}

/* Weights are packed by four channels, [ceil(channels / 4)][K][4], with zeros for what is not there; biases,
 * multipliers and shifts come in whole fours. */
ARENITE_INLINE void arenite_quads_s16_core(const arenite_quads_s16_params *params, const int16_t *input,
                                           const int8_t *weights, const int64_t *biases,
                                           const int32_t *multipliers, const int8_t *shifts, int16_t *output,
                                           int16_t *patch) {
    const int32_t outputs = params->output_channels, group_nelem = 4 * params->patch_nelem;
    const int32_t once = params->once, low = params->clamp_low, high = params->clamp_high;
    ARENITE_FOR_EACH_QUAD_PIXEL(params, input, 2, patch, pixel, {
        const int8_t *w = weights;
        for (int32_t o = 0; o < outputs; o += 4, w += group_nelem) {
            const int32_t given = outputs - o < 4 ? outputs - o : 4;
            if (params->wide) {
                int64_t totals[4] = {biases[o], biases[o + 1], biases[o + 2], biases[o + 3]};
                arenite_quads_s16_wide(&pixel, w, totals);
                for (int32_t i = o; i < o + given; ++i) {
                    *output++ = arenite_store_s64(totals[i - o], multipliers[i], shifts[i], once, low, high);
                }
            } else {
                uint32_t sums[4] = {(uint32_t)biases[o], (uint32_t)biases[o + 1], (uint32_t)biases[o + 2],
                                    (uint32_t)biases[o + 3]};
                arenite_quads_s16_narrow(&pixel, w, sums);
                *output++ = arenite_store_s32(sums[0], multipliers[o], shifts[o], once, low, high);
                if (given > 1) {
                    *output++ =
                        arenite_store_s32(sums[1], multipliers[o + 1], shifts[o + 1], once, low, high);
                }
                if (given > 2) {
                    *output++ =
                        arenite_store_s32(sums[2], multipliers[o + 2], shifts[o + 2], once, low, high);
                }
                if (given > 3) {
                    *output++ =
                        arenite_store_s32(sums[3], multipliers[o + 3], shifts[o + 3], once, low, high);
                }
            }
        }
    })
}

ARENITE_SHARED void arenite_quads_s16(const arenite_quads_s16_params *params, const int16_t *input,
                                      const int8_t *weights, const int64_t *biases,
                                      const int32_t *multipliers, const int8_t *shifts, int16_t *output,
                                      int16_t *patch) {
    arenite_quads_s16_core(params, input, weights, biases, multipliers, shifts, output, patch);
}

#endif
