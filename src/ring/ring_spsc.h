/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Single-element operations of the index ring (ST producer, ST consumer),
 * which the exported calls have inline. The algorithm is explained at the top
 * of ring_spsc.c.
 */
#ifndef FPI_RING_SPSC_H
#define FPI_RING_SPSC_H

#include "base/step.h"
#include "ring/ring_internal.h"

/*
 * The cached position is not marked likely to do: a thread that alternates, and
 * a consumer that has caught up, look anew each time.
 */

/*
 * As fpi_gens_enqueue_one(): 1, or 0 when the caller has to go the long way
 * (full or closed; empty).
 */
FPI_INLINE int fpi_spsc_enqueue_one(fp_ring *r, uint64_t elem)
{
	struct fpi_ring_side *p = r->prod;
	uint64_t t = FPI_LOAD(&p->head, FPI_RELAXED), lap = r->mask + 1;
	uint64_t index = t & r->mask;

	/* Same index, next lap: full as far as known. Closed looks the same. */
	if (t - FPI_PLAIN_LOAD(&p->cached) == lap) {
		if (t & FPI_RING_CLOSED)
			return 0;
		/* Partner: SPSC_C1_FREE, SPSC_C_FREE, SPSC_CB_FREE. */
		uint64_t h = FPI_LOAD(&r->cons->head, FPI_MO(SPSC_P1_REFRESH, ACQUIRE));

		FPI_PLAIN_STORE(&p->cached, h);
		if (t - h == lap)
			return 0;
	}
	FPI_PLAIN_STORE(fpi_ring_slot8(r, index), elem);
	FPI_STEP(SPSC_P_COPIED);
	t++;
	if (FPI_UNLIKELY(index == r->last))
		t += r->carry;
	/* Partner: SPSC_C1_REFRESH, SPSC_C_REFRESH, SPSC_CB_REFRESH. */
	FPI_STORE(&p->head, t, FPI_MO(SPSC_P1_PUBLISH, RELEASE));
	return 1;
}

FPI_INLINE int fpi_spsc_dequeue_one(fp_ring *r, uint64_t *elem)
{
	struct fpi_ring_side *c = r->cons;
	uint64_t h = FPI_LOAD(&c->head, FPI_RELAXED);
	uint64_t index = h & r->mask;

	if (h == FPI_PLAIN_LOAD(&c->cached)) {
		/* Partner: SPSC_P1_PUBLISH, SPSC_P_PUBLISH, SPSC_PB_PUBLISH. */
		uint64_t t = FPI_LOAD(&r->prod->head, FPI_MO(SPSC_C1_REFRESH, ACQUIRE));

		if (h == (t & ~FPI_RING_CLOSED))
			return 0;
		FPI_PLAIN_STORE(&c->cached, t & ~FPI_RING_CLOSED);
	}
	*elem = FPI_PLAIN_LOAD(fpi_ring_slot8(r, index));
	FPI_STEP(SPSC_C_COPIED);
	h++;
	if (FPI_UNLIKELY(index == r->last))
		h += r->carry;
	/* Partner: SPSC_P1_REFRESH, SPSC_P_REFRESH, SPSC_PB_REFRESH. */
	FPI_STORE(&c->head, h, FPI_MO(SPSC_C1_FREE, RELEASE));
	return 1;
}

#endif
