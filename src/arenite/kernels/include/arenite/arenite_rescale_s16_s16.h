#ifndef ARENITE_RESCALE_S16_S16_H
#define ARENITE_RESCALE_S16_S16_H

#include "arenite_rescale.h"

ARENITE_RESCALE_KERNEL(arenite_rescale_s16_s16, int16_t, int16_t, INT16_MIN, INT16_MAX)

#endif
