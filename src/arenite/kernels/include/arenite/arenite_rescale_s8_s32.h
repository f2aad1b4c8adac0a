#ifndef ARENITE_RESCALE_S8_S32_H
#define ARENITE_RESCALE_S8_S32_H

#include "arenite_rescale.h"

ARENITE_RESCALE_KERNEL(arenite_rescale_s8_s32, int8_t, int32_t, INT32_MIN, INT32_MAX)

#endif
