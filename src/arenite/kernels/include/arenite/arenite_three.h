/* What depthwise convolutions on planes share: a row of a filter, of three results at once. */
#ifndef ARENITE_THREE_H
#define ARENITE_THREE_H

#include "arenite_port.h"

/* Adds a row of three taps side by side to the neighbouring sums s0 to s2, `stride` inputs apart. */
#define ARENITE_ADD_THREE(p, w, stride)                                                                      \
    do {                                                                                                     \
        const int32_t w0 = (w)[0], w1 = (w)[1], w2 = (w)[2];                                                 \
        s0 += (uint32_t)((p)[0] * w0);                                                                       \
        s0 += (uint32_t)((p)[1] * w1);                                                                       \
        s0 += (uint32_t)((p)[2] * w2);                                                                       \
        s1 += (uint32_t)((p)[stride] * w0);                                                                  \
        s1 += (uint32_t)((p)[(stride) + 1] * w1);                                                            \
        s1 += (uint32_t)((p)[(stride) + 2] * w2);                                                            \
        s2 += (uint32_t)((p)[2 * (stride)] * w0);                                                            \
        s2 += (uint32_t)((p)[2 * (stride) + 1] * w1);                                                        \
        s2 += (uint32_t)((p)[2 * (stride) + 2] * w2);                                                        \
        ARENITE_SETTLE(s0);                                                                                  \
        ARENITE_SETTLE(s1);                                                                                  \
        ARENITE_SETTLE(s2);                                                                                  \
    } while (0)

#endif
