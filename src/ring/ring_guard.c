/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guards of LIBFP_CHECKED and LIBFP_STATS: functions that stand between the
 * exported calls and the algorithm of such a ring. A ring without these flags
 * never comes here and pays nothing.
 *
 * CHECKED counts the threads inside each handle, so that destroy and reset can
 * refuse, and lets one thread at a time into an ST side: see base/guard.h. The
 * guard is in the handle, because the state may be gone before a late call is
 * turned away.
 */
#include <errno.h>

#include "base/clock.h"
#include "base/guard.h"
#include "base/log.h"
#include "base/thread_slot.h"
#include "ring/ring_gens.h"
#include "ring/ring_internal.h"

#define PRODUCER FPI_RING_PRODUCER
#define CONSUMER FPI_RING_CONSUMER

static const char *name_of(const fp_ring *r)
{
	const char *name = fpi_registry_name(&r->name);

	return name ? name : "(no name)";
}

static const char *side_name(enum fpi_ring_side_name side)
{
	return side == PRODUCER ? "producer" : "consumer";
}

static struct fpi_ring_side *side_of(const fp_ring *r, enum fpi_ring_side_name side)
{
	return side == PRODUCER ? r->prod : r->cons;
}

/* ---- CHECKED ---- */

static uint32_t self(void)
{
	return (uint32_t)fpi_thread_id();
}

int fpi_ring_shut(fp_ring *r, const char *what)
{
	if (!(r->flags & LIBFP_CHECKED))
		return 0;
	return fpi_guard_shut(&r->guard, self(), "ring", name_of(r), what);
}

void fpi_ring_reopen(fp_ring *r)
{
	if (r->flags & LIBFP_CHECKED)
		fpi_guard_reopen(&r->guard);
}

void fpi_ring_let_out(fp_ring *r)
{
	if (r->flags & LIBFP_CHECKED)
		fpi_guard_let_out(&r->guard);
}

static int enter(fp_ring *r, enum fpi_ring_side_name side)
{
	uint32_t me, other = 0;
	int err;

	if (!(r->flags & LIBFP_CHECKED))
		return 0;
	me = self();
	err = fpi_guard_enter(&r->guard, me, "ring", name_of(r));
	if (err)
		return err;
	if (r->sync[side] == LIBFP_ST)
		other = fpi_owner_enter(&side_of(r, side)->owner, me);
	if (!other) {
		fpi_guard_entered(&r->guard, me);
		return 0;
	}
	fpi_log(LIBFP_LOG_ERROR,
		"ring %s: thread %u entered the single-threaded %s side while thread %u is inside",
		name_of(r), me, side_name(side), other);
	fpi_guard_leave(&r->guard);
	return -EBUSY;
}

static void leave(fp_ring *r, enum fpi_ring_side_name side)
{
	if (!(r->flags & LIBFP_CHECKED))
		return;
	if (r->sync[side] == LIBFP_ST)
		fpi_owner_leave(&side_of(r, side)->owner);
	fpi_guard_leave(&r->guard);
}

/* Another call on an ST side with a span open would destroy the span. */
static int span_in_the_way(const fp_ring *r, enum fpi_ring_side_name side)
{
	const struct fpi_ring_side *s = side_of(r, side);

	if (!(r->flags & LIBFP_CHECKED) || r->sync[side] == LIBFP_MT || !s->span_n)
		return 0;
	fpi_log(LIBFP_LOG_ERROR,
		"ring %s: thread %u made a call on the single-threaded %s side while a span "
		"of thread %u is open",
		name_of(r), self(), side_name(side), FPI_LOAD(&s->span_by, FPI_RELAXED));
	return 1;
}

static void note_reserved(fp_ring *r, enum fpi_ring_side_name side, int32_t got)
{
	if (got > 0 && (r->flags & LIBFP_CHECKED))
		FPI_STORE(&side_of(r, side)->span_by, self(), FPI_RELAXED);
}

/* A refused commit of a CHECKED ring says what was wrong with it. */
static void log_commit(const fp_ring *r, enum fpi_ring_side_name side,
		       const fp_ring_span *span, uint32_t k, int32_t got)
{
	const uint64_t n = (uint64_t)span->n1 + span->n2;

	if (got != -EINVAL || !(r->flags & LIBFP_CHECKED))
		return;
	fpi_log(LIBFP_LOG_ERROR,
		"ring %s: thread %u committed %u of a %s span of %llu: %s; the last span of "
		"this side was reserved by thread %u",
		name_of(r), self(), k, side_name(side), (unsigned long long)n,
		k > n ? "beyond its size" :
			"not open (committed before, or not of this side), or not all of it",
		FPI_LOAD(&side_of(r, side)->span_by, FPI_RELAXED));
}

/* ---- STATS ---- */

uint64_t fpi_ring_note_blocked(const fp_ring *r, uint64_t pos)
{
	struct fpi_ring_state *s = r->state;
	uint64_t seen = FPI_LOAD(&s->blocked_pos, FPI_RELAXED);

	/* Diagnosis only: a reader may see the time of the position before. */
	if (seen != pos + 1) {
		FPI_STORE(&s->blocked_since, fpi_now_ns(), FPI_RELAXED);
		FPI_STORE(&s->blocked_pos, pos + 1, FPI_RELAXED);
	}
	return FPI_LOAD(&s->blocked_since, FPI_RELAXED);
}

static void count_enqueue(fp_ring *r, uint64_t n, int32_t got)
{
	struct fpi_ring_state *s = r->state;
	uint64_t used, high;

	if (!(r->flags & LIBFP_STATS) || got < 0)
		return;
	if ((uint32_t)got < n)
		FPI_FETCH_ADD(&s->refused_full, 1, FPI_RELAXED);
	if (got == 0)
		return;
	used = fpi_ring_used(r);
	high = FPI_LOAD(&s->high_water, FPI_RELAXED);
	while (used > high && !FPI_CAS(&s->high_water, &high, used, FPI_RELAXED))
		;
}

static void count_dequeue(fp_ring *r, uint64_t n, int32_t got)
{
	uint64_t pos;
	int64_t by;

	if (got < 0 || (uint32_t)got == n)
		return;
	if (r->flags & LIBFP_STATS)
		FPI_FETCH_ADD(&r->state->refused_empty, 1, FPI_RELAXED);
	if (r->gens && fpi_ring_gens_blocked(r, &pos, &by))
		fpi_ring_note_blocked(r, pos);
}

/* ---- the guarded calls ---- */

static int32_t guarded_enqueue(fp_ring *r, const void *elems, uint64_t n, uint32_t bulk)
{
	int32_t got = enter(r, PRODUCER);

	if (got)
		return got;
	got = span_in_the_way(r, PRODUCER) ?
		      -EBUSY :
		      r->raw.enqueue[n > FPI_RING_FEW](r, elems, n, bulk);
	count_enqueue(r, n, got);
	leave(r, PRODUCER);
	return got;
}

static int32_t guarded_dequeue(fp_ring *r, void *elems, uint64_t n, uint32_t bulk)
{
	int32_t got = enter(r, CONSUMER);

	if (got)
		return got;
	got = span_in_the_way(r, CONSUMER) ?
		      -EBUSY :
		      r->raw.dequeue[n > FPI_RING_FEW](r, elems, n, bulk);
	count_dequeue(r, n, got);
	leave(r, CONSUMER);
	return got;
}

static int32_t guarded_peek(fp_ring *r, void *elems, uint32_t n)
{
	int32_t got = enter(r, CONSUMER);

	if (got)
		return got;
	got = r->raw.peek(r, elems, n);
	leave(r, CONSUMER);
	return got;
}

static int guarded_ready(fp_ring *r, enum fpi_ring_side_name side)
{
	int got = enter(r, side);

	if (got)
		return got;
	got = r->raw.ready(r, side);
	leave(r, side);
	return got;
}

static int32_t guarded_reserve_enqueue(fp_ring *r, uint32_t n, uint32_t bulk,
				       fp_ring_span *span)
{
	int32_t got = enter(r, PRODUCER);

	if (got)
		return got;
	/* The algorithm refuses, this says why. */
	span_in_the_way(r, PRODUCER);
	got = r->raw.reserve_enqueue(r, n, bulk, span);
	note_reserved(r, PRODUCER, got);
	count_enqueue(r, n, got);
	leave(r, PRODUCER);
	return got;
}

static int32_t guarded_reserve_dequeue(fp_ring *r, uint32_t n, uint32_t bulk,
				       fp_ring_span *span)
{
	int32_t got = enter(r, CONSUMER);

	if (got)
		return got;
	span_in_the_way(r, CONSUMER);
	got = r->raw.reserve_dequeue(r, n, bulk, span);
	note_reserved(r, CONSUMER, got);
	count_dequeue(r, n, got);
	leave(r, CONSUMER);
	return got;
}

static int32_t guarded_commit_enqueue(fp_ring *r, fp_ring_span *span, uint32_t k)
{
	int32_t got = enter(r, PRODUCER);

	if (got)
		return got;
	got = r->raw.commit_enqueue(r, span, k);
	log_commit(r, PRODUCER, span, k, got);
	/* On an ST side the slots are in use from here on. */
	if (got > 0)
		count_enqueue(r, (uint32_t)got, got);
	leave(r, PRODUCER);
	return got;
}

static int32_t guarded_commit_dequeue(fp_ring *r, fp_ring_span *span, uint32_t k)
{
	int32_t got = enter(r, CONSUMER);

	if (got)
		return got;
	got = r->raw.commit_dequeue(r, span, k);
	log_commit(r, CONSUMER, span, k, got);
	leave(r, CONSUMER);
	return got;
}

int fpi_ring_guarded_close(fp_ring *r)
{
	int err = enter(r, PRODUCER);

	if (err)
		return err;
	fpi_ring_set_closed(r);
	leave(r, PRODUCER);
	return 0;
}

void fpi_ring_guard_ops(fp_ring *r)
{
	r->prod_kind = r->cons_kind = FPI_RING_CALL;
	r->ops.enqueue[0] = r->ops.enqueue[1] = guarded_enqueue;
	r->ops.dequeue[0] = r->ops.dequeue[1] = guarded_dequeue;
	r->ops.reserve_enqueue = guarded_reserve_enqueue;
	r->ops.reserve_dequeue = guarded_reserve_dequeue;
	r->ops.commit_enqueue = guarded_commit_enqueue;
	r->ops.commit_dequeue = guarded_commit_dequeue;
	r->ops.peek = r->raw.peek ? guarded_peek : NULL;
	r->ops.ready = guarded_ready;
}
