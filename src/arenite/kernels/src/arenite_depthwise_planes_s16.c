#include "arenite_depthwise_planes_s16.h"

void arenite_depthwise_planes_s16_entry(const arenite_depthwise_planes_s16_params *params,
                                        const int16_t *input, const int16_t *weights, const int64_t *biases,
                                        const int32_t *multipliers, const int8_t *shifts, int16_t *output,
                                        int16_t *plane);

void arenite_depthwise_planes_s16_entry(const arenite_depthwise_planes_s16_params *params,
                                        const int16_t *input, const int16_t *weights, const int64_t *biases,
                                        const int32_t *multipliers, const int8_t *shifts, int16_t *output,
                                        int16_t *plane) {
    arenite_depthwise_planes_s16(params, input, weights, biases, multipliers, shifts, output, plane);
}
