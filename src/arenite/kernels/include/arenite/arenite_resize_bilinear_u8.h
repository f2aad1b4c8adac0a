#ifndef ARENITE_RESIZE_BILINEAR_U8_H
#define ARENITE_RESIZE_BILINEAR_U8_H

#include "arenite_port.h"
#include "arenite_resize_bilinear.h"

typedef arenite_resize_bilinear_params arenite_resize_bilinear_u8_params;

/* Each pixel between four: `fractions` say how far each row, then each column, is from the lower neighbour.
 * In float, as TFLite has it on uint8, rounded by adding a half. */
ARENITE_INLINE void arenite_resize_bilinear_u8(const arenite_resize_bilinear_u8_params *params,
                                               const uint8_t *input, const int32_t *places,
                                               const float *fractions, uint8_t *output) {
    ARENITE_FOR_EACH_PIXEL(params, places, 2, at, row, column, {
        const float down = fractions[r];
        const float across = fractions[params->rows + c];
        for (int32_t i = 0; i < params->depth; ++i) {
            const float real = arenite_between_f32(
                (float)input[at.top_left + i], (float)input[at.bottom_left + i],
                (float)input[at.top_right + i], (float)input[at.bottom_right + i], down, across);
            *output++ = (uint8_t)(real + 0.5f);
        }
    })
}

#endif
