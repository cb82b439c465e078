/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waiting for a ring: fp_ring_dequeue_wait(), fp_ring_enqueue_wait() and the calls that
 * wait without moving anything.
 *
 * A wait climbs a ladder, and tries the ring between all steps:
 *   spin   SPIN_NS: as long as one sleep costs both sides
 *   nap    announce, a fence, try, sleep for NAP_NS at most
 *   sleep  announce, membarrier, try, sleep
 * A nap needs no membarrier, which would take 5 us from every other running thread: the
 * window that it leaves is a few nanoseconds of a store buffer, and costs the nap. A wait
 * that a signal ended starts with a nap again; busy systems sleep and wake without one
 * membarrier.
 *
 * One for all: on the ring's own wake-up (kind ONE) a publication wakes one waiter. A
 * waiter that went through the kernel, took something and finds the ring ready for
 * another one passes the wake on, with the whole signal. So does one that gives up, which
 * may have been woken for something that it did not take. Waiters that take nothing, or
 * need more than one element, have all woken (FPI_WAKEUP_FOR_ALL); see wakeup_count.c.
 *
 * Closed rings: close wakes all. Who then finds elements that are claimed but not
 * published cannot know when the last one will have been taken by another consumer, whose
 * dequeue signals producers only, so it sleeps for CLOSED_NS at most until it is told
 * -EPIPE.
 *
 * Progress: blocking; the calls of others pay what ring_wake.c says. Source of the ladder:
 * measured, see docs/wakeup.md.
 */
#include <errno.h>

#include "base/clock.h"
#include "base/fork.h"
#include "ring/ring_internal.h"

#ifndef FPI_RING_SPIN_NS /* the model does not spin */
#define FPI_RING_SPIN_NS 50000u
#endif
#define FPI_RING_NAP_NS 100000u
#ifdef FPI_TEST_STEPS /* a test may leave a stage out, with 0 */
uint32_t fpi_test_spin_ns = FPI_RING_SPIN_NS, fpi_test_nap_ns = FPI_RING_NAP_NS;
#define SPIN_NS fpi_test_spin_ns
#define NAP_NS fpi_test_nap_ns
#else
#define SPIN_NS FPI_RING_SPIN_NS
#define NAP_NS FPI_RING_NAP_NS
#endif
#define CLOSED_NS 1000000u
#define LOOKS_PER_CLOCK 8 /* of the spin: a look costs about 5 ns, the clock 25 */

/* What a call waits for. */
struct want {
	fp_ring *r;
	enum fpi_ring_side_name side;
	void *to;	  /* dequeue into; NULL: not a dequeue */
	const void *from; /* enqueue from; both NULL: moves nothing */
	uint32_t min;
	uint32_t n;
};

/* ---- one try ---- */

/* min together, then what else there is. */
static int32_t dequeue(const struct want *w)
{
	fp_ring *r = w->r;
	unsigned char *to = w->to;
	int32_t got, more;

	if (w->min <= 1)
		return r->ops.dequeue[w->n > FPI_RING_FEW](r, to, w->n, 0);
	got = r->ops.dequeue[w->min > FPI_RING_FEW](r, to, w->min, 1);
	if (got == -EPIPE)
		return r->ops.dequeue[w->n > FPI_RING_FEW](r, to, w->n, 0);
	if (got <= 0 || w->n == w->min)
		return got;
	to += (uint64_t)w->min * r->elem_size;
	more = r->ops.dequeue[w->n - w->min > FPI_RING_FEW](r, to, w->n - w->min, 0);
	return more > 0 ? got + more : got;
}

static int32_t enqueue(const struct want *w)
{
	fp_ring *r = w->r;
	const unsigned char *from = w->from;
	int32_t got, more;

	if (w->min <= 1)
		return r->ops.enqueue[w->n > FPI_RING_FEW](r, from, w->n, 0);
	got = r->ops.enqueue[w->min > FPI_RING_FEW](r, from, w->min, 1);
	if (got <= 0 || w->n == w->min)
		return got;
	from += (uint64_t)w->min * r->elem_size;
	more = r->ops.enqueue[w->n - w->min > FPI_RING_FEW](r, from, w->n - w->min, 0);
	return more > 0 ? got + more : got;
}

static int32_t try(const struct want *w)
{
	if (w->to)
		return dequeue(w);
	return w->from ? enqueue(w) : w->r->ops.ready(w->r, w->side);
}

/* ---- the ladder ---- */

static int32_t spin(const struct want *w, uint64_t key, uint64_t deadline)
{
	const fp_wakeup *wakeup = w->r->wake[w->side];
	uint64_t until = fpi_deadline(fpi_now_ns(), SPIN_NS);

	if (until > deadline)
		until = deadline;
	do {
		for (int i = 0; i < LOOKS_PER_CLOCK; i++) {
			int32_t got;

			fpi_cpu_relax();
			got = try(w);
			if (got)
				return got;
		}
		if (fpi_wakeup_interrupted(wakeup, key))
			return -ECANCELED;
	} while (fpi_now_ns() < until);
	return 0;
}

/* Announces, tries, sleeps. Sets *err to why it ended without having got anything. */
static int32_t sleep_once(const struct want *w, uint64_t unit, uint64_t start, int nap,
			  uint64_t deadline, int *err, int *woken)
{
	fp_ring *r = w->r;
	fp_wakeup *wakeup = r->wake[w->side];
	uint64_t key = fpi_wakeup_announce(wakeup, unit), limit;
	int32_t got;

	if (nap) {
		fpi_wakeup_nap_barrier();
		limit = NAP_NS;
	} else {
		fpi_wakeup_barrier(wakeup);
		limit = fpi_wakeup_limit(wakeup);
	}
	if (FPI_LOAD(&r->state->closed, FPI_RELAXED) && limit > CLOSED_NS)
		limit = CLOSED_NS;
	got = try(w);
	if (!got) {
		/* An interrupt since the wait began, not only since this key was made. */
		if (fpi_wakeup_key_interrupts(key) != fpi_wakeup_key_interrupts(start))
			*err = -ECANCELED;
		else
			*err = fpi_wakeup_sleep(wakeup, key, deadline, limit, woken);
	}
	fpi_wakeup_leave(wakeup, unit);
	return got;
}

static int32_t climb(const struct want *w, uint64_t timeout_ns)
{
	fp_wakeup *wakeup = w->r->wake[w->side];
	uint64_t unit = FPI_WAKEUP_WAITER, deadline = FPI_NO_DEADLINE;
	/* Only the upper half is used: what interrupts had come when the wait began. */
	uint64_t start = fpi_wakeup_start(wakeup);
	int nap = NAP_NS != 0, slept = 0, err = 0;
	int32_t got;

	if (timeout_ns != LIBFP_FOREVER)
		deadline = fpi_deadline(fpi_now_ns(), timeout_ns);
	if (w->min != 1 || !(w->to || w->from))
		unit += FPI_WAKEUP_FOR_ALL;
	got = SPIN_NS ? spin(w, start, deadline) : 0;
	while (!got && !err) {
		int woken = 0;

		got = sleep_once(w, unit, start, nap, deadline, &err, &woken);
		if (got)
			break;
		slept |= woken;
		got = try(w);
		nap = woken && NAP_NS != 0;
	}
	/* Partner: another waiter's announcement, as for any signal. */
	if (slept && w->r->ops.ready(w->r, w->side) > 0)
		fpi_wakeup_hand_on(wakeup);
	if (got)
		return got;
	return err == -ETIMEDOUT ? 0 : err;
}

/* 0, or why nobody can wait on this side. */
static int check(const fp_ring *r, uint32_t side)
{
	if (r->generation != fpi_fork_generation())
		return -ECHILD;
	return fpi_wakeup_check(r->wake[side]);
}

static int32_t wait_for(const struct want *w, uint64_t timeout_ns)
{
	fp_ring *r = w->r;
	int32_t got = check(r, w->side);

	if (got)
		return got;
	got = try(w);
	if (got || timeout_ns == 0)
		return got;
	FPI_FETCH_ADD(&r->waiting[w->side], 1, FPI_RELAXED);
	got = climb(w, timeout_ns);
	/* Release: partner RING_WAITED: this call is over. */
	FPI_FETCH_SUB(&r->waiting[w->side], 1, FPI_MO(RING_WAIT_DONE, RELEASE));
	return got;
}

/* ---- the public calls ---- */

static int bad(const fp_ring *r, const void *elems, uint32_t min, uint32_t n)
{
	return !r || n > INT32_MAX || (n && !elems) || min > n || min > r->capacity;
}

int32_t fp_ring_dequeue_wait(fp_ring *ring, void *elems, uint32_t min, uint32_t n,
			     uint64_t timeout_ns)
{
	struct want w = { ring, FPI_RING_CONSUMER, elems, NULL, min, n };

	if (bad(ring, elems, min, n))
		return -EINVAL;
	return n ? wait_for(&w, min ? timeout_ns : 0) : 0;
}

int32_t fp_ring_enqueue_wait(fp_ring *ring, const void *elems, uint32_t min, uint32_t n,
			     uint64_t timeout_ns)
{
	struct want w = { ring, FPI_RING_PRODUCER, NULL, elems, min, n };

	if (bad(ring, elems, min, n))
		return -EINVAL;
	return n ? wait_for(&w, min ? timeout_ns : 0) : 0;
}

int fp_ring_wait_readable(fp_ring *ring, uint64_t timeout_ns)
{
	struct want w = { ring, FPI_RING_CONSUMER, NULL, NULL, 0, 0 };

	return ring ? wait_for(&w, timeout_ns) : -EINVAL;
}

int fp_ring_wait_writable(fp_ring *ring, uint64_t timeout_ns)
{
	struct want w = { ring, FPI_RING_PRODUCER, NULL, NULL, 0, 0 };

	return ring ? wait_for(&w, timeout_ns) : -EINVAL;
}

int fp_ring_interrupt(fp_ring *ring, uint32_t side)
{
	int err;

	if (!ring || side > FPI_RING_CONSUMER)
		return -EINVAL;
	err = check(ring, side);
	if (!err)
		fpi_wakeup_interrupt(ring->wake[side]);
	return err;
}
