#ifndef ARENITE_RESCALE_S16_S8_H
#define ARENITE_RESCALE_S16_S8_H

#include "arenite_rescale.h"

ARENITE_RESCALE_KERNEL(arenite_rescale_s16_s8, int16_t, int8_t, INT8_MIN, INT8_MAX)

#endif
