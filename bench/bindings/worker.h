/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * worker.h - a worker of conduct.py in C: n elements into a ring by one call, out by one
 * call, both sides ST or both MT. How a ring is called is the program's own: `work` of
 * each way.
 */
#ifndef BENCH_WORKER_H
#define BENCH_WORKER_H

#include <stddef.h>
#include <stdint.h>

#include <libfp.h>

#define WORKER_BURST_MAX 1024

#ifdef __clang__
#define WORKER_COMPILER "clang " __clang_version__
#else
#define WORKER_COMPILER "gcc " __VERSION__
#endif

struct worker_way {
	const char *bursts;  /* its name in the report */
	const char *singles; /* and that of single calls */
	/* Moves `units` elements in and out; returns how many came out. */
	uint64_t (*pairs)(fp_ring *ring, uint32_t burst, uint64_t units);
	uint64_t (*single)(fp_ring *ring, uint64_t units);
};

extern uint64_t worker_source[WORKER_BURST_MAX], worker_target[WORKER_BURST_MAX];

/*
 * Works on the core that is the first argument: says what it can measure, then does one
 * slice for each line "CASE UNITS" that it reads, and answers "NS DONE SWITCHES".
 * Returns the exit status.
 */
int worker_main(int argc, char **argv, const char *version, const struct worker_way *way);

#endif
