/* Convolution, int8, NHWC, without scratch: windows that lie inside the image are read in place, two pixels
 * at a time, the others tap by tap. For layers that fill the arena. */
#ifndef ARENITE_CONV2D_LEAN_S8_H
#define ARENITE_CONV2D_LEAN_S8_H

#include "arenite_conv2d_s8.h"

typedef arenite_conv2d_s8_params arenite_conv2d_lean_s8_params;

ARENITE_SHARED void arenite_conv2d_lean_s8(const arenite_conv2d_lean_s8_params *params, const int8_t *input,
                                           const int8_t *weights, const int32_t *biases,
                                           const int32_t *multipliers, const int8_t *shifts, int8_t *output) {
    arenite_conv2d_s8_core(params, input, weights, biases, multipliers, shifts, output, NULL, 1);
}

#endif
