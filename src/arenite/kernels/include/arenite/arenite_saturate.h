/* Shifts that saturate, and how far there is room to shift. */
#ifndef ARENITE_SATURATE_H
#define ARENITE_SATURATE_H

#include "arenite_port.h"

/* value * 2^bits, limited to 32 bits, for bits in [0, 31]. */
ARENITE_INLINE int32_t arenite_shift_left_saturating(int32_t value, int32_t bits) {
    const int64_t wide = (int64_t)value * ((int64_t)1 << bits);
    return wide < INT32_MIN ? INT32_MIN : wide > INT32_MAX ? INT32_MAX : (int32_t)wide;
}

/* Zeros above the leading one of 32 bits. */
ARENITE_INLINE int32_t arenite_leading_zeros(uint32_t value) {
    int32_t zeros = 32;
    for (; value > 0; value >>= 1) {
        --zeros;
    }
    return zeros;
}

#endif
