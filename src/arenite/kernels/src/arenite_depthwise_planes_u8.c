#include "arenite_depthwise_planes_u8.h"

void arenite_depthwise_planes_u8_entry(const arenite_depthwise_planes_u8_params *params, const uint8_t *input,
                                       const int16_t *weights, const int32_t *biases,
                                       const int32_t *multipliers, const int8_t *shifts, uint8_t *output,
                                       int16_t *plane);

void arenite_depthwise_planes_u8_entry(const arenite_depthwise_planes_u8_params *params, const uint8_t *input,
                                       const int16_t *weights, const int32_t *biases,
                                       const int32_t *multipliers, const int8_t *shifts, uint8_t *output,
                                       int16_t *plane) {
    arenite_depthwise_planes_u8(params, input, weights, biases, multipliers, shifts, output, plane);
}
