/* Start-up of the boards that QEMU has: runs the model on files, by semihosting (Arm: Semihosting for AArch32
   and AArch64, section 6). `qemu_run` is generated, and calls `qemu_read` and `qemu_write`. */

#include <stdint.h>

enum { SYS_OPEN = 0x01, SYS_WRITE = 0x05, SYS_READ = 0x06, SYS_EXIT_EXTENDED = 0x20 };
enum { MODE_READ = 1, MODE_WRITE = 5, APPLICATION_EXIT = 0x20026 };
enum { STATUS_FAULT = 99, STATUS_NO_FILE = 98, STATUS_SHORT = 97 };

extern uint32_t arenite_data_load[];
extern uint32_t arenite_data_begin[];
extern uint32_t arenite_data_end[];
extern uint32_t arenite_bss_begin[];
extern uint32_t arenite_bss_end[];
extern uint32_t arenite_stack_top[];

void Reset_Handler(void);
void qemu_fault(void);
void qemu_run(uint32_t invocations);
void qemu_read(void *to, uint32_t nbytes);
void qemu_write(const void *from, uint32_t nbytes);

static uint32_t input_file, output_file;

static uint32_t semihost(uint32_t operation, const uint32_t *arguments) {
    register uint32_t r0 __asm__("r0") = operation;
    register const uint32_t *r1 __asm__("r1") = arguments;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static void leave(uint32_t status) {
    const uint32_t arguments[2] = {APPLICATION_EXIT, status};
    (void)semihost(SYS_EXIT_EXTENDED, arguments);
    for (;;) {
        __asm__ volatile("");
    }
}

static uint32_t opened(const char *name, uint32_t name_nbytes, uint32_t mode) {
    const uint32_t arguments[3] = {(uint32_t)(uintptr_t)name, mode, name_nbytes};
    const uint32_t handle = semihost(SYS_OPEN, arguments);
    if (handle == UINT32_MAX) {
        leave(STATUS_NO_FILE);
    }
    return handle;
}

void qemu_read(void *to, uint32_t nbytes) {
    const uint32_t arguments[3] = {input_file, (uint32_t)(uintptr_t)to, nbytes};
    if (semihost(SYS_READ, arguments) != 0u) {
        leave(STATUS_SHORT);
    }
}

void qemu_write(const void *from, uint32_t nbytes) {
    const uint32_t arguments[3] = {output_file, (uint32_t)(uintptr_t)from, nbytes};
    if (semihost(SYS_WRITE, arguments) != 0u) {
        leave(STATUS_SHORT);
    }
}

void qemu_fault(void) {
    leave(STATUS_FAULT);
}

void Reset_Handler(void) {
    const uint32_t *load = arenite_data_load;
    for (uint32_t *to = arenite_data_begin; to != arenite_data_end; ++to, ++load) {
        *to = *load;
        __asm__ volatile("" ::: "memory");
    }
    for (uint32_t *to = arenite_bss_begin; to != arenite_bss_end; ++to) {
        *to = 0u;
        __asm__ volatile("" ::: "memory");
    }
#if defined(__ARM_FP)
    /* CPACR: full access to the FPU. */
    *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20;
    __asm__ volatile("dsb\n\tisb" ::: "memory");
#endif
    input_file = opened("in.bin", 6u, MODE_READ);
    output_file = opened("out.bin", 7u, MODE_WRITE);
    qemu_run(QEMU_INVOCATIONS);
    leave(0u);
}

typedef void (*vector_t)(void);

typedef struct {
    uint32_t *initial_stack;
    vector_t handlers[15];
} vector_table_t;

__attribute__((section(".vectors"), used)) const vector_table_t qemu_vectors = {
    arenite_stack_top,
    {Reset_Handler, qemu_fault, qemu_fault, qemu_fault, qemu_fault, qemu_fault, 0, 0, 0, 0, qemu_fault,
     qemu_fault, 0, qemu_fault, qemu_fault},
};
