/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The generation ring: any ring with an MT side.
 *
 * Structure
 *   Each side has a head (the position to claim next), each slot a generation
 *   byte in an array of its own (ring_gens.h). Producers never read the
 *   consumers' head and the other way round: what a side needs to know about a
 *   slot stands in the slot's byte.
 *
 * Operation (producer; a consumer does the same with FULL for EMPTY)
 *   1 load the head; 2 check that the bytes of the next n slots are EMPTY of
 *   the head's lap; 3 claim them by one CAS of the head from h to h + n;
 *   4 copy; 5 set the bytes to FULL. A lost CAS starts again at 1.
 *   An ST side claims by a plain store of its head instead.
 *
 * Invariant
 *   Slot s of lap k, s claimed by exactly one producer and one consumer of lap
 *   k: heads only grow, and carry the whole lap number, so a CAS succeeds only
 *   if nobody claimed since step 1. A byte is written only by the one who
 *   claimed its slot. A slot claimed but not published keeps EMPTY of its lap,
 *   which no consumer of lap k and no producer of lap k + 1 takes for its own.
 *
 * Memory orders (model: tests/model; derivation of the rules: RC11)
 *   P_CHECK acquire  <- C_FREE release    the reader finished before we write
 *   C_CHECK acquire  <- P_PUBLISH release the writer finished before we read
 *   HEAD acquire     <- CLAIM release     (same side) generations wrap after 64
 *       laps. Who claimed before us had read the byte of the lap before; having
 *       seen its claim we cannot read a byte so old that its lap number fits
 *       again. Only a scenario in which generations wrap sees this pair.
 *   REREAD relaxed: before "full" or "empty" the head is read once more after
 *       the check's acquire: if it moved, the byte was not the one to look at.
 *   The check's acquire comes before the claim and before the re-read.
 *   C_HEAD stores of an ST side are release for fpi_ring_used(), which loads
 *   the consumer head (acquire) before the producer head, so that the
 *   difference is never negative. An ST side's head is stored before its bytes,
 *   for the same reason.
 *
 * Void slots
 *   A claimed slot cannot be given back, since others may have claimed behind
 *   it. A producer that commits fewer than it reserved publishes the rest as
 *   VOID. Consumers' common path does not know of it: VOID is a mismatch, and
 *   the long way claims FULL and VOID slots together and delivers the FULL ones.
 *
 * Close
 *   Bit 63 of the producer head, set with one RMW: claims before it are below
 *   the closed head and will be delivered, claims after it fail. A consumer
 *   reports -EPIPE only if all of [its head, closed head) is published and too
 *   little for the request. state->closed is a hint on a line that producers do
 *   not write, so that polling an empty ring does not disturb them; until close
 *   has set it and returned, a drained ring may still say 0.
 *
 * Progress: lock-free on an MT side, wait-free on an ST side. A thread stopped
 * between 3 and 5 delays only what stands behind its own slots.
 *
 * Source: a batched relative of D. Vyukov's bounded MPMC queue, with the
 * sequence numbers shortened to bytes and moved out of the slots, so that runs
 * are checked by wide compares and elements stay contiguous.
 */
#include "ring/ring_gens_claim.h"

#include "base/copy.h"

#define MT FPI_GENS_MT
#define ST FPI_GENS_ST

/* ---- the long way: runs that wrap or are short, refusals ---- */

static FPI_NOINLINE int32_t enqueue_long(fp_ring *r, const void *elems, uint64_t n,
					 uint32_t bulk, int mt)
{
	uint64_t pos;
	int32_t got = fpi_gens_claim_free(r, (uint32_t)n, bulk, &pos, mt);

	if (got > 0) {
		fpi_gens_copy_in(r, pos, elems, (uint32_t)got);
		FPI_STEP(GENS_P_COPIED);
		fpi_gens_publish(r, pos, (uint32_t)got, FPI_GEN_FULL);
	}
	return fpi_ring_signal_after(r, FPI_RING_CONSUMER, got);
}

static FPI_NOINLINE int32_t dequeue_long(fp_ring *r, void *elems, uint64_t n,
					 uint32_t bulk, int mt)
{
	uint64_t pos, end;
	int32_t got = fpi_gens_claim_full(r, (uint32_t)n, bulk, 0, &pos, &end, mt);

	if (got > 0) {
		if (FPI_LIKELY(fpi_ring_distance(r, pos, end) == (uint32_t)got)) {
			fpi_gens_copy_out(r, pos, elems, (uint32_t)got);
			FPI_STEP(GENS_C_COPIED);
			fpi_gens_release(r, pos, (uint32_t)got);
		} else {
			fpi_gens_take_walk(r, pos, end, (unsigned char *)elems);
		}
	}
	return fpi_ring_signal_after(r, FPI_RING_PRODUCER, got);
}

/* CHECKED rings: only the long way notes who claimed. */
static int32_t enqueue_noted_mt(fp_ring *r, const void *elems, uint64_t n, uint32_t bulk)
{
	return enqueue_long(r, elems, n, bulk, MT);
}

static int32_t enqueue_noted_st(fp_ring *r, const void *elems, uint64_t n, uint32_t bulk)
{
	return enqueue_long(r, elems, n, bulk, ST);
}

/*
 * ---- the common path: one piece, all n, nobody interferes ----
 *
 * Up to 8 elements and more have functions of their own, and the long way is
 * reached by tail calls only: so none of them needs many registers.
 */

/* Where n elements from h end; 0: not in one piece, or too large to copy here. */
FPI_INLINE uint64_t one_piece(const fp_ring *r, uint64_t h, uint64_t n,
			      uint32_t elem_size)
{
	uint64_t end = (h & r->mask) + n;

	if (FPI_UNLIKELY(n * elem_size > FPI_COPY_INLINE_MAX))
		return 0;
	if (FPI_UNLIKELY(end > r->last)) /* at the very end it is still one piece */
		return end == r->last + 1 ? h + n + r->carry : 0;
	return h + n;
}

/*
 * How many bursts ahead the common path of many elements prefetches: 1 is too
 * late for cores far apart, 4 measured worse than 2.
 */
#define AHEAD 2

/* Whether the slot AHEAD bursts of n from h on has this generation. A hint. */
FPI_INLINE int ahead_is(const fp_ring *r, uint64_t h, uint64_t n, uint8_t gen)
{
#if FPI_WIDE
	uint64_t index = (h & r->mask) + AHEAD * n;

	return index <= r->last && FPI_LOAD(&r->gens[index], FPI_RELAXED) == gen;
#else /* no prefetches for those who check orders */
	(void)r, (void)h, (void)n, (void)gen;
	return 0;
#endif
}

FPI_INLINE unsigned char *slot(const fp_ring *r, uint64_t pos, uint32_t elem_size)
{
	return r->data + (pos & r->mask) * elem_size;
}

/* 8 elements of 8 bytes need no loop. */
FPI_INLINE void copy_few(void *dst, const void *src, uint64_t bytes, uint32_t elem_size)
{
	if (__builtin_constant_p(elem_size) && elem_size == 8) {
		fpi_copy_few(dst, src, bytes);
		return;
	}
	fpi_copy(dst, src, bytes);
}

FPI_INLINE int32_t enqueue_few(fp_ring *r, const void *elems, uint64_t n, uint32_t bulk,
			       uint32_t elem_size, int mt)
{
	uint64_t h = fpi_gens_prod_head(r, mt), to = one_piece(r, h, n, elem_size);
	fpi_atomic_u8 *g = fpi_gens_at(r, h);
	uint8_t empty = fpi_gen(r, h, FPI_GEN_EMPTY);

	FPI_STEP(GENS_P_LOADED);
	if (FPI_UNLIKELY((int64_t)h < 0) || FPI_UNLIKELY(!to))
		return enqueue_long(r, elems, n, bulk, mt);
	/* Partner: GENS_C_FREE, GENS_C_FREE2, GENS_C1_FREE, GENS_CM_FREE, GENS_C_WALK_FREE. */
	if (n == 1 ? FPI_LOAD(g, FPI_MO(GENS_PF1_CHECK, ACQUIRE)) != empty :
		     !fpi_gens_few(g, empty, n, FPI_MO(GENS_PF_CHECK, ACQUIRE)))
		return enqueue_long(r, elems, n, bulk, mt);
	FPI_STEP(GENS_P_CHECKED);
	if (FPI_UNLIKELY(!fpi_gens_prod_claim(r, h, to, mt)))
		return enqueue_long(r, elems, n, bulk, mt);
	FPI_STEP(GENS_P_CLAIMED);
	copy_few(slot(r, h, elem_size), elems, n * elem_size, elem_size);
	FPI_STEP(GENS_P_COPIED);
	/* Partner: GENS_C_CHECK, GENS_CM_CHECK, GENS_C1_CHECK, GENS_C_WALK. */
	if (n == 1)
		FPI_STORE(g, empty | FPI_GEN_FULL, FPI_MO(GENS_PF1_PUBLISH, RELEASE));
	else
		fpi_gens_set(g, empty | FPI_GEN_FULL, n, FPI_MO(GENS_PF_PUBLISH, RELEASE),
			     0);
	/* A short burst fills a line or less: ask for one that is some bursts away. */
	if (n > 1)
		fpi_prefetch_write(slot(r, h, elem_size) + n * elem_size +
				   2 * FPI_CACHELINE);
	return fpi_ring_signalled(r, FPI_RING_CONSUMER, (int32_t)n);
}

FPI_INLINE int32_t enqueue_many(fp_ring *r, const void *elems, uint64_t n, uint32_t bulk,
				uint32_t elem_size, int mt, int avx2)
{
	uint64_t h = fpi_gens_prod_head(r, mt), to = one_piece(r, h, n, elem_size);
	fpi_atomic_u8 *g = fpi_gens_at(r, h);
	uint8_t empty = fpi_gen(r, h, FPI_GEN_EMPTY);

	FPI_STEP(GENS_P_LOADED);
	if (FPI_UNLIKELY((int64_t)h < 0) || FPI_UNLIKELY(!to))
		return enqueue_long(r, elems, n, bulk, mt);
	/* Partner: as in enqueue_few. */
	if (!fpi_gens_many(g, empty, n, FPI_MO(GENS_PM_CHECK, ACQUIRE), avx2))
		return enqueue_long(r, elems, n, bulk, mt);
	FPI_STEP(GENS_P_CHECKED);
	if (FPI_UNLIKELY(!fpi_gens_prod_claim(r, h, to, mt)))
		return enqueue_long(r, elems, n, bulk, mt);
	FPI_STEP(GENS_P_CLAIMED);
	fpi_copy_with(slot(r, h, elem_size), elems, n * elem_size, avx2);
	FPI_STEP(GENS_P_COPIED);
	fpi_gens_set(g, empty | FPI_GEN_FULL, n, FPI_MO(GENS_PM_PUBLISH, RELEASE), avx2);
	/*
	 * The slots of a burst to come are in a consumer's cache: fetch them while
	 * this one travels. Not if they hold elements, which a consumer wants.
	 */
	if (ahead_is(r, h, n, empty))
		fpi_prefetch_write_lines(slot(r, h, elem_size) + AHEAD * n * elem_size,
					 n * elem_size);
	return fpi_ring_signalled(r, FPI_RING_CONSUMER, (int32_t)n);
}

FPI_INLINE int32_t dequeue_few(fp_ring *r, void *elems, uint64_t n, uint32_t bulk,
			       uint32_t elem_size, int mt)
{
	uint64_t h = fpi_gens_cons_head(r, mt), to = one_piece(r, h, n, elem_size);
	fpi_atomic_u8 *g = fpi_gens_at(r, h);
	uint8_t full = fpi_gen(r, h, FPI_GEN_FULL);

	FPI_STEP(GENS_C_LOADED);
	/* Partner: GENS_P_PUBLISH, GENS_P_PUBLISH2, GENS_P1_PUBLISH, GENS_PM_PUBLISH. */
	if (FPI_UNLIKELY(!to) ||
	    (n == 1 ? FPI_LOAD(g, FPI_MO(GENS_CF1_CHECK, ACQUIRE)) != full :
		      !fpi_gens_few(g, full, n, FPI_MO(GENS_CF_CHECK, ACQUIRE))))
		return dequeue_long(r, elems, n, bulk, mt);
	FPI_STEP(GENS_C_CHECKED);
	if (FPI_UNLIKELY(!fpi_gens_cons_claim(r, h, to, mt)))
		return dequeue_long(r, elems, n, bulk, mt);
	FPI_STEP(GENS_C_CLAIMED);
	copy_few(elems, slot(r, h, elem_size), n * elem_size, elem_size);
	FPI_STEP(GENS_C_COPIED);
	/* Partner: GENS_P_CHECK, GENS_PM_CHECK, GENS_P1_CHECK. */
	if (n == 1)
		FPI_STORE(g, fpi_gen_next(full), FPI_MO(GENS_CF1_FREE, RELEASE));
	else
		fpi_gens_set(g, fpi_gen_next(full), n, FPI_MO(GENS_CF_FREE, RELEASE), 0);
	return fpi_ring_signalled(r, FPI_RING_PRODUCER, (int32_t)n);
}

FPI_INLINE int32_t dequeue_many(fp_ring *r, void *elems, uint64_t n, uint32_t bulk,
				uint32_t elem_size, int mt, int avx2)
{
	uint64_t h = fpi_gens_cons_head(r, mt), to = one_piece(r, h, n, elem_size);
	fpi_atomic_u8 *g = fpi_gens_at(r, h);
	uint8_t full = fpi_gen(r, h, FPI_GEN_FULL);

	FPI_STEP(GENS_C_LOADED);
	/* Partner: as in dequeue_few. */
	if (FPI_UNLIKELY(!to) ||
	    !fpi_gens_many(g, full, n, FPI_MO(GENS_CM_CHECK, ACQUIRE), avx2))
		return dequeue_long(r, elems, n, bulk, mt);
	FPI_STEP(GENS_C_CHECKED);
	if (FPI_UNLIKELY(!fpi_gens_cons_claim(r, h, to, mt)))
		return dequeue_long(r, elems, n, bulk, mt);
	FPI_STEP(GENS_C_CLAIMED);
	fpi_copy_with(elems, slot(r, h, elem_size), n * elem_size, avx2);
	FPI_STEP(GENS_C_COPIED);
	fpi_gens_set(g, fpi_gen_next(full), n, FPI_MO(GENS_CM_FREE, RELEASE), avx2);
	/* A burst to come, if it is there: its lines are in a producer's cache. */
	if (ahead_is(r, h, n, full))
		fpi_prefetch_read_lines(slot(r, h, elem_size) + AHEAD * n * elem_size,
					n * elem_size);
	return fpi_ring_signalled(r, FPI_RING_PRODUCER, (int32_t)n);
}

/*
 * Functions for each {element size 8 or any} x {MT, ST}, and for many elements
 * also x {baseline, AVX2}; fpi_ring_gens_ops() picks.
 */
#define FEW(suffix, size, mt)                                                          \
	static int32_t enqueue_few_##suffix(fp_ring *r, const void *elems, uint64_t n, \
					    uint32_t bulk)                             \
	{                                                                              \
		FPI_ASSUME(n <= FPI_RING_FEW);                                         \
		return enqueue_few(r, elems, n, bulk, size, mt);                       \
	}                                                                              \
	static int32_t dequeue_few_##suffix(fp_ring *r, void *elems, uint64_t n,       \
					    uint32_t bulk)                             \
	{                                                                              \
		FPI_ASSUME(n <= FPI_RING_FEW);                                         \
		return dequeue_few(r, elems, n, bulk, size, mt);                       \
	}

#define MANY(suffix, target, size, mt, avx2)                                             \
	static target int32_t enqueue_many_##suffix(fp_ring *r, const void *elems,       \
						    uint64_t n, uint32_t bulk)           \
	{                                                                                \
		FPI_ASSUME(n > FPI_RING_FEW);                                            \
		return enqueue_many(r, elems, n, bulk, size, mt, avx2);                  \
	}                                                                                \
	static target int32_t dequeue_many_##suffix(fp_ring *r, void *elems, uint64_t n, \
						    uint32_t bulk)                       \
	{                                                                                \
		FPI_ASSUME(n > FPI_RING_FEW);                                            \
		return dequeue_many(r, elems, n, bulk, size, mt, avx2);                  \
	}

FEW(mt8, 8, MT)
FEW(mt, r->elem_size, MT)
FEW(st8, 8, ST)
FEW(st, r->elem_size, ST)
MANY(mt8, , 8, MT, 0)
MANY(mt, , r->elem_size, MT, 0)
MANY(st8, , 8, ST, 0)
MANY(st, , r->elem_size, ST, 0)
#if defined(__x86_64__)
MANY(mt8_avx2, FPI_AVX2_TARGET, 8, MT, 1)
MANY(mt_avx2, FPI_AVX2_TARGET, r->elem_size, MT, 1)
MANY(st8_avx2, FPI_AVX2_TARGET, 8, ST, 1)
MANY(st_avx2, FPI_AVX2_TARGET, r->elem_size, ST, 1)
#endif

#define FUNCTIONS(side, x)                                                \
	{                                                                 \
		{ side##_few_##x, side##_many_##x },                      \
		{                                                         \
			side##_few_##x, FPI_AVX2_OR_BASE(side##_many_##x) \
		}                                                         \
	}

void fpi_ring_gens_ops(fp_ring *r, int avx2)
{
	/* [MT][8 bytes][AVX2][many] */
	static fpi_ring_enqueue_fn *const enqueues[2][2][2][2] = {
		{ FUNCTIONS(enqueue, st), FUNCTIONS(enqueue, st8) },
		{ FUNCTIONS(enqueue, mt), FUNCTIONS(enqueue, mt8) },
	};
	static fpi_ring_dequeue_fn *const dequeues[2][2][2][2] = {
		{ FUNCTIONS(dequeue, st), FUNCTIONS(dequeue, st8) },
		{ FUNCTIONS(dequeue, mt), FUNCTIONS(dequeue, mt8) },
	};
	const int prod_mt = r->state->producer == LIBFP_MT;
	const int cons_mt = r->state->consumer == LIBFP_MT;
	const int is8 = r->elem_size == 8;

	avx2 = avx2 != 0;
	if (r->owners) {
		r->ops.enqueue[0] = prod_mt ? enqueue_noted_mt : enqueue_noted_st;
		r->ops.enqueue[1] = r->ops.enqueue[0];
	} else {
		memcpy(r->ops.enqueue, enqueues[prod_mt][is8][avx2],
		       sizeof(r->ops.enqueue));
		if (is8 && prod_mt)
			r->prod_kind = FPI_RING_GENS8;
	}
	memcpy(r->ops.dequeue, dequeues[cons_mt][is8][avx2], sizeof(r->ops.dequeue));
	if (is8 && cons_mt)
		r->cons_kind = FPI_RING_GENS8;
	fpi_gens_span_ops(r);
}

void fpi_gens_close(fp_ring *r)
{
	/*
	 * One RMW, so that it is before or after each claim. Release: what the
	 * closer did before is visible to who gets -EPIPE. Acquire side of none.
	 */
	FPI_FETCH_OR(&r->prod->head, FPI_RING_CLOSED, FPI_MO(GENS_CLOSE, RELEASE));
	/* Partner: GENS_C_CLOSED: who sees the hint sees the closed head. */
	FPI_STORE(&r->state->closed, 1, FPI_MO(GENS_CLOSE_HINT, RELEASE));
}
