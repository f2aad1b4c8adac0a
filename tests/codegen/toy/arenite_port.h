/* What generated code asks of a compiler, for the toy kernels. */
#ifndef ARENITE_PORT_H
#define ARENITE_PORT_H

#define ARENITE_ALIGNED(nbytes) __attribute__((aligned(nbytes)))
#define ARENITE_NOINLINE __attribute__((noinline))
#define ARENITE_ALWAYS_INLINE __attribute__((always_inline)) inline

#endif
