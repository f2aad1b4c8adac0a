#ifndef ARENITE_INTEGERS_H
#define ARENITE_INTEGERS_H

#include "arenite_port.h"

/* Integers of any width at any address, least byte first; loops over them become plain loads and stores. Of
 * 64 bits, loads and stores see the lower half. */

ARENITE_INLINE int32_t arenite_load_integer(const uint8_t *from, int32_t nbytes, int32_t is_signed) {
    if (nbytes == 1) {
        return is_signed ? (int32_t)(int8_t)from[0] : (int32_t)from[0];
    }
    const uint32_t low = (uint32_t)from[0] | (uint32_t)from[1] << 8;
    if (nbytes == 2) {
        return is_signed ? (int32_t)(int16_t)low : (int32_t)low;
    }
    return (int32_t)(low | (uint32_t)from[2] << 16 | (uint32_t)from[3] << 24);
}

ARENITE_INLINE void arenite_store_integer(uint8_t *to, int32_t value, int32_t nbytes) {
    to[0] = (uint8_t)value;
    if (nbytes > 1) {
        to[1] = (uint8_t)((uint32_t)value >> 8);
    }
    if (nbytes > 2) {
        to[2] = (uint8_t)((uint32_t)value >> 16);
        to[3] = (uint8_t)((uint32_t)value >> 24);
    }
}

/* The upper half of an integer as 64 bits, whose lower half has been loaded. */
ARENITE_INLINE int32_t arenite_load_upper(const uint8_t *from, int32_t low, int32_t nbytes,
                                          int32_t is_signed) {
    if (nbytes == 8) {
        return arenite_load_integer(from + 4, 4, is_signed);
    }
    return is_signed && low < 0 ? -1 : 0;
}

#endif
