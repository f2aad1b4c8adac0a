/* Vector table and start-up of the simulated Cortex-M board. */

#include <stdint.h>

extern uint32_t arenite_data_load[];
extern uint32_t arenite_data_begin[];
extern uint32_t arenite_data_end[];
extern uint32_t arenite_bss_begin[];
extern uint32_t arenite_bss_end[];
extern uint32_t arenite_stack_top[];

void Reset_Handler(void);
void arenite_halt(void);
void arenite_fault(void);

#define STARTUP __attribute__((section(".startup"), used, noinline))

/* The emulator stops when it arrives here; a return from a called function arrives here too. */
STARTUP void arenite_halt(void) {
    for (;;) {
        __asm__ volatile("");
    }
}

STARTUP void arenite_fault(void) {
    for (;;) {
        __asm__ volatile("");
    }
}

STARTUP void Reset_Handler(void) {
    const uint32_t *load = arenite_data_load;
    /* The barriers keep the compiler from calling memcpy and memset before memory is ready. */
    for (uint32_t *to = arenite_data_begin; to != arenite_data_end; ++to, ++load) {
        *to = *load;
        __asm__ volatile("" ::: "memory");
    }
    for (uint32_t *to = arenite_bss_begin; to != arenite_bss_end; ++to) {
        *to = 0u;
        __asm__ volatile("" ::: "memory");
    }
#if defined(__ARM_FP) || defined(__ARM_FEATURE_MVE)
    /* CPACR: full access to coprocessors 10 and 11, which are the FPU (ARMv7-M ARM, B3.2.20). */
    volatile uint32_t *const cpacr = (volatile uint32_t *)0xE000ED88u;
    *cpacr |= 0xFu << 20;
    __asm__ volatile("dsb\n\tisb" ::: "memory");
#endif
    arenite_halt();
}

typedef void (*vector_t)(void);

typedef struct {
    uint32_t *initial_stack;
    vector_t handlers[15];
} vector_table_t;

__attribute__((section(".vectors"), used)) const vector_table_t arenite_vectors = {
    arenite_stack_top,
    {Reset_Handler, arenite_fault, arenite_fault, arenite_fault, arenite_fault, arenite_fault, 0, 0, 0, 0,
     arenite_fault, arenite_fault, 0, arenite_fault, arenite_fault},
};
