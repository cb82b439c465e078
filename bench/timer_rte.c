/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timer_rte.c - DPDK's rte_timer: for each lcore a skip list, which is ordered by expiry
 * and which rte_timer_manage() takes from by the time stamp counter.
 *
 * Its time is not told to it, but an expiry may lie in the past: what is DUE was so for up
 * to a second when it was armed. Calls take ticks from now on; the loops read the counter
 * for each burst, so that a long step arms for the times that the plan says.
 *
 * The thread that started the EAL has ended (eal.c); whoever calls is given the id of the
 * lcore it plays, so that it may own a list.
 */
#include "eal.h"
#include "timer_contestant.h"

#include <stdlib.h>

#include <rte_cycles.h>
#include <rte_lcore.h>
#include <rte_timer.h>

#define OWNER 0u
#define OTHER 1u
#define CROWD_US 100000000000ull /* for ever */

static uint64_t per_us;
static uint32_t crowd_id; /* the lists of timer_rte_idle_many() */
static unsigned lcores[TIMER_CROWD_MOST];
static struct rte_timer crowd[TIMER_CROWD_MOST];
static struct rte_timer last; /* an empty list would not read the counter */

static uint64_t cycles(uint64_t us)
{
	return us * per_us;
}

static void play(unsigned lcore)
{
	RTE_PER_LCORE(_lcore_id) = lcore;
}

static int holds;

static void fire(struct rte_timer *timer, void *arg)
{
	struct timer_set *set = arg;

	if (holds) {
		uint32_t i = (uint32_t)(timer - (struct rte_timer *)set->timers);

		rte_timer_reset(timer, cycles(TIMER_AHEAD_US + set->us[i]), SINGLE, OWNER,
				fire, set);
	}
	set->fired++;
}

const char *timer_rte_start(int cpu)
{
	const char *why = bench_eal_start_lcores(cpu, TIMER_CROWD_MOST);

	if (why)
		return why;
	play(OWNER);
	per_us = rte_get_timer_hz() / 1000000;
	if (rte_timer_subsystem_init() || rte_timer_data_alloc(&crowd_id))
		return "its timers do not start";
	rte_timer_init(&last);
	rte_timer_reset(&last, CROWD_US * per_us, SINGLE, OWNER, NULL, NULL);
	for (unsigned i = 0; i < TIMER_CROWD_MOST; i++) {
		lcores[i] = i;
		rte_timer_init(&crowd[i]);
		if (rte_timer_alt_reset(crowd_id, &crowd[i], CROWD_US * per_us, SINGLE, i,
					NULL, NULL))
			return "its timers cannot be armed";
	}
	return NULL;
}

/* ---- steps ---- */

static int rte_open(struct timer_set *set)
{
	struct rte_timer *timers = aligned_alloc(64, set->n * sizeof(*timers));

	set->timers = timers;
	for (uint32_t i = 0; timers && i < set->n; i++)
		rte_timer_init(&timers[i]);
	return timers != NULL;
}

static void rte_close(struct timer_set *set)
{
	free(set->timers);
}

static void rte_load(struct timer_set *set, const struct timer_plan *plan)
{
	struct rte_timer *timers = set->timers;
	uint64_t base = rte_get_timer_cycles();

	if (plan->when == TIMER_DUE)
		base -= cycles(TIMER_SPREAD_US);
	else
		base += cycles(timer_ahead_us(plan->when));
	for (uint32_t k = 0; k < set->n; k++) {
		set->handles[k] = (uintptr_t)&timers[plan->order[k]];
		set->expiries[k] = base + cycles(plan->us[plan->order[k]]);
	}
}

static void rte_arm(struct timer_set *set)
{
	uint64_t now = 0;

	for (uint32_t k = 0; k < set->n; k++) {
		struct rte_timer *timer = (struct rte_timer *)(uintptr_t)set->handles[k];

		if (k % TIMER_BURST == 0)
			now = rte_get_timer_cycles();
		rte_timer_reset(timer, set->expiries[k] - now, SINGLE, OWNER, fire, set);
	}
}

static void rte_cancel(struct timer_set *set)
{
	for (uint32_t k = 0; k < set->n; k++)
		rte_timer_stop((struct rte_timer *)(uintptr_t)set->handles[k]);
}

static void rte_expire(struct timer_set *set)
{
	(void)set;
	rte_timer_manage();
}

static void rte_hold(struct timer_set *set)
{
	holds = 1;
	rte_expire(set);
	holds = 0;
}

static void rte_arm_at(struct timer_set *set, const uint32_t *us, uint64_t begin_ns)
{
	struct rte_timer *timers = set->timers;
	uint64_t begin = rte_get_timer_cycles();

	begin += (begin_ns - bench_now_ns()) * per_us / 1000;
	for (uint32_t i = 0; i < set->n; i++)
		rte_timer_reset(&timers[i],
				begin + cycles(us[i]) - rte_get_timer_cycles(), SINGLE,
				OWNER, fire, set);
}

static void rte_poll(struct timer_set *set, uint64_t ns)
{
	(void)set;
	(void)ns;
	rte_timer_manage();
}

const struct timer_contestant timer_rte = {
	.who = "rte_timer",
	.most = UINT32_MAX,
	.open = rte_open,
	.close = rte_close,
	.load = rte_load,
	.steps = { [TIMER_ARM] = rte_arm,
		   [TIMER_REARM] = rte_arm,
		   [TIMER_PUT_OFF] = rte_arm,
		   [TIMER_CANCEL] = rte_cancel,
		   [TIMER_EXPIRE] = rte_expire,
		   [TIMER_EXPIRE_COLD] = rte_expire,
		   [TIMER_HOLD] = rte_hold },
	.arm_at = rte_arm_at,
	.poll = rte_poll,
};

/* ---- idle ---- */

uint64_t timer_rte_idle(void *object, uint32_t burst, uint64_t units)
{
	(void)object;
	(void)burst;
	for (uint64_t i = 0; i < units; i++)
		rte_timer_manage();
	return units;
}

static void ignore(struct rte_timer *timer)
{
	(void)timer;
}

uint64_t timer_rte_idle_many(void *object, uint32_t burst, uint64_t units)
{
	int n = (int)*(unsigned *)object;

	(void)burst;
	for (uint64_t i = 0; i < units; i++)
		rte_timer_alt_manage(crowd_id, lcores, n, ignore);
	return units;
}

/* ---- two threads ---- */

static int pair_open(struct timer_pair *pair)
{
	struct timer_set *set = &pair->set;
	struct rte_timer *timers;

	if (!rte_open(set))
		return 0;
	timers = set->timers;
	for (uint32_t i = 0; i < 2 * TIMER_HALF; i++)
		pair->half[i / TIMER_HALF].handles[i % TIMER_HALF] =
			(uintptr_t)&timers[i];
	for (uint32_t i = 2 * TIMER_HALF; i < set->n; i++)
		rte_timer_reset(&timers[i],
				cycles(TIMER_AHEAD_US + set->us[i - 2 * TIMER_HALF]),
				SINGLE, OWNER, fire, set);
	return 1;
}

static void pair_close(struct timer_pair *pair)
{
	struct rte_timer *timers = pair->set.timers;

	for (uint32_t i = 0; i < pair->set.n; i++)
		rte_timer_stop(&timers[i]);
	rte_close(&pair->set);
}

static void pair_prepare(void *object)
{
	struct timer_pair *pair = object;

	play(OWNER);
	for (unsigned h = 0; h < 2; h++)
		for (uint32_t i = 0; i < pair->half[h].next; i++)
			rte_timer_stop(
				(struct rte_timer *)(uintptr_t)pair->half[h].handles[i]);
	timer_pair_reset(pair);
}

static uint64_t arm_half(struct timer_pair *pair, struct timer_half *half, uint64_t units)
{
	uint32_t i = half->next, end = i + (uint32_t)units;

	if (end > TIMER_HALF)
		return 0;
	for (; i < end; i++)
		if (rte_timer_reset((struct rte_timer *)(uintptr_t)half->handles[i],
				    cycles(TIMER_AHEAD_US + half->us[i]), SINGLE, OWNER,
				    fire, &pair->set))
			return 0;
	half->next = end;
	return units;
}

static uint64_t pair_arm_other(void *object, uint32_t burst, uint64_t units)
{
	struct timer_pair *pair = object;

	(void)burst;
	play(OTHER);
	return arm_half(pair, &pair->half[0], units);
}

static uint64_t pair_arm_own(void *object, uint32_t burst, uint64_t units)
{
	struct timer_pair *pair = object;

	(void)burst;
	play(OWNER);
	return arm_half(pair, &pair->half[1], units);
}

static uint64_t pair_poll(void *object, uint32_t burst, uint64_t units)
{
	struct timer_pair *pair = object;

	(void)burst;
	play(OWNER);
	atomic_store_explicit(&pair->polling, 1, memory_order_release);
	while (atomic_load_explicit(&pair->armed, memory_order_acquire) < units)
		rte_timer_manage();
	return units;
}

const struct timer_pair_contestant timer_rte_pair = {
	.who = "rte_timer",
	.open = pair_open,
	.close = pair_close,
	.prepare = pair_prepare,
	.arm_other = pair_arm_other,
	.arm_own = pair_arm_own,
	.poll = pair_poll,
};
