/* What convolutions share that compute four output channels of one pixel at a time: where its inputs are.
 * They are read in place where the window lies inside the image, else gathered first, with the zero point in
 * place of what lies outside. */
#ifndef ARENITE_QUADS_H
#define ARENITE_QUADS_H

#include "arenite_bytes.h"
#include "arenite_port.h"

typedef struct {
    int32_t batches;
    int32_t input_height;
    int32_t input_width;
    int32_t input_channels;
    int32_t output_height;
    int32_t output_width;
    int32_t output_channels;
    int32_t filter_height;
    int32_t filter_width;
    int32_t stride_height;
    int32_t stride_width;
    int32_t dilation_height;
    int32_t dilation_width;
    int32_t pad_top;
    int32_t pad_left;
    int32_t in_place;    /* read windows inside the image in place; needs dilation_width 1 */
    int32_t patch_nelem; /* of a gathered window, at least its taps times channels; equal when in_place */
    int32_t input_zero_point;
    int32_t weight_zero_point;
    int32_t output_zero_point;
    int32_t clamp_low;
    int32_t clamp_high;
    int32_t narrow; /* uint8: sums below 2^30, the shift in [-31, -1] */
    int32_t once;   /* sums are rounded once, int16 by multipliers of 15 bits; else twice */
    int32_t wide;   /* int16: sums may leave 32 bits */
} arenite_quads_params;

/* The inputs of one pixel: `rows` pieces of `length` elements, `row_step` apart. */
typedef struct {
    const uint8_t *data;
    int32_t rows;
    int32_t length;
    int32_t row_step;
} arenite_quads_pixel;

/* The inputs of the window whose first tap is at (top, left), [filter_height][filter_width][channels], of
 * elements of `nbytes` each. Runs of taps that lie side by side are copied at once. */
ARENITE_SHARED void arenite_quads_gather(const arenite_quads_params *params, const uint8_t *image,
                                         int32_t top, int32_t left, int32_t nbytes, uint8_t *patch) {
    if (patch == NULL) {
        return; /* Every window lies inside, which the compiler does not see. */
    }
    const int32_t cell = params->input_channels * nbytes;
    const uint8_t outside = (uint8_t)params->input_zero_point;
    const int32_t width = params->input_width, dilation = params->dilation_width;
    const int32_t runs = dilation == 1 ? 1 : params->filter_width;
    const int32_t taps = dilation == 1 ? params->filter_width : 1;
    for (int32_t ky = 0, y = top; ky < params->filter_height; ++ky, y += params->dilation_height) {
        const int32_t inside = y >= 0 && y < params->input_height;
        for (int32_t run = 0, x = left; run < runs; ++run, x += dilation) {
            /* The run's taps are [0, taps), those inside the image [first, last). */
            int32_t first = x < 0 ? -x : 0, last = width - x < taps ? width - x : taps;
            if (!inside || first >= last) {
                first = last = taps;
            }
            patch = arenite_fill(patch, outside, first * cell);
            if (first < last) {
                patch = arenite_copy(patch, image + (y * width + x + first) * cell, (last - first) * cell);
                patch = arenite_fill(patch, outside, (taps - last) * cell);
            }
        }
    }
}

/* Where the inputs of the pixel at (y, x) of an image are. */
ARENITE_INLINE arenite_quads_pixel arenite_quads_place(const arenite_quads_params *params,
                                                       const uint8_t *image, int32_t y, int32_t x,
                                                       int32_t nbytes, uint8_t *patch) {
    const int32_t top = y * params->stride_height - params->pad_top;
    const int32_t left = x * params->stride_width - params->pad_left;
    const int32_t row_nelem = params->input_width * params->input_channels;
    const int32_t bottom = top + (params->filter_height - 1) * params->dilation_height;
    const int32_t right = left + (params->filter_width - 1) * params->dilation_width;
    if (params->in_place && top >= 0 && left >= 0 && bottom < params->input_height &&
        right < params->input_width) {
        const arenite_quads_pixel found = {
            image + (top * row_nelem + left * params->input_channels) * nbytes,
            params->filter_height,
            params->filter_width * params->input_channels,
            row_nelem * params->dilation_height,
        };
        return found;
    }
    arenite_quads_gather(params, image, top, left, nbytes, patch);
    const arenite_quads_pixel gathered = {patch, 1, params->patch_nelem, 0};
    return gathered;
}

/* Runs a statement for each pixel of the result. */
#define ARENITE_FOR_EACH_QUAD_PIXEL(params, input, nbytes, patch, pixel, ...)                                \
    for (int32_t arenite_b = 0; arenite_b < (params)->batches; ++arenite_b) {                                \
        const uint8_t *const arenite_image =                                                                 \
            (const uint8_t *)(input) + arenite_b * (params)->input_height * (params)->input_width *          \
                                           (params)->input_channels * (nbytes);                              \
        for (int32_t arenite_y = 0; arenite_y < (params)->output_height; ++arenite_y) {                      \
            for (int32_t arenite_x = 0; arenite_x < (params)->output_width; ++arenite_x) {                   \
                const arenite_quads_pixel pixel = arenite_quads_place(params, arenite_image, arenite_y,      \
                                                                      arenite_x, nbytes, (uint8_t *)patch);  \
                __VA_ARGS__                                                                                  \
            }                                                                                                \
        }                                                                                                    \
    }

/* One step of the inner product. */
#define ARENITE_QUAD_STEP(k)                                                                                 \
    do {                                                                                                     \
        const int32_t arenite_value = a[k];                                                                  \
        s0 += (uint32_t)(arenite_value * w[4 * (k)]);                                                        \
        s1 += (uint32_t)(arenite_value * w[4 * (k) + 1]);                                                    \
        s2 += (uint32_t)(arenite_value * w[4 * (k) + 2]);                                                    \
        s3 += (uint32_t)(arenite_value * w[4 * (k) + 3]);                                                    \
    } while (0)

/* Adds n inputs from `a` on, times the weights from `w` on, packed by four channels, to the sums s0 to s3. */
#define ARENITE_QUAD_RUN(n)                                                                                  \
    do {                                                                                                     \
        int32_t arenite_n = n;                                                                               \
        ARENITE_AS_WRITTEN                                                                                   \
        for (; arenite_n >= 8; arenite_n -= 8) {                                                             \
            ARENITE_QUAD_STEP(0);                                                                            \
            ARENITE_QUAD_STEP(1);                                                                            \
            ARENITE_QUAD_STEP(2);                                                                            \
            ARENITE_QUAD_STEP(3);                                                                            \
            ARENITE_QUAD_STEP(4);                                                                            \
            ARENITE_QUAD_STEP(5);                                                                            \
            ARENITE_QUAD_STEP(6);                                                                            \
            ARENITE_QUAD_STEP(7);                                                                            \
            a += 8;                                                                                          \
            w += 32;                                                                                         \
            ARENITE_OPAQUE(a);                                                                               \
            ARENITE_OPAQUE(w);                                                                               \
        }                                                                                                    \
        if (arenite_n >= 4) {                                                                                \
            ARENITE_QUAD_STEP(0);                                                                            \
            ARENITE_QUAD_STEP(1);                                                                            \
            ARENITE_QUAD_STEP(2);                                                                            \
            ARENITE_QUAD_STEP(3);                                                                            \
            arenite_n -= 4;                                                                                  \
            a += 4;                                                                                          \
            w += 16;                                                                                         \
        }                                                                                                    \
        ARENITE_AS_WRITTEN                                                                                   \
        for (; arenite_n > 0; --arenite_n) {                                                                 \
            ARENITE_QUAD_STEP(0);                                                                            \
            ++a;                                                                                             \
            w += 4;                                                                                          \
        }                                                                                                    \
    } while (0)

#endif
