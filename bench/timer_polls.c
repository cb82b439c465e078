/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timer_polls.c - how long a poll of a wheel with a million timers takes that fires
 * nothing, and how many entries it handles at most. A tick is 1 us, and so is the step
 * from one poll to the next.
 *
 * Each load is replayed, and of each poll the shortest replay counts: what the machine
 * takes away does not happen at the same poll twice. The entries are counted by the wheel,
 * and are the same in each replay.
 */
#include "timer_contestant.h"

#include <stdio.h>
#include <stdlib.h>

#include <libfp/timer.h>

#define LEN(a) (sizeof(a) / sizeof((a)[0]))
#define TIMERS 1000000u
#define UNIT_NS 10	 /* of the times that are kept */
#define FIRED UINT16_MAX /* instead of a time */

static const struct load {
	const char *name, *key;
	uint32_t from_us, spread_us;
	uint32_t cancelled; /* of 100 */
	uint32_t again_us;  /* callbacks arm again, for so much later and up to a second
			     * more; 0: they do not */
	uint32_t polls;
	unsigned replays;
} loads[] = {
	{ "uniform over 1 s, armed again", "uniform", 0, 1000000, 0, 1, 2000000, 3 },
	{ "all in 4 to 5 s", "in 4 s", 4000000, 1000000, 0, 0, 5000000, 3 },
	{ "98 % cancelled, the rest in 4 to 5 s", "cancelled", 4000000, 1000000, 98, 0,
	  5000000, 3 },
	{ "all in 30 to 32 s", "in 30 s", 30000000, 2000000, 0, 0, 32000000, 1 },
};

struct replay {
	const struct load *load;
	uint64_t seed, now;
	uint64_t *ids;
};

static void fire(fp_timer_wheel *wheel, const fp_timer_record *expired, void *user)
{
	struct replay *r = user;

	if (r->load->again_us)
		fp_timer_arm(wheel, expired->id,
			     r->now + r->load->again_us +
				     timer_random_below(&r->seed, TIMER_SPREAD_US));
}

static fp_timer_wheel *make_wheel(struct replay *r)
{
	fp_timer_wheel_opts opts = LIBFP_TIMER_WHEEL_OPTS_INIT;
	void **users = timer_alloc(TIMERS * sizeof(*users));
	fp_timer_wheel *wheel;

	for (uint32_t i = 0; i < TIMERS; i++)
		users[i] = r;
	opts.flags = LIBFP_WHEEL_START_AT | LIBFP_MEM_PREFAULT;
	opts.capacity = TIMERS;
	if (fp_timer_wheel_create(&opts, &wheel) ||
	    fp_timer_create_bulk(wheel, fire, users, r->ids, TIMERS) != (int32_t)TIMERS)
		abort();
	free(users);
	for (uint32_t i = 0; i < TIMERS; i++)
		fp_timer_arm(wheel, r->ids[i],
			     r->load->from_us +
				     timer_random_below(&r->seed, r->load->spread_us));
	for (uint32_t i = 0; i < TIMERS; i++)
		if (timer_random_below(&r->seed, 100) < r->load->cancelled)
			fp_timer_cancel(wheel, r->ids[i]);
	fp_timer_wheel_reset_stats(wheel);
	return wheel;
}

/* Notes what is shorter than in the replays before. Returns the most entries. */
static uint64_t replay(const struct load *load, uint64_t *ids, uint16_t *units)
{
	struct replay r = { .load = load, .seed = 1234567, .ids = ids };
	fp_timer_wheel *wheel = make_wheel(&r);
	fp_timer_wheel_stats stats = { .size = sizeof(stats) };
	uint64_t begin = bench_now_ns(), end;

	for (uint32_t i = 0; i < load->polls; i++, begin = end) {
		int64_t fired;
		uint64_t unit;

		r.now = i + 1;
		fired = fp_timer_wheel_poll(wheel, r.now, LIBFP_WHEEL_NO_LIMIT);
		end = bench_now_ns();
		unit = (end - begin) / UNIT_NS;
		if (fired)
			units[i] = FIRED;
		else if (unit < units[i])
			units[i] = (uint16_t)unit;
	}
	fp_timer_wheel_get_stats(wheel, &stats);
	fp_timer_wheel_destroy(wheel);
	return stats.entries_moved_max;
}

static int compare_units(const void *a, const void *b)
{
	return (int)*(const uint16_t *)a - (int)*(const uint16_t *)b;
}

/* Figures of the polls that fired nothing: the sort puts these first. */
static void quantiles(struct bench *b, const struct load *load, uint16_t *units)
{
	static const struct {
		const char *name;
		double q;
	} shown[] = { { "p50", 0.5 },
		      { "p99", 0.99 },
		      { "p99.9", 0.999 },
		      { "p99.99", 0.9999 },
		      { "longest", 1 } };
	uint32_t n = load->polls;
	char who[96];

	qsort(units, n, sizeof(*units), compare_units);
	while (n && units[n - 1] == FIRED)
		n--;
	for (unsigned i = 0; n && i < LEN(shown); i++) {
		snprintf(who, sizeof(who), "%s, %s", load->name, shown[i].name);
		bench_figure(b, "timer_poll", who, "us",
			     units[(uint32_t)(shown[i].q * (n - 1) + 0.5)] * UNIT_NS /
				     1e3);
	}
}

void timer_polls(struct bench *b)
{
	uint64_t *ids = timer_alloc(TIMERS * sizeof(*ids));

	bench_pin(bench_cpu(b, 0));
	for (unsigned l = 0; l < LEN(loads); l++) {
		const struct load *load = &loads[l];
		unsigned replays = (unsigned)(load->replays * bench_scale(b) + 0.5);
		uint64_t most = 0;
		uint16_t *units;

		if (!bench_wanted(b, "timer_poll", load->key, 1, TIMERS, 0))
			continue;
		replays = replays < 1		  ? 1 :
			  replays > load->replays ? load->replays :
						    replays;
		units = timer_alloc(load->polls * sizeof(*units));
		memset(units, 0xff, load->polls * sizeof(*units));
		for (unsigned i = 0; i < replays; i++) {
			bench_progress(b, "timers, polls that fire nothing",
				       (l + (double)i / replays) / LEN(loads));
			most = replay(load, ids, units);
		}
		bench_figure(b, "timer_entries", load->name, "entries", (double)most);
		quantiles(b, load, units);
		free(units);
	}
	free(ids);
	bench_unpin(b);
}
