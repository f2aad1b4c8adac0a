/* Convolution, int8, NHWC. Two output pixels at a time: their inputs are read in place where a window lies
 * inside the image, else gathered first, with the zero point in place of what lies outside. */
#ifndef ARENITE_CONV2D_S8_H
#define ARENITE_CONV2D_S8_H

#include "arenite_port.h"
#include "arenite_requantize.h"
#include "arenite_tile_s8.h"

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
    int32_t output_zero_point;
    int32_t clamp_low;
    int32_t clamp_high;
    int32_t narrow; /* sums below 2^30, all shifts in [-31, -1] */
} arenite_conv2d_s8_params;

ARENITE_INLINE int8_t *arenite_conv2d_s8_fill(int8_t *to, int32_t value, int32_t nelem) {
    ARENITE_AS_WRITTEN
    for (; nelem > 0; --nelem) {
        *to++ = (int8_t)value;
    }
    return to;
}

ARENITE_INLINE int8_t *arenite_conv2d_s8_copy(int8_t *to, const int8_t *from, int32_t nelem) {
    ARENITE_AS_WRITTEN
    for (; nelem >= 4; nelem -= 4) {
        ARENITE_COPY_4(to, from);
        to += 4;
        from += 4;
    }
    ARENITE_AS_WRITTEN
    for (; nelem > 0; --nelem) {
        *to++ = *from++;
    }
    return to;
}

/* The inputs of the window whose first tap is at (top, left): [filter_height][filter_width][channels]. Runs
 * of taps that lie side by side are copied at once. */
ARENITE_SHARED void arenite_conv2d_s8_gather(const arenite_conv2d_s8_params *params, const int8_t *image,
                                             int32_t top, int32_t left, int8_t *patch) {
    const int32_t channels = params->input_channels, width = params->input_width;
    const int32_t zero_point = params->input_zero_point, dilation = params->dilation_width;
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
            patch = arenite_conv2d_s8_fill(patch, zero_point, first * channels);
            if (first < last) {
                const int8_t *from = image + (y * width + x + first) * channels;
                patch = arenite_conv2d_s8_copy(patch, from, (last - first) * channels);
                patch = arenite_conv2d_s8_fill(patch, zero_point, (taps - last) * channels);
            }
        }
    }
}

/* All channels of a pixel whose window may lie partly outside: tap by tap, without scratch. */
ARENITE_INLINE void arenite_conv2d_s8_border(const arenite_conv2d_s8_params *params, const int8_t *image,
                                             int32_t top, int32_t left, const arenite_channels *table,
                                             int8_t *output) {
    const int32_t channels = params->input_channels, zero_point = params->input_zero_point;
    for (int32_t o = 0; o < table->channels; ++o) {
        const int8_t *w = table->weights + (o >> 1) * 2 * params->patch_nelem + (o & 1);
        uint32_t sum = (uint32_t)table->biases[o];
        for (int32_t ky = 0, y = top; ky < params->filter_height; ++ky, y += params->dilation_height) {
            for (int32_t kx = 0, x = left; kx < params->filter_width; ++kx, x += params->dilation_width) {
                const int32_t inside =
                    y >= 0 && y < params->input_height && x >= 0 && x < params->input_width;
                const int8_t *from = inside ? image + (y * params->input_width + x) * channels : image;
                for (int32_t c = 0; c < channels; ++c, w += 2) {
                    sum += (uint32_t)((inside ? from[c] : zero_point) * *w);
                }
            }
        }
        output[o] = arenite_requantize_s8(sum, table->multipliers[o], table->shifts[o], table->zero_point,
                                          table->narrow);
    }
}

/* `lean` is constant: without it windows at the border are gathered into `patches`, with it they cost no RAM.
 */
ARENITE_INLINE void arenite_conv2d_s8_core(const arenite_conv2d_s8_params *params, const int8_t *input,
                                           const int8_t *weights, const int32_t *biases,
                                           const int32_t *multipliers, const int8_t *shifts, int8_t *output,
                                           int8_t *patches, const int32_t lean) {
    const int32_t row_nelem = params->input_width * params->input_channels;
    const int32_t image_nelem = row_nelem * params->input_height;
    const int32_t length = params->filter_width * params->input_channels;
    const int32_t patch_nelem = params->patch_nelem;
    const int32_t last_top = params->input_height - 1 - (params->filter_height - 1) * params->dilation_height;
    const int32_t last_left = params->input_width - 1 - (params->filter_width - 1) * params->dilation_width;
    const int32_t outputs = params->output_channels;
    const int32_t npixels = params->batches * params->output_height * params->output_width;
    const arenite_channels table = {
        weights, biases, multipliers, shifts, outputs, params->output_zero_point, params->narrow,
    };
    const int8_t *image = input;
    int8_t *target = output;
    int32_t y = 0, x = 0;
    for (int32_t pixel = 0; pixel < npixels; pixel += 2) {
        const int8_t *images[2];
        int32_t tops[2], lefts[2];
        int32_t inside = params->in_place;
        for (int32_t i = 0; i < 2; ++i) {
            const int32_t top = y * params->stride_height - params->pad_top;
            const int32_t left = x * params->stride_width - params->pad_left;
            images[i] = image;
            tops[i] = top;
            lefts[i] = left;
            inside = inside && top >= 0 && left >= 0 && top <= last_top && left <= last_left;
            /* A last pixel without a partner is computed twice. */
            if (pixel + i + 1 < npixels && ++x == params->output_width) {
                x = 0;
                if (++y == params->output_height) {
                    y = 0;
                    image += image_nelem;
                }
            }
        }
        int8_t *const partner = pixel + 1 < npixels ? target + outputs : target;
        arenite_pixels pixels;
        if (lean && !inside) {
            arenite_conv2d_s8_border(params, images[0], tops[0], lefts[0], &table, target);
            arenite_conv2d_s8_border(params, images[1], tops[1], lefts[1], &table, partner);
            target += 2 * outputs;
            continue;
        }
        if (inside) {
            pixels.first = images[0] + tops[0] * row_nelem + lefts[0] * params->input_channels;
            pixels.second = images[1] + tops[1] * row_nelem + lefts[1] * params->input_channels;
            pixels.rows = params->filter_height;
            pixels.length = length;
            pixels.row_step = row_nelem * params->dilation_height;
        } else {
            for (int32_t i = 0; i < 2; ++i) {
                arenite_conv2d_s8_gather(params, images[i], tops[i], lefts[i], patches + i * patch_nelem);
            }
            pixels.first = patches;
            pixels.second = patches + patch_nelem;
            pixels.rows = 1;
            pixels.length = patch_nelem;
            pixels.row_step = 0;
        }
        arenite_tile_s8(&table, &pixels, target, partner);
        target += 2 * outputs;
    }
    arenite_clamp_s8(output, npixels * outputs, params->clamp_low, params->clamp_high);
}

ARENITE_SHARED void arenite_conv2d_s8(const arenite_conv2d_s8_params *params, const int8_t *input,
                                      const int8_t *weights, const int32_t *biases,
                                      const int32_t *multipliers, const int8_t *shifts, int8_t *output,
                                      int8_t *patches) {
    arenite_conv2d_s8_core(params, input, weights, biases, multipliers, shifts, output, patches, 0);
}

#endif
