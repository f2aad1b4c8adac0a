/* What the simulator's tests run. Functions in assembly have instruction counts that are known by hand. */

#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t nbytes);

#define ASSEMBLY __attribute__((naked, noinline))
#define NOINLINE __attribute__((noinline))
#define THUMB ".syntax unified\n\t"

/* The fixture keeps these by name; each is declared before it is defined. */
int32_t counted_loop(int32_t n);
int32_t three_args(int32_t a, int32_t b, int32_t c);
uint32_t initialised(void);
uint32_t uses_stack(int32_t nbytes);
uint32_t recurse(uint32_t n);
void store_to(uint32_t address);
uint32_t load_from(uint32_t address);
uint32_t load_word(uint32_t address);
void jump_to(uint32_t address);
void forever(void);
uint32_t planted_smlad(uint32_t a, uint32_t b, uint32_t c);
uint32_t planted_udiv(uint32_t a, uint32_t b);
void layer_copy(void);
void layer_add(void);
void invoke(void);

ASSEMBLY int32_t counted_loop(int32_t n __attribute__((unused))) {
    __asm__(THUMB "movs r1, #0\n"
                  "1:\n\t"
                  "adds r1, #1\n\t"
                  "subs r0, #1\n\t"
                  "bne 1b\n\t"
                  "mov r0, r1\n\t"
                  "bx lr");
}

NOINLINE int32_t three_args(int32_t a, int32_t b, int32_t c) {
    return a - 2 * b + 3 * c;
}

#if __ARM_ARCH >= 7
uint32_t predicated(uint32_t a);
uint32_t early_return(uint32_t a);
uint32_t two_loads(const uint32_t *a);
uint32_t chained_loads(const uint32_t *a);
uint32_t saved_registers(uint32_t a);
uint32_t load_pair(uint32_t address);
uint32_t conditional_stores(int32_t a, uint32_t address);
void long_straight_line(void);

/* 4, from code behind stores of which either is left out. */
ASSEMBLY uint32_t conditional_stores(int32_t a __attribute__((unused)),
                                     uint32_t address __attribute__((unused))) {
    __asm__(THUMB "cmp r0, #0\n\t"
                  "ite le\n\t"
                  "strle r0, [r1]\n\t"
                  "strgt r0, [r1, #4]\n\t"
                  "b 1f\n"
                  "1:\n\t"
                  "movs r2, #1\n\t"
                  "adds r2, #1\n\t"
                  "adds r2, #1\n\t"
                  "adds r2, #1\n\t"
                  "mov r0, r2\n\t"
                  "bx lr");
}

/* 6000 bytes: longer than what the emulator takes as one block, and wide instructions cross its pages. */
ASSEMBLY void long_straight_line(void) {
    __asm__(THUMB ".rept 1000\n\t"
                  "nop\n\t"
                  "nop.w\n\t"
                  ".endr\n\t"
                  "bx lr");
}

ASSEMBLY uint32_t predicated(uint32_t a __attribute__((unused))) {
    __asm__(THUMB "cmp r0, #0\n\t"
                  "ite eq\n\t"
                  "moveq r0, #11\n\t"
                  "movne r0, #22\n\t"
                  "bx lr");
}

ASSEMBLY uint32_t early_return(uint32_t a __attribute__((unused))) {
    __asm__(THUMB "cmp r0, #0\n\t"
                  "it eq\n\t"
                  "bxeq lr\n\t"
                  "movs r0, #7\n\t"
                  "bx lr");
}

ASSEMBLY uint32_t two_loads(const uint32_t *a __attribute__((unused))) {
    __asm__(THUMB "ldr r1, [r0]\n\t"
                  "ldr r2, [r0, #4]\n\t"
                  "adds r0, r1, r2\n\t"
                  "bx lr");
}

ASSEMBLY uint32_t chained_loads(const uint32_t *a __attribute__((unused))) {
    __asm__(THUMB "ldr r1, [r0]\n\t"
                  "ldr r0, [r1]\n\t"
                  "bx lr");
}

ASSEMBLY uint32_t saved_registers(uint32_t a __attribute__((unused))) {
    __asm__(THUMB "push {r4, r5, r6, lr}\n\t"
                  "movs r4, #5\n\t"
                  "mla r0, r0, r4, r4\n\t"
                  "udiv r0, r0, r4\n\t"
                  "pop {r4, r5, r6, pc}");
}

ASSEMBLY uint32_t load_pair(uint32_t address __attribute__((unused))) {
    __asm__(THUMB "ldrd r0, r1, [r0]\n\t"
                  "adds r0, r0, r1\n\t"
                  "bx lr");
}
#endif

#if defined(__ARM_FP)
uint32_t float_arithmetic(const float *a);

ASSEMBLY uint32_t float_arithmetic(const float *a __attribute__((unused))) {
    __asm__(THUMB "vldr s0, [r0]\n\t"
                  "vldr s1, [r0, #4]\n\t"
                  "vmul.f32 s2, s0, s1\n\t"
                  "vfma.f32 s2, s0, s1\n\t"
                  "vdiv.f32 s2, s2, s0\n\t"
                  "vmov r0, s2\n\t"
                  "bx lr");
}
#endif

static volatile uint32_t from_flash = 0x12345678u;
static volatile uint32_t zeroed;

uint32_t initialised(void) {
    const uint32_t value = from_flash + zeroed;
    from_flash += 1u;
    zeroed += 1u;
    return value;
}

uint32_t uses_stack(int32_t nbytes) {
    volatile uint8_t array[400];
    for (int32_t i = 0; i < nbytes; ++i) {
        array[i] = 1u;
    }
    return array[0];
}

static volatile uint32_t depth_sink;

uint32_t recurse(uint32_t n) {
    volatile uint32_t here[16];
    here[0] = n;
    const uint32_t below = n == 0u ? 0u : recurse(n - 1u);
    depth_sink = here[0];
    return below + 1u;
}

void store_to(uint32_t address) {
    *(volatile uint16_t *)(uintptr_t)address = 0x55u;
}

uint32_t load_from(uint32_t address) {
    return *(volatile uint8_t *)(uintptr_t)address;
}

ASSEMBLY uint32_t load_word(uint32_t address __attribute__((unused))) {
    __asm__(THUMB "ldr r0, [r0]\n\t"
                  "bx lr");
}

NOINLINE void jump_to(uint32_t address) {
    ((void (*)(void))(uintptr_t)(address | 1u))();
    depth_sink = 1u;
}

void forever(void) {
    for (;;) {
        depth_sink += 1u;
    }
}

/* As numbers: the assembler refuses them for cores that lack them. */
ASSEMBLY uint32_t planted_smlad(uint32_t a __attribute__((unused)), uint32_t b __attribute__((unused)),
                                uint32_t c __attribute__((unused))) {
    __asm__(".inst.w 0xfb202001\n\t" /* smlad r0, r0, r1, r2 */
            "bx lr");
}

ASSEMBLY uint32_t planted_udiv(uint32_t a __attribute__((unused)), uint32_t b __attribute__((unused))) {
    __asm__(".inst.w 0xfbb0f0f1\n\t" /* udiv r0, r0, r1 */
            "bx lr");
}

uint32_t arena[64];
uint32_t other[64];
volatile uint32_t copy_nbytes = 200u;

NOINLINE void layer_copy(void) {
    memcpy(arena, other, copy_nbytes);
    arena[63] = 1u;
}

NOINLINE void layer_add(void) {
    for (uint32_t i = 0; i < 64u; ++i) {
        arena[i] += other[i] >> (i & 7u);
    }
}

NOINLINE void invoke(void) {
    layer_copy();
    layer_add();
    layer_copy();
    arena[0] = arena[1] + 3u;
}
