/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rate of the processor's counter. On aarch64 a register says it; on x86 nothing that
 * is readable everywhere does, so it is measured against CLOCK_MONOTONIC, between the
 * first call of the process and the present one. After ENOUGH_NS the rate is kept.
 */
#include "base/atomic.h"
#include "base/clock.h"

#define AT_LEAST_NS 1000000u /* 25 ns of reading two clocks: 0.003 % */
#define ENOUGH_NS 200000000u

#if defined(__aarch64__)

uint64_t fpi_cycle_hz(void)
{
	uint64_t hz;

	__asm__("mrs %0, cntfrq_el0" : "=r"(hz));
	return hz;
}

#else

static fpi_atomic_u64 first_ns, first_cycles, rate;

/* Both words are set once: who finds the second finds the first. */
static void start(void)
{
	uint64_t none = 0, ns = fpi_now_ns(), cycles = fpi_cycles();

	if (FPI_CAS(&first_ns, &none, ns, FPI_RELAXED))
		/* Release: partner CYCLES_BEGUN. */
		FPI_STORE(&first_cycles, cycles, FPI_MO(CYCLES_BEGIN, RELEASE));
}

uint64_t fpi_cycle_hz(void)
{
	uint64_t hz = FPI_LOAD(&rate, FPI_RELAXED), from, elapsed, cycles;

	if (hz)
		return hz;
	start();
	do
		/* Acquire: partner CYCLES_BEGIN. */
		from = FPI_LOAD(&first_cycles, FPI_MO(CYCLES_BEGUN, ACQUIRE));
	while (!from);
	do {
		elapsed = fpi_now_ns() - FPI_LOAD(&first_ns, FPI_RELAXED);
		cycles = fpi_cycles() - from;
	} while (elapsed < AT_LEAST_NS);
	hz = (uint64_t)((double)cycles * FPI_NS_PER_S / (double)elapsed);
	if (elapsed >= ENOUGH_NS)
		FPI_STORE(&rate, hz, FPI_RELAXED);
	return hz;
}

#endif
