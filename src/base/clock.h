/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library's clock: CLOCK_MONOTONIC in nanoseconds, read without a system call
 * where the kernel allows it, and deadlines made of relative time-outs. And the
 * processor's counter, half as dear, for statistics: it may stand still in a suspend and
 * has a rate of its own.
 */
#ifndef FPI_BASE_CLOCK_H
#define FPI_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#include "base/compiler.h"

#define FPI_NS_PER_S 1000000000u
#define FPI_NO_DEADLINE UINT64_MAX

FPI_INLINE uint64_t fpi_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * FPI_NS_PER_S + (uint64_t)t.tv_nsec;
}

/* now + timeout_ns; what lies beyond the clock's end never comes. */
FPI_INLINE uint64_t fpi_deadline(uint64_t now, uint64_t timeout_ns)
{
	return timeout_ns < FPI_NO_DEADLINE - now ? now + timeout_ns : FPI_NO_DEADLINE;
}

/* The processor's counter: invariant TSC, or the generic timer. */
FPI_INLINE uint64_t fpi_cycles(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t t;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
	return t;
#endif
}

/*
 * Its ticks per second. Where it must be estimated, the first call of the process starts
 * that and takes a millisecond; later ones are the more exact the later they come.
 */
uint64_t fpi_cycle_hz(void);

#endif
