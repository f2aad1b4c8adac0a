#ifndef ARENITE_PIECEWISE_S16_H
#define ARENITE_PIECEWISE_S16_H

#include "arenite_fixedpoint.h"
#include "arenite_port.h"

typedef struct {
    int32_t nelem;
    int32_t zero_point_input;
    int32_t mirror; /* elements below 0 change their sign first */
    int32_t multiplier_below;
    int32_t shift_below;
    int32_t multiplier_above;
    int32_t shift_above;
    int32_t zero_point;
    int32_t low;
    int32_t high;
} arenite_piecewise_s16_params;

/* Each element by one factor where it is below 0, by another elsewhere, limited: abs, relu, leaky_relu. May
 * run in place. */
ARENITE_INLINE void arenite_piecewise_s16(const arenite_piecewise_s16_params *params, const int16_t *input,
                                          int16_t *output) {
    for (int32_t i = 0; i < params->nelem; ++i) {
        const int32_t centred = input[i] - params->zero_point_input;
        const int32_t x = params->mirror && centred < 0 ? -centred : centred;
        const int32_t scaled = x < 0 ? arenite_requantize(x, params->multiplier_below, params->shift_below)
                                     : arenite_requantize(x, params->multiplier_above, params->shift_above);
        output[i] = (int16_t)arenite_clamp(scaled + params->zero_point, params->low, params->high);
    }
}

#endif
