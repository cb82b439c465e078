/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The exported fast-path calls: argument checks and dispatch.
 *
 * Single 8-byte elements have both algorithms inline, chosen by one byte of the
 * handle (measured ahead of a call through a pointer); the index ring falls
 * through, since its whole operation is shorter. Bursts go through the
 * functions that create chose for element size, mode and CPU. What is not the
 * common case leaves by a cold branch, so that the common path saves no
 * registers.
 */
#include "base/copy.h"
#include "ring/ring_gens.h"
#include "ring/ring_spsc.h"

/* Bad arguments of a burst, or n = 0, which moves nothing but still tells. */
static FPI_COLD int32_t odd_burst(const fp_ring *r, const void *elems, uint32_t n)
{
	if (!r || n > INT32_MAX || (n && !elems))
		return -EINVAL;
	return 0;
}

static FPI_COLD int32_t odd_enqueue(const fp_ring *r, const void *elems, uint32_t n,
				    uint32_t *free_after)
{
	int32_t err = odd_burst(r, elems, n);

	if (!err && free_after)
		*free_after = (uint32_t)(r->capacity - fpi_ring_used(r));
	return err;
}

static FPI_COLD int32_t odd_dequeue(const fp_ring *r, const void *elems, uint32_t n,
				    uint32_t *left_after)
{
	int32_t err = odd_burst(r, elems, n);

	if (!err && left_after)
		*left_after = (uint32_t)fpi_ring_used(r);
	return err;
}

/* n - 1 wraps for 0: one comparison for n = 0 and n > INT32_MAX. */
#define ODD_BURST(r, elems, n) \
	FPI_UNLIKELY(!(r) || !(elems) || (uint32_t)((n)-1) >= (uint32_t)INT32_MAX)

static FPI_NOINLINE int32_t enqueue_call(fp_ring *r, uint64_t elem)
{
	if (!r || r->elem_size != 8)
		return -EINVAL;
	return r->ops.enqueue[0](r, &elem, 1, 0);
}

static FPI_NOINLINE int32_t dequeue_call(fp_ring *r, uint64_t *elem)
{
	if (!r || !elem || r->elem_size != 8)
		return -EINVAL;
	return r->ops.dequeue[0](r, elem, 1, 0);
}

static FPI_NOINLINE int32_t enqueue_and_tell(fp_ring *r, const void *elems, uint64_t n,
					     uint32_t bulk, uint32_t *free_after)
{
	int32_t got = r->ops.enqueue[n > FPI_RING_FEW](r, elems, n, bulk);

	if (got >= 0)
		*free_after = (uint32_t)(r->capacity - fpi_ring_used(r));
	return got;
}

static FPI_NOINLINE int32_t dequeue_and_tell(fp_ring *r, void *elems, uint64_t n,
					     uint32_t bulk, uint32_t *left_after)
{
	int32_t got = r->ops.dequeue[n > FPI_RING_FEW](r, elems, n, bulk);

	if (got >= 0)
		*left_after = (uint32_t)fpi_ring_used(r);
	return got;
}

int32_t fp_ring_enqueue_u64(fp_ring *ring, uint64_t elem)
{
	if (FPI_UNLIKELY(!ring))
		return -EINVAL;
	if (FPI_LIKELY(ring->prod_kind == FPI_RING_INDEX8)) {
		if (FPI_LIKELY(fpi_spsc_enqueue_one(ring, elem)))
			return fpi_ring_signalled(ring, FPI_RING_CONSUMER, 1);
	} else if (FPI_LIKELY(ring->prod_kind == FPI_RING_GENS8) &&
		   FPI_LIKELY(fpi_gens_enqueue_one(ring, elem))) {
		return fpi_ring_signalled(ring, FPI_RING_CONSUMER, 1);
	}
	return enqueue_call(ring, elem);
}

int32_t fp_ring_dequeue_u64(fp_ring *ring, uint64_t *elem)
{
	if (FPI_UNLIKELY(!ring || !elem))
		return -EINVAL;
	if (FPI_LIKELY(ring->cons_kind == FPI_RING_INDEX8)) {
		if (FPI_LIKELY(fpi_spsc_dequeue_one(ring, elem)))
			return fpi_ring_signalled(ring, FPI_RING_PRODUCER, 1);
	} else if (FPI_LIKELY(ring->cons_kind == FPI_RING_GENS8) &&
		   FPI_LIKELY(fpi_gens_dequeue_one(ring, elem))) {
		return fpi_ring_signalled(ring, FPI_RING_PRODUCER, 1);
	}
	return dequeue_call(ring, elem);
}

int32_t fp_ring_enqueue(fp_ring *ring, const void *elem)
{
	if (FPI_UNLIKELY(!ring || !elem))
		return -EINVAL;
	return ring->ops.enqueue[0](ring, elem, 1, 0);
}

int32_t fp_ring_dequeue(fp_ring *ring, void *elem)
{
	if (FPI_UNLIKELY(!ring || !elem))
		return -EINVAL;
	return ring->ops.dequeue[0](ring, elem, 1, 0);
}

int32_t fp_ring_enqueue_bulk(fp_ring *ring, const void *elems, uint32_t n,
			     uint32_t *free_after)
{
	if (ODD_BURST(ring, elems, n))
		return odd_enqueue(ring, elems, n, free_after);
	if (FPI_UNLIKELY(free_after != NULL))
		return enqueue_and_tell(ring, elems, n, 1, free_after);
	return ring->ops.enqueue[n > FPI_RING_FEW](ring, elems, n, 1);
}

int32_t fp_ring_enqueue_burst(fp_ring *ring, const void *elems, uint32_t n,
			      uint32_t *free_after)
{
	if (ODD_BURST(ring, elems, n))
		return odd_enqueue(ring, elems, n, free_after);
	if (FPI_UNLIKELY(free_after != NULL))
		return enqueue_and_tell(ring, elems, n, 0, free_after);
	return ring->ops.enqueue[n > FPI_RING_FEW](ring, elems, n, 0);
}

int32_t fp_ring_dequeue_bulk(fp_ring *ring, void *elems, uint32_t n, uint32_t *left_after)
{
	if (ODD_BURST(ring, elems, n))
		return odd_dequeue(ring, elems, n, left_after);
	if (FPI_UNLIKELY(left_after != NULL))
		return dequeue_and_tell(ring, elems, n, 1, left_after);
	return ring->ops.dequeue[n > FPI_RING_FEW](ring, elems, n, 1);
}

int32_t fp_ring_dequeue_burst(fp_ring *ring, void *elems, uint32_t n,
			      uint32_t *left_after)
{
	if (ODD_BURST(ring, elems, n))
		return odd_dequeue(ring, elems, n, left_after);
	if (FPI_UNLIKELY(left_after != NULL))
		return dequeue_and_tell(ring, elems, n, 0, left_after);
	return ring->ops.dequeue[n > FPI_RING_FEW](ring, elems, n, 0);
}

int32_t fp_ring_peek(fp_ring *ring, void *elems, uint32_t n)
{
	if (ring && !ring->ops.peek)
		return -EOPNOTSUPP;
	if (ODD_BURST(ring, elems, n))
		return odd_burst(ring, elems, n);
	return ring->ops.peek(ring, elems, n);
}

/* Checks what both reserves share; 1: go on. */
FPI_INLINE int32_t check_reserve(const fp_ring *ring, uint32_t n, uint32_t flags,
				 const fp_ring_span *span)
{
	if (FPI_UNLIKELY(!ring || !span || n > INT32_MAX))
		return -EINVAL;
	if (FPI_UNLIKELY(flags & ~(uint32_t)LIBFP_RING_BULK))
		return -EOPNOTSUPP;
	return n != 0;
}

int32_t fp_ring_reserve_enqueue(fp_ring *ring, uint32_t n, uint32_t flags,
				fp_ring_span *span)
{
	int32_t go = check_reserve(ring, n, flags, span);

	if (FPI_LIKELY(go > 0))
		return ring->ops.reserve_enqueue(ring, n, flags & LIBFP_RING_BULK, span);
	if (go == 0)
		*span = (fp_ring_span){ 0 };
	return go;
}

int32_t fp_ring_reserve_dequeue(fp_ring *ring, uint32_t n, uint32_t flags,
				fp_ring_span *span)
{
	int32_t go = check_reserve(ring, n, flags, span);

	if (FPI_LIKELY(go > 0))
		return ring->ops.reserve_dequeue(ring, n, flags & LIBFP_RING_BULK, span);
	if (go == 0)
		*span = (fp_ring_span){ 0 };
	return go;
}

/* A committed or given-up span is cleared, so that using it again is caught. */
FPI_INLINE int32_t done(fp_ring_span *span, int32_t k)
{
	if (FPI_LIKELY(k >= 0 || k == -EPIPE))
		*span = (fp_ring_span){ 0 };
	return k;
}

int32_t fp_ring_commit_enqueue(fp_ring *ring, fp_ring_span *span, uint32_t k)
{
	if (FPI_UNLIKELY(!ring || !span))
		return -EINVAL;
	return done(span, ring->ops.commit_enqueue(ring, span, k));
}

int32_t fp_ring_commit_dequeue(fp_ring *ring, fp_ring_span *span, uint32_t k)
{
	if (FPI_UNLIKELY(!ring || !span))
		return -EINVAL;
	return done(span, ring->ops.commit_dequeue(ring, span, k));
}

void fpi_ring_span_set(const fp_ring *r, fp_ring_span *span, uint64_t pos, uint32_t n,
		       uint64_t side)
{
	uint64_t room = r->last + 1 - fpi_ring_index(r, pos);

	*span = (fp_ring_span){ 0 };
	if (n == 0)
		return;
	span->ptr1 = fpi_ring_slot(r, pos);
	span->n1 = n <= room ? n : (uint32_t)room;
	span->n2 = n - span->n1;
	if (span->n2)
		span->ptr2 = r->data;
	span->token = fpi_span_token(pos, side);
}

int fpi_ring_span_get(const fp_ring *r, const fp_ring_span *span, uint64_t side,
		      uint64_t *pos, uint32_t *n)
{
	uint64_t p = span->token >> 2;
	uint64_t room = r->last + 1 - fpi_ring_index(r, p);

	/* The pieces must be the ones that reserve made of this position. */
	if ((span->token & 3) != (side | FPI_SPAN_OPEN) || span->n1 == 0 ||
	    span->ptr1 != fpi_ring_slot(r, p) || span->n1 > room ||
	    (span->n2 && span->n1 != room) || (uint64_t)span->n1 + span->n2 > r->capacity)
		return 0;
	*pos = p;
	*n = span->n1 + span->n2;
	return 1;
}
