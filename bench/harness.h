/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * harness.h - measures contestants against each other in one process.
 *
 * A *case* is one contestant in one row: a loop that does a given number of
 * units of work (objects, calls, ...) and says how many it did. All cases that
 * are added before a bench_run() take turns, one *slice* of about 0.3 ms each,
 * round after round until the time is up, so that whatever the machine does
 * meanwhile happens to all of them. A slice counts only if
 *   - no thread of it was descheduled (involuntary context switches), and
 *   - for two threads: handing a cache line to the other core cost the same,
 *     near or far, right before and right after it.
 * What is compared is the medians of the same class in the same process.
 *
 * The harness pins the threads it measures and restores the caller's affinity.
 */
#ifndef BENCH_HARNESS_H
#define BENCH_HARNESS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How far apart the two cores are at the moment. */
enum bench_class {
	BENCH_ALONE, /* one thread: no class */
	BENCH_NEAR,
	BENCH_FAR,
	BENCH_CLASSES,
};

/* Does `units` units of work in bursts of `burst`; returns how many it did. */
typedef uint64_t bench_loop(void *object, uint32_t burst, uint64_t units);

struct bench_case {
	/* What it is; strings must outlive the bench and need no escaping. */
	const char *row;  /* "one_thread" */
	const char *mode; /* "MT" */
	const char *who;  /* "libfp", "rte MP/MC" */
	const char *unit; /* "ns" a unit of work, or "M/s": millions of them */
	uint32_t burst, capacity, elem;
	uint32_t step; /* units come in multiples of this; 0: of the burst */
	uint32_t most; /* units of a slice, warm-up included; 0: any number */

	void *object;
	/* Makes the object as each slice wants to find it, untimed; NULL: nothing to do. */
	void (*prepare)(void *object);
	/* One thread: `one`. Two threads: `feed` on one core, `drain` on the
	 * other, which must end up with the same number of units. `drain` may be
	 * asked in parts and then does at least what it is asked for. The time is
	 * drain's: the same loop twice measures two threads at once. */
	bench_loop *one;
	bench_loop *feed, *drain;
};

struct bench; /* one measuring process */

/* A peer, present with its version or missing with the reason. */
struct bench_peer {
	const char *name;
	const char *version; /* NULL: missing */
	const char *reason;
};

/* Reads the options of a bench program; ends it if they are wrong. */
struct bench *bench_start(int argc, char **argv);
void bench_finish(struct bench *bench);

/* True if two threads can be measured: there are two cores to run on. */
int bench_two_cores(const struct bench *bench);

/* Should a row of this name be measured at all? */
int bench_wanted(const struct bench *bench, const char *row, const char *mode,
		 uint32_t burst, uint32_t capacity, uint32_t elem);

/* Adds a case to the next run; the struct is copied. */
void bench_add(struct bench *bench, const struct bench_case *c);

/*
 * Lets all cases added since the last run take turns for about
 * seconds * bench_scale(), writes one JSON line per case and class, and
 * forgets the cases.
 */
void bench_run(struct bench *bench, const char *what, double seconds);

/* Writes the line that describes machine, library and peers. */
void bench_describe(struct bench *bench, const struct bench_peer *peers, unsigned n);

/* Writes that a row was not run, and why. */
void bench_skip(struct bench *bench, const char *row, const char *reason);

/* For rows that measure by themselves: samples of a case that has no class, as
 * bench_run() writes them; and one figure of this process, a share or a rate. */
void bench_samples(struct bench *bench, const struct bench_case *c, const float *values,
		   size_t n);
void bench_figure(struct bench *bench, const char *row, const char *who, const char *unit,
		  double value);

FILE *bench_out(struct bench *bench);
unsigned bench_process(const struct bench *bench);
double bench_scale(const struct bench *bench);
int bench_cpu(const struct bench *bench, unsigned which); /* 0, 1 */
void bench_progress(struct bench *bench, const char *what, double part);
void bench_pin(int cpu); /* the calling thread */
void bench_unpin(const struct bench *bench);
uint64_t bench_now_ns(void);

/* What a caller does that found its ring full or empty: the same for all. */
static inline void bench_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb" ::: "memory");
#endif
}

#ifdef __cplusplus
}
#endif

#endif
