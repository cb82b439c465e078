/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Books of a wheel that many threads use: every call is made through a function here that
 * notes its result with the calling thread, and when all threads have ended
 *
 *     armed = expired + cancelled + revoked + still armed
 *
 * must hold exactly. "Revoked" is an arming that was made while the timer's callback ran
 * and was undone by a cancel that could only answer -EINPROGRESS, or by a cancel_sync
 * that waited: no result tells of it, so it comes from the wheel's own counter
 * (LIBFP_STATS), or, without that, is what is left over.
 */
#ifndef FPT_TIMER_ACCOUNTS_H
#define FPT_TIMER_ACCOUNTS_H

#include <pthread.h>
#include <sched.h>

#include "base/compiler.h"
#include "timer_test.h"

struct ta_book {
	uint64_t arms;	      /* of timers that were not armed */
	uint64_t moves;	      /* of timers that were */
	uint64_t cancelled;   /* for certain: those calls returned 1 */
	uint64_t in_progress; /* answers that may have revoked one arming each */
	uint64_t syncs;	      /* calls that may have revoked several */
	uint64_t fired;	      /* as polls said */
	uint64_t seen;	      /* callbacks and records */
	uint64_t expired;     /* of these, not periodic */
	uint64_t busy;	      /* polls refused */
	uint64_t now;	      /* of the poll in progress */
};

/* Of this thread. */
static _Thread_local struct ta_book *ta_mine;

/* ---- calls ---- */

static inline int ta_armed(int rc)
{
	CHECK(rc == 0 || rc == 1 || rc == -ESTALE);
	ta_mine->arms += rc == 0;
	ta_mine->moves += rc == 1;
	return rc;
}

static inline int ta_arm(fp_timer_wheel *w, uint64_t id, uint64_t tick)
{
	return ta_armed(fp_timer_arm(w, id, tick));
}

static inline int ta_arm_periodic(fp_timer_wheel *w, uint64_t id, uint64_t first,
				  uint64_t period, uint32_t policy)
{
	return ta_armed(fp_timer_arm_periodic(w, id, first, period, policy));
}

static inline int ta_cancelled(int rc)
{
	CHECK(rc == 0 || rc == 1 || rc == -EINPROGRESS || rc == -ESTALE);
	ta_mine->cancelled += rc == 1;
	ta_mine->in_progress += rc == -EINPROGRESS;
	return rc;
}

static inline int ta_cancel(fp_timer_wheel *w, uint64_t id)
{
	return ta_cancelled(fp_timer_cancel(w, id));
}

static inline int ta_destroy(fp_timer_wheel *w, uint64_t id)
{
	return ta_cancelled(fp_timer_destroy(w, id));
}

/* Not from inside the callback of this timer. */
static inline int ta_cancel_sync(fp_timer_wheel *w, uint64_t id, uint64_t timeout_ns)
{
	int rc = fp_timer_cancel_sync(w, id, timeout_ns);

	CHECK(rc == 0 || rc == 1 || rc == -ESTALE ||
	      (rc == -ETIMEDOUT && timeout_ns != LIBFP_FOREVER));
	ta_mine->cancelled += rc == 1;
	ta_mine->syncs++;
	return rc;
}

static inline void ta_cancel_all(fp_timer_wheel *w)
{
	int64_t n = fp_timer_wheel_cancel_all(w);

	CHECK(n >= 0);
	ta_mine->cancelled += (uint64_t)n;
	ta_mine->syncs++;
}

/* ---- what fires ---- */

static inline void ta_saw(const fp_timer_record *expired)
{
	CHECK(expired->expiry_tick <= ta_mine->now);
	ta_mine->seen++;
	ta_mine->expired += !(expired->flags & LIBFP_TIMER_IS_PERIODIC);
}

/* Returns what the poll returned. Timers must have a callback that calls ta_saw(). */
static inline int64_t ta_poll(fp_timer_wheel *w, uint64_t now, uint32_t max)
{
	uint64_t seen = ta_mine->seen;
	int64_t n;

	ta_mine->now = now;
	n = fp_timer_wheel_poll(w, now, max);
	CHECK(n >= 0 || n == -EBUSY);
	CHECK_EQ(ta_mine->seen - seen, n < 0 ? 0 : n);
	ta_mine->fired += n < 0 ? 0 : (uint64_t)n;
	ta_mine->busy += n < 0;
	return n;
}

#define TA_BURST 16

static inline int64_t ta_poll_burst(fp_timer_wheel *w, uint64_t now)
{
	fp_timer_record r[TA_BURST];
	int32_t n = fp_timer_wheel_poll_burst(w, now, r, TA_BURST);

	CHECK(n >= 0 || n == -EBUSY);
	ta_mine->now = now;
	for (int32_t i = 0; i < n; i++)
		ta_saw(&r[i]);
	ta_mine->fired += n < 0 ? 0 : (uint64_t)n;
	ta_mine->busy += n < 0;
	return n;
}

/* ---- the end ---- */

static inline void ta_add(struct ta_book *sum, const struct ta_book *b)
{
	sum->arms += b->arms;
	sum->moves += b->moves;
	sum->cancelled += b->cancelled;
	sum->in_progress += b->in_progress;
	sum->syncs += b->syncs;
	sum->fired += b->fired;
	sum->seen += b->seen;
	sum->expired += b->expired;
	sum->busy += b->busy;
}

/* No other call runs; `sum` has the books of all threads. Returns how many are armed. */
static inline uint64_t ta_settle(fp_timer_wheel *w, const struct ta_book *sum)
{
	fp_timer_wheel_stats s = tt_stats(w);
	uint64_t pending = (uint64_t)fp_timer_wheel_count(w);
	uint64_t revoked = sum->arms - sum->expired - sum->cancelled - pending;

	CHECK_EQ(sum->seen, sum->fired);
	CHECK_EQ(s.fired, sum->fired);
	CHECK_EQ(s.expired, sum->expired);
	if (s.flags & LIBFP_WHEEL_STATS_COUNTED) {
		CHECK_EQ(s.arms, sum->arms);
		CHECK_EQ(s.rearms, sum->moves);
		CHECK_EQ(s.cancelled, sum->cancelled + revoked);
	}
	CHECK((int64_t)revoked >= 0);
	CHECK(s.memory_used <= s.memory);
	if (!sum->syncs)
		CHECK(revoked <= sum->in_progress);
	return pending;
}

/* Every timer was destroyed: after one poll all of them can be made again. */
static inline void ta_all_free(fp_timer_wheel *w, uint64_t now, uint32_t max_timers)
{
	uint64_t *ids = calloc(max_timers + 1, sizeof(*ids));

	CHECK(ids != NULL);
	CHECK_EQ(fp_timer_wheel_count(w), 0);
	CHECK_EQ(fp_timer_wheel_poll(w, now, LIBFP_WHEEL_NO_LIMIT), 0);
	CHECK_EQ(tt_stats(w).timers, 0);
	CHECK_EQ(fp_timer_create_bulk(w, NULL, NULL, ids, max_timers + 1), max_timers);
	CHECK_EQ(fp_timer_destroy_bulk(w, ids, max_timers, NULL), max_timers);
	free(ids);
}

/* ---- threads ---- */

static inline void ta_start(pthread_t *thread, void *(*fn)(void *), void *arg)
{
	CHECK_EQ(pthread_create(thread, NULL, fn, arg), 0);
}

/* A random moment, counted in pauses: reading a clock takes as long as what is tried. */
static inline void ta_moment(uint64_t *seed, uint64_t most)
{
	for (uint64_t i = (fpt_random(seed) >> 20) % most; i; i--)
		fpi_cpu_relax();
}

#endif
