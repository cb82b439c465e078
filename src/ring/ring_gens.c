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
 *   not write, so that polling an empty ring does not disturb them.
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

FPI_INLINE int32_t enqueue_long(fp_ring *r, const void *elems, uint32_t n,
				uint32_t bulk, uint32_t *free_after, int mt)
{
	uint64_t pos;
	int32_t got = fpi_gens_claim_free(r, n, bulk, &pos, mt);

	if (got > 0) {
		fpi_gens_copy_in(r, pos, elems, (uint32_t)got);
		FPI_STEP(GENS_P_COPIED);
		fpi_gens_publish(r, pos, (uint32_t)got, FPI_GEN_FULL);
	}
	if (free_after && got >= 0)
		*free_after = (uint32_t)(r->capacity - fpi_ring_used(r));
	return got;
}

static FPI_NOINLINE int32_t enqueue_long_mt(fp_ring *r, const void *elems, uint32_t n,
					    uint32_t bulk, uint32_t *free_after)
{
	return enqueue_long(r, elems, n, bulk, free_after, MT);
}

static FPI_NOINLINE int32_t enqueue_long_st(fp_ring *r, const void *elems, uint32_t n,
					    uint32_t bulk, uint32_t *free_after)
{
	return enqueue_long(r, elems, n, bulk, free_after, ST);
}

FPI_INLINE int32_t dequeue_long(fp_ring *r, void *elems, uint32_t n, uint32_t bulk,
				uint32_t *left_after, int mt)
{
	uint64_t pos, end;
	int32_t got = fpi_gens_claim_full(r, n, bulk, 0, &pos, &end, mt);

	if (got > 0) {
		if (FPI_LIKELY(fpi_ring_distance(r, pos, end) == (uint32_t)got)) {
			fpi_gens_copy_out(r, pos, elems, (uint32_t)got);
			FPI_STEP(GENS_C_COPIED);
			fpi_gens_release(r, pos, (uint32_t)got);
		} else {
			fpi_gens_take_walk(r, pos, end, elems);
		}
	}
	if (left_after && got >= 0)
		*left_after = (uint32_t)fpi_ring_used(r);
	return got;
}

static FPI_NOINLINE int32_t dequeue_long_mt(fp_ring *r, void *elems, uint32_t n,
					    uint32_t bulk, uint32_t *left_after)
{
	return dequeue_long(r, elems, n, bulk, left_after, MT);
}

static FPI_NOINLINE int32_t dequeue_long_st(fp_ring *r, void *elems, uint32_t n,
					    uint32_t bulk, uint32_t *left_after)
{
	return dequeue_long(r, elems, n, bulk, left_after, ST);
}

/* ---- the common path: one piece, all n, nobody interferes ---- */

FPI_INLINE int32_t enqueue(fp_ring *r, const void *elems, uint32_t n, uint32_t bulk,
			   uint32_t *free_after, uint32_t elem_size, int mt, int avx2)
{
	uint64_t h = fpi_gens_prod_head(r, mt), to = h + n;
	fpi_atomic_u8 *g = fpi_gens_at(r, h);
	int fits = (h & r->mask) + n <= r->last;

	FPI_STEP(GENS_P_LOADED);
	/* Ending at the very end of the array is still one piece. */
	if (FPI_UNLIKELY(!fits)) {
		if ((h & r->mask) + n != r->last + 1)
			goto slow;
		to += r->carry;
	}
	if (FPI_UNLIKELY((int64_t)h < 0))
		goto slow;
	/* Partner: GENS_C_FREE, GENS_C_FREE2, GENS_C1_FREE, GENS_C_WALK_FREE. */
	if (n == 1 ? FPI_LOAD(g, FPI_MO(GENS_P1B_CHECK, ACQUIRE)) !=
			     fpi_gen(r, h, FPI_GEN_EMPTY) :
		     !fpi_gens_all(g, fpi_gen(r, h, FPI_GEN_EMPTY), n,
				   FPI_MO(GENS_PB_CHECK, ACQUIRE), avx2))
		goto slow;
	FPI_STEP(GENS_P_CHECKED);
	if (FPI_UNLIKELY(!fpi_gens_prod_claim(r, h, to, mt)))
		goto slow;
	FPI_STEP(GENS_P_CLAIMED);
	fpi_copy_with(r->data + (h & r->mask) * elem_size, elems,
		      (size_t)n * elem_size, avx2);
	FPI_STEP(GENS_P_COPIED);
	/* Partner: GENS_C_CHECK, GENS_CB_CHECK, GENS_C1_CHECK, GENS_C_WALK. */
	if (n == 1)
		FPI_STORE(g, fpi_gen(r, h, FPI_GEN_FULL),
			  FPI_MO(GENS_P1B_PUBLISH, RELEASE));
	else
		fpi_gens_set(g, fpi_gen(r, h, FPI_GEN_FULL), n,
			     FPI_MO(GENS_PB_PUBLISH, RELEASE), avx2);
	if (FPI_UNLIKELY(free_after != NULL))
		*free_after = (uint32_t)(r->capacity - fpi_ring_used(r));
	return (int32_t)n;
slow:
	return mt ? enqueue_long_mt(r, elems, n, bulk, free_after) :
		    enqueue_long_st(r, elems, n, bulk, free_after);
}

FPI_INLINE int32_t dequeue(fp_ring *r, void *elems, uint32_t n, uint32_t bulk,
			   uint32_t *left_after, uint32_t elem_size, int mt, int avx2)
{
	uint64_t h = fpi_gens_cons_head(r, mt), to = h + n;
	fpi_atomic_u8 *g = fpi_gens_at(r, h);
	int fits = (h & r->mask) + n <= r->last;

	FPI_STEP(GENS_C_LOADED);
	if (FPI_UNLIKELY(!fits)) {
		if ((h & r->mask) + n != r->last + 1)
			goto slow;
		to += r->carry;
	}
	/* Partner: GENS_P_PUBLISH, GENS_P_PUBLISH2, GENS_P1_PUBLISH, GENS_PB_PUBLISH. */
	if (n == 1 ? FPI_LOAD(g, FPI_MO(GENS_C1B_CHECK, ACQUIRE)) !=
			     fpi_gen(r, h, FPI_GEN_FULL) :
		     !fpi_gens_all(g, fpi_gen(r, h, FPI_GEN_FULL), n,
				   FPI_MO(GENS_CB_CHECK, ACQUIRE), avx2))
		goto slow;
	FPI_STEP(GENS_C_CHECKED);
	if (FPI_UNLIKELY(!fpi_gens_cons_claim(r, h, to, mt)))
		goto slow;
	FPI_STEP(GENS_C_CLAIMED);
	fpi_copy_with(elems, r->data + (h & r->mask) * elem_size,
		      (size_t)n * elem_size, avx2);
	FPI_STEP(GENS_C_COPIED);
	/* Partner: GENS_P_CHECK, GENS_PB_CHECK, GENS_P1_CHECK. */
	if (n == 1)
		FPI_STORE(g, fpi_gen_next(r, h), FPI_MO(GENS_C1B_FREE, RELEASE));
	else
		fpi_gens_set(g, fpi_gen_next(r, h), n, FPI_MO(GENS_CB_FREE, RELEASE),
			     avx2);
	if (FPI_UNLIKELY(left_after != NULL))
		*left_after = (uint32_t)fpi_ring_used(r);
	return (int32_t)n;
slow:
	return mt ? dequeue_long_mt(r, elems, n, bulk, left_after) :
		    dequeue_long_st(r, elems, n, bulk, left_after);
}

/*
 * One function for each {element size 8 or any} x {MT, ST} x {baseline, AVX2};
 * fpi_ring_gens_ops() picks.
 */
#if defined(__x86_64__)
#define AVX2_TARGET __attribute__((target("avx2")))
#else
#define AVX2_TARGET
#endif

#define COMMON_PATH(suffix, target, size, mt, avx2)                                 \
	static target int32_t enqueue_##suffix(fp_ring *r, const void *elems,       \
					       uint32_t n, uint32_t bulk,           \
					       uint32_t *free_after)                \
	{                                                                           \
		return enqueue(r, elems, n, bulk, free_after, size, mt, avx2);      \
	}                                                                           \
	static target int32_t dequeue_##suffix(fp_ring *r, void *elems, uint32_t n, \
					       uint32_t bulk, uint32_t *left_after) \
	{                                                                           \
		return dequeue(r, elems, n, bulk, left_after, size, mt, avx2);      \
	}

COMMON_PATH(mt8, , 8, MT, 0)
COMMON_PATH(mt, , r->elem_size, MT, 0)
COMMON_PATH(st8, , 8, ST, 0)
COMMON_PATH(st, , r->elem_size, ST, 0)
COMMON_PATH(mt8_avx2, AVX2_TARGET, 8, MT, 1)
COMMON_PATH(mt_avx2, AVX2_TARGET, r->elem_size, MT, 1)
COMMON_PATH(st8_avx2, AVX2_TARGET, 8, ST, 1)
COMMON_PATH(st_avx2, AVX2_TARGET, r->elem_size, ST, 1)

void fpi_ring_gens_ops(fp_ring *r, int avx2)
{
	const struct {
		fpi_ring_enqueue_fn *enqueue;
		fpi_ring_dequeue_fn *dequeue;
	} common[2][2][2] = { /* MT, 8 bytes, AVX2 */
		{ { { enqueue_st, dequeue_st }, { enqueue_st_avx2, dequeue_st_avx2 } },
		  { { enqueue_st8, dequeue_st8 }, { enqueue_st8_avx2, dequeue_st8_avx2 } } },
		{ { { enqueue_mt, dequeue_mt }, { enqueue_mt_avx2, dequeue_mt_avx2 } },
		  { { enqueue_mt8, dequeue_mt8 }, { enqueue_mt8_avx2, dequeue_mt8_avx2 } } },
	};
	const int prod_mt = r->state->producer == LIBFP_MT;
	const int cons_mt = r->state->consumer == LIBFP_MT;
	const int is8 = r->elem_size == 8;

	avx2 = avx2 != 0;
	if (r->owners) { /* only the long way notes who claimed */
		r->ops.enqueue = prod_mt ? enqueue_long_mt : enqueue_long_st;
	} else {
		r->ops.enqueue = common[prod_mt][is8][avx2].enqueue;
		if (is8 && prod_mt)
			r->prod_kind = FPI_RING_GENS8;
	}
	r->ops.dequeue = common[cons_mt][is8][avx2].dequeue;
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
