/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The guards of LIBFP_CHECKED and LIBFP_STATS: functions that stand between the
 * exported calls and the algorithm of such a ring. A ring without these flags
 * never comes here and pays nothing.
 *
 * CHECKED counts the threads inside each handle, so that destroy and reset can
 * refuse, and lets one thread at a time into an ST side: the owner word holds
 * its thread id. Entering is acquire and leaving release, so a hand-over from
 * one thread to the next is as orderly as the ring promises, and who comes
 * while another is inside is turned away before anything is touched.
 */
#include <errno.h>
#include <time.h>

#include "base/log.h"
#include "base/thread_slot.h"
#include "ring/ring_gens.h"
#include "ring/ring_internal.h"

enum side { PRODUCER, CONSUMER };

static const char *name_of(const fp_ring *r)
{
	const char *name = fpi_registry_name(&r->name);

	return name ? name : "(no name)";
}

/* ---- CHECKED ---- */

static void leave_handle(fp_ring *r)
{
	/* Partner: RING_SHUT_INSIDE: destroy sees what we did before we left. */
	FPI_FETCH_SUB(&r->inside, 1, FPI_MO(RING_LEAVE, RELEASE));
}

/*
 * Counts in, then looks whether destroy has begun; destroy does it in the other
 * order. Both are seq_cst, so at least one of the two sees the other.
 */
static int enter_handle(fp_ring *r)
{
	uint32_t by;

	FPI_FETCH_ADD(&r->inside, 1, FPI_MO(RING_ENTER, SEQ_CST));
	by = FPI_LOAD(&r->dying, FPI_MO(RING_ENTER_DYING, SEQ_CST));
	if (!by)
		return 0;
	leave_handle(r);
	fpi_log(LIBFP_LOG_ERROR,
		"ring %s: thread %lld made a call while thread %u is inside destroy or reset",
		name_of(r), (long long)fpi_thread_id(), by);
	return -EBUSY;
}

int fpi_ring_shut(fp_ring *r, const char *what)
{
	uint32_t me, none = 0;

	if (!(r->state->flags & LIBFP_CHECKED))
		return 0;
	me = (uint32_t)fpi_thread_id();
	if (!FPI_CAS(&r->dying, &none, me, FPI_MO(RING_SHUT, SEQ_CST))) {
		fpi_log(LIBFP_LOG_ERROR,
			"ring %s: thread %u called %s while thread %u is inside destroy or reset",
			name_of(r), me, what, none);
		return -EBUSY;
	}
	if (FPI_LOAD(&r->inside, FPI_MO(RING_SHUT_INSIDE, SEQ_CST))) {
		uint32_t p = FPI_LOAD(&r->prod->owner, FPI_RELAXED);
		uint32_t c = FPI_LOAD(&r->cons->owner, FPI_RELAXED);

		fpi_ring_reopen(r);
		fpi_log(LIBFP_LOG_ERROR,
			"ring %s: thread %u called %s while thread %u is inside a call (0: not known)",
			name_of(r), me, what, p ? p : c);
		return -EBUSY;
	}
	return 0;
}

void fpi_ring_reopen(fp_ring *r)
{
	FPI_STORE(&r->dying, 0, FPI_MO(RING_REOPEN, RELEASE));
}

static int enter(fp_ring *r, enum side side)
{
	struct fpi_ring_side *s = side == PRODUCER ? r->prod : r->cons;
	uint32_t sync = side == PRODUCER ? r->state->producer : r->state->consumer;
	uint32_t me, other = 0;
	int err;

	if (!(r->state->flags & LIBFP_CHECKED))
		return 0;
	err = enter_handle(r);
	if (err || sync == LIBFP_MT)
		return err;
	me = (uint32_t)fpi_thread_id();
	/* Partner: RING_LEAVE_SIDE of the thread that was here before. */
	if (FPI_CAS(&s->owner, &other, me, FPI_MO(RING_ENTER_SIDE, ACQUIRE)))
		return 0;
	leave_handle(r);
	fpi_log(LIBFP_LOG_ERROR,
		"ring %s: thread %u entered the single-threaded %s side while thread %u is inside",
		name_of(r), me, side == PRODUCER ? "producer" : "consumer", other);
	return -EBUSY;
}

static void leave(fp_ring *r, enum side side)
{
	struct fpi_ring_side *s = side == PRODUCER ? r->prod : r->cons;
	uint32_t sync = side == PRODUCER ? r->state->producer : r->state->consumer;

	if (!(r->state->flags & LIBFP_CHECKED))
		return;
	if (sync == LIBFP_ST)
		/* Partner: RING_ENTER_SIDE. */
		FPI_STORE(&s->owner, 0, FPI_MO(RING_LEAVE_SIDE, RELEASE));
	leave_handle(r);
}

/* An enqueue or dequeue beside an open span of an ST side would destroy it. */
static int span_in_the_way(const fp_ring *r, enum side side)
{
	const struct fpi_ring_side *s = side == PRODUCER ? r->prod : r->cons;

	if (!(r->state->flags & LIBFP_CHECKED) || !s->span_n)
		return 0;
	fpi_log(LIBFP_LOG_ERROR,
		"ring %s: thread %lld made a call on the single-threaded %s side while a span is open",
		name_of(r), (long long)fpi_thread_id(),
		side == PRODUCER ? "producer" : "consumer");
	return 1;
}

/* A refused commit of a CHECKED ring says what was wrong with it. */
static void log_commit(const fp_ring *r, const fp_ring_span *span, uint32_t k, int32_t got)
{
	if (got != -EINVAL || !(r->state->flags & LIBFP_CHECKED))
		return;
	fpi_log(LIBFP_LOG_ERROR, "ring %s: thread %lld committed %u of a span of %llu: %s",
		name_of(r), (long long)fpi_thread_id(), k,
		(unsigned long long)span->n1 + span->n2,
		k > (uint64_t)span->n1 + span->n2 ?
			"beyond its size" :
			"not open (committed before, or not of this side), or not all of it");
}

/* ---- STATS ---- */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t fpi_ring_note_blocked(const fp_ring *r, uint64_t pos)
{
	struct fpi_ring_state *s = r->state;
	uint64_t seen = FPI_LOAD(&s->blocked_pos, FPI_RELAXED);

	/* Diagnosis only: a reader may see the time of the position before. */
	if (seen != pos + 1) {
		FPI_STORE(&s->blocked_since, now_ns(), FPI_RELAXED);
		FPI_STORE(&s->blocked_pos, pos + 1, FPI_RELAXED);
	}
	return FPI_LOAD(&s->blocked_since, FPI_RELAXED);
}

static void count_enqueue(fp_ring *r, uint64_t n, int32_t got)
{
	struct fpi_ring_state *s = r->state;
	uint64_t used, high;

	if (!(s->flags & LIBFP_STATS) || got < 0)
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
	if (r->state->flags & LIBFP_STATS)
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
	got = span_in_the_way(r, PRODUCER) ? -EBUSY : r->raw.enqueue[n > FPI_RING_FEW](r, elems, n, bulk);
	count_enqueue(r, n, got);
	leave(r, PRODUCER);
	return got;
}

static int32_t guarded_dequeue(fp_ring *r, void *elems, uint64_t n, uint32_t bulk)
{
	int32_t got = enter(r, CONSUMER);

	if (got)
		return got;
	got = span_in_the_way(r, CONSUMER) ? -EBUSY : r->raw.dequeue[n > FPI_RING_FEW](r, elems, n, bulk);
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

static int32_t guarded_reserve_enqueue(fp_ring *r, uint32_t n, uint32_t bulk,
				       fp_ring_span *span)
{
	int32_t got = enter(r, PRODUCER);

	if (got)
		return got;
	got = r->raw.reserve_enqueue(r, n, bulk, span);
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
	got = r->raw.reserve_dequeue(r, n, bulk, span);
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
	log_commit(r, span, k, got);
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
	log_commit(r, span, k, got);
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
}
