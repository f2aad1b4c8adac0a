/* Convolution with a filter of one tap, stride 1: a matrix product of pixels and channels, int8. */
#ifndef ARENITE_POINTWISE_S8_H
#define ARENITE_POINTWISE_S8_H

#include "arenite_port.h"
#include "arenite_requantize.h"
#include "arenite_tile_s8.h"

typedef struct {
    int32_t pixels;
    int32_t input_channels;
    int32_t output_channels;
    int32_t output_zero_point;
    int32_t clamp_low;
    int32_t clamp_high;
    int32_t narrow; /* sums below 2^30, all shifts in [-31, -1] */
} arenite_pointwise_s8_params;

ARENITE_INLINE void arenite_pointwise_s8_core(const arenite_pointwise_s8_params *params, const int8_t *input,
                                              const int8_t *weights, const int32_t *biases,
                                              const int32_t *multipliers, const int8_t *shifts,
                                              int8_t *output) {
    const int32_t npixels = params->pixels, inputs = params->input_channels;
    const int32_t outputs = params->output_channels;
    const arenite_channels table = {
        weights, biases, multipliers, shifts, outputs, params->output_zero_point, params->narrow,
    };
    const int8_t *source = input;
    int8_t *target = output;
    for (int32_t pixel = 0; pixel < npixels; pixel += 2) {
        /* A last pixel without a partner is computed twice. */
        const int32_t second = pixel + 1 < npixels;
        const arenite_pixels pixels = {source, second ? source + inputs : source, 1, inputs, 0};
        arenite_tile_s8(&table, &pixels, target, second ? target + outputs : target);
        source += 2 * inputs;
        target += 2 * outputs;
    }
    arenite_clamp_s8(output, npixels * outputs, params->clamp_low, params->clamp_high);
}

ARENITE_SHARED void arenite_pointwise_s8(const arenite_pointwise_s8_params *params, const int8_t *input,
                                         const int8_t *weights, const int32_t *biases,
                                         const int32_t *multipliers, const int8_t *shifts, int8_t *output) {
    arenite_pointwise_s8_core(params, input, weights, biases, multipliers, shifts, output);
}

#endif
