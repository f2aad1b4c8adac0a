#ifndef ARENITE_SELFTEST_H
#define ARENITE_SELFTEST_H

#include "arenite_port.h"

/* The same made-up inputs everywhere, so that only outputs need to be stored. */

#define ARENITE_SELFTEST_SEED 2463534242u

/* Marsaglia's xorshift (Journal of Statistical Software 8, 14), with 13, 17, 5. */
ARENITE_SHARED uint32_t arenite_selftest_next(uint32_t *seed) {
    uint32_t x = *seed;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    *seed = x;
    return x;
}

/* Any number of a stored type of one byte. */
ARENITE_INLINE void arenite_selftest_fill_8(uint32_t *seed, void *to, int32_t nelem) {
    uint8_t *bytes = (uint8_t *)to;
    for (int32_t i = 0; i < nelem; ++i) {
        bytes[i] = (uint8_t)(arenite_selftest_next(seed) >> 24);
    }
}

/* Any number of a stored type of two bytes. */
ARENITE_INLINE void arenite_selftest_fill_16(uint32_t *seed, void *to, int32_t nelem) {
    uint16_t *words = (uint16_t *)to;
    for (int32_t i = 0; i < nelem; ++i) {
        words[i] = (uint16_t)(arenite_selftest_next(seed) >> 16);
    }
}

/* From -1 to below 1. */
ARENITE_INLINE void arenite_selftest_fill_float(uint32_t *seed, void *to, int32_t nelem) {
    float *reals = (float *)to;
    for (int32_t i = 0; i < nelem; ++i) {
        reals[i] = (float)((int32_t)(arenite_selftest_next(seed) >> 8) - 8388608) / 8388608.0f;
    }
}

/* 0 or 1 in elements of any width, for indices and conditions. */
ARENITE_INLINE void arenite_selftest_fill_binary(uint32_t *seed, void *to, int32_t nelem,
                                                 int32_t element_nbytes) {
    uint8_t *bytes = (uint8_t *)to;
    for (int32_t i = 0; i < nelem * element_nbytes; ++i) {
        bytes[i] = i % element_nbytes == 0 ? (uint8_t)(arenite_selftest_next(seed) >> 31) : 0;
    }
}

/* A constant in flash. */
typedef struct {
    const void *data;
    int32_t nbytes;
} arenite_selftest_constant;

/* CRC-32 (IEEE 802.3) over all of them, one after another. */
ARENITE_SHARED uint32_t arenite_selftest_crc(const arenite_selftest_constant *constants, int32_t count) {
    uint32_t crc = 0xFFFFFFFFu;
    for (int32_t i = 0; i < count; ++i) {
        const uint8_t *bytes = (const uint8_t *)constants[i].data;
        for (int32_t k = 0; k < constants[i].nbytes; ++k) {
            crc ^= bytes[k];
            for (int32_t bit = 0; bit < 8; ++bit) {
                crc = (crc >> 1) ^ ((crc & 1u) != 0u ? 0xEDB88320u : 0u);
            }
        }
    }
    return crc ^ 0xFFFFFFFFu;
}

/* How many elements differ. */
ARENITE_INLINE int32_t arenite_selftest_wrong(const void *found, const void *expected, int32_t nelem,
                                              int32_t element_nbytes) {
    const uint8_t *a = (const uint8_t *)found;
    const uint8_t *b = (const uint8_t *)expected;
    int32_t wrong = 0;
    for (int32_t i = 0; i < nelem; ++i) {
        int32_t differs = 0;
        for (int32_t k = 0; k < element_nbytes; ++k) {
            differs |= a[i * element_nbytes + k] ^ b[i * element_nbytes + k];
        }
        wrong += differs != 0;
    }
    return wrong;
}

/* How many elements differ by more than a ten-thousandth of the largest expected one. */
ARENITE_INLINE int32_t arenite_selftest_wrong_float(const float *found, const float *expected,
                                                    int32_t nelem) {
    float largest = 0.0f;
    for (int32_t i = 0; i < nelem; ++i) {
        const float size = expected[i] < 0.0f ? -expected[i] : expected[i];
        largest = size > largest ? size : largest;
    }
    int32_t wrong = 0;
    for (int32_t i = 0; i < nelem; ++i) {
        const float distance = found[i] < expected[i] ? expected[i] - found[i] : found[i] - expected[i];
        wrong += !(distance <= 1e-4f * largest);
    }
    return wrong;
}

#endif
