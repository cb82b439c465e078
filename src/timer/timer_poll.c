/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Polls: what is due fires, in order.
 *
 * A poll takes the wheel, takes in what came by the lanes and what was armed for the past,
 * then alternates between firing the first entry that is due and opening the slot that
 * starts next, whichever is earlier; at equal ticks slots are opened first, so that all
 * timers of a tick are together. At its end it moves chunks of large slots ahead and says
 * in `next` when there will be something to do. A poll before that is a load and a
 * comparison.
 *
 * Firing locks the timer and compares its record with the entry:
 *     not armed                    the entry is dropped
 *     expiry later than the entry  re-armed for later: the entry is made anew
 *     the same, stamp differs      re-armed for the same tick: made anew, in its new place
 *     else                         it fires
 * The callback runs with the wheel taken, which nobody waits for, and the timer unlocked.
 *
 * Progress: blocking per timer (its LOCKED bit); a second poll is told -EBUSY.
 */
#include <errno.h>

#include "timer/timer_internal.h"

#define PREFETCH_AHEAD 4

/* ---- having the wheel for a poll ---- */

static int begin(fp_timer_wheel *w, uint64_t me)
{
	/* An owner's arm is over by then, unless it is preempted. */
	for (uint32_t spins = 0; spins < FPI_TIMER_SPINS; spins++) {
		if (FPI_LOAD(&w->polling, FPI_RELAXED))
			return -EBUSY;
		if (fpi_wheel_take(w)) {
			FPI_STORE(&w->polling, me, FPI_RELAXED);
			if (FPI_LOAD(&w->owner, FPI_RELAXED) != me)
				FPI_STORE(&w->owner, me, FPI_RELAXED);
			FPI_STEP(TIMER_POLLING);
			return 0;
		}
		fpi_cpu_relax();
	}
	return -EBUSY;
}

static void leave(fp_timer_wheel *w)
{
	FPI_STORE(&w->polling, 0, FPI_RELAXED);
	fpi_wheel_give(w);
}

static void take_late(fp_timer_wheel *w)
{
	struct fpi_slot late = w->slots[FPI_SLOT_LATE];

	w->slots[FPI_SLOT_LATE] = (struct fpi_slot){ 0, 0 };
	if (late.chunks > FPI_RUN_CHUNKS || !fpi_due_run(w, &late))
		fpi_due_list(w, FPI_LIST_LATE, &late);
}

static void take_in(fp_timer_wheel *w, uint64_t now)
{
	if (now > w->last_now)
		w->last_now = now;
	w->handled = 0;
	w->fired_now = 0;
	w->kept_now = 0;
	w->late_now = 0;
	w->next_before = FPI_LOAD(&w->next, FPI_RELAXED);
	fpi_wheel_drain(w);
	if (w->slots[FPI_SLOT_LATE].head)
		take_late(w);
}

static void count(fpi_atomic_u64 *counter, uint64_t n)
{
	FPI_STORE(counter, FPI_LOAD(counter, FPI_RELAXED) + n, FPI_RELAXED);
}

static void count_max(fpi_atomic_u64 *counter, uint64_t n)
{
	if (n > FPI_LOAD(counter, FPI_RELAXED))
		FPI_STORE(counter, n, FPI_RELAXED);
}

/* all: nothing that is due was left. */
static void end(fp_timer_wheel *w, uint64_t now, int all)
{
	uint64_t next, before;

	if (all) {
		FPI_PLAIN_STORE(&w->cur, now);
		fpi_wheel_migrate(w, now);
	}
	next = fpi_wheel_next(w);
	before = w->next_before;
	count(&w->polls, 1);
	count(&w->fired, w->fired_now);
	count(&w->expired, w->fired_now - w->kept_now);
	count_max(&w->late_max, w->late_now);
	count(&w->moved, w->handled);
	if (!w->fired_now)
		count_max(&w->moved_max, w->handled);
	FPI_STORE(&w->next, next, FPI_RELAXED);
	leave(w);
	/* Another thread may sleep until what was next before. */
	if (FPI_UNLIKELY(next < before))
		fpi_wheel_wake(w, next);
}

/* ---- what is due ---- */

/* Takes the first entry that is due, opening slots on the way. Returns 0: none is. */
FPI_INLINE int next_due(fp_timer_wheel *w, uint64_t now, struct fpi_key *key)
{
	for (;;) {
		uint32_t from;
		int found = fpi_due_peek(w, key, &from);

		if (FPI_UNLIKELY(w->event_stale))
			fpi_wheel_find_event(w);
		if (found &&
		    (w->event_level == FPI_WHEEL_LEVELS || key->exp < w->event_tick)) {
			if (key->exp > now)
				return 0;
			fpi_due_take(w, from);
			if (key->exp > w->cur)
				w->cur = key->exp;
			if (w->run_count > PREFETCH_AHEAD)
				fpi_prefetch_write(
					&w->records[w->run[w->run_count - PREFETCH_AHEAD]
							    .index]);
			return 1;
		}
		if (w->event_level == FPI_WHEEL_LEVELS || w->event_tick > now)
			return 0;
		fpi_wheel_open(w);
	}
}

/* As next_due(), without taking it. */
static int peek_due(fp_timer_wheel *w, uint64_t now, uint64_t *exp)
{
	for (;;) {
		struct fpi_key key;
		uint32_t from;
		int found = fpi_due_peek(w, &key, &from);

		if (w->event_stale)
			fpi_wheel_find_event(w);
		if (found &&
		    (w->event_level == FPI_WHEEL_LEVELS || key.exp < w->event_tick)) {
			*exp = key.exp;
			return key.exp <= now;
		}
		if (w->event_level == FPI_WHEEL_LEVELS || w->event_tick > now)
			return 0;
		fpi_wheel_open(w);
	}
}

/* ---- firing ---- */

/*
 * Sets a periodic timer's next expiry, and the count of a record. Returns 1: it fires; 0:
 * it fires later, in its place. The word loses ARMED and ENTRY if there is no next one.
 */
static FPI_NOINLINE int repeat(fp_timer_wheel *w, uint32_t index, uint64_t *word,
			       uint64_t now, uint64_t exp, uint32_t *overruns)
{
	struct fpi_timer *t = &w->records[index];
	struct fpi_timer_period *period = &w->periods[index];
	uint64_t policy = (*word & FPI_TIMER_POLICY) >> FPI_TIMER_POLICY_SHIFT;
	uint64_t missed = (now - exp) / period->ticks, left = missed;

	if (policy == LIBFP_TIMER_SKIP) {
		if (missed) {
			exp += missed * period->ticks;
			period->skipped += missed;
			FPI_STORE(&t->exp, exp, FPI_RELAXED);
			fpi_wheel_reinsert(w, index, exp);
			return 0;
		}
		left = period->skipped;
		period->skipped = 0;
	} else if (policy == LIBFP_TIMER_COALESCE) {
		exp += missed * period->ticks;
	}
	*overruns = left < UINT32_MAX ? (uint32_t)left : UINT32_MAX;
	if (policy != LIBFP_TIMER_CATCH_UP)
		count(&w->overruns, left);
	if (period->ticks > UINT64_MAX - exp) {
		*word &= ~(FPI_TIMER_ARMED | FPI_TIMER_ENTRY | FPI_TIMER_REPEATS);
		return 1;
	}
	w->kept_now++;
	exp += period->ticks;
	FPI_STORE(&t->exp, exp, FPI_RELAXED);
	fpi_wheel_reinsert(w, index, exp);
	return 1;
}

static void run(fp_timer_wheel *w, fp_timer_fn cb, const fp_timer_record *record,
		void *user)
{
	cb(w, record, user);
	/* Release: what the callback did. Partner: RUNNING_SYNC. */
	FPI_STORE(&w->running, 0, FPI_MO(RUNNING_CLEAR, RELEASE));
}

/* Fires a timer whose entry was taken. Returns 1, or 0: it was not to be fired. */
FPI_INLINE uint32_t fire(fp_timer_wheel *w, const struct fpi_key *key, uint64_t now,
			 fp_timer_record *to)
{
	struct fpi_timer *t = &w->records[key->index];
	uint64_t word = fpi_timer_lock(t), exp = FPI_LOAD(&t->exp, FPI_RELAXED);
	fp_timer_record local, *record = to ? to : &local;
	fp_timer_fn cb;
	void *user;

	if (FPI_UNLIKELY(!(word & FPI_TIMER_ARMED))) {
		w->handled++;
		fpi_timer_unlock(t, word & ~FPI_TIMER_ENTRY);
		return 0;
	}
	if (FPI_UNLIKELY(exp > key->exp ||
			 (exp == key->exp &&
			  FPI_LOAD(&t->stamp, FPI_RELAXED) != key->stamp))) {
		w->handled++;
		fpi_wheel_reinsert(w, key->index, exp);
		fpi_timer_unlock(t, word);
		return 0;
	}
	record->id = fpi_timer_id(w, key->index, word);
	record->user = (uint64_t)(uintptr_t)t->user;
	record->expiry_tick = exp;
	record->overruns = 0;
	record->flags = 0;
	if (FPI_LIKELY(!(word & FPI_TIMER_PERIODIC))) {
		word &= ~(FPI_TIMER_ARMED | FPI_TIMER_ENTRY);
	} else {
		record->flags = LIBFP_TIMER_IS_PERIODIC;
		if (!repeat(w, key->index, &word, now, exp, &record->overruns)) {
			w->handled++;
			fpi_timer_unlock(t, word);
			return 0;
		}
	}
	if (now - exp > w->late_now)
		w->late_now = now - exp;
	cb = FPI_PLAIN_LOAD(&t->cb);
	user = FPI_PLAIN_LOAD(&t->user);
	if (to || !cb) {
		fpi_timer_unlock(t, word);
		return 1;
	}
	/*
	 * Before the unlock: who locks the timer from here on sees that it runs. Release:
	 * that the callback before has ended. Partner: RUNNING_SYNC.
	 */
	FPI_STORE(&w->running, record->id, FPI_MO(RUNNING_SET, RELEASE));
	fpi_timer_unlock(t, word | FPI_TIMER_FIRED);
	FPI_STEP(TIMER_RUNNING);
	run(w, cb, record, user);
	return 1;
}

/* ---- polls ---- */

/* Whether a poll has nothing to do. Early, never late: see fpi_wheel_next(). */
FPI_INLINE int is_idle(const fp_timer_wheel *w, uint64_t now)
{
	return now < FPI_LOAD(&w->next, FPI_RELAXED) &&
	       !FPI_LOAD(&w->pending, FPI_RELAXED);
}

/* Fires up to max: into records, or by their callbacks if that is NULL. */
FPI_INLINE int64_t poll_due(fp_timer_wheel *w, uint64_t now, fp_timer_record *records,
			    uint32_t max)
{
	struct fpi_key key;
	uint64_t fired = 0;
	int err = begin(w, fpi_timer_me());

	if (err)
		return err;
	take_in(w, now);
	/* A clock that has gone back fires nothing. */
	if (now < w->last_now)
		max = 0;
	while (fired < max && next_due(w, now, &key))
		fired += fire(w, &key, now, records ? &records[fired] : NULL);
	w->fired_now = fired;
	end(w, now, fired < max);
	return (int64_t)fired;
}

FPI_NOINLINE int64_t fpi_wheel_poll(fp_timer_wheel *w, uint64_t now, uint32_t max)
{
	return poll_due(w, now, NULL, max);
}

static FPI_NOINLINE int64_t poll_records(fp_timer_wheel *w, uint64_t now,
					 fp_timer_record *records, uint32_t n)
{
	return poll_due(w, now, records, n);
}

int64_t fp_timer_wheel_poll(fp_timer_wheel *wheel, uint64_t now_tick, uint32_t max)
{
	if (FPI_UNLIKELY(!wheel))
		return -EINVAL;
	if (FPI_LIKELY(is_idle(wheel, now_tick)) || !max)
		return 0;
	return fpi_wheel_poll(wheel, now_tick, max);
}

int32_t fp_timer_wheel_poll_burst(fp_timer_wheel *wheel, uint64_t now_tick,
				  fp_timer_record *records, uint32_t n)
{
	if (FPI_UNLIKELY(!wheel || (n && !records) || n > INT32_MAX))
		return -EINVAL;
	if (FPI_LIKELY(is_idle(wheel, now_tick)) || !n)
		return 0;
	return (int32_t)poll_records(wheel, now_tick, records, n);
}

/* ---- several wheels ---- */

/* Begins a poll of all. Returns 0, or -EBUSY and none has begun. */
static int begin_all(fp_timer_wheel *const *wheels, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (!begin(wheels[i], fpi_timer_me()))
			continue;
		while (i-- > 0)
			leave(wheels[i]);
		return -EBUSY;
	}
	return 0;
}

/* The wheel with the earliest timer that is due, or n. */
static uint32_t first_due(fp_timer_wheel *const *wheels, uint32_t n, uint64_t now)
{
	uint64_t first = 0;
	uint32_t which = n;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t exp;

		if (now < wheels[i]->last_now || !peek_due(wheels[i], now, &exp))
			continue;
		if (which == n || exp < first) {
			first = exp;
			which = i;
		}
	}
	return which;
}

int64_t fp_timer_wheel_poll_many(fp_timer_wheel *const *wheels, uint32_t n,
				 uint64_t now_tick, uint32_t max)
{
	uint64_t fired = 0;
	uint32_t which;
	int err;

	if (n && !wheels)
		return -EINVAL;
	for (uint32_t i = 0; i < n; i++)
		if (!wheels[i])
			return -EINVAL;
	if (!max)
		return 0;
	err = begin_all(wheels, n);
	if (err)
		return err;
	for (uint32_t i = 0; i < n; i++)
		take_in(wheels[i], now_tick);
	while (fired < max) {
		struct fpi_key key;

		which = first_due(wheels, n, now_tick);
		if (which == n)
			break;
		if (next_due(wheels[which], now_tick, &key) &&
		    fire(wheels[which], &key, now_tick, NULL)) {
			wheels[which]->fired_now++;
			fired++;
		}
	}
	for (uint32_t i = 0; i < n; i++)
		end(wheels[i], now_tick, fired < max && now_tick >= wheels[i]->last_now);
	return (int64_t)fired;
}
