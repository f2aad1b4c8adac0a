/* What depthwise convolutions on uint8 and int16 share. Each channel of a band of rows is first copied into a
 * padded plane of int16, less its zero point, where three neighbouring results at a time share the weights in
 * registers. */
#ifndef ARENITE_PLANES_H
#define ARENITE_PLANES_H

#include "arenite_fixedpoint.h"
#include "arenite_port.h"
#include "arenite_rescale_s64.h"
#include "arenite_three.h"

typedef struct {
    int32_t batches;
    int32_t input_height;
    int32_t input_width;
    int32_t input_channels;
    int32_t output_height;
    int32_t output_width;
    int32_t multiplier;
    int32_t filter_height;
    int32_t filter_width;
    int32_t stride_height;
    int32_t stride_width;
    int32_t dilation_height;
    int32_t dilation_width;
    int32_t pad_top;
    int32_t pad_left;
    int32_t band_height; /* output rows per plane */
    int32_t plane_width; /* what a multiple of three results needs */
    int32_t input_zero_point;
    int32_t output_zero_point;
    int32_t clamp_low;
    int32_t clamp_high;
    int32_t narrow; /* uint8: sums below 2^30, all shifts in [-31, -1] */
    int32_t once;   /* int16: sums are rounded once, by multipliers of 15 bits; else twice */
} arenite_planes_params;

/* One output channel of one band. */
typedef struct {
    const int16_t *weights;
    uint32_t bias;
    int32_t multiplier;
    int32_t shift;
    int32_t rows;
} arenite_planes_job;

/* Stores one result of uint8 or, `wide`, of int16; where the next one goes. */
ARENITE_INLINE void arenite_planes_store(const arenite_planes_params *params, const arenite_planes_job *job,
                                         uint32_t sum, void *output, int32_t at, int32_t wide) {
    const int32_t low = params->clamp_low, high = params->clamp_high;
    if (wide) {
        ((int16_t *)output)[at] =
            arenite_store_s32(sum, job->multiplier, job->shift, params->once, low, high);
    } else {
        ((uint8_t *)output)[at] = arenite_store_u8(sum, job->multiplier, job->shift,
                                                   params->output_zero_point, params->narrow, 0, low, high);
    }
}

/* One channel of a band, whose first result is output[at]. `stride` is the horizontal one of 3x3 taps side by
 * side, or 0 for any filter. */
ARENITE_INLINE void arenite_planes_channel(const arenite_planes_params *params, const arenite_planes_job *job,
                                           const int16_t *plane, void *output, int32_t at, int32_t wide,
                                           int32_t stride) {
    const int32_t step = stride == 0 ? params->stride_width : stride;
    const int32_t tap_step = params->plane_width * params->dilation_height;
    const int32_t outputs = params->input_channels * params->multiplier;
    const int16_t *line = plane;
    for (int32_t rows = job->rows; rows > 0; --rows) {
        const int16_t *p = line;
        ARENITE_AS_WRITTEN
        for (int32_t left = params->output_width; left > 0; left -= 3) {
            uint32_t s0 = job->bias, s1 = s0, s2 = s0;
            const int16_t *w = job->weights, *q = p;
            if (stride != 0) {
                ARENITE_ADD_THREE(q, w, stride);
                q += tap_step;
                ARENITE_ADD_THREE(q, w + 3, stride);
                q += tap_step;
                ARENITE_ADD_THREE(q, w + 6, stride);
            } else {
                for (int32_t ky = params->filter_height; ky > 0; --ky) {
                    const int16_t *tap = q;
                    for (int32_t kx = params->filter_width; kx > 0; --kx) {
                        const int32_t weight = *w++;
                        s0 += (uint32_t)(tap[0] * weight);
                        s1 += (uint32_t)(tap[step] * weight);
                        s2 += (uint32_t)(tap[2 * step] * weight);
                        tap += params->dilation_width;
                    }
                    q += tap_step;
                }
            }
            arenite_planes_store(params, job, s0, output, at, wide);
            at += outputs;
            if (left > 1) {
                arenite_planes_store(params, job, s1, output, at, wide);
                at += outputs;
            }
            if (left > 2) {
                arenite_planes_store(params, job, s2, output, at, wide);
                at += outputs;
            }
            p += 3 * step;
            ARENITE_OPAQUE(p);
        }
        line += params->plane_width * params->stride_height;
    }
}

/* The part of a band's planes that lies inside the image. */
typedef struct {
    int32_t first;  /* in the plane */
    int32_t source; /* in the image */
    int32_t rows;
    int32_t columns;
} arenite_planes_inside;

/* Fills the plane with zeros; the part of it that channels are copied into. */
ARENITE_INLINE arenite_planes_inside arenite_planes_clear(const arenite_planes_params *params, int32_t top,
                                                          int32_t rows, int16_t *plane) {
    const int32_t width = params->plane_width, room = width - params->pad_left;
    const int32_t bottom = top + rows < params->input_height ? top + rows : params->input_height;
    const int32_t above = top < 0 ? -top : 0;
    const arenite_planes_inside inside = {
        above * width + params->pad_left,
        (top + above) * params->input_width * params->input_channels,
        bottom - (top + above),
        room < params->input_width ? room : params->input_width,
    };
    for (int32_t i = 0; i < rows * width; ++i) {
        plane[i] = 0;
    }
    return inside;
}

/* Copies one channel, from `source` on, of any type. */
#define ARENITE_PLANES_COPY(params, inside, source, plane)                                                   \
    do {                                                                                                     \
        const int32_t arenite_channels = (params)->input_channels;                                           \
        const int32_t arenite_zero = (params)->input_zero_point;                                             \
        int16_t *arenite_to = (plane) + (inside).first;                                                      \
        for (int32_t arenite_rows = (inside).rows; arenite_rows > 0; --arenite_rows) {                       \
            int32_t arenite_left = (inside).columns;                                                         \
            ARENITE_AS_WRITTEN                                                                               \
            for (; arenite_left >= 2; arenite_left -= 2) {                                                   \
                const int32_t arenite_first = *(source), arenite_second = (source)[arenite_channels];        \
                arenite_to[0] = (int16_t)(arenite_first - arenite_zero);                                     \
                arenite_to[1] = (int16_t)(arenite_second - arenite_zero);                                    \
                arenite_to += 2;                                                                             \
                source += 2 * arenite_channels;                                                              \
                ARENITE_OPAQUE(source);                                                                      \
            }                                                                                                \
            if (arenite_left > 0) {                                                                          \
                *arenite_to++ = (int16_t)(*(source) - arenite_zero);                                         \
                source += arenite_channels;                                                                  \
            }                                                                                                \
            source += ((params)->input_width - (inside).columns) * arenite_channels;                         \
            arenite_to += (params)->plane_width - (inside).columns;                                          \
        }                                                                                                    \
    } while (0)

/* A whole depthwise convolution: `channel` computes one channel of a band, (params, job, plane, output, at).
 */
#define ARENITE_PLANES(params, type, input, weights, biases, multipliers, shifts, output, plane, channel)    \
    do {                                                                                                     \
        const int32_t outputs = (params)->input_channels * (params)->multiplier;                             \
        const int32_t taps = (params)->filter_height * (params)->filter_width;                               \
        const int32_t reach = ((params)->filter_height - 1) * (params)->dilation_height + 1;                 \
        const int32_t image = (params)->input_height * (params)->input_width * (params)->input_channels;     \
        int32_t first = 0;                                                                                   \
        for (int32_t batch = 0; batch < (params)->batches; ++batch) {                                        \
            for (int32_t y = 0; y < (params)->output_height; y += (params)->band_height) {                   \
                const int32_t left = (params)->output_height - y;                                            \
                const int32_t rows = left < (params)->band_height ? left : (params)->band_height;            \
                const arenite_planes_inside inside =                                                         \
                    arenite_planes_clear(params, y * (params)->stride_height - (params)->pad_top,            \
                                         (rows - 1) * (params)->stride_height + reach, plane);               \
                for (int32_t o = 0; o < outputs; ++o) {                                                      \
                    if (o % (params)->multiplier == 0) {                                                     \
                        const type *source =                                                                 \
                            (input) + batch * image + inside.source + o / (params)->multiplier;              \
                        ARENITE_PLANES_COPY(params, inside, source, plane);                                  \
                    }                                                                                        \
                    const arenite_planes_job job = {(weights) + o * taps, (uint32_t)(biases)[o],             \
                                                    (multipliers)[o], (shifts)[o], rows};                    \
                    channel(params, &job, plane, output, first + o);                                         \
                }                                                                                            \
                first += rows * (params)->output_width * outputs;                                            \
            }                                                                                                \
        }                                                                                                    \
    } while (0)

/* Whether each row has three taps side by side, three rows of them, and a stride of 1 or 2. */
ARENITE_INLINE int32_t arenite_planes_are_small(const arenite_planes_params *params) {
    return params->filter_height == 3 && params->filter_width == 3 && params->dilation_width == 1 &&
           params->stride_width <= 2;
}

/* Defines the kernel whose inputs and results are of a type and whose biases of another; `wide`: int16. The
 * loops lie apart, so that each has all registers to itself. Weights are [channels *
 * multiplier][filter_height][filter_width], less their zero point. */
#define ARENITE_PLANES_KERNEL(symbol, type, bias_type, wide)                                                 \
    typedef arenite_planes_params symbol##_params;                                                           \
                                                                                                             \
    ARENITE_SHARED void symbol##_3x3_1(const arenite_planes_params *params, const arenite_planes_job *job,   \
                                       const int16_t *plane, void *output, int32_t at) {                     \
        arenite_planes_channel(params, job, plane, output, at, wide, 1);                                     \
    }                                                                                                        \
                                                                                                             \
    ARENITE_SHARED void symbol##_3x3_2(const arenite_planes_params *params, const arenite_planes_job *job,   \
                                       const int16_t *plane, void *output, int32_t at) {                     \
        arenite_planes_channel(params, job, plane, output, at, wide, 2);                                     \
    }                                                                                                        \
                                                                                                             \
    ARENITE_SHARED void symbol##_any(const arenite_planes_params *params, const arenite_planes_job *job,     \
                                     const int16_t *plane, void *output, int32_t at) {                       \
        arenite_planes_channel(params, job, plane, output, at, wide, 0);                                     \
    }                                                                                                        \
                                                                                                             \
    ARENITE_INLINE void symbol##_channel(const arenite_planes_params *params, const arenite_planes_job *job, \
                                         const int16_t *plane, void *output, int32_t at) {                   \
        if (!arenite_planes_are_small(params)) {                                                             \
            symbol##_any(params, job, plane, output, at);                                                    \
        } else if (params->stride_width == 1) {                                                              \
            symbol##_3x3_1(params, job, plane, output, at);                                                  \
        } else {                                                                                             \
            symbol##_3x3_2(params, job, plane, output, at);                                                  \
        }                                                                                                    \
    }                                                                                                        \
                                                                                                             \
    ARENITE_INLINE void symbol##_core(                                                                       \
        const symbol##_params *params, const type *input, const int16_t *weights, const bias_type *biases,   \
        const int32_t *multipliers, const int8_t *shifts, type *output, int16_t *plane) {                    \
        ARENITE_PLANES(params, type, input, weights, biases, multipliers, shifts, output, plane,             \
                       symbol##_channel);                                                                    \
    }                                                                                                        \
                                                                                                             \
    ARENITE_SHARED void symbol(const symbol##_params *params, const type *input, const int16_t *weights,     \
                               const bias_type *biases, const int32_t *multipliers, const int8_t *shifts,    \
                               type *output, int16_t *plane) {                                               \
        symbol##_core(params, input, weights, biases, multipliers, shifts, output, plane);                   \
    }

#endif
