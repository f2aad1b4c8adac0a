#ifndef ARENITE_BYTES_H
#define ARENITE_BYTES_H

#include "arenite_port.h"

/* Both return what follows the bytes written. */

ARENITE_INLINE uint8_t *arenite_fill(uint8_t *to, uint8_t value, int32_t nbytes) {
    for (int32_t i = 0; i < nbytes; ++i) {
        to[i] = value;
    }
    return to + nbytes;
}

ARENITE_INLINE uint8_t *arenite_copy(uint8_t *to, const uint8_t *from, int32_t nbytes) {
    int32_t i = 0;
    for (; i + 4 <= nbytes; i += 4) {
        ARENITE_COPY_4(to + i, from + i);
    }
    for (; i < nbytes; ++i) {
        to[i] = from[i];
    }
    return to + nbytes;
}

#endif
