/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether AVX2 (with BMI2) may be used.
 *
 * Asked from the CPU directly at first need: the compiler's
 * __builtin_cpu_supports() would bring a constructor into the library.
 */
#include "base/copy.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

enum { CPU_UNKNOWN, CPU_BASELINE, CPU_AVX2 };

static fpi_atomic_u8 cpu_kind;

static int cpu_detect_avx2(void)
{
#if defined(__x86_64__)
	const uint32_t avx_and_osxsave = 1u << 28 | 1u << 27;
	const uint32_t sse_and_avx_state = 1u << 2 | 1u << 1;
	const uint32_t avx2_and_bmi2 = 1u << 5 | 1u << 8;
	uint32_t a, b, c, d;

	if (!__get_cpuid(1, &a, &b, &c, &d) || (c & avx_and_osxsave) != avx_and_osxsave)
		return 0;
	/* The kernel must save the wide registers at a context switch. */
	__asm__ volatile("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
	if ((a & sse_and_avx_state) != sse_and_avx_state)
		return 0;
	/* BMI2 has a bit of its own: a hypervisor may hide one and not the other. */
	return __get_cpuid_count(7, 0, &a, &b, &c, &d) &&
	       (b & avx2_and_bmi2) == avx2_and_bmi2;
#else
	return 0;
#endif
}

int fpi_cpu_avx2(void)
{
	/* Relaxed here and below: every thread computes the same answer. */
	uint8_t kind = FPI_LOAD(&cpu_kind, FPI_MO(CPU_KIND, RELAXED));

	if (kind == CPU_UNKNOWN) {
		kind = cpu_detect_avx2() ? CPU_AVX2 : CPU_BASELINE;
		FPI_STORE(&cpu_kind, kind, FPI_MO(CPU_KIND_SET, RELAXED));
	}
	return kind == CPU_AVX2;
}

void fpi_cpu_override(int avx2)
{
	uint8_t kind = CPU_UNKNOWN;

	if (avx2 >= 0)
		kind = avx2 ? CPU_AVX2 : CPU_BASELINE;
	FPI_STORE(&cpu_kind, kind, FPI_MO(CPU_KIND_OVERRIDE, RELAXED));
}
