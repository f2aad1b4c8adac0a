/* Loops over two operands that broadcast in up to four dimensions. */
#ifndef ARENITE_BROADCAST_H
#define ARENITE_BROADCAST_H

#include "arenite_port.h"

/* Runs a statement for each element of the result, with the positions of the operands' elements in at_a and
 * at_b. params has sizes[4], strides_a[4] and strides_b[4]. */
#define ARENITE_FOR_EACH_PAIR(params, at_a, at_b, ...)                                                       \
    for (int32_t arenite_i = 0; arenite_i < (params)->sizes[0]; ++arenite_i) {                               \
        for (int32_t arenite_j = 0; arenite_j < (params)->sizes[1]; ++arenite_j) {                           \
            for (int32_t arenite_k = 0; arenite_k < (params)->sizes[2]; ++arenite_k) {                       \
                int32_t at_a = arenite_i * (params)->strides_a[0] + arenite_j * (params)->strides_a[1] +     \
                               arenite_k * (params)->strides_a[2];                                           \
                int32_t at_b = arenite_i * (params)->strides_b[0] + arenite_j * (params)->strides_b[1] +     \
                               arenite_k * (params)->strides_b[2];                                           \
                for (int32_t arenite_n = 0; arenite_n < (params)->sizes[3]; ++arenite_n) {                   \
                    __VA_ARGS__                                                                              \
                    at_a += (params)->strides_a[3];                                                          \
                    at_b += (params)->strides_b[3];                                                          \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
    }

#endif
