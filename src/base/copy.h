/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Element copy: fast for 4 to 4096 bytes, where a call of memcpy costs more
 * than the copy.
 *
 * Written once, in moves of 32 bytes. `avx2` is a constant: with 1, inlined
 * into a function with __attribute__((target("avx2"))), each is one move; with
 * 0 it is two of 16 bytes (SSE2, NEON). The caller chooses between two such
 * functions once, with fpi_cpu_avx2().
 */
#ifndef FPI_BASE_COPY_H
#define FPI_BASE_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/atomic.h"
#include "base/compiler.h"

/* 1 if AVX2 and BMI2 may be used: CPU and kernel support them. 0 off x86-64. */
int fpi_cpu_avx2(void);

/* For tests: 0 or 1 is what fpi_cpu_avx2() answers from now on, -1 detects. */
void fpi_cpu_override(int avx2);

/* Above this libc's memcpy is at least as fast. */
#define FPI_COPY_INLINE_MAX 4096

#ifndef FPI_COPY_OVERRIDDEN

/*
 * Moves of any alignment, of memory of any type: memcpy through a local of the
 * right width, which GCC and Clang turn into plain register moves.
 */
#define FPI_DEFINE_MOVE(bytes, type)                                              \
	FPI_INLINE void fpi_move##bytes(unsigned char *d, const unsigned char *s) \
	{                                                                         \
		type t;                                                           \
		memcpy(&t, s, sizeof(t));                                         \
		memcpy(d, &t, sizeof(t));                                         \
	}
typedef uint64_t fpi_vector16 __attribute__((vector_size(16)));
typedef uint64_t fpi_vector32 __attribute__((vector_size(32)));
FPI_DEFINE_MOVE(4, uint32_t)
FPI_DEFINE_MOVE(8, uint64_t)
FPI_DEFINE_MOVE(16, fpi_vector16)
FPI_DEFINE_MOVE(32_avx2, fpi_vector32)

FPI_INLINE void fpi_move32(unsigned char *d, const unsigned char *s, int avx2)
{
	if (avx2) {
		fpi_move32_avx2(d, s);
	} else {
		/* Not one vector: GCC spills what has no register of its width. */
		fpi_move16(d, s);
		fpi_move16(d + 16, s + 16);
	}
}

/* bytes < 32: the first and the last move overlap where they must. */
FPI_INLINE void fpi_copy_small(unsigned char *d, const unsigned char *s, size_t bytes)
{
	if (bytes >= 16) {
		fpi_move16(d, s);
		fpi_move16(d + bytes - 16, s + bytes - 16);
	} else if (bytes >= 8) {
		fpi_move8(d, s);
		fpi_move8(d + bytes - 8, s + bytes - 8);
	} else {
		fpi_move4(d, s);
	}
}

/*
 * Copies bytes (a multiple of 4, at least 4) between areas that do not overlap
 * and that nobody else reads or writes meanwhile; any alignment.
 */
FPI_INLINE void fpi_copy_with(void *dst, const void *src, size_t bytes, int avx2)
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
		fpi_move32(d, s, avx2);
		fpi_move32(d + 32, s + 32, avx2);
		fpi_move32(d + 64, s + 64, avx2);
		fpi_move32(d + 96, s + 96, avx2);
	}
	if (left >= 64) {
		fpi_move32(d, s, avx2);
		fpi_move32(d + 32, s + 32, avx2);
		left -= 64, d += 64, s += 64;
	}
	if (left >= 32) {
		fpi_move32(d, s, avx2);
		left -= 32, d += 32, s += 32;
	}
	/* At least 32 bytes in all: the last move may reach back. */
	if (left)
		fpi_move32(d + left - 32, s + left - 32, avx2);
}

/* The same in baseline code. */
FPI_INLINE void fpi_copy(void *dst, const void *src, size_t bytes)
{
	fpi_copy_with(dst, src, bytes, 0);
}

/* The same in baseline code for at most 64 bytes: no loop. */
FPI_INLINE void fpi_copy_few(void *dst, const void *src, size_t bytes)
{
	unsigned char *d = (unsigned char *)dst;
	const unsigned char *s = (const unsigned char *)src;

	if (bytes < 32) {
		fpi_copy_small(d, s, bytes);
		return;
	}
	fpi_move32(d, s, 0);
	fpi_move32(d + bytes - 32, s + bytes - 32, 0);
}

#else
#define fpi_copy_with(dst, src, bytes, avx2) ((void)(avx2), fpi_copy(dst, src, bytes))
#define fpi_copy_few(dst, src, bytes) fpi_copy(dst, src, bytes)
#endif /* FPI_COPY_OVERRIDDEN */

#endif
