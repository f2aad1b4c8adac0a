/* Depthwise convolution, uint8, NHWC, any multiplier. */
#ifndef ARENITE_DEPTHWISE_PLANES_U8_H
#define ARENITE_DEPTHWISE_PLANES_U8_H

#include "arenite_planes.h"

ARENITE_PLANES_KERNEL(arenite_depthwise_planes_u8, uint8_t, int32_t, 0)

#endif
