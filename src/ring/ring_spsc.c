/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The index ring: ST producer and ST consumer.
 *
 * Structure
 *   Each side publishes one position (its head) on lines of its own and keeps,
 *   privately beside it, the opposite position as it last saw it (cached). The
 *   opposite line is read only when the cached position does not satisfy the
 *   request, so at full speed a line changes hands once a batch, not once an
 *   element. The producer's head is the tail of the queue in textbook terms.
 *
 * Invariant
 *   consumer head <= producer head <= consumer head + capacity; a cached
 *   position is never ahead of the real one, so acting on it is safe, only
 *   pessimistic. What a side owns privately is exactly what it has published:
 *   nothing is lost if it stops between two calls.
 *
 * Memory orders (model: tests/model)
 *   P_PUBLISH release -> C_REFRESH acquire  the reader sees finished slots
 *   C_FREE release    -> P_REFRESH acquire  the reader is done with the slots
 *   Own head and cached position: relaxed and plain, one thread at a time.
 *
 * Close
 *   Bit 63 of the producer head, stored on the producing thread. The producer's
 *   cached position is set so that the ring looks full to it: the common path
 *   needs no test of its own, and the refresh finds the bit.
 *
 * Spans
 *   Reserving changes nothing shared; commit(k) is the publication of k.
 *
 * Progress: wait-free on both sides.
 *
 * Source: L. Lamport's bounded queue with the cached opposite index of
 * MCRingBuffer (Lee, Bu, Chandranmenon, 2010), without its lazy publication.
 */
#include "ring/ring_spsc.h"

#include "base/copy.h"

/* Free slots as far as the producer knows; a closed ring has none (see close). */
FPI_INLINE uint64_t free_known(const fp_ring *r, uint64_t t)
{
	return r->last + 1 - fpi_ring_distance(r, FPI_PLAIN_LOAD(&r->prod->cached), t);
}

FPI_INLINE uint64_t used_known(const fp_ring *r, uint64_t h)
{
	return fpi_ring_distance(r, h, FPI_PLAIN_LOAD(&r->cons->cached));
}

/*
 * The producer's cached position did not do for n: look again. Returns what is
 * granted: n, for a burst fewer, 0, or negative.
 */
static FPI_NOINLINE int32_t refresh_free(fp_ring *r, uint64_t t, uint32_t n,
					 uint32_t bulk)
{
	uint64_t room;

	if (t & FPI_RING_CLOSED)
		return -EPIPE;
	/* Partner: SPSC_C_FREE, SPSC_C1_FREE. */
	FPI_PLAIN_STORE(&r->prod->cached,
			FPI_LOAD(&r->cons->head, FPI_MO(SPSC_P_REFRESH, ACQUIRE)));
	room = free_known(r, t);
	if (room >= n)
		return (int32_t)n;
	if (bulk)
		return n > r->capacity ? -EINVAL : 0;
	return (int32_t)room;
}

static FPI_NOINLINE int32_t refresh_used(fp_ring *r, uint64_t h, uint32_t n,
					 uint32_t bulk)
{
	/* Partner: SPSC_P_PUBLISH, SPSC_P1_PUBLISH, SPSC_CLOSE. */
	uint64_t t = FPI_LOAD(&r->prod->head, FPI_MO(SPSC_C_REFRESH, ACQUIRE));
	uint64_t there;

	FPI_PLAIN_STORE(&r->cons->cached, t & ~FPI_RING_CLOSED);
	there = used_known(r, h);
	if (there >= n)
		return (int32_t)n;
	if (there && !bulk)
		return (int32_t)there;
	if (bulk && n > r->capacity)
		return -EINVAL;
	return t & FPI_RING_CLOSED ? -EPIPE : 0;
}

FPI_INLINE void copy_in(fp_ring *r, uint64_t t, const void *elems, uint32_t n,
			uint32_t elem_size, int avx2)
{
	uint64_t room = r->last + 1 - fpi_ring_index(r, t);
	const unsigned char *from = elems;

	if (FPI_LIKELY(n <= room)) {
		fpi_copy_with(r->data + fpi_ring_index(r, t) * elem_size, from,
			      (size_t)n * elem_size, avx2);
		return;
	}
	fpi_copy_with(r->data + fpi_ring_index(r, t) * elem_size, from,
		      room * elem_size, avx2);
	fpi_copy_with(r->data, from + room * elem_size, (n - room) * elem_size, avx2);
}

FPI_INLINE void copy_out(const fp_ring *r, uint64_t h, void *elems, uint32_t n,
			 uint32_t elem_size, int avx2)
{
	uint64_t room = r->last + 1 - fpi_ring_index(r, h);
	unsigned char *to = elems;

	if (FPI_LIKELY(n <= room)) {
		fpi_copy_with(to, r->data + fpi_ring_index(r, h) * elem_size,
			      (size_t)n * elem_size, avx2);
		return;
	}
	fpi_copy_with(to, r->data + fpi_ring_index(r, h) * elem_size, room * elem_size,
		      avx2);
	fpi_copy_with(to + room * elem_size, r->data, (n - room) * elem_size, avx2);
}

FPI_INLINE int32_t enqueue(fp_ring *r, const void *elems, uint32_t n, uint32_t bulk,
			   uint32_t *free_after, uint32_t elem_size, int avx2)
{
	struct fpi_ring_side *p = r->prod;
	uint64_t t = FPI_LOAD(&p->head, FPI_RELAXED);
	int32_t got = (int32_t)n;

	if (free_known(r, t) < n)
		got = refresh_free(r, t, n, bulk);
	if (FPI_LIKELY(got > 0)) {
		copy_in(r, t, elems, (uint32_t)got, elem_size, avx2);
		FPI_STEP(SPSC_P_COPIED);
		/* Partner: SPSC_C_REFRESH, SPSC_C1_REFRESH. */
		FPI_STORE(&p->head, fpi_ring_advance(r, t, (uint32_t)got),
			  FPI_MO(SPSC_P_PUBLISH, RELEASE));
	}
	if (FPI_UNLIKELY(free_after != NULL) && got >= 0)
		*free_after = (uint32_t)(r->capacity - fpi_ring_used(r));
	return got;
}

FPI_INLINE int32_t dequeue(fp_ring *r, void *elems, uint32_t n, uint32_t bulk,
			   uint32_t *left_after, uint32_t elem_size, int avx2)
{
	struct fpi_ring_side *c = r->cons;
	uint64_t h = FPI_LOAD(&c->head, FPI_RELAXED);
	int32_t got = (int32_t)n;

	if (used_known(r, h) < n)
		got = refresh_used(r, h, n, bulk);
	if (FPI_LIKELY(got > 0)) {
		copy_out(r, h, elems, (uint32_t)got, elem_size, avx2);
		FPI_STEP(SPSC_C_COPIED);
		/* Partner: SPSC_P_REFRESH, SPSC_P1_REFRESH. */
		FPI_STORE(&c->head, fpi_ring_advance(r, h, (uint32_t)got),
			  FPI_MO(SPSC_C_FREE, RELEASE));
	}
	if (FPI_UNLIKELY(left_after != NULL) && got >= 0)
		*left_after = (uint32_t)fpi_ring_used(r);
	return got;
}

/* One function for each {element size 8 or any} x {baseline, AVX2}. */
#if defined(__x86_64__)
#define AVX2_TARGET __attribute__((target("avx2")))
#else
#define AVX2_TARGET
#endif

#define COMMON_PATH(suffix, target, size, avx2)                                     \
	static target int32_t enqueue_##suffix(fp_ring *r, const void *elems,       \
					       uint32_t n, uint32_t bulk,           \
					       uint32_t *free_after)                \
	{                                                                           \
		return enqueue(r, elems, n, bulk, free_after, size, avx2);          \
	}                                                                           \
	static target int32_t dequeue_##suffix(fp_ring *r, void *elems, uint32_t n, \
					       uint32_t bulk, uint32_t *left_after) \
	{                                                                           \
		return dequeue(r, elems, n, bulk, left_after, size, avx2);          \
	}

COMMON_PATH(8, , 8, 0)
COMMON_PATH(any, , r->elem_size, 0)
COMMON_PATH(8_avx2, AVX2_TARGET, 8, 1)
COMMON_PATH(any_avx2, AVX2_TARGET, r->elem_size, 1)

/* ---- spans, peek, close ---- */

static int32_t reserve_enqueue(fp_ring *r, uint32_t n, uint32_t bulk, fp_ring_span *span)
{
	uint64_t t = FPI_LOAD(&r->prod->head, FPI_RELAXED);
	int32_t got = (int32_t)n;

	if (r->prod->span_n)
		return t & FPI_RING_CLOSED ? -EPIPE : -EINVAL;
	if (free_known(r, t) < n)
		got = refresh_free(r, t, n, bulk);
	if (got >= 0) {
		r->prod->span_n = (uint32_t)got;
		fpi_ring_span_set(r, span, t, (uint32_t)got, 0);
	}
	return got;
}

static int32_t commit_enqueue(fp_ring *r, fp_ring_span *span, uint32_t k)
{
	uint64_t pos, t = FPI_LOAD(&r->prod->head, FPI_RELAXED);
	uint32_t n;

	if (!fpi_ring_span_get(r, span, 0, &pos, &n) || k > n || n != r->prod->span_n ||
	    pos != (t & ~FPI_RING_CLOSED))
		return -EINVAL;
	r->prod->span_n = 0;
	if (t & FPI_RING_CLOSED)
		return -EPIPE;
	FPI_STEP(SPSC_P_COPIED);
	/* Partner: SPSC_C_REFRESH, SPSC_C1_REFRESH. */
	FPI_STORE(&r->prod->head, fpi_ring_advance(r, t, k),
		  FPI_MO(SPSC_P_COMMIT, RELEASE));
	return (int32_t)k;
}

static int32_t reserve_dequeue(fp_ring *r, uint32_t n, uint32_t bulk, fp_ring_span *span)
{
	uint64_t h = FPI_LOAD(&r->cons->head, FPI_RELAXED);
	int32_t got = (int32_t)n;

	if (r->cons->span_n)
		return -EINVAL;
	if (used_known(r, h) < n)
		got = refresh_used(r, h, n, bulk);
	if (got >= 0) {
		r->cons->span_n = (uint32_t)got;
		fpi_ring_span_set(r, span, h, (uint32_t)got, FPI_SPAN_DEQUEUE);
	}
	return got;
}

static int32_t commit_dequeue(fp_ring *r, fp_ring_span *span, uint32_t k)
{
	uint64_t pos, h = FPI_LOAD(&r->cons->head, FPI_RELAXED);
	uint32_t n;

	if (!fpi_ring_span_get(r, span, FPI_SPAN_DEQUEUE, &pos, &n) || k > n ||
	    n != r->cons->span_n || pos != h)
		return -EINVAL;
	r->cons->span_n = 0;
	FPI_STEP(SPSC_C_COPIED);
	/* Partner: SPSC_P_REFRESH, SPSC_P1_REFRESH. */
	FPI_STORE(&r->cons->head, fpi_ring_advance(r, h, k),
		  FPI_MO(SPSC_C_COMMIT, RELEASE));
	return (int32_t)k;
}

static int32_t peek(fp_ring *r, void *elems, uint32_t n)
{
	uint64_t h = FPI_LOAD(&r->cons->head, FPI_RELAXED);
	int32_t got = (int32_t)n;

	if (used_known(r, h) < n)
		got = refresh_used(r, h, n, 0);
	if (got > 0)
		copy_out(r, h, elems, (uint32_t)got, r->elem_size, 0);
	return got;
}

void fpi_spsc_close(fp_ring *r)
{
	uint64_t t = FPI_LOAD(&r->prod->head, FPI_RELAXED) | FPI_RING_CLOSED;

	FPI_PLAIN_STORE(&r->prod->cached, t - (r->mask + 1));
	/* Partner: SPSC_C_REFRESH, SPSC_C1_REFRESH. */
	FPI_STORE(&r->prod->head, t, FPI_MO(SPSC_CLOSE, RELEASE));
	/* fp_ring_is_closed() only. */
	FPI_STORE(&r->state->closed, 1, FPI_RELAXED);
}

void fpi_ring_spsc_ops(fp_ring *r, int avx2)
{
	if (r->elem_size == 8) {
		r->prod_kind = r->cons_kind = FPI_RING_INDEX8;
		r->ops.enqueue = avx2 ? enqueue_8_avx2 : enqueue_8;
		r->ops.dequeue = avx2 ? dequeue_8_avx2 : dequeue_8;
	} else {
		r->ops.enqueue = avx2 ? enqueue_any_avx2 : enqueue_any;
		r->ops.dequeue = avx2 ? dequeue_any_avx2 : dequeue_any;
	}
	r->ops.reserve_enqueue = reserve_enqueue;
	r->ops.reserve_dequeue = reserve_dequeue;
	r->ops.commit_enqueue = commit_enqueue;
	r->ops.commit_dequeue = commit_dequeue;
	r->ops.peek = peek;
}
