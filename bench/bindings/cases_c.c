/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cases_c.c - the ring from C, for the comparison of languages: n elements in
 * by one enqueue_burst, out by one dequeue_burst, through the shared library.
 *
 * A worker of conduct.py, on the core that is its argument: it says what it can measure, then does one slice for
 * each line "CASE UNITS" that it reads, and answers "NS DONE SWITCHES".
 */
#include <inttypes.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include <libfp.h>

#ifdef __clang__
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

#define BURST_MAX 1024
#define CAPACITY 1024

static const uint32_t bursts[] = { 1, 32, 256, BURST_MAX };
#define N_BURSTS (sizeof(bursts) / sizeof(bursts[0]))
#define PER_MODE (N_BURSTS + 1) /* and single calls */

static const char *const modes[] = { "ST", "MT" };
static fp_ring *rings[2];
static uint64_t source[BURST_MAX], target[BURST_MAX];

static uint64_t pairs(fp_ring *ring, uint32_t burst, uint64_t units)
{
	uint64_t done = 0;

	for (uint64_t i = 0; i < units; i += burst) {
		fp_ring_enqueue_burst(ring, source, burst, NULL);
		done += (uint32_t)fp_ring_dequeue_burst(ring, target, burst, NULL);
	}
	return done;
}

static uint64_t singles(fp_ring *ring, uint64_t units)
{
	uint64_t done = 0;

	for (uint64_t i = 0; i < units; i++) {
		fp_ring_enqueue_u64(ring, i);
		done += (uint32_t)fp_ring_dequeue_u64(ring, target);
	}
	return done;
}

static uint64_t work(unsigned number, uint64_t units)
{
	fp_ring *ring = rings[number / PER_MODE];
	unsigned which = number % PER_MODE;

	return which < N_BURSTS ? pairs(ring, bursts[which], units) :
				  singles(ring, units);
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

static void announce(void)
{
	printf("{\"version\": \"%s\", \"cases\": [", COMPILER);
	for (unsigned m = 0; m < 2; m++) {
		for (unsigned b = 0; b < N_BURSTS; b++)
			printf("{\"who\": \"C\", \"mode\": \"%s\", \"burst\": %" PRIu32
			       "}, ",
			       modes[m], bursts[b]);
		printf("{\"who\": \"C, single calls\", \"mode\": \"%s\", \"burst\": 1}%s",
		       modes[m], m ? "" : ", ");
	}
	puts("]}");
	fflush(stdout);
}

int main(int argc, char **argv)
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
	announce();
	while (scanf("%u %" SCNu64, &number, &units) == 2) {
		uint64_t start, done;
		long before;

		if (number >= 2 * PER_MODE)
			return 1;
		work(number, units / 8);
		before = switches();
		start = now_ns();
		done = work(number, units);
		start = now_ns() - start;
		printf("%" PRIu64 " %" PRIu64 " %ld\n", start, done, switches() - before);
		fflush(stdout);
	}
	return 0;
}
