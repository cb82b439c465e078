/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timer_live.c - what an expiry costs a thread that polls without a pause: timers fire one
 * by one as time comes to them, each in a poll of its own, and not all in one.
 *
 *   timer_live   ns a timer: all that polls take more than an idle one, whether they
 *                fire or only move entries
 *
 * 1,000 timers expire within 10 ms, 10,000 within 20 ms and 100,000 within 100 ms. Each
 * poll is timed with a clock read, which an idle one has too. Polls of less than twice
 * the time of an idle one are idle ones; a poll that takes long and fires nothing is an
 * interrupt, and does not count.
 */
#include "partner.h"
#include "timer_contestant.h"

#include <stdio.h>
#include <stdlib.h>

#define LEN(a) (sizeof(a) / sizeof((a)[0]))
#define IDLE_POLLS 201
#define LEAD_NS 1500 /* for each timer: all are armed before the first is due */
#define INTERRUPT_NS 20000.0
#define VALUES_MAX 32

static const struct {
	uint32_t n, span_us;
	unsigned rounds;
} sizes[] = { { 1000, 10000, 20 }, { 10000, 20000, 12 }, { 100000, 100000, 4 } };

static const struct timer_contestant *const contestants[] = {
	&timer_fp,
#ifdef BENCH_RTE_VERSION
	&timer_rte,
#endif
};

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double poll_ns(const struct timer_contestant *c, struct timer_set *set,
		      uint64_t *clock)
{
	uint64_t begin = *clock;

	c->poll(set, begin);
	*clock = bench_now_ns();
	return (double)(*clock - begin);
}

static double idle_ns(const struct timer_contestant *c, struct timer_set *set,
		      uint64_t *clock)
{
	double ns[IDLE_POLLS];

	for (unsigned i = 0; i < IDLE_POLLS; i++)
		ns[i] = poll_ns(c, set, clock);
	qsort(ns, IDLE_POLLS, sizeof(ns[0]), compare_doubles);
	return ns[IDLE_POLLS / 2];
}

/* ns a timer; 0: something came between. */
static double run(const struct timer_contestant *c, struct timer_set *set,
		  const uint32_t *us)
{
	long switches = partner_switches();
	uint64_t clock = bench_now_ns(), fired;
	double idle, work = 0;

	c->arm_at(set, us, clock + (uint64_t)LEAD_NS * set->n);
	set->fired = 0;
	clock = bench_now_ns();
	idle = idle_ns(c, set, &clock);
	if (set->fired)
		switches = -1; /* late with arming */
	while (set->fired < set->n) {
		double ns;

		fired = set->fired;
		ns = poll_ns(c, set, &clock);
		if (ns >= 2 * idle && (set->fired != fired || ns < INTERRUPT_NS))
			work += ns - idle;
	}
	return partner_switches() == switches ? work / set->n : 0;
}

static void measure(struct bench *b, unsigned size, unsigned n)
{
	static float values[LEN(contestants)][VALUES_MAX];
	struct timer_set sets[LEN(contestants)] = { 0 };
	unsigned rounds = (unsigned)(sizes[size].rounds * bench_scale(b) + 0.5);
	unsigned kept[LEN(contestants)] = { 0 };
	uint32_t *us = timer_alloc(sizes[size].n * sizeof(*us));
	uint64_t seed = 42 + bench_process(b);

	rounds = rounds < 1 ? 1 : rounds > VALUES_MAX ? VALUES_MAX : rounds;
	for (unsigned i = 0; i < n; i++) {
		sets[i].n = sizes[size].n;
		sets[i].ids = timer_alloc(sets[i].n * sizeof(uint64_t));
		if (!contestants[i]->open(&sets[i]))
			abort();
	}
	for (unsigned r = 0; r < rounds * n; r++) {
		unsigned i = (r + r / n) % n;
		double ns;

		bench_progress(b, "timers, as they come", (double)r / (rounds * n));
		for (uint32_t t = 0; t < sets[i].n; t++)
			us[t] = timer_random_below(&seed, sizes[size].span_us);
		ns = run(contestants[i], &sets[i], us);
		if (ns > 0)
			values[i][kept[i]++] = (float)ns;
	}
	for (unsigned i = 0; i < n; i++) {
		struct bench_case c = { .row = "timer_live",
					.mode = "poll",
					.who = contestants[i]->who,
					.unit = "ns",
					.burst = 1,
					.capacity = sizes[size].n };

		bench_samples(b, &c, values[i], kept[i]);
		contestants[i]->close(&sets[i]);
		free(sets[i].ids);
	}
	free(us);
}

void timer_live(struct bench *b, int with_rte)
{
	bench_pin(bench_cpu(b, 0));
	for (unsigned i = 0; i < LEN(sizes); i++)
		if (bench_wanted(b, "timer_live", "poll", 1, sizes[i].n, 0))
			measure(b, i, with_rte ? (unsigned)LEN(contestants) : 1);
	bench_unpin(b);
}
