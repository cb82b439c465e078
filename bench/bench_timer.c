/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench_timer.c - libfp's timer wheels beside DPDK's timers, libev's, libuv's and the
 * kernel's. Writes JSON lines to stdout; bench/run starts it several times and makes the
 * report.
 *
 *   timer_arm, timer_rearm, timer_later, timer_touch, timer_cancel, timer_expire,
 *   timer_hold, timer_passed
 *                    ns a timer, of 1,000 to 1,000,000 (timer_steps.c); the mode is the
 *                    kind of call
 *   timer_live       ns a timer that fires when time comes to it (timer_live.c)
 *   timer_memory, timer_reserved
 *                    bytes of memory touched, and of address space, for each timer
 *   timer_idle, timer_crowd, timer_ageing
 *                    polls that find nothing, arms after many threads have armed, flows
 *                    (timer_idle.c)
 *   timer_two, timer_remote, timer_drain
 *                    two threads (timer_pairs.c)
 *   timer_poll, timer_entries
 *                    polls of a large wheel that fire nothing (timer_polls.c)
 *   timer_real, timer_real_cpu
 *                    real time (timer_real.c)
 *
 * The capacity is how many timers there are; of timer_crowd, how many threads.
 */
#include "timer_contestant.h"

#include <stdio.h>
#include <stdlib.h>

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

void *timer_alloc(size_t size)
{
	void *p = calloc(1, size);

	if (!p) {
		fprintf(stderr, "bench: out of memory\n");
		exit(2);
	}
	return p;
}

static const struct timer_contestant *contestants[5];
static unsigned n_contestants;
static int with_rte;

static void start_libraries(struct bench *b)
{
	struct bench_peer peers[] = {
		{ .name = "rte_timer",
		  .reason = "libdpdk-dev was not there at build time" },
		{ .name = "libev", .reason = "libev-dev was not there at build time" },
		{ .name = "libuv", .reason = "libuv1-dev was not there at build time" },
	};

	contestants[n_contestants++] = &timer_fp;
#ifdef BENCH_RTE_VERSION
	peers[0].reason = timer_rte_start(bench_cpu(b, 0));
	if (!peers[0].reason) {
		peers[0].version = BENCH_RTE_VERSION;
		contestants[n_contestants++] = &timer_rte;
		with_rte = 1;
	}
#endif
#ifdef BENCH_EV_VERSION
	peers[1].version = BENCH_EV_VERSION;
	contestants[n_contestants++] = &timer_ev;
#endif
#ifdef BENCH_UV_VERSION
	peers[2].version = BENCH_UV_VERSION;
	contestants[n_contestants++] = &timer_uv;
#endif
	contestants[n_contestants++] = &timer_timerfd;
	bench_describe(b, peers, LEN(peers));
}

int main(int argc, char **argv)
{
	struct bench *b = bench_start(argc, argv);

	start_libraries(b);
	timer_memory(b, contestants, n_contestants);
	timer_steps(b, contestants, n_contestants);
	timer_live(b, with_rte);
	timer_idle(b, with_rte);
	timer_pairs(b, with_rte);
	timer_polls(b);
	timer_real(b);
	bench_finish(b);
	return 0;
}
