/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rings that somebody may sleep on: binding, and the signals. An enqueue signals the
 * consumer side's wake-up, a dequeue the producer side's. A call that moved nothing
 * signals nobody: both sides may be bound to one wake-up, and two threads that look in
 * vain would wake each other for ever. The exceptions are a commit of 0 elements, which
 * publishes void slots, and whoever passes these (fpi_gens_pass_voids()) and so frees them.
 *
 * The algorithms end with the signal (fpi_ring_signalled()), bound or not: two loads, of
 * an empty wake-up if nobody can sleep. A way around them for rings that nobody sleeps on
 * would cost the others a call. All signals are inside the guards of CHECKED and STATS.
 *
 * Order: the algorithm publishes with a release (its *_PUBLISH and *_FREE sites); the
 * signal's load comes after it, see wakeup_count.c.
 */
#include <errno.h>

#include "base/fork.h"
#include "base/log.h"
#include "ring/ring_internal.h"

int32_t fpi_ring_signal_slow(fp_wakeup *w, uint64_t state, int32_t got)
{
	fpi_wakeup_signal_slow(w, state);
	return got;
}

void fpi_ring_wake_closed(fp_ring *r)
{
	for (int side = 0; side < 2; side++)
		fpi_wakeup_signal_all(r->wake[side]);
}

/* ---- binding ---- */

static fp_wakeup *own_wakeup(const fp_ring *r, uint32_t side)
{
	return r->own ? &r->own[side] : &fpi_wakeup_nobody;
}

static int is_foreign(const fp_ring *r, uint32_t side)
{
	return r->wake[side] != own_wakeup(r, side);
}

void fpi_ring_wake_init(fp_ring *r)
{
	for (uint32_t side = 0; side < 2; side++) {
		if (r->own)
			fpi_wakeup_init(&r->own[side], FPI_WAKEUP_ONE, 0);
		r->wake[side] = own_wakeup(r, side);
	}
}

void fpi_ring_wake_drop(fp_ring *r)
{
	/* A child may have destroyed them already. */
	if (r->generation != fpi_fork_generation())
		return;
	for (uint32_t side = 0; side < 2; side++)
		if (is_foreign(r, side))
			fpi_wakeup_unbind(r->wake[side]);
}

static int set_wakeup(fp_ring *r, uint32_t side, fp_wakeup *w)
{
	if (fpi_ring_is_waited_for(r, side))
		return fpi_refuse(-EBUSY, "fp_ring_set_wakeup: a thread waits");
	if (w && fpi_wakeup_bind(w))
		return -ECHILD;
	if (is_foreign(r, side))
		fpi_wakeup_unbind(r->wake[side]);
	r->wake[side] = w ? w : own_wakeup(r, side);
	return 0;
}

int fp_ring_set_wakeup(fp_ring *ring, uint32_t side, fp_wakeup *wakeup)
{
	int err;

	if (!ring || side > FPI_RING_CONSUMER)
		return -EINVAL;
	if (ring->generation != fpi_fork_generation())
		return -ECHILD;
	err = fpi_ring_shut(ring, "fp_ring_set_wakeup");
	if (err)
		return err;
	err = set_wakeup(ring, side, wakeup);
	fpi_ring_reopen(ring);
	return err;
}
