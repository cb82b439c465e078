/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timer_fp.c - libfp's timer wheels. Ticks are microseconds that the bench counts.
 */
#include "partner.h"
#include "timer_contestant.h"

#include <stdlib.h>

#include <libfp/timer.h>

#define AFTER_ALL_US (TIMER_AHEAD_US + 4ull * TIMER_SPREAD_US)

static fp_timer_wheel *make_wheel(uint32_t n)
{
	fp_timer_wheel_opts opts = LIBFP_TIMER_WHEEL_OPTS_INIT;
	fp_timer_wheel *wheel;

	opts.flags = LIBFP_WHEEL_START_AT;
	opts.capacity = n;
	return fp_timer_wheel_create(&opts, &wheel) ? NULL : wheel;
}

static struct timer_set *polled; /* the set whose poll runs */
static int holds;

static void fire(fp_timer_wheel *wheel, const fp_timer_record *expired, void *user)
{
	if (holds)
		fp_timer_arm(wheel, expired->id,
			     polled->now + TIMER_AHEAD_US + polled->us[(uintptr_t)user]);
	polled->fired++;
}

static int fp_open(struct timer_set *set)
{
	void **users = timer_alloc(set->n * sizeof(*users));
	int made;

	for (uint32_t i = 0; i < set->n; i++)
		users[i] = (void *)(uintptr_t)i;
	set->owner = make_wheel(set->n);
	set->now = 0;
	made = set->owner && fp_timer_create_bulk(set->owner, fire, users, set->ids,
						  set->n) == (int32_t)set->n;
	free(users);
	return made;
}

static void fp_close(struct timer_set *set)
{
	fp_timer_wheel_destroy(set->owner);
}

static void fp_load(struct timer_set *set, const struct timer_plan *plan)
{
	uint64_t base = set->now;

	if (plan->when != TIMER_DUE)
		base += timer_ahead_us(plan->when);
	for (uint32_t k = 0; k < set->n; k++) {
		set->handles[k] = set->ids[plan->order[k]];
		set->expiries[k] = base + plan->us[plan->order[k]];
	}
}

static void fp_arm(struct timer_set *set)
{
	fp_timer_wheel *wheel = set->owner;

	for (uint32_t k = 0; k < set->n; k++)
		fp_timer_arm(wheel, set->handles[k], set->expiries[k]);
}

static void fp_touch(struct timer_set *set)
{
	fp_timer_wheel *wheel = set->owner;

	for (uint32_t k = 0; k < set->n; k++)
		fp_timer_touch(wheel, set->handles[k], set->expiries[k]);
}

static void fp_cancel(struct timer_set *set)
{
	fp_timer_wheel *wheel = set->owner;

	for (uint32_t k = 0; k < set->n; k++)
		fp_timer_cancel(wheel, set->handles[k]);
}

static uint32_t burst_at(const struct timer_set *set, uint32_t k)
{
	return set->n - k < TIMER_BURST ? set->n - k : TIMER_BURST;
}

static void fp_bulk_arm(struct timer_set *set)
{
	for (uint32_t k = 0; k < set->n; k += TIMER_BURST)
		fp_timer_arm_bulk(set->owner, set->handles + k, set->expiries + k,
				  burst_at(set, k), NULL);
}

static void fp_bulk_touch(struct timer_set *set)
{
	for (uint32_t k = 0; k < set->n; k += TIMER_BURST)
		fp_timer_touch_bulk(set->owner, set->handles + k, set->expiries + k,
				    burst_at(set, k), NULL);
}

static void fp_bulk_cancel(struct timer_set *set)
{
	for (uint32_t k = 0; k < set->n; k += TIMER_BURST)
		fp_timer_cancel_bulk(set->owner, set->handles + k, burst_at(set, k),
				     NULL);
}

static void poll_at(struct timer_set *set, uint64_t now)
{
	polled = set;
	set->now = now;
	fp_timer_wheel_poll(set->owner, now, LIBFP_WHEEL_NO_LIMIT);
}

static void fp_expire(struct timer_set *set)
{
	poll_at(set, set->now + TIMER_SPREAD_US);
}

static void fp_hold(struct timer_set *set)
{
	holds = 1;
	fp_expire(set);
	holds = 0;
}

static void fp_expire_burst(struct timer_set *set)
{
	fp_timer_record records[TIMER_BURST];
	int32_t n;

	set->now += TIMER_SPREAD_US;
	while ((n = fp_timer_wheel_poll_burst(set->owner, set->now, records,
					      TIMER_BURST)) > 0)
		set->fired += (uint32_t)n;
}

/* Everything has an entry that is stale or was for earlier, since it was put off. */
static void fp_move_touched(struct timer_set *set)
{
	poll_at(set, set->now + TIMER_AHEAD_US + TIMER_SPREAD_US);
}

static void fp_drop_cancelled(struct timer_set *set)
{
	poll_at(set, set->now + AFTER_ALL_US);
}

static uint64_t tick_at(const struct timer_set *set, uint64_t ns)
{
	return (ns - set->epoch_ns) / 1000;
}

static void fp_arm_at(struct timer_set *set, const uint32_t *us, uint64_t begin_ns)
{
	if (!set->epoch_ns)
		set->epoch_ns = bench_now_ns();
	for (uint32_t i = 0; i < set->n; i++)
		fp_timer_arm(set->owner, set->ids[i], tick_at(set, begin_ns) + us[i]);
}

static void fp_poll(struct timer_set *set, uint64_t ns)
{
	polled = set;
	fp_timer_wheel_poll(set->owner, tick_at(set, ns), LIBFP_WHEEL_NO_LIMIT);
}

static uint64_t fp_reserved(const struct timer_set *set)
{
	fp_timer_wheel_stats stats = { .size = sizeof(stats) };

	fp_timer_wheel_get_stats(set->owner, &stats);
	return stats.memory;
}

const struct timer_contestant timer_fp = {
	.who = "libfp",
	.most = UINT32_MAX,
	.open = fp_open,
	.close = fp_close,
	.load = fp_load,
	.steps = { [TIMER_ARM] = fp_arm,
		   [TIMER_REARM] = fp_arm,
		   [TIMER_PUT_OFF] = fp_arm,
		   [TIMER_TOUCH] = fp_touch,
		   [TIMER_CANCEL] = fp_cancel,
		   [TIMER_DROP_CANCELLED] = fp_drop_cancelled,
		   [TIMER_BULK_ARM] = fp_bulk_arm,
		   [TIMER_BULK_REARM] = fp_bulk_arm,
		   [TIMER_BULK_TOUCH] = fp_bulk_touch,
		   [TIMER_MOVE_TOUCHED] = fp_move_touched,
		   [TIMER_BULK_CANCEL] = fp_bulk_cancel,
		   [TIMER_EXPIRE] = fp_expire,
		   [TIMER_EXPIRE_COLD] = fp_expire,
		   [TIMER_EXPIRE_BURST] = fp_expire_burst,
		   [TIMER_HOLD] = fp_hold },
	.arm_at = fp_arm_at,
	.poll = fp_poll,
	.reserved = fp_reserved,
};

/* ---- two threads ---- */

#define SLICE_US (TIMER_AHEAD_US + 10ull * TIMER_SPREAD_US) /* time goes on by this */

static int pair_open(struct timer_pair *pair)
{
	struct timer_set *set = &pair->set;

	set->owner = make_wheel(set->n);
	if (!set->owner || fp_timer_create_bulk(set->owner, NULL, NULL, set->ids,
						set->n) != (int32_t)set->n)
		return 0;
	for (uint32_t i = 0; i < 2 * TIMER_HALF; i++)
		pair->half[i / TIMER_HALF].handles[i % TIMER_HALF] = set->ids[i];
	for (uint32_t i = 2 * TIMER_HALF; i < set->n; i++)
		fp_timer_arm(set->owner, set->ids[i], (1ull << 50) + 50 * i);
	return 1;
}

static void pair_close(struct timer_pair *pair)
{
	fp_timer_wheel_destroy(pair->set.owner);
}

/* Takes what is in the lanes, then lets all that is armed fire. The lanes are empty if the
 * owner has polled instead of arming. */
static void pair_prepare(void *object)
{
	struct timer_pair *pair = object;
	struct timer_set *set = &pair->set;
	long switches = partner_switches();
	uint64_t begin = bench_now_ns();

	fp_timer_wheel_poll(set->owner, set->now, LIBFP_WHEEL_NO_LIMIT);
	if (pair->half[1].next && pair->half[0].next && partner_switches() == switches &&
	    pair->n_drained < pair->most_drained)
		pair->drained[pair->n_drained++] =
			(float)(bench_now_ns() - begin) / (float)pair->half[0].next;
	set->now += SLICE_US;
	fp_timer_wheel_poll(set->owner, set->now, LIBFP_WHEEL_NO_LIMIT);
	timer_pair_reset(pair);
}

static uint64_t arm_half(struct timer_pair *pair, struct timer_half *half, uint64_t units)
{
	fp_timer_wheel *wheel = pair->set.owner;
	uint64_t base = pair->set.now + TIMER_AHEAD_US;
	uint32_t i = half->next, end = i + (uint32_t)units;

	if (end > TIMER_HALF)
		return 0;
	for (; i < end; i++)
		fp_timer_arm(wheel, half->handles[i], base + half->us[i]);
	half->next = end;
	return units;
}

static uint64_t pair_arm_other(void *object, uint32_t burst, uint64_t units)
{
	struct timer_pair *pair = object;

	(void)burst;
	return arm_half(pair, &pair->half[0], units);
}

static uint64_t pair_arm_own(void *object, uint32_t burst, uint64_t units)
{
	struct timer_pair *pair = object;

	(void)burst;
	return arm_half(pair, &pair->half[1], units);
}

static uint64_t pair_poll(void *object, uint32_t burst, uint64_t units)
{
	struct timer_pair *pair = object;
	fp_timer_wheel *wheel = pair->set.owner;
	uint64_t now = pair->set.now;

	(void)burst;
	fp_timer_wheel_poll(wheel, now, LIBFP_WHEEL_NO_LIMIT);
	atomic_store_explicit(&pair->polling, 1, memory_order_release);
	while (atomic_load_explicit(&pair->armed, memory_order_acquire) < units)
		fp_timer_wheel_poll(wheel, now, LIBFP_WHEEL_NO_LIMIT);
	return units;
}

const struct timer_pair_contestant timer_fp_pair = {
	.who = "libfp",
	.open = pair_open,
	.close = pair_close,
	.prepare = pair_prepare,
	.arm_other = pair_arm_other,
	.arm_own = pair_arm_own,
	.poll = pair_poll,
};
