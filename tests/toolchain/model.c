/* Stands for generated code: known sizes, one compiler helper, one function that nobody calls. */

#include <stdint.h>

extern const int8_t model_weights[1000];
const int8_t model_weights[1000] = {1, 2, 3};

static int32_t state[3] = {1, 2, 3};
static uint8_t arena[256] __attribute__((aligned(16)));

int64_t model_divide(int64_t a, int64_t b);
void model_invoke(void);
uint32_t nobody_calls(uint32_t a);

int64_t model_divide(int64_t a, int64_t b) {
    return a / b;
}

static void __attribute__((noinline)) layer_00(void) {
    for (int i = 0; i < 256; ++i) {
        arena[i] = (uint8_t)(model_weights[i] + state[i % 3]);
    }
}

void model_invoke(void) {
    layer_00();
    state[0] += arena[7];
}

uint32_t nobody_calls(uint32_t a) {
    return a * 3u + 1u;
}
