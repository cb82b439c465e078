/* SPDX-License-Identifier: BSD-2-Clause */
/* worker.c - see worker.h. */
#include "worker.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#define CAPACITY 1024

static const uint32_t bursts[] = { 1, 32, 256, WORKER_BURST_MAX };
#define N_BURSTS (sizeof(bursts) / sizeof(bursts[0]))
#define PER_MODE (N_BURSTS + 1) /* and single calls */

static const char *const modes[] = { "ST", "MT" };
static fp_ring *rings[2];
uint64_t worker_source[WORKER_BURST_MAX], worker_target[WORKER_BURST_MAX];

static uint64_t work(const struct worker_way *way, unsigned number, uint64_t units)
{
	fp_ring *ring = rings[number / PER_MODE];
	unsigned which = number % PER_MODE;

	return which < N_BURSTS ? way->pairs(ring, bursts[which], units) :
				  way->single(ring, units);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static long switches(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return r.ru_nivcsw;
}

static void announce(const char *version, const struct worker_way *way)
{
	printf("{\"version\": \"%s\", \"cases\": [", version);
	for (unsigned m = 0; m < 2; m++) {
		for (unsigned b = 0; b < N_BURSTS; b++)
			printf("{\"who\": \"%s\", \"mode\": \"%s\", \"burst\": %" PRIu32
			       "}, ",
			       way->bursts, modes[m], bursts[b]);
		printf("{\"who\": \"%s\", \"mode\": \"%s\", \"burst\": 1}%s",
		       way->singles, modes[m], m ? "" : ", ");
	}
	puts("]}");
	fflush(stdout);
}

int worker_main(int argc, char **argv, const char *version, const struct worker_way *way)
{
	cpu_set_t cpus;
	unsigned number;
	uint64_t units;

	CPU_ZERO(&cpus);
	CPU_SET(argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		return 1;

	for (unsigned m = 0; m < 2; m++) {
		fp_ring_opts opts = LIBFP_RING_OPTS_INIT;

		opts.capacity = CAPACITY;
		opts.producer = opts.consumer = m ? LIBFP_MT : LIBFP_ST;
		if (fp_ring_create(&opts, &rings[m]))
			return 1;
	}
	announce(version, way);
	while (scanf("%u %" SCNu64, &number, &units) == 2) {
		uint64_t start, done;
		long before;

		if (number >= 2 * PER_MODE)
			return 1;
		work(way, number, units / 8);
		before = switches();
		start = now_ns();
		done = work(way, number, units);
		start = now_ns() - start;
		printf("%" PRIu64 " %" PRIu64 " %ld\n", start, done, switches() - before);
		fflush(stdout);
	}
	return 0;
}
