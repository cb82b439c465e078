/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Generation bytes of a generation ring, and its single-element operations,
 * which the exported calls have inline. The algorithm is explained at the top
 * of ring_gens.c.
 *
 * Each slot has one byte: lap (6 bits) << 2 | state. A byte is what the next
 * operation on the slot must find: EMPTY of lap k lets a producer of lap k in,
 * FULL of lap k a consumer of lap k, who leaves EMPTY of lap k + 1.
 */
#ifndef FPI_RING_GENS_H
#define FPI_RING_GENS_H

#include <errno.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/step.h"
#include "ring/ring_internal.h"

#define FPI_GEN_EMPTY 0u /* free, or claimed and not yet published */
#define FPI_GEN_FULL 1u
#define FPI_GEN_VOID 2u /* published without an element; consumers skip it */
#define FPI_GEN_BUSY 3u /* CHECKED: the first slot of a span being committed */

#ifndef FPI_RING_LAP_BITS /* the model uses fewer, so that generations wrap soon */
#define FPI_RING_LAP_BITS 6
#endif

/* Readable bytes behind the last generation: wide loads may run over. */
#define FPI_GENS_PAD 32

#define FPI_GEN_LAP_MASK (((1u << FPI_RING_LAP_BITS) - 1) << 2)

/* The byte of slot pos in this state; the closed bit of pos does not matter. */
FPI_INLINE uint8_t fpi_gen(const fp_ring *r, uint64_t pos, unsigned state)
{
	return (uint8_t)((pos >> r->gen_shift & FPI_GEN_LAP_MASK) | state);
}

/* The byte that a consumer leaves where it found `full`: EMPTY of the next lap. */
FPI_INLINE uint8_t fpi_gen_next(uint8_t full)
{
	return (uint8_t)((full + 4u - FPI_GEN_FULL) & (FPI_GEN_LAP_MASK | 3u));
}

FPI_INLINE fpi_atomic_u8 *fpi_gens_at(const fp_ring *r, uint64_t pos)
{
	return r->gens + (pos & r->mask);
}

#if FPI_WIDE

typedef uint64_t fpi_w8 __attribute__((aligned(1), may_alias));
typedef uint32_t fpi_w4 __attribute__((aligned(1), may_alias));
typedef uint16_t fpi_w2 __attribute__((aligned(1), may_alias));

#define FPI_GEN_SPREAD(b) ((uint64_t)(b)*0x0101010101010101ull)

#if defined(__x86_64__)

/*
 * Volatile keeps each access the one it is written as, and compilers from
 * making a row of stores a memset.
 */
typedef long long fpi_v2q __attribute__((vector_size(16)));
typedef long long fpi_v4q __attribute__((vector_size(32)));
typedef fpi_v2q fpi_w16 __attribute__((aligned(1), may_alias));
typedef fpi_v4q fpi_w32 __attribute__((aligned(1), may_alias));

/* Not always_inline: it must not be inlined before its caller's target is known. */
static inline FPI_AVX2_TARGET int fpi_gens_all_avx2(const uint8_t *p, uint8_t want,
						    uint64_t n)
{
	const __m256i w = _mm256_set1_epi8((char)want);
	__m256i differ = _mm256_setzero_si256();
	const uint8_t *last = p + n - 32;

	for (; p < last; p += 32)
		differ |= *(const volatile fpi_w32 *)p ^ w;
	differ |= *(const volatile fpi_w32 *)last ^ w;
	return _mm256_testz_si256(differ, differ);
}

/* Sets n bytes, a multiple of 32. */
static inline FPI_AVX2_TARGET void fpi_gens_set_avx2(uint8_t *p, uint8_t gen, uint64_t n)
{
	const __m256i v = _mm256_set1_epi8((char)gen);

	for (; n; n -= 32, p += 32)
		*(volatile fpi_w32 *)p = v;
}

FPI_INLINE int fpi_gens_all_sse2(const uint8_t *p, uint8_t want, uint64_t n)
{
	const __m128i w = _mm_set1_epi8((char)want);
	__m128i differ = _mm_setzero_si128();
	const uint8_t *last = p + n - 16;

	for (; p < last; p += 16)
		differ |= *(const volatile fpi_w16 *)p ^ w;
	differ |= *(const volatile fpi_w16 *)last ^ w;
	return _mm_movemask_epi8(_mm_cmpeq_epi8(differ, _mm_setzero_si128())) == 0xffff;
}

#endif

/*
 * Whether n bytes at p all equal want: 2 to 8 bytes by one load of 8 (a wider
 * load of bytes that were just stored in smaller pieces stalls), and more.
 */
FPI_INLINE int fpi_gens_few_relaxed(const uint8_t *p, uint8_t want, uint64_t n)
{
	return (*(const volatile fpi_w8 *)p ^ FPI_GEN_SPREAD(want)) << (64 - 8 * n) == 0;
}

FPI_INLINE int fpi_gens_many_relaxed(const uint8_t *p, uint8_t want, uint64_t n, int avx2)
{
#if defined(__x86_64__)
	if (avx2 && FPI_LIKELY(n >= 32))
		return fpi_gens_all_avx2(p, want, n);
	if (n >= 16)
		return fpi_gens_all_sse2(p, want, n);
#else
	(void)avx2;
#endif
	const uint64_t w8 = FPI_GEN_SPREAD(want);
	const uint8_t *last = p + n - 8;
	uint64_t differ = *(const volatile fpi_w8 *)last ^ w8;

	for (; p < last; p += 8)
		differ |= *(const volatile fpi_w8 *)p ^ w8;
	return differ == 0;
}

/* Length of the run of bytes equal to want at p, at most n. */
FPI_INLINE uint64_t fpi_gens_run_relaxed(const uint8_t *p, uint8_t want, uint64_t n)
{
	for (uint64_t i = 0; i < n; i += 8) {
		uint64_t w = *(const volatile fpi_w8 *)(p + i) ^ FPI_GEN_SPREAD(want);

		if (w) {
			i += (uint64_t)__builtin_ctzll(w) / 8;
			return i < n ? i : n;
		}
	}
	return n;
}

/* Sets the last n < 8 bytes of a run, in pieces of 4, 2 and 1. */
FPI_INLINE void fpi_gens_set_few(uint8_t *p, uint64_t spread, uint64_t n)
{
	if (n & 4) {
		*(volatile fpi_w4 *)p = (uint32_t)spread;
		p += 4;
	}
	if (n & 2) {
		*(volatile fpi_w2 *)p = (uint16_t)spread;
		p += 2;
	}
	if (n & 1)
		*(volatile uint8_t *)p = (uint8_t)spread;
}

/*
 * Sets n bytes at p. The stores must not overlap: once a byte is set, another
 * thread may already have moved the slot on, and a second store of the old
 * value would resurrect it. Volatile also keeps compilers from making this a
 * memset, which does overlap.
 */
FPI_INLINE void fpi_gens_set_relaxed(uint8_t *p, uint8_t gen, uint64_t n, int avx2)
{
	const uint64_t w = FPI_GEN_SPREAD(gen);

	(void)avx2;
#if defined(__x86_64__)
	if (avx2) {
		fpi_gens_set_avx2(p, gen, n & ~(uint64_t)31);
		p += n & ~(uint64_t)31;
		n &= 31;
	}
	for (; n >= 16; n -= 16, p += 16)
		*(volatile fpi_w16 *)p = _mm_set1_epi8((char)gen);
#endif
	for (; n >= 8; n -= 8, p += 8)
		*(volatile fpi_w8 *)p = w;
	if (n)
		fpi_gens_set_few(p, w, n);
}

#endif /* FPI_WIDE */

/*
 * The same with an order, which applies to the whole run:
 * acquire on the checks (what the other side did to the slots before it set
 * the bytes is visible to us), release on the store. The product uses one
 * fence a run; FPI_FENCE_FORM says which form the byte-wise builds use.
 */
FPI_INLINE uint64_t fpi_gens_run(const fpi_atomic_u8 *g, uint8_t want, uint64_t n,
				 int order)
{
	uint64_t i = 0;
#if FPI_WIDE
	i = fpi_gens_run_relaxed(&g->value, want, n);
	FPI_FENCE(order);
#else
	while (i < n && FPI_LOAD(&g[i], FPI_FENCE_FORM ? FPI_RELAXED : order) == want)
		i++;
	if (FPI_FENCE_FORM)
		FPI_FENCE(order);
#endif
	return i;
}

/* Whether the whole run of n bytes equals want: 2 <= n <= 8, and 9 <= n. */
FPI_INLINE int fpi_gens_few(const fpi_atomic_u8 *g, uint8_t want, uint64_t n, int order)
{
#if FPI_WIDE
	int all = fpi_gens_few_relaxed(&g->value, want, n);

	FPI_FENCE(order);
	return all;
#else
	return fpi_gens_run(g, want, n, order) == n;
#endif
}

FPI_INLINE int fpi_gens_many(const fpi_atomic_u8 *g, uint8_t want, uint64_t n, int order,
			     int avx2)
{
#if FPI_WIDE
	int all = fpi_gens_many_relaxed(&g->value, want, n, avx2);

	FPI_FENCE(order);
	return all;
#else
	(void)avx2;
	return fpi_gens_run(g, want, n, order) == n;
#endif
}

FPI_INLINE void fpi_gens_set(fpi_atomic_u8 *g, uint8_t gen, uint64_t n, int order,
			     int avx2)
{
#if FPI_WIDE
	FPI_FENCE(order);
	fpi_gens_set_relaxed(&g->value, gen, n, avx2);
#else
	(void)avx2;
	if (FPI_FENCE_FORM)
		FPI_FENCE(order);
	for (uint64_t i = 0; i < n; i++)
		FPI_STORE(&g[i], gen, FPI_FENCE_FORM ? FPI_RELAXED : order);
#endif
}

/*
 * One 8-byte element on an MT side, the common case only: returns 1, or 0 when
 * the caller has to go the long way (full, empty, closed, void, lost race).
 * Orders: as in ring_gens.c, where each is explained.
 */
FPI_INLINE int fpi_gens_enqueue_one(fp_ring *r, uint64_t elem)
{
	uint64_t h = FPI_LOAD(&r->prod->head, FPI_MO(GENS_P1_HEAD, ACQUIRE));
	uint64_t index = h & r->mask, seen = h, to = h + 1;
	uint8_t empty = fpi_gen(r, h, FPI_GEN_EMPTY);
	fpi_atomic_u8 *g = r->gens + index;

	FPI_STEP(GENS_P_LOADED);
	if (FPI_UNLIKELY((int64_t)h < 0))
		return 0;
	/* Partner: GENS_C1_FREE, GENS_C_FREE, GENS_C_FREE2, GENS_CF_FREE, GENS_CM_FREE. */
	if (FPI_UNLIKELY(FPI_LOAD(g, FPI_MO(GENS_P1_CHECK, ACQUIRE)) != empty))
		return 0;
	FPI_STEP(GENS_P_CHECKED);
	if (FPI_UNLIKELY(index == r->last))
		to += r->carry;
	/* Partner: GENS_P1_HEAD, GENS_P_HEAD. */
	if (FPI_UNLIKELY(
		    !FPI_CAS(&r->prod->head, &seen, to, FPI_MO(GENS_P1_CLAIM, RELEASE))))
		return 0;
	FPI_STEP(GENS_P_CLAIMED);
	FPI_PLAIN_STORE(fpi_ring_slot8(r, index), elem);
	FPI_STEP(GENS_P_COPIED);
	/* Partner: GENS_C1_CHECK, GENS_C_CHECK, GENS_CF_CHECK, GENS_CM_CHECK. */
	FPI_STORE(g, empty | FPI_GEN_FULL, FPI_MO(GENS_P1_PUBLISH, RELEASE));
	return 1;
}

FPI_INLINE int fpi_gens_dequeue_one(fp_ring *r, uint64_t *elem)
{
	uint64_t h = FPI_LOAD(&r->cons->head, FPI_MO(GENS_C1_HEAD, ACQUIRE));
	uint64_t index = h & r->mask, seen = h, to = h + 1;
	uint8_t full = fpi_gen(r, h, FPI_GEN_FULL);
	fpi_atomic_u8 *g = r->gens + index;

	FPI_STEP(GENS_C_LOADED);
	/* Partner: GENS_P1_PUBLISH, GENS_P_PUBLISH, GENS_PF_PUBLISH, GENS_PM_PUBLISH. */
	if (FPI_UNLIKELY(FPI_LOAD(g, FPI_MO(GENS_C1_CHECK, ACQUIRE)) != full))
		return 0;
	FPI_STEP(GENS_C_CHECKED);
	if (FPI_UNLIKELY(index == r->last))
		to += r->carry;
	/* Partner: GENS_C1_HEAD, GENS_C_HEAD. */
	if (FPI_UNLIKELY(
		    !FPI_CAS(&r->cons->head, &seen, to, FPI_MO(GENS_C1_CLAIM, RELEASE))))
		return 0;
	FPI_STEP(GENS_C_CLAIMED);
	*elem = FPI_PLAIN_LOAD(fpi_ring_slot8(r, index));
	FPI_STEP(GENS_C_COPIED);
	/* Partner: GENS_P1_CHECK, GENS_P_CHECK, GENS_PF_CHECK, GENS_PM_CHECK. */
	FPI_STORE(g, fpi_gen_next(full), FPI_MO(GENS_C1_FREE, RELEASE));
	return 1;
}

#endif
