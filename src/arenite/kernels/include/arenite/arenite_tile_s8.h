/* The inner product of convolutions: two pixels times two output channels at a time.
 *
 * Weights are packed in pairs of channels, [ceil(channels / 2)][K][2]; an odd last channel has a partner of
 * zeros. Biases contain -zero_point * sum(weights) of their channel, and like multipliers and shifts come in
 * whole pairs. */
#ifndef ARENITE_TILE_S8_H
#define ARENITE_TILE_S8_H

#include "arenite_port.h"
#include "arenite_requantize.h"

typedef struct {
    const int8_t *weights;
    const int32_t *biases;
    const int32_t *multipliers;
    const int8_t *shifts;
    int32_t channels;
    int32_t zero_point;
    int32_t narrow;
} arenite_channels;

/* The inputs of two pixels: `rows` pieces of `length` elements, `row_step` apart. */
typedef struct {
    const int8_t *first;
    const int8_t *second;
    int32_t rows;
    int32_t length;
    int32_t row_step;
} arenite_pixels;

/* One step of the inner product. */
#define ARENITE_TILE_STEP(k)                                                                                 \
    do {                                                                                                     \
        const int32_t x0 = a[k], x1 = b[k];                                                                  \
        const int32_t w0 = w[2 * (k)], w1 = w[2 * (k) + 1];                                                  \
        s00 += (uint32_t)(x0 * w0);                                                                          \
        s10 += (uint32_t)(x1 * w0);                                                                          \
        s01 += (uint32_t)(x0 * w1);                                                                          \
        s11 += (uint32_t)(x1 * w1);                                                                          \
    } while (0)

/* All channels of two pixels. Sums wrap at 32 bits, hence unsigned. The outputs may be the same. */
ARENITE_INLINE void arenite_tile_s8(const arenite_channels *table, const arenite_pixels *pixels,
                                    int8_t *output0, int8_t *output1) {
    const int8_t *w = table->weights;
    const int32_t channels = table->channels, zero_point = table->zero_point, narrow = table->narrow;
    const int32_t nudge = 2 * zero_point + 1;
    for (int32_t o = 0; o < channels; o += 2) {
        uint32_t s00 = (uint32_t)table->biases[o], s01 = (uint32_t)table->biases[o + 1];
        uint32_t s10 = s00, s11 = s01;
        const int8_t *a_row = pixels->first, *b_row = pixels->second;
        int32_t rows = pixels->rows;
        do {
            const int8_t *a = a_row, *b = b_row;
            int32_t n = pixels->length;
            ARENITE_AS_WRITTEN
            for (; n >= 8; n -= 8) {
                ARENITE_TILE_STEP(0);
                ARENITE_TILE_STEP(1);
                ARENITE_TILE_STEP(2);
                ARENITE_TILE_STEP(3);
                ARENITE_TILE_STEP(4);
                ARENITE_TILE_STEP(5);
                ARENITE_TILE_STEP(6);
                ARENITE_TILE_STEP(7);
                a += 8;
                b += 8;
                w += 16;
                ARENITE_OPAQUE(a);
                ARENITE_OPAQUE(b);
                ARENITE_OPAQUE(w);
            }
            if (n >= 4) {
                ARENITE_TILE_STEP(0);
                ARENITE_TILE_STEP(1);
                ARENITE_TILE_STEP(2);
                ARENITE_TILE_STEP(3);
                n -= 4;
                a += 4;
                b += 4;
                w += 8;
            }
            ARENITE_AS_WRITTEN
            for (; n > 0; --n) {
                ARENITE_TILE_STEP(0);
                ++a;
                ++b;
                w += 2;
            }
            a_row += pixels->row_step;
            b_row += pixels->row_step;
        } while (--rows > 0);
        const int32_t paired = o + 1 < channels;
        const int32_t m0 = table->multipliers[o], m1 = table->multipliers[o + 1];
        const int32_t shift0 = table->shifts[o], shift1 = table->shifts[o + 1];
        int32_t r00, r01, r10, r11;
        if (narrow) {
            r00 = arenite_requantize_narrow((int32_t)s00, m0, -shift0 - 1, nudge);
            r10 = arenite_requantize_narrow((int32_t)s10, m0, -shift0 - 1, nudge);
            r01 = arenite_requantize_narrow((int32_t)s01, m1, -shift1 - 1, nudge);
            r11 = arenite_requantize_narrow((int32_t)s11, m1, -shift1 - 1, nudge);
        } else {
            r00 = arenite_requantize_wide((int32_t)s00, m0, shift0, zero_point);
            r10 = arenite_requantize_wide((int32_t)s10, m0, shift0, zero_point);
            r01 = arenite_requantize_wide((int32_t)s01, m1, shift1, zero_point);
            r11 = arenite_requantize_wide((int32_t)s11, m1, shift1, zero_point);
        }
        output0[o] = (int8_t)r00;
        output1[o] = (int8_t)r10;
        if (paired) {
            output0[o + 1] = (int8_t)r01;
            output1[o + 1] = (int8_t)r11;
        }
    }
}

#undef ARENITE_TILE_STEP

#endif
