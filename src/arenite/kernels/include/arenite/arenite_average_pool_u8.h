#ifndef ARENITE_AVERAGE_POOL_U8_H
#define ARENITE_AVERAGE_POOL_U8_H

#include "arenite_average_pool_s8.h"
#include "arenite_fixedpoint.h"
#include "arenite_port.h"

typedef arenite_average_pool_s8_params arenite_average_pool_u8_params;

/* The sum over height x width cells divided by their number, halves upwards. */
ARENITE_INLINE uint8_t arenite_average_pool_u8_window(const arenite_average_pool_u8_params *params,
                                                      const uint8_t *corner, int32_t height, int32_t width) {
    const int32_t cells = height * width;
    int32_t total = cells / 2;
    for (int32_t y = 0; y < height; ++y) {
        for (int32_t x = 0; x < width; ++x) {
            total += corner[(y * params->input_width + x) * params->channels];
        }
    }
    return (uint8_t)arenite_clamp(total / cells, params->low, params->high);
}

/* Mean over each window of an NHWC tensor; cells outside it do not count. */
ARENITE_INLINE void arenite_average_pool_u8(const arenite_average_pool_u8_params *params,
                                            const uint8_t *input, uint8_t *output) {
    const int32_t image_nelem = params->input_height * params->input_width * params->channels;
    for (int32_t batch = 0; batch < params->batches; ++batch, input += image_nelem) {
        for (int32_t y = 0; y < params->output_height; ++y) {
            const int32_t from_y = y * params->stride_height - params->pad_top;
            const int32_t top = arenite_clamp(from_y, 0, params->input_height);
            const int32_t height =
                arenite_clamp(from_y + params->filter_height, 0, params->input_height) - top;
            for (int32_t x = 0; x < params->output_width; ++x) {
                const int32_t from_x = x * params->stride_width - params->pad_left;
                const int32_t left = arenite_clamp(from_x, 0, params->input_width);
                const int32_t width =
                    arenite_clamp(from_x + params->filter_width, 0, params->input_width) - left;
                const uint8_t *corner = input + (top * params->input_width + left) * params->channels;
                for (int32_t channel = 0; channel < params->channels; ++channel) {
                    *output++ = arenite_average_pool_u8_window(params, corner + channel, height, width);
                }
            }
        }
    }
}

#endif
