/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Single-element operations of the index ring (ST producer, ST consumer),
 * which the exported calls have inline. The algorithm is explained at the top
 * of ring_spsc.c.
 */
#ifndef FPI_RING_SPSC_H
#define FPI_RING_SPSC_H

#include <errno.h>

#include "base/step.h"
#include "ring/ring_internal.h"

/*
 * The common path does not look at r->capacity: `room` is what is known to fit
 * (producer) or to be there (consumer). A closed ring has no room, so the
 * closed bit is looked for only where the room has run out. That case is not
 * marked unlikely: a thread that alternates comes there each time round.
 */

/* Returns 1, 0 (full) or -EPIPE. */
FPI_INLINE int32_t fpi_spsc_enqueue_one(fp_ring *r, uint64_t elem)
{
	struct fpi_ring_side *p = r->prod;
	uint64_t t = FPI_LOAD(&p->head, FPI_RELAXED);
	uint64_t room = FPI_PLAIN_LOAD(&p->room);

	if (room == 0) {
		if (t & FPI_RING_CLOSED)
			return -EPIPE;
		/* Partner: SPSC_C1_FREE, SPSC_C_FREE, SPSC_CB_FREE. */
		uint64_t h = FPI_LOAD(&r->cons->head, FPI_MO(SPSC_P1_REFRESH, ACQUIRE));

		room = r->last + 1 - fpi_ring_distance(r, h, t);
		if (room == 0)
			return 0;
	}
	FPI_PLAIN_STORE(fpi_ring_slot8(r, t), elem);
	FPI_PLAIN_STORE(&p->room, room - 1);
	FPI_STEP(SPSC_P_COPIED);
	t += 1 + ((t & r->mask) == r->last ? r->carry : 0);
	/* Partner: SPSC_C1_REFRESH, SPSC_C_REFRESH. */
	FPI_STORE(&p->head, t, FPI_MO(SPSC_P1_PUBLISH, RELEASE));
	return 1;
}

/* Returns 1, 0 (empty) or -EPIPE. */
FPI_INLINE int32_t fpi_spsc_dequeue_one(fp_ring *r, uint64_t *elem)
{
	struct fpi_ring_side *c = r->cons;
	uint64_t h = FPI_LOAD(&c->head, FPI_RELAXED);
	uint64_t room = FPI_PLAIN_LOAD(&c->room);

	if (room == 0) {
		/* Partner: SPSC_P1_PUBLISH, SPSC_P_PUBLISH, SPSC_PB_PUBLISH. */
		uint64_t t = FPI_LOAD(&r->prod->head, FPI_MO(SPSC_C1_REFRESH, ACQUIRE));

		room = fpi_ring_distance(r, h, t & ~FPI_RING_CLOSED);
		if (room == 0)
			return t & FPI_RING_CLOSED ? -EPIPE : 0;
	}
	*elem = FPI_PLAIN_LOAD(fpi_ring_slot8(r, h));
	FPI_PLAIN_STORE(&c->room, room - 1);
	FPI_STEP(SPSC_C_COPIED);
	h += 1 + ((h & r->mask) == r->last ? r->carry : 0);
	/* Partner: SPSC_P1_REFRESH, SPSC_P_REFRESH. */
	FPI_STORE(&c->head, h, FPI_MO(SPSC_C1_FREE, RELEASE));
	return 1;
}

#endif
