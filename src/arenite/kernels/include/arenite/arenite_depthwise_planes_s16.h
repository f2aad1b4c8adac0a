/* Depthwise convolution, int16 with int8 weights, NHWC, any multiplier. */
#ifndef ARENITE_DEPTHWISE_PLANES_S16_H
#define ARENITE_DEPTHWISE_PLANES_S16_H

#include "arenite_planes.h"

/* Sums fit 32 bits, or wrap there. */
ARENITE_PLANES_KERNEL(arenite_depthwise_planes_s16, int16_t, int64_t, 1)

#endif
