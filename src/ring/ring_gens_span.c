/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Spans, peek and inspection of a generation ring. The algorithm and its memory
 * orders are explained at the top of ring_gens.c.
 *
 * MT side: reserving is claiming, so the head has moved on when the caller
 * writes or reads the slots. A producer's commit of fewer publishes the rest as
 * VOID; a consumer must take all. Whether a span is open can be read off the
 * slots: below the producer head a slot that is still EMPTY of its lap is
 * claimed and not published; below the consumer head one that is still FULL of
 * its lap is claimed and not freed. That finds a span committed twice without
 * any bookkeeping (two threads that commit it at the very same moment are told
 * apart on a CHECKED ring only).
 *
 * ST side: reserving changes nothing shared; commit(k) moves the head by k.
 */
#include "ring/ring_gens_claim.h"

#include "base/copy.h"

#define MT FPI_GENS_MT
#define ST FPI_GENS_ST

/* ---- MT sides ---- */

static void note_spans(fp_ring *r)
{
	/* Read by destroy and reset, which nothing else may run beside. */
	if (!FPI_LOAD(&r->state->spans, FPI_RELAXED))
		FPI_STORE(&r->state->spans, 1, FPI_RELAXED);
}

static int32_t reserve_enqueue_mt(fp_ring *r, uint32_t n, uint32_t bulk,
				  fp_ring_span *span)
{
	uint64_t pos = 0;
	int32_t got;

	note_spans(r);
	got = fpi_gens_claim_free(r, n, bulk, &pos, MT);
	if (got >= 0)
		fpi_ring_span_set(r, span, pos, (uint32_t)got, 0);
	return got;
}

/*
 * CHECKED: makes one committer the first, by moving the first slot's byte from
 * `open` to BUSY; others see that it is not open any more.
 */
static int begin_commit(fp_ring *r, uint64_t pos, uint8_t open)
{
	fpi_atomic_u8 *g = fpi_gens_at(r, pos);

	if (!(r->state->flags & LIBFP_CHECKED))
		return FPI_LOAD(g, FPI_RELAXED) == open;
	/* Nothing is read or written on the strength of it: relaxed. */
	return FPI_CAS(g, &open, fpi_gen(r, pos, FPI_GEN_BUSY), FPI_RELAXED);
}

static int32_t commit_enqueue_mt(fp_ring *r, fp_ring_span *span, uint32_t k)
{
	uint64_t pos, head = FPI_LOAD(&r->prod->head, FPI_RELAXED) & ~FPI_RING_CLOSED;
	uint32_t n;

	if (!fpi_ring_span_get(r, span, 0, &pos, &n) || k > n)
		return -EINVAL;
	/* Claimed (below the head), and consumers cannot be past it. */
	if (fpi_ring_advance(r, pos, n) > head ||
	    pos < FPI_LOAD(&r->cons->head, FPI_RELAXED) ||
	    !begin_commit(r, pos, fpi_gen(r, pos, FPI_GEN_EMPTY)))
		return -EINVAL;
	FPI_STEP(GENS_P_COPIED);
	if (k < n) {
		FPI_FETCH_ADD(&r->state->voided, n - k, FPI_RELAXED);
		fpi_gens_publish(r, fpi_ring_advance(r, pos, k), n - k, FPI_GEN_VOID);
	}
	fpi_gens_publish(r, pos, k, FPI_GEN_FULL);
	/* For k = 0 too: what stands behind the voids may be read now. */
	return fpi_ring_signalled(r, FPI_RING_CONSUMER, (int32_t)k);
}

static int32_t reserve_dequeue_mt(fp_ring *r, uint32_t n, uint32_t bulk,
				  fp_ring_span *span)
{
	uint64_t pos = 0, end;
	int32_t got;

	note_spans(r);
	got = fpi_gens_claim_full(r, n, bulk, 1, &pos, &end, MT);
	if (got >= 0)
		fpi_ring_span_set(r, span, pos, (uint32_t)got, FPI_SPAN_DEQUEUE);
	return got;
}

static int32_t commit_dequeue_mt(fp_ring *r, fp_ring_span *span, uint32_t k)
{
	uint64_t pos;
	uint32_t n;

	if (!fpi_ring_span_get(r, span, FPI_SPAN_DEQUEUE, &pos, &n) || k != n)
		return -EINVAL;
	/* Claimed (below the head), and producers cannot be a lap ahead of it. */
	if (fpi_ring_advance(r, pos, n) > FPI_LOAD(&r->cons->head, FPI_RELAXED) ||
	    (FPI_LOAD(&r->prod->head, FPI_RELAXED) & ~FPI_RING_CLOSED) >
		    pos + r->mask + 1 ||
	    !begin_commit(r, pos, fpi_gen(r, pos, FPI_GEN_FULL)))
		return -EINVAL;
	FPI_STEP(GENS_C_COPIED);
	fpi_gens_release(r, pos, n);
	return fpi_ring_signalled(r, FPI_RING_PRODUCER, (int32_t)n);
}

/* ---- ST sides ---- */

static int32_t reserve_enqueue_st(fp_ring *r, uint32_t n, uint32_t bulk,
				  fp_ring_span *span)
{
	uint64_t h = fpi_gens_prod_head(r, ST);
	uint32_t run;

	if (h & FPI_RING_CLOSED)
		return -EPIPE;
	if (r->prod->span_n)
		return -EINVAL;
	/* Partner: GENS_C_FREE, GENS_C_FREE2, GENS_C1_FREE, GENS_CB_FREE. */
	run = fpi_gens_run_from(r, h, FPI_GEN_EMPTY, n, FPI_MO(GENS_SP_RESERVE, ACQUIRE));
	if (run < n && bulk) {
		if (n > r->capacity)
			return -EINVAL;
		run = 0;
	}
	r->prod->span_pos = h;
	r->prod->span_n = run;
	fpi_ring_span_set(r, span, h, run, 0);
	return (int32_t)run;
}

static int32_t commit_enqueue_st(fp_ring *r, fp_ring_span *span, uint32_t k)
{
	uint64_t pos, h = fpi_gens_prod_head(r, ST);
	uint32_t n;

	if (!fpi_ring_span_get(r, span, 0, &pos, &n) || k > n || n != r->prod->span_n ||
	    pos != r->prod->span_pos)
		return -EINVAL;
	r->prod->span_n = 0;
	if (pos != (h & ~FPI_RING_CLOSED))
		return -EINVAL; /* overrun by an enqueue: given up, or it would stay open */
	if (h & FPI_RING_CLOSED)
		return -EPIPE;
	if (k) {
		fpi_gens_prod_claim(r, h, fpi_ring_advance(r, h, k), ST);
		if (FPI_UNLIKELY(r->owners != NULL))
			fpi_gens_note_owner(r, h, fpi_ring_advance(r, h, k));
		FPI_STEP(GENS_P_COPIED);
		fpi_gens_publish(r, h, k, FPI_GEN_FULL);
	}
	return fpi_ring_signal_after(r, FPI_RING_CONSUMER, (int32_t)k);
}

/* What reserve and peek of an ST consumer may look at; *pos is the head. */
static int32_t look(fp_ring *r, uint32_t n, uint32_t bulk, uint64_t *pos)
{
	for (;;) {
		uint64_t h = fpi_gens_cons_head(r, ST), to, end;
		/* Partner: GENS_P_PUBLISH, GENS_P_PUBLISH2, GENS_P1_PUBLISH. */
		uint32_t run = fpi_gens_run_from(r, h, FPI_GEN_FULL, n,
						 FPI_MO(GENS_SC_LOOK, ACQUIRE));

		end = to = fpi_ring_advance(r, h, run);
		if (run < n && fpi_gens_is_void(r, to)) {
			if (run == 0) {
				fpi_gens_pass_voids(r, h, ST);
				continue;
			}
			if (bulk && fpi_gens_walk(r, h, n, &end) == n)
				return -EAGAIN;
		}
		if (run < n && (bulk || run == 0))
			return bulk && n > r->capacity ? -EINVAL :
							 fpi_gens_none_left(r, end);
		*pos = h;
		return (int32_t)run;
	}
}

static int32_t reserve_dequeue_st(fp_ring *r, uint32_t n, uint32_t bulk,
				  fp_ring_span *span)
{
	uint64_t pos = 0;
	int32_t got;

	if (r->cons->span_n)
		return -EINVAL;
	got = look(r, n, bulk, &pos);
	if (got >= 0) {
		r->cons->span_pos = pos;
		r->cons->span_n = (uint32_t)got;
		fpi_ring_span_set(r, span, pos, (uint32_t)got, FPI_SPAN_DEQUEUE);
	}
	return got;
}

static int32_t commit_dequeue_st(fp_ring *r, fp_ring_span *span, uint32_t k)
{
	uint64_t pos, h = fpi_gens_cons_head(r, ST);
	uint32_t n;

	if (!fpi_ring_span_get(r, span, FPI_SPAN_DEQUEUE, &pos, &n) || k > n ||
	    n != r->cons->span_n || pos != r->cons->span_pos)
		return -EINVAL;
	r->cons->span_n = 0;
	if (pos != h)
		return -EINVAL; /* overrun by a dequeue: given up, or it would stay open */
	if (k) {
		fpi_gens_cons_claim(r, h, fpi_ring_advance(r, h, k), ST);
		FPI_STEP(GENS_C_COPIED);
		fpi_gens_release(r, h, k);
	}
	return fpi_ring_signal_after(r, FPI_RING_PRODUCER, (int32_t)k);
}

static int32_t peek(fp_ring *r, void *elems, uint32_t n)
{
	uint64_t pos = 0;
	int32_t got = look(r, n, 0, &pos);

	if (got > 0)
		fpi_gens_copy_out(r, pos, elems, (uint32_t)got);
	return got;
}

static int ready(fp_ring *r, enum fpi_ring_side_name side)
{
	const int mt = r->sync[side] == LIBFP_MT;
	uint64_t h;

	if (side == FPI_RING_PRODUCER) {
		h = FPI_LOAD(&r->prod->head, FPI_RELAXED);
		if (h & FPI_RING_CLOSED)
			return -EPIPE;
		return FPI_LOAD(fpi_gens_at(r, h), FPI_RELAXED) ==
		       fpi_gen(r, h, FPI_GEN_EMPTY);
	}
	for (;;) {
		h = fpi_gens_cons_head(r, mt);
		if (FPI_LOAD(fpi_gens_at(r, h), FPI_RELAXED) ==
		    fpi_gen(r, h, FPI_GEN_FULL))
			return 1;
		/* They may be all that producers wait for. */
		if (fpi_gens_is_void(r, h))
			fpi_gens_pass_voids(r, h, mt);
		else if (!mt || FPI_LOAD(&r->cons->head, FPI_RELAXED) == h)
			break;
	}
	return FPI_LOAD(&r->prod->head, FPI_RELAXED) == (h | FPI_RING_CLOSED) ? -EPIPE :
										0;
}

void fpi_gens_span_ops(fp_ring *r)
{
	r->ops.ready = ready;
	if (r->state->producer == LIBFP_MT) {
		r->ops.reserve_enqueue = reserve_enqueue_mt;
		r->ops.commit_enqueue = commit_enqueue_mt;
	} else {
		r->ops.reserve_enqueue = reserve_enqueue_st;
		r->ops.commit_enqueue = commit_enqueue_st;
	}
	if (r->state->consumer == LIBFP_MT) {
		r->ops.reserve_dequeue = reserve_dequeue_mt;
		r->ops.commit_dequeue = commit_dequeue_mt;
		r->ops.peek = NULL;
	} else {
		r->ops.reserve_dequeue = reserve_dequeue_st;
		r->ops.commit_dequeue = commit_dequeue_st;
		r->ops.peek = peek;
	}
}

/* ---- inspection ---- */

int fpi_ring_gens_spans_open(const fp_ring *r)
{
	uint64_t c = FPI_LOAD(&r->cons->head, FPI_RELAXED);
	uint64_t p = FPI_LOAD(&r->prod->head, FPI_RELAXED) & ~FPI_RING_CLOSED;
	uint64_t pos;

	if (!FPI_LOAD(&r->state->spans, FPI_RELAXED))
		return 0;
	for (pos = c; pos != p; pos = fpi_ring_advance(r, pos, 1)) {
		uint8_t g = FPI_LOAD(fpi_gens_at(r, pos), FPI_RELAXED);

		if (g == fpi_gen(r, pos, FPI_GEN_EMPTY) ||
		    g == fpi_gen(r, pos, FPI_GEN_BUSY))
			return 1;
	}
	/* From the producer head to a lap behind the consumer head: must be free. */
	for (; pos != c + r->mask + 1; pos = fpi_ring_advance(r, pos, 1))
		if (FPI_LOAD(fpi_gens_at(r, pos), FPI_RELAXED) !=
		    fpi_gen(r, pos, FPI_GEN_EMPTY))
			return 1;
	return 0;
}

void fpi_ring_gens_survey(const fp_ring *r, uint64_t *unpublished, uint64_t *voids)
{
	uint64_t pos = FPI_LOAD(&r->cons->head, FPI_RELAXED);
	uint64_t n = fpi_ring_used(r);

	*unpublished = *voids = 0;
	for (; n; n--, pos = fpi_ring_advance(r, pos, 1)) {
		uint8_t g = FPI_LOAD(fpi_gens_at(r, pos), FPI_RELAXED);

		if (g == fpi_gen(r, pos, FPI_GEN_VOID))
			++*voids;
		else if (g == fpi_gen(r, pos, FPI_GEN_EMPTY) ||
			 g == fpi_gen(r, pos, FPI_GEN_BUSY))
			++*unpublished;
	}
}

/* The thread that claimed the unpublished slot at the consumer head, or 0. */
int fpi_ring_gens_blocked(const fp_ring *r, uint64_t *pos, int64_t *by)
{
	uint64_t h = FPI_LOAD(&r->cons->head, FPI_RELAXED);
	uint8_t g = FPI_LOAD(fpi_gens_at(r, h), FPI_RELAXED);

	*by = 0;
	*pos = h;
	if (fpi_ring_used(r) == 0 ||
	    (g != fpi_gen(r, h, FPI_GEN_EMPTY) && g != fpi_gen(r, h, FPI_GEN_BUSY)))
		return 0;
	if (r->owners) {
		uint64_t o = FPI_LOAD(&r->owners[fpi_ring_index(r, h)], FPI_RELAXED);

		if (o >> 32 == (uint32_t)(h >> r->shift))
			*by = (int64_t)(uint32_t)o;
	}
	return 1;
}
