#ifndef ARENITE_RESIZE_BILINEAR_S8_H
#define ARENITE_RESIZE_BILINEAR_S8_H

#include "arenite_port.h"
#include "arenite_resize_bilinear.h"

typedef arenite_resize_bilinear_params arenite_resize_bilinear_s8_params;

/* Each pixel between four: `places` says last how far a row or a column is from the lower neighbour, in
 * 1/1024. Sums stay within 27 bits, as the weights make up 2^20. */
ARENITE_INLINE void arenite_resize_bilinear_s8(const arenite_resize_bilinear_s8_params *params,
                                               const int8_t *input, const int32_t *places, int8_t *output) {
    ARENITE_FOR_EACH_PIXEL(params, places, 3, at, row, column, {
        const int32_t down = row[2];
        const int32_t across = column[2];
        for (int32_t i = 0; i < params->depth; ++i) {
            const int32_t above = input[at.top_left + i] * (1024 - across) + input[at.top_right + i] * across;
            const int32_t below =
                input[at.bottom_left + i] * (1024 - across) + input[at.bottom_right + i] * across;
            const int32_t total = above * (1024 - down) + below * down;
            /* Halves away from zero. */
            *output++ = (int8_t)((total + (1 << 19) - (total < 0 ? 1 : 0)) >> 20);
        }
    })
}

#endif
