/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a wheel must do, told by an array: all armed timers sorted by (expiry, order of
 * arming). It knows nothing of slots, levels and lazy entries. test_timer_oracle.c makes
 * every call on the wheel and here, and compares.
 */
#ifndef FPT_TIMER_ORACLE_H
#define FPT_TIMER_ORACLE_H

#include "timer_test.h"

#define TO_SLOTS 1024 /* at most so many timers at once */

struct to_timer {
	uint64_t id; /* of the timer, or of the last one in this slot */
	uint64_t expiry;
	uint64_t order; /* of arming */
	uint64_t period;
	uint64_t missed; /* SKIP: periods already passed over */
	uint32_t policy;
	int has_callback;
	int exists;
	int armed;
	int waits; /* armed by a callback for a tick that was over: for the next poll */
};

struct to_place {
	uint64_t expiry, order;
	uint32_t slot;
};

static struct to_oracle {
	fp_timer_wheel *w;
	uint64_t now; /* of the last poll */
	uint64_t orders;
	uint32_t slots;

	struct to_timer t[TO_SLOTS];
	struct to_place due[TO_SLOTS]; /* sorted: all that is armed and does not wait */
	uint32_t n_due;
	uint32_t waiting[TO_SLOTS];
	uint32_t n_waiting;

	/* The poll in progress. */
	uint64_t tick;	  /* being fired */
	uint64_t over;	  /* the tick up to which all has been fired */
	uint64_t running; /* id whose callback runs, 0: none */
	int64_t taken, max;

	/* Over the life of the wheel. */
	uint64_t fired, overruns, late_max, arms;
} to;

/* Where (expiry, order) is in due[], or belongs. */
static inline uint32_t to_place_of(uint64_t expiry, uint64_t order)
{
	uint32_t from = 0, end = to.n_due;

	while (from < end) {
		uint32_t mid = (from + end) / 2;
		const struct to_place *p = &to.due[mid];

		if (p->expiry < expiry || (p->expiry == expiry && p->order < order))
			from = mid + 1;
		else
			end = mid;
	}
	return from;
}

static inline void to_insert(uint32_t slot)
{
	struct to_timer *t = &to.t[slot];
	uint32_t at = to_place_of(t->expiry, t->order);

	t->waits = 0;
	t->armed = 1;
	memmove(to.due + at + 1, to.due + at, (to.n_due - at) * sizeof(*to.due));
	to.due[at] = (struct to_place){ t->expiry, t->order, slot };
	to.n_due++;
}

static inline void to_disarm(uint32_t slot)
{
	struct to_timer *t = &to.t[slot];
	uint32_t at = 0;

	if (!t->armed)
		return;
	t->armed = 0;
	if (t->waits) {
		while (to.waiting[at] != slot)
			at++;
		to.waiting[at] = to.waiting[--to.n_waiting];
		t->waits = 0;
		return;
	}
	at = to_place_of(t->expiry, t->order);
	CHECK_EQ(to.due[at].slot, slot);
	to.n_due--;
	memmove(to.due + at, to.due + at + 1, (to.n_due - at) * sizeof(*to.due));
}

/* T3: what a callback arms for a tick that is over, or is being fired, waits. */
static inline void to_arm(uint32_t slot, uint64_t expiry)
{
	struct to_timer *t = &to.t[slot];

	to_disarm(slot);
	t->expiry = expiry;
	if (!to.running || expiry > to.over) {
		to_insert(slot);
		return;
	}
	t->armed = t->waits = 1;
	to.waiting[to.n_waiting++] = slot;
}

/*
 * A poll for nothing, or before the next expiry, does nothing: it moves no time either.
 * One of several wheels takes no heed of the latter.
 */
static inline void to_begin_poll(uint64_t now, int64_t max, int several)
{
	uint64_t next = UINT64_MAX;

	CHECK(fp_timer_wheel_next_expiry(to.w, &next) >= 0);
	to.taken = to.max = 0;
	if (!max || now < to.now || (now < next && !several))
		return;
	to.max = max;
	to.now = now;
	while (to.n_waiting)
		to_insert(to.waiting[--to.n_waiting]);
}

static inline void to_end_poll(void)
{
	if (to.taken < to.max)
		to.over = to.now;
}

/* Takes what fires next; 0: nothing. */
static inline int to_take(fp_timer_record *r, struct to_timer **which)
{
	for (;;) {
		uint32_t slot = to.due[0].slot;
		struct to_timer *t = &to.t[slot];
		uint64_t over;

		if (to.taken == to.max || !to.n_due || t->expiry > to.now)
			return 0;
		over = t->period ? (to.now - t->expiry) / t->period : 0;
		to_disarm(slot);
		if (over && t->policy == LIBFP_TIMER_SKIP) {
			t->missed += over;
			t->expiry += over * t->period;
			to_insert(slot);
			continue;
		}
		*r = (fp_timer_record){ t->id, slot + 1, t->expiry, 0, 0 };
		if (t->policy == LIBFP_TIMER_SKIP)
			over = t->missed;
		t->missed = 0;
		to.tick = t->expiry;
		if (to.over < to.tick)
			to.over = to.tick;
		to.taken++;
		to.fired++;
		if (to.late_max < to.now - t->expiry)
			to.late_max = to.now - t->expiry;
		*which = t;
		if (!t->period)
			return 1;
		r->overruns = over > UINT32_MAX ? UINT32_MAX : (uint32_t)over;
		r->flags = LIBFP_TIMER_IS_PERIODIC;
		if (t->policy != LIBFP_TIMER_CATCH_UP)
			to.overruns += over;
		over = t->policy == LIBFP_TIMER_COALESCE ? over : 0;
		t->expiry += over * t->period;
		if (t->period <= UINT64_MAX - t->expiry) {
			t->expiry += t->period;
			to_insert(slot);
		}
		return 1;
	}
}

#endif
