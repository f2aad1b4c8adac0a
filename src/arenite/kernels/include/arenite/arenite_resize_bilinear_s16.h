#ifndef ARENITE_RESIZE_BILINEAR_S16_H
#define ARENITE_RESIZE_BILINEAR_S16_H

#include "arenite_port.h"
#include "arenite_resize_bilinear.h"

typedef arenite_resize_bilinear_params arenite_resize_bilinear_s16_params;

/* Each pixel between four: `places` says last how far a row or a column is from the lower neighbour, in
 * 1/1024. Sums take up to 35 bits. */
ARENITE_INLINE void arenite_resize_bilinear_s16(const arenite_resize_bilinear_s16_params *params,
                                                const int16_t *input, const int32_t *places,
                                                int16_t *output) {
    ARENITE_FOR_EACH_PIXEL(params, places, 3, at, row, column, {
        const int32_t down = row[2];
        const int32_t across = column[2];
        for (int32_t i = 0; i < params->depth; ++i) {
            const int32_t above = input[at.top_left + i] * (1024 - across) + input[at.top_right + i] * across;
            const int32_t below =
                input[at.bottom_left + i] * (1024 - across) + input[at.bottom_right + i] * across;
            const int64_t total = (int64_t)above * (1024 - down) + (int64_t)below * down;
            /* Halves away from zero. */
            *output++ = (int16_t)((total + ((int64_t)1 << 19) - (total < 0 ? 1 : 0)) >> 20);
        }
    })
}

#endif
