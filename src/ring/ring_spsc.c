/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The index ring: ST producer and ST consumer.
 *
 * Structure
 *   Each side publishes one position (its head) on lines of its own and keeps,
 *   privately beside it, the opposite head as it last saw it (cached). The
 *   opposite line is read only when the cached position does not satisfy the
 *   request, so at full speed a line changes hands once a batch, not once an
 *   element. The producer's head is the tail of the queue in textbook terms.
 *
 * Invariant
 *   consumer head <= producer head <= consumer head + capacity; a cached
 *   position is never ahead of the real one, so acting on it is safe, only
 *   pessimistic. What a side owns privately is what it has published: nothing
 *   is lost if it stops between two calls.
 *
 * Memory orders (model: tests/model)
 *   P_PUBLISH release -> C_REFRESH acquire  the reader sees finished slots
 *   C_FREE release    -> P_REFRESH acquire  the reader is done with the slots
 *   Own head and cached position: relaxed and plain, one thread at a time.
 *
 * Close
 *   Bit 63 of the producer head, stored on the producing thread. The producer's
 *   cached position is set so that the ring looks full to it: the common path
 *   needs no test of its own, and the long way finds the bit.
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

#include <errno.h>

#include "base/copy.h"

/* Free slots and elements as far as known. */
FPI_INLINE uint64_t free_known(const fp_ring *r, uint64_t t)
{
	return r->last + 1 - fpi_ring_distance(r, FPI_PLAIN_LOAD(&r->prod->cached), t);
}

FPI_INLINE uint64_t used_known(const fp_ring *r, uint64_t h)
{
	return fpi_ring_distance(r, h, FPI_PLAIN_LOAD(&r->cons->cached));
}

/*
 * What a producer at t is granted for n: n, for a burst fewer, 0, or negative.
 * Looks at the consumer head if what is known does not do.
 */
static int32_t grant_free(fp_ring *r, uint64_t t, uint64_t n, uint32_t bulk)
{
	if (t & FPI_RING_CLOSED)
		return -EPIPE;
	if (free_known(r, t) >= n)
		return (int32_t)n;
	for (int again = 0;; again = 1) {
		uint64_t room;

		/* Partner: SPSC_C_FREE, SPSC_CB_FREE, SPSC_C1_FREE. */
		FPI_PLAIN_STORE(
			&r->prod->cached,
			FPI_LOAD(&r->cons->head, FPI_MO(SPSC_P_REFRESH, ACQUIRE)));
		room = free_known(r, t);
		if (again)
			fpi_ring_lingered(r->prod, room >= fpi_ring_worth(n));
		if (room >= n)
			return (int32_t)n;
		if (room && !bulk)
			return (int32_t)room;
		if (again || !fpi_ring_linger(r->prod, t))
			return bulk && n > r->capacity ? -EINVAL : 0;
	}
}

static int32_t grant_used(fp_ring *r, uint64_t h, uint64_t n, uint32_t bulk)
{
	if (used_known(r, h) >= n)
		return (int32_t)n;
	for (int again = 0;; again = 1) {
		uint64_t t, room;

		/* Partner: SPSC_P_PUBLISH, SPSC_PB_PUBLISH, SPSC_P1_PUBLISH. */
		t = FPI_LOAD(&r->prod->head, FPI_MO(SPSC_C_REFRESH, ACQUIRE));
		FPI_PLAIN_STORE(&r->cons->cached, t & ~FPI_RING_CLOSED);
		room = used_known(r, h);
		if (again)
			fpi_ring_lingered(r->cons, room >= fpi_ring_worth(n));
		if (room >= n)
			return (int32_t)n;
		if (room && !bulk)
			return (int32_t)room;
		if (again || !fpi_ring_linger(r->cons, h)) {
			if (bulk && n > r->capacity)
				return -EINVAL;
			return t & FPI_RING_CLOSED ? -EPIPE : 0;
		}
	}
}

/* Publishes n more elements from t on, or gives n slots from h on back. */
FPI_INLINE void publish(fp_ring *r, uint64_t t, uint64_t n)
{
	/* Partner: SPSC_C_REFRESH, SPSC_CB_REFRESH, SPSC_C1_REFRESH. */
	FPI_STORE(&r->prod->head, fpi_ring_advance(r, t, n),
		  FPI_MO(SPSC_P_PUBLISH, RELEASE));
}

FPI_INLINE void give_back(fp_ring *r, uint64_t h, uint64_t n)
{
	/* Partner: SPSC_P_REFRESH, SPSC_PB_REFRESH, SPSC_P1_REFRESH. */
	FPI_STORE(&r->cons->head, fpi_ring_advance(r, h, n),
		  FPI_MO(SPSC_C_FREE, RELEASE));
}

FPI_INLINE void copy_in(fp_ring *r, uint64_t t, const void *elems, uint32_t n, int avx2)
{
	uint64_t room = r->last + 1 - fpi_ring_index(r, t);
	uint64_t n1 = n <= room ? n : room;
	const unsigned char *from = (const unsigned char *)elems;

	fpi_copy_with(fpi_ring_slot(r, t), from, n1 * r->elem_size, avx2);
	if (n1 < n)
		fpi_copy_with(r->data, from + n1 * r->elem_size, (n - n1) * r->elem_size,
			      avx2);
}

FPI_INLINE void copy_out(const fp_ring *r, uint64_t h, void *elems, uint32_t n, int avx2)
{
	uint64_t room = r->last + 1 - fpi_ring_index(r, h);
	uint64_t n1 = n <= room ? n : room;
	unsigned char *to = (unsigned char *)elems;

	fpi_copy_with(to, fpi_ring_slot(r, h), n1 * r->elem_size, avx2);
	if (n1 < n)
		fpi_copy_with(to + n1 * r->elem_size, r->data, (n - n1) * r->elem_size,
			      avx2);
}

/* ---- the long way: refresh, wrap, large copies, refusals ---- */

FPI_INLINE int32_t enqueue_long(fp_ring *r, const void *elems, uint64_t n, uint32_t bulk,
				int avx2)
{
	uint64_t t = FPI_LOAD(&r->prod->head, FPI_RELAXED);
	int32_t got = grant_free(r, t, n, bulk);

	if (got > 0) {
		copy_in(r, t, elems, (uint32_t)got, avx2);
		FPI_STEP(SPSC_P_COPIED);
		publish(r, t, (uint32_t)got);
	}
	return fpi_ring_signal_after(r, FPI_RING_CONSUMER, got);
}

FPI_INLINE int32_t dequeue_long(fp_ring *r, void *elems, uint64_t n, uint32_t bulk,
				int avx2)
{
	uint64_t h = FPI_LOAD(&r->cons->head, FPI_RELAXED);
	int32_t got = grant_used(r, h, n, bulk);

	if (got > 0) {
		copy_out(r, h, elems, (uint32_t)got, avx2);
		FPI_STEP(SPSC_C_COPIED);
		give_back(r, h, (uint32_t)got);
	}
	return fpi_ring_signal_after(r, FPI_RING_PRODUCER, got);
}

/*
 * ---- the common path: fits, one piece; only tail calls ----
 *
 * The look at the opposite head is here too: a consumer that has caught up needs
 * it every time. few: at most FPI_RING_FEW elements of 8 bytes.
 */

FPI_INLINE int32_t enqueue(fp_ring *r, const void *elems, uint64_t n, uint32_t bulk,
			   uint32_t elem_size, int few, int avx2,
			   fpi_ring_enqueue_fn *long_way)
{
	struct fpi_ring_side *p = r->prod;
	uint64_t t = FPI_LOAD(&p->head, FPI_RELAXED), to = t + n;
	uint64_t index = t & r->mask;

	if (few)
		FPI_ASSUME(n <= FPI_RING_FEW);
	if (FPI_UNLIKELY(n * elem_size > FPI_COPY_INLINE_MAX))
		return long_way(r, elems, n, bulk);
	if (free_known(r, t) < n) {
		uint64_t h = FPI_LOAD(&r->cons->head, FPI_MO(SPSC_PB_REFRESH, ACQUIRE));

		/* Partner of the load: SPSC_C_FREE, SPSC_CB_FREE, SPSC_C1_FREE. */
		if ((t & FPI_RING_CLOSED) || r->last + 1 - fpi_ring_distance(r, h, t) < n)
			return long_way(r, elems, n, bulk);
		FPI_PLAIN_STORE(&p->cached, h);
	}
	if (FPI_UNLIKELY(index + n > r->last)) {
		if (index + n > r->last + 1)
			return long_way(r, elems, n, bulk);
		to += r->carry; /* ends at the very end: still one piece */
	}
	if (few)
		fpi_copy_few(r->data + index * elem_size, elems, n * elem_size);
	else
		fpi_copy_with(r->data + index * elem_size, elems, n * elem_size, avx2);
	FPI_STEP(SPSC_P_COPIED);
	/* Partner: SPSC_C_REFRESH, SPSC_CB_REFRESH, SPSC_C1_REFRESH. */
	FPI_STORE(&p->head, to, FPI_MO(SPSC_PB_PUBLISH, RELEASE));
	/*
	 * The lines of the next burst are in the consumer's cache: fetch them
	 * while this one travels, if they are known to be free. (For short bursts
	 * it was measured to cost more than it brings.)
	 */
	if (!few && free_known(r, to) >= n)
		fpi_prefetch_write_lines(r->data + (to & r->mask) * elem_size,
					 n * elem_size);
	return fpi_ring_signalled(r, FPI_RING_CONSUMER, (int32_t)n);
}

FPI_INLINE int32_t dequeue(fp_ring *r, void *elems, uint64_t n, uint32_t bulk,
			   uint32_t elem_size, int few, int avx2,
			   fpi_ring_dequeue_fn *long_way)
{
	struct fpi_ring_side *c = r->cons;
	uint64_t h = FPI_LOAD(&c->head, FPI_RELAXED), to = h + n;
	uint64_t index = h & r->mask;

	if (few)
		FPI_ASSUME(n <= FPI_RING_FEW);
	if (FPI_UNLIKELY(n * elem_size > FPI_COPY_INLINE_MAX))
		return long_way(r, elems, n, bulk);
	if (used_known(r, h) < n) {
		uint64_t t = FPI_LOAD(&r->prod->head, FPI_MO(SPSC_CB_REFRESH, ACQUIRE)) &
			     ~FPI_RING_CLOSED;

		/* Partner of the load: SPSC_P_PUBLISH, SPSC_PB_PUBLISH, SPSC_P1_PUBLISH. */
		if (fpi_ring_distance(r, h, t) < n)
			return long_way(r, elems, n, bulk);
		FPI_PLAIN_STORE(&c->cached, t);
	}
	if (FPI_UNLIKELY(index + n > r->last)) {
		if (index + n > r->last + 1)
			return long_way(r, elems, n, bulk);
		to += r->carry;
	}
	if (few)
		fpi_copy_few(elems, r->data + index * elem_size, n * elem_size);
	else
		fpi_copy_with(elems, r->data + index * elem_size, n * elem_size, avx2);
	FPI_STEP(SPSC_C_COPIED);
	/* Partner: SPSC_P_REFRESH, SPSC_PB_REFRESH, SPSC_P1_REFRESH. */
	FPI_STORE(&c->head, to, FPI_MO(SPSC_CB_FREE, RELEASE));
	return fpi_ring_signalled(r, FPI_RING_PRODUCER, (int32_t)n);
}

/* One function for each {element size 8 or any} x {baseline, AVX2}. */
#define LONG_WAY(suffix, target, avx2)                                    \
	static target FPI_NOINLINE int32_t enqueue_long_##suffix(         \
		fp_ring *r, const void *elems, uint64_t n, uint32_t bulk) \
	{                                                                 \
		return enqueue_long(r, elems, n, bulk, avx2);             \
	}                                                                 \
	static target FPI_NOINLINE int32_t dequeue_long_##suffix(         \
		fp_ring *r, void *elems, uint64_t n, uint32_t bulk)       \
	{                                                                 \
		return dequeue_long(r, elems, n, bulk, avx2);             \
	}

#define COMMON_PATH(suffix, target, size, few, avx2, isa)                               \
	static target int32_t enqueue_##suffix(fp_ring *r, const void *elems,           \
					       uint64_t n, uint32_t bulk)               \
	{                                                                               \
		return enqueue(r, elems, n, bulk, size, few, avx2, enqueue_long_##isa); \
	}                                                                               \
	static target int32_t dequeue_##suffix(fp_ring *r, void *elems, uint64_t n,     \
					       uint32_t bulk)                           \
	{                                                                               \
		return dequeue(r, elems, n, bulk, size, few, avx2, dequeue_long_##isa); \
	}

LONG_WAY(base, , 0)
COMMON_PATH(few8, , 8, 1, 0, base)
COMMON_PATH(8, , 8, 0, 0, base)
COMMON_PATH(any, , r->elem_size, 0, 0, base)
#if defined(__x86_64__)
LONG_WAY(avx2, FPI_AVX2_TARGET, 1)
COMMON_PATH(8_avx2, FPI_AVX2_TARGET, 8, 0, 1, avx2)
COMMON_PATH(any_avx2, FPI_AVX2_TARGET, r->elem_size, 0, 1, avx2)
#endif

/* ---- spans, peek, close ---- */

static int32_t reserve_enqueue(fp_ring *r, uint32_t n, uint32_t bulk, fp_ring_span *span)
{
	uint64_t t = FPI_LOAD(&r->prod->head, FPI_RELAXED);
	int32_t got;

	if (r->prod->span_n)
		return t & FPI_RING_CLOSED ? -EPIPE : -EINVAL;
	got = grant_free(r, t, n, bulk);
	if (got >= 0) {
		r->prod->span_pos = t;
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
	    pos != r->prod->span_pos)
		return -EINVAL;
	r->prod->span_n = 0;
	if (pos != (t & ~FPI_RING_CLOSED))
		return -EINVAL; /* overrun by an enqueue: given up, or it would stay open */
	if (t & FPI_RING_CLOSED)
		return -EPIPE;
	FPI_STEP(SPSC_P_COPIED);
	publish(r, t, k);
	return fpi_ring_signal_after(r, FPI_RING_CONSUMER, (int32_t)k);
}

static int32_t reserve_dequeue(fp_ring *r, uint32_t n, uint32_t bulk, fp_ring_span *span)
{
	uint64_t h = FPI_LOAD(&r->cons->head, FPI_RELAXED);
	int32_t got;

	if (r->cons->span_n)
		return -EINVAL;
	got = grant_used(r, h, n, bulk);
	if (got >= 0) {
		r->cons->span_pos = h;
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
	    n != r->cons->span_n || pos != r->cons->span_pos)
		return -EINVAL;
	r->cons->span_n = 0;
	if (pos != h)
		return -EINVAL; /* overrun by a dequeue: given up, or it would stay open */
	FPI_STEP(SPSC_C_COPIED);
	give_back(r, h, k);
	return fpi_ring_signal_after(r, FPI_RING_PRODUCER, (int32_t)k);
}

static int32_t peek(fp_ring *r, void *elems, uint32_t n)
{
	uint64_t h = FPI_LOAD(&r->cons->head, FPI_RELAXED);
	int32_t got = grant_used(r, h, n, 0);

	if (got > 0)
		copy_out(r, h, elems, (uint32_t)got, 0);
	return got;
}

static int ready(fp_ring *r, enum fpi_ring_side_name side)
{
	uint64_t p = FPI_LOAD(&r->prod->head, FPI_RELAXED);
	uint64_t used = fpi_ring_distance(r, FPI_LOAD(&r->cons->head, FPI_RELAXED),
					  p & ~FPI_RING_CLOSED);

	if (side == FPI_RING_CONSUMER)
		return used ? 1 : p & FPI_RING_CLOSED ? -EPIPE : 0;
	return p & FPI_RING_CLOSED ? -EPIPE : used < r->capacity;
}

void fpi_spsc_close(fp_ring *r)
{
	uint64_t t = FPI_LOAD(&r->prod->head, FPI_RELAXED) | FPI_RING_CLOSED;

	FPI_PLAIN_STORE(&r->prod->cached, t - (r->mask + 1));
	/* Partner: SPSC_C_REFRESH, SPSC_C1_REFRESH. */
	FPI_STORE(&r->prod->head, t, FPI_MO(SPSC_CLOSE, RELEASE));
}

void fpi_ring_spsc_ops(fp_ring *r, int avx2)
{
	if (r->elem_size == 8) {
		r->prod_kind = r->cons_kind = FPI_RING_INDEX8;
		r->ops.enqueue[0] = enqueue_few8;
		r->ops.enqueue[1] = avx2 ? FPI_AVX2_OR_BASE(enqueue_8) : enqueue_8;
		r->ops.dequeue[0] = dequeue_few8;
		r->ops.dequeue[1] = avx2 ? FPI_AVX2_OR_BASE(dequeue_8) : dequeue_8;
	} else {
		r->ops.enqueue[0] = r->ops.enqueue[1] =
			avx2 ? FPI_AVX2_OR_BASE(enqueue_any) : enqueue_any;
		r->ops.dequeue[0] = r->ops.dequeue[1] =
			avx2 ? FPI_AVX2_OR_BASE(dequeue_any) : dequeue_any;
	}
	r->ops.reserve_enqueue = reserve_enqueue;
	r->ops.reserve_dequeue = reserve_dequeue;
	r->ops.commit_enqueue = commit_enqueue;
	r->ops.commit_dequeue = commit_dequeue;
	r->ops.peek = peek;
	r->ops.ready = ready;
}
