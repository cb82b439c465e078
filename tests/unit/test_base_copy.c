/* SPDX-License-Identifier: BSD-2-Clause */
/* Element copy: every size, every alignment, both instances, nothing beside. */
#include "base/copy.h"
#include "check.h"

#define LARGEST (FPI_COPY_INLINE_MAX + 512)
#define GUARD 64

typedef void copy_fn(void *dst, const void *src, size_t bytes);

static void copy_baseline(void *dst, const void *src, size_t bytes)
{
	fpi_copy(dst, src, bytes);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void copy_avx2(void *dst, const void *src,
						      size_t bytes)
{
	fpi_copy_with(dst, src, bytes, 1);
}
#endif

static void check_copy(copy_fn *copy, size_t bytes, size_t dst_at, size_t src_at)
{
	static unsigned char from[LARGEST + GUARD], to[LARGEST + 3 * GUARD], clean[GUARD];
	unsigned char *s = from + src_at, *d = to + GUARD + dst_at;

	if (!clean[0]) {
		memset(clean, 0xee, sizeof(clean));
		for (size_t i = 0; i < sizeof(from); i++)
			from[i] = (unsigned char)(i * 31 + (i >> 8) * 7 + 1);
	}
	memset(d - GUARD, 0xee, bytes + 2 * GUARD);
	copy(d, s, bytes);
	CHECK(!memcmp(d, s, bytes));
	CHECK(!memcmp(d - GUARD, clean, GUARD));
	CHECK(!memcmp(d + bytes, clean, GUARD));
}

static void check_all(copy_fn *copy)
{
	for (size_t bytes = 4; bytes <= 320; bytes += 4)
		for (size_t at = 0; at < 32; at++)
			check_copy(copy, bytes, at, (at * 5 + 3) % 32);
	for (size_t bytes = 324; bytes <= LARGEST; bytes += 4)
		check_copy(copy, bytes, bytes % 29, bytes % 31);
}

static void baseline_copies_exactly(void)
{
	check_all(copy_baseline);
}

static void copy_few(void *dst, const void *src, size_t bytes)
{
	fpi_copy_few(dst, src, bytes);
}

static void few_bytes_are_copied_exactly(void)
{
	for (size_t bytes = 4; bytes <= 64; bytes += 4)
		for (size_t at = 0; at < 32; at++)
			check_copy(copy_few, bytes, at, (at * 5 + 3) % 32);
}

static void wide_copies_exactly(void)
{
#if defined(__x86_64__)
	if (fpi_cpu_avx2()) {
		check_all(copy_avx2);
		return;
	}
#endif
	printf("  no AVX2 on this machine: only the baseline copy exists here\n");
}

static void override_decides_until_detection_is_asked_again(void)
{
	int real = fpi_cpu_avx2();

	fpi_cpu_override(0);
	CHECK_EQ(fpi_cpu_avx2(), 0);
	fpi_cpu_override(1);
	CHECK_EQ(fpi_cpu_avx2(), 1);
	fpi_cpu_override(-1);
	CHECK_EQ(fpi_cpu_avx2(), real);
}

static void detection_agrees_with_the_compiler(void)
{
#if defined(__x86_64__)
	CHECK_EQ(fpi_cpu_avx2(), !!__builtin_cpu_supports("avx2"));
#else
	CHECK_EQ(fpi_cpu_avx2(), 0);
#endif
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(baseline_copies_exactly),
		FPT_CASE(few_bytes_are_copied_exactly),
		FPT_CASE(wide_copies_exactly),
		FPT_CASE(override_decides_until_detection_is_asked_again),
		FPT_CASE(detection_agrees_with_the_compiler),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
