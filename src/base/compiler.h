/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Compiler and CPU helpers: branch hints, inlining, cache-line geometry,
 * the spin-wait hint, error-code hygiene. No atomics here (see atomic.h).
 */
#ifndef FPI_BASE_COMPILER_H
#define FPI_BASE_COMPILER_H

#include <stddef.h>
#include <stdint.h>

#define FPI_LIKELY(x) __builtin_expect(!!(x), 1)
#define FPI_UNLIKELY(x) __builtin_expect(!!(x), 0)
/* Tells the compiler what the caller guarantees. */
#define FPI_ASSUME(x)                            \
	do {                                     \
		if (!(x))                        \
			__builtin_unreachable(); \
	} while (0)
#define FPI_NOINLINE __attribute__((noinline))
#define FPI_COLD __attribute__((noinline, cold))
#define FPI_INLINE static inline __attribute__((always_inline))

/*
 * Two lines, not one: the adjacent-line prefetcher of current x86 cores pulls
 * lines in pairs, so neighbours 64 bytes apart still disturb each other.
 */
#define FPI_CACHELINE 64
#define FPI_FALSE_SHARING 128
#define FPI_OWN_LINES __attribute__((aligned(FPI_FALSE_SHARING)))

#define FPI_ALIGN_UP(x, a) (((x) + (a)-1) & ~((a)-1))

/* Model-checked files also compile as C++. */
#ifdef __cplusplus
#define FPI_THREAD_LOCAL __thread
#else
#define FPI_THREAD_LOCAL _Thread_local
#endif

#define FPI_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Asks for the line of p to write it soon. Any address will do. */
FPI_INLINE void fpi_prefetch_write(const void *p)
{
#if defined(__x86_64__)
	/* The builtin does not ask for ownership at the baseline; old CPUs ignore this. */
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)p));
#else
	__builtin_prefetch(p, 1);
#endif
}

/* The same for `bytes`, at most four lines. */
FPI_INLINE void fpi_prefetch_write_lines(const void *p, uint64_t bytes)
{
	const char *at = (const char *)p;

	for (uint64_t i = 0; i < 4 * FPI_CACHELINE; i += FPI_CACHELINE)
		if (i < bytes)
			fpi_prefetch_write(at + i);
}

/* To read them soon. */
FPI_INLINE void fpi_prefetch_read_lines(const void *p, uint64_t bytes)
{
	const char *at = (const char *)p;

	for (uint64_t i = 0; i < 4 * FPI_CACHELINE; i += FPI_CACHELINE)
		if (i < bytes)
			__builtin_prefetch(at + i);
}

/* Tells the core that this is a spin loop. */
FPI_INLINE void fpi_cpu_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb" ::: "memory");
#endif
}

#endif
