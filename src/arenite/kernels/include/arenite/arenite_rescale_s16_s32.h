#ifndef ARENITE_RESCALE_S16_S32_H
#define ARENITE_RESCALE_S16_S32_H

#include "arenite_rescale.h"

ARENITE_RESCALE_KERNEL(arenite_rescale_s16_s32, int16_t, int32_t, INT32_MIN, INT32_MAX)

#endif
