/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Arm, touch, cancel, destroy: what any thread does to a timer at any moment.
 *
 * One 64-bit word per timer, {generation, flags}, arbitrates everything. A call compares
 * the generation with that of the id (else -ESTALE), sets LOCKED with a CAS, does its few
 * instructions, and stores the new word. Whoever finds LOCKED set spins a little, then naps
 * in a futex: the holder cannot know of sleepers, because its unlock is a plain store.
 *
 *   operation        who                       what it changes
 *   arm, later       any thread                exp; ARMED. The entry (at or before exp) stays
 *   arm              the thread with the wheel entry removed and made anew; ARMED ENTRY
 *   arm              any other                 exp; ARMED QUEUED: on a lane, for the poller
 *   touch            any thread                exp, if later
 *   cancel           any thread                -ARMED. The entry stays; the next arm uses it
 *   destroy          any thread, no ENTRY and  recycled at once, generation + 1. Who gets
 *                    not QUEUED                the wheel removes the entry first
 *   destroy          else                      DEAD QUEUED: the id is stale at once, the
 *                                              poller recycles
 *   drain            poller                    -QUEUED; makes or moves the entry; DEAD:
 *                                              recycles
 *   fire             poller                    -ARMED -ENTRY +FIRED (timer_poll.c)
 *
 * At most one entry and one place on a lane per timer: hence no memory is needed but the
 * record, however long nobody polls.
 *
 * The wheel   The owner (who polled last) tries its lock, which nobody waits for; anybody
 *             else uses a lane without looking at it. Inside a callback the polling thread
 *             has the wheel already ("nested").
 * Lanes       Pushed while LOCKED is held, so that a second arm that sees QUEUED may rely
 *             on it. Then the lane's bit in `pending`. The poller exchanges `pending`
 *             first, then the lanes that it names: a push that comes after the exchange of
 *             its lane has seen, through the head, that the bit is clear, and sets it.
 * Running     `running` is stored before the word is unlocked, and so seen by whoever locks
 *             it afterwards; it is cleared with a release after the callback. Who finds
 *             another value there acquires it: what the callback did is over.
 *
 * Progress: blocking per timer (the LOCKED bit, held for some instructions), never per
 * wheel. Nothing here takes memory.
 */
#include <errno.h>

#include "base/clock.h"
#include "base/futex.h"
#include "timer/timer_internal.h"
#include "timer/timer_slot.h"

#define NAP_NS 50000u
#define NAP_MAX_NS 1000000u
#define PREFETCH_AHEAD 8

/* ---- LOCKED ---- */

/* Sleeps while a word is as it was seen, but not for long: nobody wakes us. */
static void nap(fpi_atomic_u64 *word, uint64_t seen, uint64_t deadline)
{
#ifdef FPI_AWAIT_NOT /* the model waits for the change itself */
	(void)deadline;
	FPI_AWAIT_NOT(word, seen);
#else
	/* The half that changes: flags, or the id's index. */
	fpi_futex_wait_until((uint32_t *)(void *)&word->value, (uint32_t)seen,
			     FPI_FUTEX_ANY, deadline);
#endif
}

FPI_COLD uint64_t fpi_timer_lock_slow(struct fpi_timer *t)
{
	uint32_t spins = 0;

	for (;;) {
		uint64_t word = FPI_LOAD(&t->word, FPI_RELAXED);

		/* Acquire: partner TIMER_UNLOCK. */
		if (!(word & FPI_TIMER_LOCKED) &&
		    FPI_CAS(&t->word, &word, word | FPI_TIMER_LOCKED,
			    FPI_MO(TIMER_LOCK_SLOW, ACQUIRE)))
			return word;
		if (spins++ < FPI_TIMER_SPINS)
			fpi_cpu_relax();
		else if (word & FPI_TIMER_LOCKED)
			nap(&t->word, word, fpi_deadline(fpi_now_ns(), NAP_NS));
	}
}

/* Locks the timer of an id. Returns its record, or NULL: stale, and nothing was written. */
FPI_INLINE struct fpi_timer *lock_id(fp_timer_wheel *w, uint64_t id, uint64_t *locked)
{
	uint64_t index = id & w->index_mask, word;
	struct fpi_timer *t = &w->records[index];

	if (FPI_UNLIKELY(index >= w->max_timers))
		return NULL;
	word = FPI_LOAD(&t->word, FPI_RELAXED);
	if (FPI_UNLIKELY(!fpi_timer_is(w, id, word)))
		return NULL;
	/* Acquire: what the last holder wrote. Partner: TIMER_UNLOCK. */
	if (FPI_UNLIKELY(word & FPI_TIMER_LOCKED) ||
	    FPI_UNLIKELY(!FPI_CAS(&t->word, &word, word | FPI_TIMER_LOCKED,
				  FPI_MO(TIMER_LOCK_ID, ACQUIRE)))) {
		word = fpi_timer_lock_slow(t);
		if (!fpi_timer_is(w, id, word)) {
			fpi_timer_unlock(t, word);
			return NULL;
		}
	}
	*locked = word;
	FPI_STEP(TIMER_LOCKED);
	return t;
}

/* ---- lanes ---- */

static void push(fp_timer_wheel *w, struct fpi_timer *t, uint32_t index, uint64_t me)
{
	uint32_t number = fpi_timer_lane_of(me), bit = 1u << number;
	struct fpi_timer_lane *lane = &w->lanes[number];
	uint32_t head = FPI_LOAD(&lane->head, FPI_RELAXED);

	do {
		FPI_PLAIN_STORE(&t->next, head);
		/*
		 * Release: the link and the record. Acquire: if this comes after the
		 * poller's exchange, the load below sees the cleared bit. Partner: LANE_TAKE.
		 */
	} while (!FPI_CAS(&lane->head, &head, index + 1, FPI_MO(LANE_PUSH, ACQ_REL)));
	FPI_STEP(TIMER_PUSHED);
	/* Release: the push, to who finds the bit. Partner: PENDING_TAKE. */
	if (!(FPI_LOAD(&w->pending, FPI_RELAXED) & bit))
		FPI_FETCH_OR(&w->pending, bit, FPI_MO(PENDING_SET, RELEASE));
}

/* One timer that came by a lane. */
static void settle(fp_timer_wheel *w, uint32_t index)
{
	struct fpi_timer *t = &w->records[index];
	uint64_t word = fpi_timer_lock(t) & ~FPI_TIMER_QUEUED;
	uint64_t exp = FPI_LOAD(&t->exp, FPI_RELAXED);

	if (word & FPI_TIMER_DEAD) {
		if (word & FPI_TIMER_ENTRY)
			fpi_wheel_remove(w, index);
		fpi_timer_recycle(w, index, word);
		return;
	}
	if (word & FPI_TIMER_ARMED) {
		int has = (word & FPI_TIMER_ENTRY) != 0;

		if (!has || FPI_PLAIN_LOAD(&t->entry_exp) > exp) {
			if (has)
				fpi_wheel_remove(w, index);
			fpi_wheel_insert(w, index, exp);
			word |= FPI_TIMER_ENTRY;
		}
	}
	fpi_timer_unlock(t, word);
}

void fpi_wheel_drain(fp_timer_wheel *w)
{
	uint32_t lanes;

	if (!FPI_LOAD(&w->pending, FPI_RELAXED))
		return;
	/* Until the poll's end says better: what is in no lane any more may be due. */
	FPI_STORE(&w->next, 0, FPI_RELAXED);
	/* Acquire: the pushes. Partner: PENDING_SET. Release: `next`. Partner: PENDING_LOOK. */
	lanes = FPI_EXCHANGE(&w->pending, 0, FPI_MO(PENDING_TAKE, ACQ_REL));
	for (; lanes; lanes &= lanes - 1) {
		struct fpi_timer_lane *lane = &w->lanes[__builtin_ctz(lanes)];
		uint32_t at, next;

		/*
		 * Acquire: links and records. Release: that `pending` was cleared, to the
		 * next push. Partner: LANE_PUSH.
		 */
		at = FPI_EXCHANGE(&lane->head, 0, FPI_MO(LANE_TAKE, ACQ_REL));
		for (; at; at = next) {
			/* Another lane may have it as soon as QUEUED is clear. */
			next = FPI_PLAIN_LOAD(&w->records[at - 1].next);
			if (next)
				fpi_prefetch_write(&w->records[next - 1]);
			settle(w, at - 1);
		}
	}
}

/* ---- arm ---- */

/* Counters of LIBFP_STATS. */
static FPI_NOINLINE void count_arm(fp_timer_wheel *w, uint64_t me, int was)
{
	struct fpi_timer_lane *lane = &w->lanes[fpi_timer_lane_of(me)];

	FPI_FETCH_ADD(was ? &lane->rearms : &lane->arms, 1, FPI_RELAXED);
}

static FPI_NOINLINE void count_cancel(fp_timer_wheel *w)
{
	FPI_FETCH_ADD(&w->lanes[fpi_timer_lane_of(fpi_timer_me())].cancelled, 1,
		      FPI_RELAXED);
}

/* With the wheel: a new entry. */
FPI_INLINE void arm_here(fp_timer_wheel *w, struct fpi_timer *t, uint32_t index,
			 uint64_t word, uint64_t exp, enum fpi_wheel_had had)
{
	uint64_t start;

	if (word & FPI_TIMER_ENTRY)
		fpi_wheel_remove(w, index);
	fpi_timer_set(t, exp);
	start = fpi_slot_insert(w, index, exp);
	fpi_timer_unlock(t, word | FPI_TIMER_ENTRY);
	/* Inside a poll its end says when the next one is due. */
	if (had == FPI_WHEEL_NESTED)
		return;
	if (FPI_LIKELY(start >= FPI_LOAD(&w->next, FPI_RELAXED))) {
		fpi_wheel_give(w);
		return;
	}
	FPI_STORE(&w->next, start, FPI_RELAXED);
	fpi_wheel_give(w);
	fpi_wheel_wake(w, start);
}

/* Without: the poller will make it. */
static FPI_NOINLINE void arm_there(fp_timer_wheel *w, struct fpi_timer *t, uint32_t index,
				   uint64_t word, uint64_t exp, uint64_t me)
{
	fpi_timer_set(t, exp);
	if (!(word & FPI_TIMER_QUEUED))
		push(w, t, index, me);
	fpi_timer_unlock(t, word | FPI_TIMER_QUEUED);
	/* Also if it was queued: the arm that queued it may have been for later. */
	fpi_wheel_wake(w, exp);
}

/* A locked timer; unlocks it. Returns whether it was armed. */
FPI_INLINE int arm(fp_timer_wheel *w, struct fpi_timer *t, uint32_t index, uint64_t word,
		   uint64_t exp, uint64_t repeats)
{
	uint64_t me = fpi_timer_me();
	int mine = FPI_LOAD(&w->owner, FPI_RELAXED) == me;
	int was = (word & FPI_TIMER_ARMED) != 0;
	enum fpi_wheel_had had;

	word = (word & ~FPI_TIMER_REPEATS) | FPI_TIMER_ARMED | repeats;
	if (FPI_UNLIKELY(w->flags & LIBFP_STATS))
		count_arm(w, me, was);
	/*
	 * What a callback arms for the tick being fired, or earlier, is not for this poll;
	 * what waits for the next one, and is moved later, is.
	 */
	if (word & FPI_TIMER_ENTRY && FPI_PLAIN_LOAD(&t->entry_exp) <= exp &&
	    !(mine && FPI_UNLIKELY(fpi_wheel_is_polling(w, me)) &&
	      (exp <= w->cur || t->slot == FPI_SLOT_LATE))) {
		fpi_timer_set(t, exp);
		fpi_timer_unlock(t, word);
		return was;
	}
	had = mine ? fpi_wheel_try(w, me) : FPI_WHEEL_NOT;
	if (had != FPI_WHEEL_NOT)
		arm_here(w, t, index, word, exp, had);
	else
		arm_there(w, t, index, word, exp, me);
	return was;
}

FPI_INLINE int arm_id(fp_timer_wheel *w, uint64_t id, uint64_t exp)
{
	uint64_t word;
	struct fpi_timer *t = lock_id(w, id, &word);

	if (FPI_UNLIKELY(!t))
		return -ESTALE;
	return arm(w, t, (uint32_t)(id & w->index_mask), word, exp, 0);
}

int fp_timer_arm(fp_timer_wheel *wheel, uint64_t id, uint64_t expiry_tick)
{
	return FPI_LIKELY(wheel != NULL) ? arm_id(wheel, id, expiry_tick) : -EINVAL;
}

int fp_timer_arm_periodic(fp_timer_wheel *wheel, uint64_t id, uint64_t first_tick,
			  uint64_t period_ticks, uint32_t policy)
{
	uint32_t index;
	struct fpi_timer *t;
	uint64_t word;

	if (!wheel || !period_ticks)
		return -EINVAL;
	if (policy > LIBFP_TIMER_CATCH_UP)
		return -EOPNOTSUPP;
	index = (uint32_t)(id & wheel->index_mask);
	t = lock_id(wheel, id, &word);
	if (!t)
		return -ESTALE;
	wheel->periods[index] = (struct fpi_timer_period){ period_ticks, 0 };
	return arm(wheel, t, index, word, first_tick,
		   FPI_TIMER_PERIODIC | (uint64_t)policy << FPI_TIMER_POLICY_SHIFT);
}

/* ---- touch ---- */

FPI_INLINE int touch_id(fp_timer_wheel *w, uint64_t id, uint64_t exp)
{
	uint64_t word;
	struct fpi_timer *t = lock_id(w, id, &word);

	if (FPI_UNLIKELY(!t))
		return -ESTALE;
	if (word & FPI_TIMER_ARMED && FPI_LOAD(&t->exp, FPI_RELAXED) < exp)
		fpi_timer_set(t, exp);
	fpi_timer_unlock(t, word);
	return (word & FPI_TIMER_ARMED) != 0;
}

int fp_timer_touch(fp_timer_wheel *wheel, uint64_t id, uint64_t expiry_tick)
{
	return FPI_LIKELY(wheel != NULL) ? touch_id(wheel, id, expiry_tick) : -EINVAL;
}

/* ---- cancel ---- */

/* Whether the callback of `id` runs; if not, what it wrote is visible. */
static int is_running(const fp_timer_wheel *w, uint64_t id)
{
	/* Partners: RUNNING_CLEAR, and RUNNING_SET of the next callback. */
	return FPI_LOAD(&w->running, FPI_MO(RUNNING_SYNC, ACQUIRE)) == id;
}

/* What the word says after a cancel; *was: it was armed. */
FPI_INLINE int cancel(fp_timer_wheel *w, struct fpi_timer *t, uint64_t id, uint64_t word,
		      int *was)
{
	/* A timer that never ran does not look at the poller's line. */
	int runs = word & FPI_TIMER_FIRED && is_running(w, id);

	*was = (word & FPI_TIMER_ARMED) != 0;
	fpi_timer_unlock(t, word & ~(FPI_TIMER_ARMED | FPI_TIMER_REPEATS));
	if (FPI_UNLIKELY(w->flags & LIBFP_STATS) && *was)
		count_cancel(w);
	return runs ? -EINPROGRESS : *was;
}

static int cancel_id(fp_timer_wheel *w, uint64_t id, int *was)
{
	struct fpi_timer *t;
	uint64_t word;

	*was = 0;
	t = lock_id(w, id, &word);
	return FPI_LIKELY(t != NULL) ? cancel(w, t, id, word, was) : -ESTALE;
}

int fp_timer_cancel(fp_timer_wheel *wheel, uint64_t id)
{
	int was;

	return FPI_LIKELY(wheel != NULL) ? cancel_id(wheel, id, &was) : -EINVAL;
}

int fpi_timer_cancel_at(fp_timer_wheel *w, uint32_t index, int *was)
{
	struct fpi_timer *t = &w->records[index];
	uint64_t word = fpi_timer_lock(t);

	return cancel(w, t, fpi_timer_id(w, index, word), word, was);
}

/* Returns whether the callback of `id` has ended before the deadline. */
static int wait_for(fp_timer_wheel *w, uint64_t id, uint64_t deadline)
{
	uint64_t length = NAP_NS;

	for (uint32_t spins = 0; spins < FPI_TIMER_SPINS; spins++) {
		if (!is_running(w, id))
			return 1;
		fpi_cpu_relax();
	}
	/* The poller does not know who waits, and pays nothing for it: naps. */
	while (is_running(w, id)) {
		uint64_t now = fpi_now_ns(), until = fpi_deadline(now, length);

		if (now >= deadline)
			return 0;
		nap(&w->running, id, until < deadline ? until : deadline);
		if (length < NAP_MAX_NS)
			length *= 2;
	}
	return 1;
}

int fp_timer_cancel_sync(fp_timer_wheel *wheel, uint64_t id, uint64_t timeout_ns)
{
	uint64_t deadline = 0;
	int any = 0, err = fpi_wheel_check(wheel);

	if (err)
		return err;
	/* No id, but what `running` is when nothing runs. */
	if (!id)
		return -ESTALE;
	if (is_running(wheel, id) && fpi_wheel_is_polling(wheel, fpi_timer_me()))
		return -EDEADLK;
	for (;;) {
		int was, rc = cancel_id(wheel, id, &was);

		any |= was;
		if (rc != -EINPROGRESS && !(rc == -ESTALE && is_running(wheel, id)))
			return rc == -ESTALE ? rc : any;
		if (!timeout_ns)
			return -ETIMEDOUT;
		if (!deadline)
			deadline = fpi_deadline(fpi_now_ns(), timeout_ns);
		if (!wait_for(wheel, id, deadline))
			return -ETIMEDOUT;
	}
}

/* ---- destroy ---- */

static int destroy_id(fp_timer_wheel *w, uint64_t id)
{
	uint64_t me = fpi_timer_me(), word;
	uint32_t index;
	struct fpi_timer *t;
	enum fpi_wheel_had had = FPI_WHEEL_NOT;
	int runs, was;

	index = (uint32_t)(id & w->index_mask);
	t = lock_id(w, id, &word);
	if (!t)
		return -ESTALE;
	runs = word & FPI_TIMER_FIRED && is_running(w, id);
	was = (word & FPI_TIMER_ARMED) != 0;
	if (w->flags & LIBFP_STATS && was)
		count_cancel(w);
	word &= ~(FPI_TIMER_ARMED | FPI_TIMER_REPEATS);
	if (word & FPI_TIMER_ENTRY && FPI_LOAD(&w->owner, FPI_RELAXED) == me)
		had = fpi_wheel_try(w, me);
	if (had != FPI_WHEEL_NOT) {
		fpi_wheel_remove(w, index);
		word &= ~FPI_TIMER_ENTRY;
		if (had == FPI_WHEEL_TAKEN)
			fpi_wheel_give(w);
	}
	if (word & (FPI_TIMER_ENTRY | FPI_TIMER_QUEUED)) {
		if (!(word & FPI_TIMER_QUEUED))
			push(w, t, index, me);
		fpi_timer_unlock(t, word | FPI_TIMER_DEAD | FPI_TIMER_QUEUED);
	} else {
		fpi_timer_recycle(w, index, word);
	}
	return runs ? -EINPROGRESS : was;
}

int fp_timer_destroy(fp_timer_wheel *wheel, uint64_t id)
{
	return wheel ? destroy_id(wheel, id) : -EINVAL;
}

/* ---- many ---- */

/* Asks for the records of ids that come soon. */
FPI_INLINE void prefetch(const fp_timer_wheel *w, const uint64_t *ids, uint32_t i,
			 uint32_t n)
{
	if (i + PREFETCH_AHEAD < n)
		fpi_prefetch_write(&w->records[ids[i + PREFETCH_AHEAD] & w->index_mask]);
}

static int check_many(const fp_timer_wheel *w, const uint64_t *ids, uint32_t n)
{
	return !w || (n && !ids) || n > INT32_MAX ? -EINVAL : 0;
}

static void put_result(int32_t *results, uint32_t i, int rc)
{
	if (results)
		results[i] = rc;
}

int32_t fp_timer_arm_bulk(fp_timer_wheel *wheel, const uint64_t *ids,
			  const uint64_t *expiry_ticks, uint32_t n, int32_t *results)
{
	int32_t armed = 0;

	if (check_many(wheel, ids, n) || (n && !expiry_ticks))
		return -EINVAL;
	for (uint32_t i = 0; i < n; i++) {
		int rc;

		prefetch(wheel, ids, i, n);
		rc = arm_id(wheel, ids[i], expiry_ticks[i]);
		armed += rc >= 0;
		put_result(results, i, rc);
	}
	return armed;
}

int32_t fp_timer_touch_bulk(fp_timer_wheel *wheel, const uint64_t *ids,
			    const uint64_t *expiry_ticks, uint32_t n, int32_t *results)
{
	int32_t armed = 0;

	if (check_many(wheel, ids, n) || (n && !expiry_ticks))
		return -EINVAL;
	for (uint32_t i = 0; i < n; i++) {
		int rc;

		prefetch(wheel, ids, i, n);
		rc = touch_id(wheel, ids[i], expiry_ticks[i]);
		armed += rc > 0;
		put_result(results, i, rc);
	}
	return armed;
}

int32_t fp_timer_cancel_bulk(fp_timer_wheel *wheel, const uint64_t *ids, uint32_t n,
			     int32_t *results)
{
	int32_t cancelled = 0;

	if (check_many(wheel, ids, n))
		return -EINVAL;
	for (uint32_t i = 0; i < n; i++) {
		int rc, was;

		prefetch(wheel, ids, i, n);
		rc = cancel_id(wheel, ids[i], &was);
		cancelled += rc > 0;
		put_result(results, i, rc);
	}
	return cancelled;
}

int32_t fp_timer_destroy_bulk(fp_timer_wheel *wheel, const uint64_t *ids, uint32_t n,
			      int32_t *results)
{
	int32_t destroyed = 0;

	if (check_many(wheel, ids, n))
		return -EINVAL;
	for (uint32_t i = 0; i < n; i++) {
		int rc;

		prefetch(wheel, ids, i, n);
		rc = destroy_id(wheel, ids[i]);
		destroyed += rc >= 0 || rc == -EINPROGRESS;
		put_result(results, i, rc);
	}
	return destroyed;
}
