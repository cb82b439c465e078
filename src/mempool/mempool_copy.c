/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies of many object pointers: in baseline code and, where the CPU has it, in
 * moves of 32 bytes. The reversing copy exchanges the pointers of each move.
 */
#include "mempool/mempool_copy.h"

#ifdef FPI_COPY_OVERRIDDEN

/* Model: magazines are checked for races, tables are the caller's own. */
int32_t fpi_take_objects(void **to, void *const *end, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		to[i] = FPI_PLAIN_LOAD(&end[-1 - (int64_t)i]);
	return (int32_t)n;
}

int32_t fpi_put_objects(void **to, void *const *from, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		FPI_PLAIN_STORE(&to[i], from[i]);
	return (int32_t)n;
}

fpi_take_objects_fn *fpi_take_objects_for(int avx2)
{
	(void)avx2;
	return fpi_take_objects;
}

fpi_put_objects_fn *fpi_put_objects_for(int avx2)
{
	(void)avx2;
	return fpi_put_objects;
}

#else

#if defined(__x86_64__)
#include <immintrin.h>
#endif

int32_t fpi_take_objects(void **to, void *const *end, uint64_t n)
{
	uint64_t i = 0;

	for (; i + 4 <= n; i += 4) {
		fpi_swap_pair(to + i, end - i - 2);
		fpi_swap_pair(to + i + 2, end - i - 4);
	}
	if (i < n)
		fpi_take_few(to + i, end - i, n - i);
	return (int32_t)n;
}

int32_t fpi_put_objects(void **to, void *const *from, uint64_t n)
{
	if (n)
		fpi_copy(to, from, n * sizeof(*to));
	return (int32_t)n;
}

#if defined(__x86_64__)

#define REVERSED 0x1b /* lanes 3 2 1 0 */

__attribute__((target("avx2"))) static void take4_avx2(void **to, void *const *from)
{
	__m256i v = _mm256_loadu_si256((const __m256i *)(const void *)from);

	_mm256_storeu_si256((__m256i *)(void *)to, _mm256_permute4x64_epi64(v, REVERSED));
}

/* Here as in put_avx2() the last move overlaps the one before if n is no multiple of 4. */
__attribute__((target("avx2"))) static int32_t take_avx2(void **to, void *const *end,
							 uint64_t n)
{
	uint64_t i = 0;

	if (n < 4) {
		if (n)
			fpi_take_few(to, end, n);
		return (int32_t)n;
	}
	for (; i + 16 <= n; i += 16) {
		take4_avx2(to + i, end - i - 4);
		take4_avx2(to + i + 4, end - i - 8);
		take4_avx2(to + i + 8, end - i - 12);
		take4_avx2(to + i + 12, end - i - 16);
	}
	for (; i + 4 <= n; i += 4)
		take4_avx2(to + i, end - i - 4);
	if (i < n)
		take4_avx2(to + n - 4, end - n);
	return (int32_t)n;
}

__attribute__((target("avx2"))) static void put4_avx2(void **to, void *const *from)
{
	__m256i v = _mm256_loadu_si256((const __m256i *)(const void *)from);

	_mm256_storeu_si256((__m256i *)(void *)to, v);
}

/* Not fpi_copy_with(): that may call memcpy, and so needs a stack frame. */
__attribute__((target("avx2"))) static int32_t put_avx2(void **to, void *const *from,
							uint64_t n)
{
	uint64_t i = 0;

	if (n < 4) {
		if (n)
			fpi_put_few(to, from, n);
		return (int32_t)n;
	}
	for (; i + 16 <= n; i += 16) {
		put4_avx2(to + i, from + i);
		put4_avx2(to + i + 4, from + i + 4);
		put4_avx2(to + i + 8, from + i + 8);
		put4_avx2(to + i + 12, from + i + 12);
	}
	for (; i + 4 <= n; i += 4)
		put4_avx2(to + i, from + i);
	if (i < n)
		put4_avx2(to + n - 4, from + n - 4);
	return (int32_t)n;
}

#endif

fpi_take_objects_fn *fpi_take_objects_for(int avx2)
{
#if defined(__x86_64__)
	if (avx2)
		return take_avx2;
#endif
	(void)avx2;
	return fpi_take_objects;
}

fpi_put_objects_fn *fpi_put_objects_for(int avx2)
{
#if defined(__x86_64__)
	if (avx2)
		return put_avx2;
#endif
	(void)avx2;
	return fpi_put_objects;
}

#endif
