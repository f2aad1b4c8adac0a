#ifndef ARENITE_RESIZE_BILINEAR_F32_H
#define ARENITE_RESIZE_BILINEAR_F32_H

#include "arenite_port.h"
#include "arenite_resize_bilinear.h"

typedef arenite_resize_bilinear_params arenite_resize_bilinear_f32_params;

/* Each pixel between four: `fractions` say how far each row, then each column, is from the lower neighbour.
 */
ARENITE_INLINE void arenite_resize_bilinear_f32(const arenite_resize_bilinear_f32_params *params,
                                                const float *input, const int32_t *places,
                                                const float *fractions, float *output) {
    ARENITE_FOR_EACH_PIXEL(params, places, 2, at, row, column, {
        const float down = fractions[r];
        const float across = fractions[params->rows + c];
        for (int32_t i = 0; i < params->depth; ++i) {
            *output++ =
                arenite_between_f32(input[at.top_left + i], input[at.bottom_left + i],
                                    input[at.top_right + i], input[at.bottom_right + i], down, across);
        }
    })
}

#endif
