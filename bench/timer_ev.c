/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timer_ev.c - libev's timers: a 4-ary heap of an event loop that one thread uses. The
 * loop reads the clock when it is run; what is DUE was so for up to a second when it was
 * armed. A run looks at the loop's other events too, once.
 */
#include "timer_contestant.h"

#include <stdlib.h>

#include <ev.h>

static int holds;

/* Expiries are in seconds from now on. */
static double *seconds(const struct timer_set *set)
{
	return (double *)set->expiries;
}

static void fire(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct timer_set *set = timer->data;

	(void)events;
	if (holds) {
		uint32_t i = (uint32_t)(timer - (ev_timer *)set->timers);

		ev_timer_set(timer, 1e-6 * (TIMER_AHEAD_US + set->us[i]), 0.);
		ev_timer_start(loop, timer);
	}
	set->fired++;
}

static int open_loop(struct timer_set *set)
{
	ev_timer *timers = timer_alloc(set->n * sizeof(*timers));

	set->timers = timers;
	for (uint32_t i = 0; i < set->n; i++) {
		ev_timer_init(&timers[i], fire, 0., 0.);
		timers[i].data = set;
	}
	set->owner = ev_loop_new(EVFLAG_AUTO);
	if (!set->owner)
		free(timers);
	return set->owner != NULL;
}

static void close_loop(struct timer_set *set)
{
	ev_loop_destroy(set->owner);
	free(set->timers);
}

static void load(struct timer_set *set, const struct timer_plan *plan)
{
	ev_timer *timers = set->timers;
	double base = plan->when == TIMER_DUE ? -1e-6 * TIMER_SPREAD_US :
						1e-6 * (double)timer_ahead_us(plan->when);

	for (uint32_t k = 0; k < set->n; k++) {
		set->handles[k] = (uintptr_t)&timers[plan->order[k]];
		seconds(set)[k] = base + 1e-6 * plan->us[plan->order[k]];
	}
}

static void arm(struct timer_set *set)
{
	struct ev_loop *loop = set->owner;
	const double *after = seconds(set);

	for (uint32_t k = 0; k < set->n; k++) {
		ev_timer *timer = (ev_timer *)(uintptr_t)set->handles[k];

		ev_timer_set(timer, after[k], 0.);
		ev_timer_start(loop, timer);
	}
}

/* This moves it within the heap, which is less than a stop and a start. */
static void rearm(struct timer_set *set)
{
	struct ev_loop *loop = set->owner;
	const double *after = seconds(set);

	for (uint32_t k = 0; k < set->n; k++) {
		ev_timer *timer = (ev_timer *)(uintptr_t)set->handles[k];

		timer->repeat = after[k];
		ev_timer_again(loop, timer);
	}
}

static void cancel(struct timer_set *set)
{
	struct ev_loop *loop = set->owner;

	for (uint32_t k = 0; k < set->n; k++)
		ev_timer_stop(loop, (ev_timer *)(uintptr_t)set->handles[k]);
}

static void expire(struct timer_set *set)
{
	ev_run(set->owner, EVRUN_NOWAIT);
}

static void hold(struct timer_set *set)
{
	holds = 1;
	expire(set);
	holds = 0;
}

const struct timer_contestant timer_ev = {
	.who = "libev",
	.most = UINT32_MAX,
	.open = open_loop,
	.close = close_loop,
	.load = load,
	.steps = { [TIMER_ARM] = arm,
		   [TIMER_REARM] = rearm,
		   [TIMER_PUT_OFF] = rearm,
		   [TIMER_CANCEL] = cancel,
		   [TIMER_EXPIRE] = expire,
		   [TIMER_EXPIRE_COLD] = expire,
		   [TIMER_HOLD] = hold },
};
