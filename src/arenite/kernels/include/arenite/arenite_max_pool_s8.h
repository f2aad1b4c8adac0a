#ifndef ARENITE_MAX_POOL_S8_H
#define ARENITE_MAX_POOL_S8_H

#include "arenite_port.h"
#include "arenite_fixedpoint.h"

typedef struct {
    int32_t batches;
    int32_t input_height;
    int32_t input_width;
    int32_t channels;
    int32_t output_height;
    int32_t output_width;
    int32_t filter_height;
    int32_t filter_width;
    int32_t stride_height;
    int32_t stride_width;
    int32_t pad_top;
    int32_t pad_left;
    int32_t low;
    int32_t high;
} arenite_max_pool_s8_params;

ARENITE_INLINE int8_t arenite_max_pool_s8_window(const arenite_max_pool_s8_params *params,
                                                 const int8_t *corner, int32_t height, int32_t width,
                                                 int32_t row_nelem) {
    int32_t largest = params->low;
    for (int32_t y = 0; y < height; ++y) {
        for (int32_t x = 0; x < width; ++x) {
            const int32_t cell = corner[y * row_nelem + x * params->channels];
            largest = cell > largest ? cell : largest;
        }
    }
    return (int8_t)(largest < params->high ? largest : params->high);
}

/* Largest cell of each window of an NHWC tensor. */
ARENITE_INLINE void arenite_max_pool_s8(const arenite_max_pool_s8_params *params, const int8_t *input,
                                        int8_t *output) {
    const int32_t channels = params->channels;
    const int32_t row_nelem = params->input_width * channels;
    for (int32_t batch = 0; batch < params->batches; ++batch) {
        for (int32_t y = 0; y < params->output_height; ++y) {
            const int32_t from_y = y * params->stride_height - params->pad_top;
            const int32_t top = arenite_clamp(from_y, 0, params->input_height);
            const int32_t bottom = arenite_clamp(from_y + params->filter_height, 0, params->input_height);
            for (int32_t x = 0; x < params->output_width; ++x) {
                const int32_t from_x = x * params->stride_width - params->pad_left;
                const int32_t left = arenite_clamp(from_x, 0, params->input_width);
                const int32_t right = arenite_clamp(from_x + params->filter_width, 0, params->input_width);
                const int8_t *corner = input + top * row_nelem + left * channels;
                for (int32_t channel = 0; channel < channels; ++channel) {
                    *output++ = arenite_max_pool_s8_window(params, corner + channel, bottom - top,
                                                           right - left, row_nelem);
                }
            }
        }
        input += params->input_height * row_nelem;
    }
}

#endif
