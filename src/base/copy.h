/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Element copy: fast for 4 to 4096 bytes, where a call of memcpy costs more
 * than the copy.
 *
 * Written once with vector types. In an ordinary function the compiler makes
 * 16-byte moves of it (SSE2, NEON); inlined into a function with
 * __attribute__((target("avx2"))) the same text becomes 32-byte moves. The
 * caller chooses between two such functions once, with fpi_cpu_avx2().
 */
#ifndef FPI_BASE_COPY_H
#define FPI_BASE_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/atomic.h"
#include "base/compiler.h"

/* 1 if AVX2 may be used: CPU and kernel support it. 0 off x86-64. */
int fpi_cpu_avx2(void);

/* For tests: 0 or 1 is what fpi_cpu_avx2() answers from now on, -1 detects. */
void fpi_cpu_override(int avx2);

#ifndef FPI_COPY_OVERRIDDEN

/* Moves of any alignment, of memory of any type. */
typedef uint64_t fpi_move32
	__attribute__((vector_size(32), aligned(1), may_alias));
typedef uint64_t fpi_move16
	__attribute__((vector_size(16), aligned(1), may_alias));
typedef uint64_t fpi_move8 __attribute__((aligned(1), may_alias));
typedef uint32_t fpi_move4 __attribute__((aligned(1), may_alias));

#define FPI_MOVE(type, d, s) \
	(*(type *)(void *)(d) = *(const type *)(const void *)(s))

/* Above this libc's memcpy is at least as fast. */
#define FPI_COPY_INLINE_MAX 4096

/* bytes < 32: the first and the last move overlap where they must. */
FPI_INLINE void fpi_copy_small(unsigned char *d, const unsigned char *s,
			       size_t bytes)
{
	if (bytes >= 16) {
		FPI_MOVE(fpi_move16, d, s);
		FPI_MOVE(fpi_move16, d + bytes - 16, s + bytes - 16);
	} else if (bytes >= 8) {
		FPI_MOVE(fpi_move8, d, s);
		FPI_MOVE(fpi_move8, d + bytes - 8, s + bytes - 8);
	} else {
		FPI_MOVE(fpi_move4, d, s);
	}
}

/*
 * Copies bytes (a multiple of 4, at least 4) between areas that do not overlap
 * and that nobody else reads or writes meanwhile; any alignment.
 */
FPI_INLINE void fpi_copy(void *dst, const void *src, size_t bytes)
{
	unsigned char *d = (unsigned char *)dst;
	const unsigned char *s = (const unsigned char *)src;
	size_t left = bytes;

	if (bytes < 32) {
		fpi_copy_small(d, s, bytes);
		return;
	}
	if (FPI_UNLIKELY(bytes > FPI_COPY_INLINE_MAX)) {
		memcpy(d, s, bytes);
		return;
	}
	for (; left >= 128; left -= 128, d += 128, s += 128) {
		fpi_move32 a = ((const fpi_move32 *)(const void *)s)[0];
		fpi_move32 b = ((const fpi_move32 *)(const void *)s)[1];
		fpi_move32 c = ((const fpi_move32 *)(const void *)s)[2];
		fpi_move32 e = ((const fpi_move32 *)(const void *)s)[3];

		((fpi_move32 *)(void *)d)[0] = a;
		((fpi_move32 *)(void *)d)[1] = b;
		((fpi_move32 *)(void *)d)[2] = c;
		((fpi_move32 *)(void *)d)[3] = e;
	}
	if (left >= 64) {
		FPI_MOVE(fpi_move32, d, s);
		FPI_MOVE(fpi_move32, d + 32, s + 32);
		left -= 64, d += 64, s += 64;
	}
	if (left >= 32) {
		FPI_MOVE(fpi_move32, d, s);
		left -= 32, d += 32, s += 32;
	}
	/* At least 32 bytes in all: the last move may reach back. */
	if (left)
		FPI_MOVE(fpi_move32, d + left - 32, s + left - 32);
}

#endif /* FPI_COPY_OVERRIDDEN */

#endif
