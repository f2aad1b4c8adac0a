/* The memory functions that compilers call on their own; a freestanding build has no C library. */

#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t nbytes);
void *memmove(void *to, const void *from, size_t nbytes);
void *memset(void *to, int value, size_t nbytes);
int memcmp(const void *left, const void *right, size_t nbytes);

/* Without this the compiler recognises the loop and calls the function that it is in. */
#define KEEP_LOOP() __asm__ volatile("" ::: "memory")

typedef uint32_t __attribute__((may_alias)) word_t;

static int both_aligned(const void *left, const void *right) {
    return (((uintptr_t)left | (uintptr_t)right) & 3u) == 0u;
}

void *memcpy(void *restrict to, const void *restrict from, size_t nbytes) {
    uint8_t *out = to;
    const uint8_t *in = from;
    if (both_aligned(to, from)) {
        for (; nbytes >= 16u; nbytes -= 16u, out += 16, in += 16) {
            const word_t *const words = (const word_t *)(const void *)in;
            word_t *const target = (word_t *)(void *)out;
            const uint32_t w0 = words[0], w1 = words[1], w2 = words[2], w3 = words[3];
            target[0] = w0;
            target[1] = w1;
            target[2] = w2;
            target[3] = w3;
            KEEP_LOOP();
        }
        for (; nbytes >= 4u; nbytes -= 4u, out += 4, in += 4) {
            *(word_t *)(void *)out = *(const word_t *)(const void *)in;
            KEEP_LOOP();
        }
    }
    for (; nbytes != 0u; --nbytes) {
        *out++ = *in++;
        KEEP_LOOP();
    }
    return to;
}

void *memmove(void *to, const void *from, size_t nbytes) {
    uint8_t *out = to;
    const uint8_t *in = from;
    if ((uintptr_t)out - (uintptr_t)in >= nbytes) {
        return memcpy(to, from, nbytes);
    }
    for (; nbytes != 0u; --nbytes) {
        out[nbytes - 1u] = in[nbytes - 1u];
        KEEP_LOOP();
    }
    return to;
}

void *memset(void *to, int value, size_t nbytes) {
    uint8_t *out = to;
    const uint8_t byte = (uint8_t)value;
    if (((uintptr_t)out & 3u) == 0u) {
        const uint32_t word = 0x01010101u * byte;
        for (; nbytes >= 16u; nbytes -= 16u, out += 16) {
            word_t *const target = (word_t *)(void *)out;
            target[0] = word;
            target[1] = word;
            target[2] = word;
            target[3] = word;
            KEEP_LOOP();
        }
    }
    for (; nbytes != 0u; --nbytes) {
        *out++ = byte;
        KEEP_LOOP();
    }
    return to;
}

int memcmp(const void *left, const void *right, size_t nbytes) {
    const uint8_t *a = left;
    const uint8_t *b = right;
    for (; nbytes != 0u; --nbytes, ++a, ++b) {
        if (*a != *b) {
            return *a < *b ? -1 : 1;
        }
        KEEP_LOOP();
    }
    return 0;
}
