/* What differs between compilers and targets; no other file of Arenite asks for either. */
#ifndef ARENITE_PORT_H
#define ARENITE_PORT_H

#include <stddef.h>
#include <stdint.h>

/* Four bytes at once, from and to any address. */
#if defined(__GNUC__) || defined(__clang__)
#define ARENITE_COPY_4(to, from) __builtin_memcpy(to, from, 4)
#else
#define ARENITE_COPY_4(to, from)                                                                             \
    ((to)[0] = (from)[0], (to)[1] = (from)[1], (to)[2] = (from)[2], (to)[3] = (from)[3])
#endif

/* At the start of a body: products of floats are rounded before they are added. C99 compilers do so; clang
 * rounds once where the target can. */
#if defined(__clang__)
#define ARENITE_ROUND_EACH _Pragma("clang fp contract(off)")
#else
#define ARENITE_ROUND_EACH
#endif

/* Before a loop that is unrolled by hand as far as registers allow. */
#if defined(__clang__)
#define ARENITE_AS_WRITTEN _Pragma("clang loop unroll(disable)")
#elif defined(__GNUC__) && __GNUC__ >= 8
#define ARENITE_AS_WRITTEN _Pragma("GCC unroll 1")
#else
#define ARENITE_AS_WRITTEN
#endif

/* The function of a layer is neither inlined nor merged with another's, which gcc does where both do the
 * same: what each costs is counted by its address. */
#if defined(__clang__)
#define ARENITE_LAYER static __attribute__((noinline))
#elif defined(__GNUC__) && __GNUC__ >= 6
#define ARENITE_LAYER static __attribute__((noinline, no_icf))
#elif defined(__GNUC__)
#define ARENITE_LAYER static __attribute__((noinline))
#elif defined(_MSC_VER)
#define ARENITE_LAYER static __declspec(noinline)
#else
#define ARENITE_LAYER static
#endif

#if defined(__GNUC__) || defined(__clang__)
/* A body that each caller gets its own copy of, so that constant parameters fold. */
#define ARENITE_INLINE static inline __attribute__((always_inline, unused))
/* A body that all callers share. */
#define ARENITE_SHARED static __attribute__((noinline, unused))
#define ARENITE_RESTRICT __restrict__
#define ARENITE_ALIGNED(nbytes) __attribute__((aligned(nbytes)))
#define ARENITE_UNLIKELY(condition) __builtin_expect((condition) != 0, 0)
/* Lets the compiler forget what a pointer points to. */
#define ARENITE_OPAQUE(pointer) __asm__("" : "+r"(pointer))
/* The same, and says that the function uses memory. gcc 12 drops calls whose stores it mistakes for stores to
 * a local variable: once their addresses are folded with those of loads of another width, or (ivopts) with
 * those of a loop's loads. */
#define ARENITE_OPAQUE_MEMORY(pointer) __asm__ volatile("" : "+r"(pointer) : : "memory")
/* The value is computed here, whatever may need it later: keeps what goes into it from living on. */
#define ARENITE_SETTLE(value) __asm__ volatile("" : "+r"(value))
#elif defined(_MSC_VER)
#define ARENITE_INLINE static __forceinline
#define ARENITE_SHARED static __declspec(noinline)
#define ARENITE_RESTRICT __restrict
#define ARENITE_ALIGNED(nbytes) __declspec(align(nbytes))
#define ARENITE_UNLIKELY(condition) ((condition) != 0)
#define ARENITE_OPAQUE(pointer) ((void)(pointer))
#define ARENITE_OPAQUE_MEMORY(pointer) ((void)(pointer))
#define ARENITE_SETTLE(value) ((void)(value))
#else
#define ARENITE_INLINE static inline
#define ARENITE_SHARED static
#define ARENITE_RESTRICT
#define ARENITE_ALIGNED(nbytes)
#define ARENITE_UNLIKELY(condition) ((condition) != 0)
#define ARENITE_OPAQUE(pointer) ((void)(pointer))
#define ARENITE_OPAQUE_MEMORY(pointer) ((void)(pointer))
#define ARENITE_SETTLE(value) ((void)(value))
#endif

#endif
