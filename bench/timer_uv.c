/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timer_uv.c - libuv's timers: a binary heap of an event loop that one thread uses, in
 * milliseconds. An expiry cannot be in the past, so what is DUE is spread over 62 ms
 * instead of a second, and the bench rests until these are over: a heap compares times, and
 * how far they are apart is nothing to it. A run looks at the loop's other events too,
 * once.
 */
#include "timer_contestant.h"

#include <stdlib.h>
#include <time.h>

#include <uv.h>

#define CLOSER 16 /* DUE */

static int holds;

static void fire(uv_timer_t *timer)
{
	struct timer_set *set = timer->data;

	if (holds) {
		uint32_t i = (uint32_t)(timer - (uv_timer_t *)set->timers);

		uv_timer_start(timer, fire, (TIMER_AHEAD_US + set->us[i]) / 1000, 0);
	}
	set->fired++;
}

static int open_loop(struct timer_set *set)
{
	uv_timer_t *timers = timer_alloc(set->n * sizeof(*timers));

	set->owner = timer_alloc(sizeof(uv_loop_t));
	set->timers = timers;
	if (uv_loop_init(set->owner)) {
		free(timers);
		free(set->owner);
		return 0;
	}
	for (uint32_t i = 0; i < set->n; i++) {
		uv_timer_init(set->owner, &timers[i]);
		timers[i].data = set;
	}
	return 1;
}

static void close_loop(struct timer_set *set)
{
	uv_timer_t *timers = set->timers;

	for (uint32_t i = 0; i < set->n; i++)
		uv_close((uv_handle_t *)&timers[i], NULL);
	uv_run(set->owner, UV_RUN_DEFAULT);
	uv_loop_close(set->owner);
	free(set->owner);
	free(timers);
}

static void load(struct timer_set *set, const struct timer_plan *plan)
{
	uv_timer_t *timers = set->timers;

	for (uint32_t k = 0; k < set->n; k++) {
		uint32_t i = plan->order[k];

		set->handles[k] = (uintptr_t)&timers[i];
		set->expiries[k] =
			plan->when == TIMER_DUE ?
				plan->us[i] / CLOSER / 1000 :
				(timer_ahead_us(plan->when) + plan->us[i]) / 1000;
	}
}

/* One that is active is stopped first. */
static void arm(struct timer_set *set)
{
	for (uint32_t k = 0; k < set->n; k++)
		uv_timer_start((uv_timer_t *)(uintptr_t)set->handles[k], fire,
			       set->expiries[k], 0);
}

static void cancel(struct timer_set *set)
{
	for (uint32_t k = 0; k < set->n; k++)
		uv_timer_stop((uv_timer_t *)(uintptr_t)set->handles[k]);
}

/* The loop's time stands still while it does not run. */
static void rest(struct timer_set *set)
{
	uint64_t until = uv_now(set->owner) + TIMER_SPREAD_US / CLOSER / 1000 + 1;
	struct timespec ms = { 0, 1000000 };

	while (uv_hrtime() / 1000000 < until)
		nanosleep(&ms, NULL);
}

static void expire(struct timer_set *set)
{
	uv_run(set->owner, UV_RUN_NOWAIT);
}

static void hold(struct timer_set *set)
{
	holds = 1;
	expire(set);
	holds = 0;
}

const struct timer_contestant timer_uv = {
	.who = "libuv",
	.most = UINT32_MAX,
	.open = open_loop,
	.close = close_loop,
	.load = load,
	.steps = { [TIMER_ARM] = arm,
		   [TIMER_REARM] = arm,
		   [TIMER_PUT_OFF] = arm,
		   [TIMER_CANCEL] = cancel,
		   [TIMER_EXPIRE] = expire,
		   [TIMER_EXPIRE_COLD] = expire,
		   [TIMER_HOLD] = hold },
	.rest = rest,
};
