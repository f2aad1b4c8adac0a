/* A whole program for QEMU's mps2-an386: one invocation of a debug build, whose log goes out by semihosting.
 */

#include <stdint.h>

#include "digits.h"

void Reset_Handler(void);
extern uint32_t stack_top[];

static void leave(void) {
    register uint32_t operation __asm__("r0") = 0x18u; /* SYS_EXIT */
    register uint32_t reason __asm__("r1") = 0x20026u; /* ADP_Stopped_ApplicationExit */
    __asm__ volatile("bkpt 0xab" : : "r"(operation), "r"(reason) : "memory");
    for (;;) {
        __asm__ volatile("");
    }
}

void Reset_Handler(void) {
    int8_t *input = digits_input_0();
    for (int32_t i = 0; i < DIGITS_INPUT_0_NELEM; ++i) {
        input[i] = (int8_t)(i * 5 - 100);
    }
    digits_invoke();
    leave();
}

typedef struct {
    uint32_t *initial_stack;
    void (*handlers[15])(void);
} vector_table_t;

__attribute__((section(".vectors"), used)) const vector_table_t vectors = {
    stack_top,
    {Reset_Handler, leave, leave, leave, leave, leave, 0, 0, 0, 0, leave, leave, 0, leave, leave},
};
