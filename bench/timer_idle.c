/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timer_idle.c - polls that find nothing due, what a wheel costs that many threads have
 * armed, and the ageing of flows.
 *
 *   timer_idle    mode "now": the time is given, and stays. "rdtsc": it is read from the
 *                 time stamp counter, as rte_timer_manage() does itself. "monotonic": from
 *                 fp_timer_wheel_now().
 *   timer_crowd   an idle poll, and an arm by the thread that polls, after so many
 *                 threads have armed a timer of this wheel, which they still could. The
 *                 peer has a list for each lcore that arms, and polls them all, as its
 *                 event timer adapter does.
 *   timer_ageing  ns a packet: a burst of 32 packets touches 32 of n flows, and polls. A
 *                 packet comes every 10 us, and a flow expires after 60 s of silence.
 */
#include "timer_contestant.h"

#include <stdio.h>
#include <stdlib.h>

#include <libfp/timer.h>

#define LEN(a) (sizeof(a) / sizeof((a)[0]))
#define ARMED 1024u /* a power of two */
#define FAR_AWAY (1ull << 60)
#define FLOW_TIMEOUT_US 60000000u
#define PACKET_US 10
#define PACKETS (1u << 20) /* the sequence of flows, then it repeats */

struct idle {
	fp_timer_wheel *wheel;
	uint64_t ids[ARMED + TIMER_CROWD_MOST];
	uint64_t expiries[ARMED];
	uint64_t at; /* of the arms */
	unsigned threads;
};

static fp_timer_wheel *make_wheel(uint32_t n, uint64_t start, uint64_t *ids)
{
	fp_timer_wheel_opts opts = LIBFP_TIMER_WHEEL_OPTS_INIT;
	fp_timer_wheel *wheel;

	opts.flags = LIBFP_WHEEL_START_AT;
	opts.start_tick = start;
	opts.capacity = n;
	if (fp_timer_wheel_create(&opts, &wheel) ||
	    fp_timer_create_bulk(wheel, NULL, NULL, ids, n) != (int32_t)n)
		abort();
	return wheel;
}

/* ---- polls ---- */

static uint64_t poll_now(void *object, uint32_t burst, uint64_t units)
{
	fp_timer_wheel *wheel = ((struct idle *)object)->wheel;

	(void)burst;
	for (uint64_t i = 0; i < units; i++)
		fp_timer_wheel_poll(wheel, 1, LIBFP_WHEEL_NO_LIMIT);
	return units;
}

#ifdef __x86_64__
static uint64_t poll_rdtsc(void *object, uint32_t burst, uint64_t units)
{
	fp_timer_wheel *wheel = ((struct idle *)object)->wheel;

	(void)burst;
	for (uint64_t i = 0; i < units; i++)
		fp_timer_wheel_poll(wheel, __builtin_ia32_rdtsc(), LIBFP_WHEEL_NO_LIMIT);
	return units;
}
#endif

static uint64_t poll_monotonic(void *object, uint32_t burst, uint64_t units)
{
	fp_timer_wheel *wheel = ((struct idle *)object)->wheel;
	uint64_t now = 0;

	(void)burst;
	for (uint64_t i = 0; i < units; i++) {
		fp_timer_wheel_now(wheel, &now);
		fp_timer_wheel_poll(wheel, now, LIBFP_WHEEL_NO_LIMIT);
	}
	return units;
}

static uint64_t arm(void *object, uint32_t burst, uint64_t units)
{
	struct idle *idle = object;
	uint64_t at = idle->at;

	(void)burst;
	for (uint64_t i = 0; i < units; i++, at++)
		fp_timer_arm(idle->wheel, idle->ids[at % ARMED],
			     idle->expiries[(at * 7 + at / ARMED) % ARMED]);
	idle->at = at;
	return units;
}

/* ---- a crowd ---- */

struct member {
	struct idle *idle;
	uint64_t id;
	pthread_barrier_t *armed, *leave;
};

static void *arm_once(void *arg)
{
	struct member *m = arg;

	fp_timer_arm(m->idle->wheel, m->id, FAR_AWAY);
	pthread_barrier_wait(m->armed);
	pthread_barrier_wait(m->leave);
	return NULL;
}

static void add(struct bench *b, const char *row, const char *mode, unsigned threads,
		const char *who, bench_loop *loop, void *object)
{
	struct bench_case c = { .row = row,
				.mode = mode,
				.who = who,
				.unit = "ns",
				.burst = 1,
				.capacity = threads,
				.object = object,
				.one = loop };

	if (bench_wanted(b, row, mode, 1, threads, 0))
		bench_add(b, &c);
}

static const unsigned crowds[] = { 1, 4, 16, TIMER_CROWD_MOST };

static void open_idle(struct idle *idle, unsigned threads)
{
	uint64_t seed = 2463534242u;

	idle->threads = threads;
	idle->wheel = make_wheel(ARMED + threads, 0, idle->ids);
	for (unsigned i = 0; i < ARMED; i++)
		idle->expiries[i] =
			TIMER_AHEAD_US + timer_random_below(&seed, TIMER_SPREAD_US);
}

static void crowd(struct bench *b, int with_rte)
{
	static struct idle idles[LEN(crowds)];
	static unsigned lists[LEN(crowds)];
	static struct member members[LEN(crowds) * TIMER_CROWD_MOST];
	static pthread_t threads[LEN(members)];
	pthread_barrier_t armed, leave;
	unsigned n = 0;

	for (unsigned c = 0; c < LEN(crowds); c++) {
		open_idle(&idles[c], crowds[c]);
		for (unsigned i = 0; i < crowds[c]; i++)
			members[n++] =
				(struct member){ &idles[c], idles[c].ids[ARMED + i],
						 &armed, &leave };
	}
	pthread_barrier_init(&armed, NULL, n + 1);
	pthread_barrier_init(&leave, NULL, n + 1);
	for (unsigned i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, arm_once, &members[i]))
			abort();
	pthread_barrier_wait(&armed);
	for (unsigned c = 0; c < LEN(crowds); c++) {
		fp_timer_wheel_poll(idles[c].wheel, 0, 0); /* what is in its lanes */
		lists[c] = crowds[c];
		add(b, "timer_crowd", "idle poll", crowds[c], "libfp", poll_now,
		    &idles[c]);
		add(b, "timer_crowd", "arm", crowds[c], "libfp", arm, &idles[c]);
#ifdef BENCH_RTE_VERSION
		if (with_rte)
			add(b, "timer_crowd", "idle poll", crowds[c], "rte_timer",
			    timer_rte_idle_many, &lists[c]);
#endif
	}
	(void)with_rte;
	(void)lists;
	bench_run(b, "timers, a crowd", 0.6);
	pthread_barrier_wait(&leave);
	for (unsigned i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	for (unsigned c = 0; c < LEN(crowds); c++)
		fp_timer_wheel_destroy(idles[c].wheel);
	pthread_barrier_destroy(&armed);
	pthread_barrier_destroy(&leave);
}

static void idle_polls(struct bench *b, int with_rte)
{
	static struct idle idle, by_clock;

	open_idle(&idle, 1);
	open_idle(&by_clock, 1);
	fp_timer_arm(idle.wheel, idle.ids[0], FAR_AWAY);
	fp_timer_arm(by_clock.wheel, by_clock.ids[0], FAR_AWAY);
	add(b, "timer_idle", "now", 1, "libfp", poll_now, &idle);
#ifdef __x86_64__
	add(b, "timer_idle", "rdtsc", 1, "libfp", poll_rdtsc, &by_clock);
#endif
	add(b, "timer_idle", "monotonic", 1, "libfp", poll_monotonic, &by_clock);
#ifdef BENCH_RTE_VERSION
	if (with_rte)
		add(b, "timer_idle", "rdtsc", 1, "rte_timer", timer_rte_idle, NULL);
#endif
	(void)with_rte;
	bench_run(b, "timers, idle polls", 0.3);
	fp_timer_wheel_destroy(idle.wheel);
	fp_timer_wheel_destroy(by_clock.wheel);
}

/* ---- ageing ---- */

struct flows {
	fp_timer_wheel *wheel;
	uint64_t *ids;
	uint32_t *packets; /* the flow of each */
	uint64_t now, at, expired;
};

static uint64_t age(struct flows *f, uint64_t packets, int bulk)
{
	for (uint64_t done = 0; done < packets; done += TIMER_BURST) {
		uint64_t ids[TIMER_BURST], expiries[TIMER_BURST];
		fp_timer_record records[TIMER_BURST];
		uint64_t expiry;
		int32_t n;

		f->now += TIMER_BURST * PACKET_US;
		expiry = f->now + FLOW_TIMEOUT_US;
		for (unsigned i = 0; i < TIMER_BURST; i++) {
			uint32_t flow = f->packets[f->at++ % PACKETS];

			if (!bulk) {
				fp_timer_touch(f->wheel, f->ids[flow], expiry);
				continue;
			}
			ids[i] = f->ids[flow];
			expiries[i] = expiry;
		}
		if (bulk)
			fp_timer_touch_bulk(f->wheel, ids, expiries, TIMER_BURST, NULL);
		while ((n = fp_timer_wheel_poll_burst(f->wheel, f->now, records,
						      TIMER_BURST)) > 0)
			for (int32_t i = 0; i < n; i++, f->expired++)
				fp_timer_arm(f->wheel, records[i].id, expiry);
	}
	return packets;
}

static uint64_t age_calls(void *object, uint32_t burst, uint64_t units)
{
	(void)burst;
	return age(object, units, 0);
}

static uint64_t age_bulk(void *object, uint32_t burst, uint64_t units)
{
	(void)burst;
	return age(object, units, 1);
}

static void ageing(struct bench *b)
{
	static const uint32_t numbers[] = { 1000, 100000 };
	static struct flows flows[2 * LEN(numbers)];
	uint64_t seed = 362436069;
	unsigned n = 0;

	for (unsigned i = 0; i < LEN(flows); i++) {
		uint32_t count = numbers[i / 2];
		struct flows *f = &flows[n];
		struct bench_case c = { .row = "timer_ageing",
					.mode = i % 2 ? "bulk" : "call",
					.who = "libfp",
					.unit = "ns",
					.burst = TIMER_BURST,
					.capacity = count,
					.object = f,
					.one = i % 2 ? age_bulk : age_calls };

		if (!bench_wanted(b, c.row, c.mode, c.burst, count, 0))
			continue;
		n++;
		f->ids = timer_alloc(count * sizeof(uint64_t));
		f->packets = timer_alloc(PACKETS * sizeof(uint32_t));
		f->wheel = make_wheel(count, 0, f->ids);
		for (unsigned p = 0; p < PACKETS; p++)
			f->packets[p] = timer_random_below(&seed, count);
		for (uint32_t p = 0; p < count; p++)
			fp_timer_arm(f->wheel, f->ids[p],
				     timer_random_below(&seed, FLOW_TIMEOUT_US));
		bench_add(b, &c);
	}
	bench_run(b, "timers, ageing of flows", 0.8);
	while (n) {
		struct flows *f = &flows[--n];

		fp_timer_wheel_destroy(f->wheel);
		free(f->ids);
		free(f->packets);
	}
}

void timer_idle(struct bench *b, int with_rte)
{
	idle_polls(b, with_rte);
	crowd(b, with_rte);
	ageing(b);
}
