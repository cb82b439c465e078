/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timer_pairs.c - two threads that arm timers of one wheel, on two cores.
 *
 *   timer_two     both arm, each its own timers. The mode says whose time it is: of the
 *                 thread that polled last ("owner"), or of the other one
 *   timer_remote  one arms while the other one polls without a pause; nothing is due
 *   timer_drain   ours: what the next poll takes for each timer that the other one armed
 *
 * Before each slice, untimed, everything is disarmed but 20,000 timers: so many are in
 * the peer's list at least, however few it manages to arm in a slice.
 */
#include "timer_contestant.h"

#include <stdlib.h>

#define LEN(a) (sizeof(a) / sizeof((a)[0]))
#define TIMERS (2 * TIMER_HALF + TIMER_BACKGROUND)
#define DRAINED_MAX 4096

struct two {
	struct timer_pair pair; /* first: what the loops take */
	const struct timer_pair_contestant *contestant;
};

static void await_owner(struct timer_pair *pair)
{
	while (!atomic_load_explicit(&pair->polling, memory_order_acquire))
		bench_relax();
}

/* Polls once, so that the wheel is this thread's, and arms. */
static uint64_t take_and_arm(void *object, uint32_t burst, uint64_t units)
{
	struct two *two = object;

	two->contestant->poll(object, burst, 0);
	return two->contestant->arm_own(object, burst, units);
}

static uint64_t wait_and_arm(void *object, uint32_t burst, uint64_t units)
{
	struct two *two = object;
	uint64_t done;

	await_owner(&two->pair);
	done = two->contestant->arm_other(object, burst, units);
	atomic_fetch_add_explicit(&two->pair.armed, units, memory_order_release);
	return done;
}

static void prepare(void *object)
{
	struct two *two = object;

	two->contestant->prepare(object);
}

static int open_two(struct two *two, const struct timer_pair_contestant *c,
		    float *drained)
{
	struct timer_set *set = &two->pair.set;
	uint64_t seed = 521288629;

	memset(two, 0, sizeof(*two));
	two->contestant = c;
	two->pair.drained = drained;
	two->pair.most_drained = DRAINED_MAX;
	set->n = TIMERS;
	set->ids = timer_alloc(TIMERS * sizeof(uint64_t));
	for (unsigned h = 0; h < 2; h++) {
		struct timer_half *half = &two->pair.half[h];

		half->handles = timer_alloc(TIMER_HALF * sizeof(uint64_t));
		half->us = timer_alloc(TIMER_HALF * sizeof(uint32_t));
		for (unsigned i = 0; i < TIMER_HALF; i++)
			half->us[i] = timer_random_below(&seed, TIMER_SPREAD_US);
	}
	set->us = two->pair.half[0].us;
	return c->open(&two->pair);
}

static void close_two(struct two *two)
{
	two->contestant->close(&two->pair);
	free(two->pair.set.ids);
	for (unsigned h = 0; h < 2; h++) {
		free(two->pair.half[h].handles);
		free(two->pair.half[h].us);
	}
}

static void add(struct bench *b, struct two *two, const char *row, const char *mode,
		bench_loop *feed, bench_loop *drain)
{
	struct bench_case c = { .row = row,
				.mode = mode,
				.who = two->contestant->who,
				.unit = "ns",
				.burst = 1,
				.most = TIMER_HALF,
				.object = two,
				.prepare = prepare,
				.feed = feed,
				.drain = drain };

	if (bench_wanted(b, row, mode, 1, 0, 0))
		bench_add(b, &c);
}

void timer_pairs(struct bench *b, int with_rte)
{
	static const struct timer_pair_contestant *const contestants[] = {
		&timer_fp_pair,
#ifdef BENCH_RTE_VERSION
		&timer_rte_pair,
#endif
	};
	static const char *const names[] = { "timer_two", "timer_remote" };
	static struct two twos[LEN(contestants)];
	static float drained[DRAINED_MAX];
	const struct bench_case drain = { .row = "timer_drain",
					  .mode = "poll",
					  .who = "libfp",
					  .unit = "ns",
					  .burst = 1 };
	unsigned n = with_rte ? (unsigned)LEN(contestants) : 1, open = 0;
	int wanted = bench_wanted(b, "timer_two", "owner", 1, 0, 0) ||
		     bench_wanted(b, "timer_two", "other", 1, 0, 0) ||
		     bench_wanted(b, "timer_remote", "arm", 1, 0, 0);

	for (unsigned i = 0; wanted && !bench_two_cores(b) && i < LEN(names); i++)
		bench_skip(b, names[i], "needs two cores");
	if (!wanted || !bench_two_cores(b))
		return;
	for (; open < n; open++) {
		struct two *two = &twos[open];

		if (!open_two(two, contestants[open], drained))
			abort();
		add(b, two, "timer_two", "owner", contestants[open]->arm_other,
		    contestants[open]->arm_own);
		add(b, two, "timer_two", "other", take_and_arm, wait_and_arm);
		add(b, two, "timer_remote", "arm", contestants[open]->poll, wait_and_arm);
	}
	bench_run(b, "timers, two threads", 6);
	bench_samples(b, &drain, drained, twos[0].pair.n_drained);
	while (open)
		close_two(&twos[--open]);
}
