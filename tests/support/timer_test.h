/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the timer tests share: a wheel and a timer in one line, and a callback that keeps
 * the records of what fired, by which TT_FIRED() checks who fired and in which order.
 * Time is whatever a test gives to poll; nothing here reads a clock.
 */
#ifndef FPT_TIMER_TEST_H
#define FPT_TIMER_TEST_H

#include <errno.h>

#include <pthread.h>

#include <libfp/timer.h>

#include "base/step.h"
#include "check.h"
#include "heap.h"
#include "log.h"

/* The hook of base/step.h; NULL unless a test holds threads. */
void (*fpi_test_step)(const char *step);

#define TT_UNTOUCHED ((void *)(uintptr_t)0x1230)
#define TT_NO_TICK 0x5a5a5a5a5a5a5a5aull /* in what a refused call must not write */
#define TT_ALL LIBFP_WHEEL_NO_LIMIT

static inline fp_timer_wheel_opts tt_opts(uint64_t start_tick, uint32_t max_timers)
{
	fp_timer_wheel_opts o = LIBFP_TIMER_WHEEL_OPTS_INIT;

	o.flags = LIBFP_WHEEL_START_AT;
	o.start_tick = start_tick;
	o.capacity = max_timers;
	return o;
}

static inline fp_timer_wheel *tt_create(const fp_timer_wheel_opts *o)
{
	fp_timer_wheel *w = NULL;

	CHECK_EQ(fp_timer_wheel_create(o, &w), 0);
	CHECK(w != NULL);
	return w;
}

static inline fp_timer_wheel *tt_wheel(uint64_t start_tick, uint32_t max_timers)
{
	fp_timer_wheel_opts o = tt_opts(start_tick, max_timers);

	return tt_create(&o);
}

static inline void tt_end(fp_timer_wheel *w)
{
	CHECK_EQ(fp_timer_wheel_destroy(w), 0);
}

/* An integer as the `user` of a timer. */
static inline void *tt_user(uint64_t tag)
{
	return (void *)(uintptr_t)tag;
}

static inline uint64_t tt_timer_fn(fp_timer_wheel *w, fp_timer_fn cb, uint64_t tag)
{
	uint64_t id = 0;

	CHECK_EQ(fp_timer_create(w, cb, tt_user(tag), &id), 0);
	CHECK(id != 0);
	return id;
}

/* ---- what fired ---- */

#define TT_KEPT 4096

static fp_timer_record tt_fired[TT_KEPT];
static uint32_t tt_fired_count;

static inline void tt_keep(const fp_timer_record *r)
{
	CHECK(tt_fired_count < TT_KEPT);
	tt_fired[tt_fired_count++] = *r;
}

static inline void tt_note(fp_timer_wheel *w, const fp_timer_record *expired, void *user)
{
	CHECK(w != NULL);
	CHECK(user == tt_user(expired->user));
	tt_keep(expired);
}

/* A timer whose firing is kept under this tag. */
static inline uint64_t tt_timer(fp_timer_wheel *w, uint64_t tag)
{
	return tt_timer_fn(w, tt_note, tag);
}

static inline uint64_t tt_armed(fp_timer_wheel *w, uint64_t tag, uint64_t expiry_tick)
{
	uint64_t id = tt_timer(w, tag);

	CHECK_EQ(fp_timer_arm(w, id, expiry_tick), 0);
	return id;
}

static inline void tt_forget(void)
{
	tt_fired_count = 0;
}

static inline void tt_check_fired(const uint64_t *tags, uint32_t n, const char *file,
				  int line)
{
	int same = n == tt_fired_count;

	for (uint32_t i = 0; same && i < n; i++)
		same = tt_fired[i].user == tags[i];
	if (!same) {
		fprintf(stderr, "  FAILED: fired");
		for (uint32_t i = 0; i < tt_fired_count && i < 20; i++)
			fprintf(stderr, " %" PRIu64 "@%" PRIu64, tt_fired[i].user,
				tt_fired[i].expiry_tick);
		fprintf(stderr, " (%u in all)\n", tt_fired_count);
		tt_forget();
		fpt_fail(file, line);
	}
	tt_forget();
}

/* Exactly the timers with these tags have fired since the last look, in this order. */
#define TT_FIRED(...)                                                             \
	tt_check_fired((const uint64_t[]){ __VA_ARGS__ },                         \
		       (uint32_t)(sizeof((const uint64_t[]){ __VA_ARGS__ }) / 8), \
		       __FILE__, __LINE__)
#define TT_NONE_FIRED() tt_check_fired(NULL, 0, __FILE__, __LINE__)

/* The i-th kept record, against a literal. */
static inline void tt_record_is(uint32_t i, uint64_t id, uint64_t tag,
				uint64_t expiry_tick, uint32_t overruns, uint32_t flags)
{
	const fp_timer_record *r = &tt_fired[i];

	CHECK(i < tt_fired_count);
	CHECK(r->id == id);
	CHECK_EQ(r->user, tag);
	CHECK_EQ(r->expiry_tick, expiry_tick);
	CHECK_EQ(r->overruns, overruns);
	CHECK_EQ(r->flags, flags);
}

static inline int64_t tt_poll(fp_timer_wheel *w, uint64_t now_tick)
{
	return fp_timer_wheel_poll(w, now_tick, TT_ALL);
}

/* ---- what a wheel and a timer say of themselves ---- */

static inline fp_timer_wheel_stats tt_stats(const fp_timer_wheel *w)
{
	fp_timer_wheel_stats s = { .size = sizeof(s) };

	CHECK_EQ(fp_timer_wheel_get_stats(w, &s), 0);
	CHECK_EQ(s.size, sizeof(s));
	return s;
}

static inline uint64_t tt_remaining(fp_timer_wheel *w, uint64_t id, uint64_t now_tick)
{
	uint64_t ticks = TT_NO_TICK;

	CHECK_EQ(fp_timer_remaining(w, id, now_tick, &ticks), 1);
	return ticks;
}

/* Not armed, by every question that can be asked. */
static inline void tt_is_idle(fp_timer_wheel *w, uint64_t id)
{
	uint64_t ticks = TT_NO_TICK;

	CHECK_EQ(fp_timer_is_pending(w, id), 0);
	CHECK_EQ(fp_timer_remaining(w, id, 0, &ticks), 0);
	CHECK(ticks == TT_NO_TICK);
}

/* Armed for this tick, by every question that can be asked; 0 says the most. */
static inline void tt_is_armed(fp_timer_wheel *w, uint64_t id, uint64_t expiry_tick)
{
	CHECK_EQ(fp_timer_is_pending(w, id), 1);
	CHECK_EQ(tt_remaining(w, id, 0), expiry_tick);
	CHECK_EQ(tt_remaining(w, id, expiry_tick), 0);
	CHECK_EQ(tt_remaining(w, id, UINT64_MAX), 0);
}

/* So many armed, the first of them at this tick, which is announced early enough. */
static inline void tt_pending(fp_timer_wheel *w, int64_t n, uint64_t first)
{
	uint64_t tick = TT_NO_TICK;
	int rc = fp_timer_wheel_next_expiry(w, &tick);

	CHECK_EQ(fp_timer_wheel_count(w), n);
	if (n > 0 && first < UINT64_MAX)
		CHECK_EQ(rc, 1);
	CHECK(rc ? tick <= first || n == 0 : tick == TT_NO_TICK);
}

/* ---- other threads ---- */

static inline void tt_on_thread(void *(*fn)(void *), void *arg)
{
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, fn, arg), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

/* A call about one timer, to be made by another thread. */
struct tt_call {
	fp_timer_wheel *w;
	uint64_t id;
	uint64_t tick;
	int64_t rc;
};

static inline void *tt_arm_it(void *arg)
{
	struct tt_call *c = arg;

	c->rc = fp_timer_arm(c->w, c->id, c->tick);
	return NULL;
}

static inline int64_t tt_by_another(void *(*fn)(void *), fp_timer_wheel *w, uint64_t id,
				    uint64_t tick)
{
	struct tt_call c = { w, id, tick, 0 };

	tt_on_thread(fn, &c);
	return c.rc;
}

#endif
