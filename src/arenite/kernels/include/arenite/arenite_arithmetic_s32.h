#ifndef ARENITE_ARITHMETIC_S32_H
#define ARENITE_ARITHMETIC_S32_H

#include "arenite_broadcast.h"
#include "arenite_fixedpoint.h"
#include "arenite_port.h"

#define ARENITE_ADD 0
#define ARENITE_SUB 1
#define ARENITE_MUL 2
#define ARENITE_DIV 3
#define ARENITE_SQUARED_DIFFERENCE 4
#define ARENITE_POW 5

typedef struct {
    int32_t sizes[4]; /* of the result; an operand's stride is 0 where it repeats */
    int32_t strides_a[4];
    int32_t strides_b[4];
    int32_t operation; /* one of the above */
    int32_t low;
    int32_t high;
} arenite_arithmetic_s32_params;

/* Rounded towards 0; what C leaves undefined is 0 (x / 0) or wraps (-2^31 / -1). */
ARENITE_INLINE int32_t arenite_divide_s32(int32_t a, int32_t b) {
    if (b == 0) {
        return 0;
    }
    return b == -1 ? (int32_t)(0u - (uint32_t)a) : a / b;
}

/* Wraps at 32 bits; of negative exponents the whole part: 0, save for bases 1 and -1. */
ARENITE_INLINE int32_t arenite_power_s32(int32_t base, int32_t exponent) {
    if (exponent < 0) {
        return base == 1 || (base == -1 && exponent % 2 == 0) ? 1 : base == -1 ? -1 : 0;
    }
    uint32_t result = 1, factor = (uint32_t)base;
    for (int32_t left = exponent; left > 0; left >>= 1) {
        result *= left & 1 ? factor : 1u;
        factor *= factor;
    }
    return (int32_t)result;
}

ARENITE_INLINE int32_t arenite_arithmetic_s32_element(int32_t operation, int32_t a, int32_t b) {
    const uint32_t x = (uint32_t)a;
    const uint32_t y = (uint32_t)b;
    switch (operation) {
    case ARENITE_ADD:
        return (int32_t)(x + y);
    case ARENITE_SUB:
        return (int32_t)(x - y);
    case ARENITE_MUL:
        return (int32_t)(x * y);
    case ARENITE_DIV:
        return arenite_divide_s32(a, b);
    case ARENITE_POW:
        return arenite_power_s32(a, b);
    default:
        return (int32_t)((x - y) * (x - y));
    }
}

/* Plain arithmetic that wraps at 32 bits, limited. May run in place of an operand as large as the result. */
ARENITE_INLINE void arenite_arithmetic_s32(const arenite_arithmetic_s32_params *params, const int32_t *a,
                                           const int32_t *b, int32_t *output) {
    ARENITE_FOR_EACH_PAIR(params, at_a, at_b, {
        const int32_t result = arenite_arithmetic_s32_element(params->operation, a[at_a], b[at_b]);
        *output++ = arenite_clamp(result, params->low, params->high);
    })
}

#endif
