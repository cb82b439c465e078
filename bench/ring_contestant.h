/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ring_contestant.h - what a ring library must offer to take part.
 *
 * Each library has a file of its own (ring_fp.c: ours, through the shared
 * library; ring_rte.c, ring_ck.c, ring_atomic_queue.cc, ring_moodycamel.cc:
 * the peers, inlined). The timed loops are the same text for all of them
 * (RING_LOOPS) and are compiled in the contestant's file, so that a peer made
 * of inline functions is measured the way its users run it.
 */
#ifndef BENCH_RING_CONTESTANT_H
#define BENCH_RING_CONTESTANT_H

#include <stdint.h>

#include "harness.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RING_ST 1u /* one producer and one consumer at a time */
#define RING_MT 2u /* any number of both */

struct ring_shape {
	uint32_t sync; /* RING_ST or RING_MT */
	uint32_t capacity, elem;
};

struct ring_loops {
	bench_loop *pair;  /* enqueues n, dequeues n, ... */
	bench_loop *feed;  /* enqueues until all is in */
	bench_loop *drain; /* dequeues until all is out */
};

/* A reservation of eight objects that is being held; see ring_stall.c. */
struct ring_hold {
	uint64_t words[4]; /* the contestant's */
};

/* For ring_stall.c: a producer that stops in the middle of an enqueue. */
struct ring_stall {
	uint32_t (*put)(void *ring, uint32_t n);	 /* one call; returns how many */
	uint32_t (*take)(void *ring, uint32_t n);	 /* one call; returns how many */
	int (*hold)(void *ring, struct ring_hold *hold); /* false: full */
	void (*release)(void *ring, struct ring_hold *hold);
};

struct ring_contestant {
	const char *who;
	uint32_t sync; /* the modes it competes in: RING_ST | RING_MT */
	/* NULL: does not do this shape, or no memory */
	void *(*open)(const struct ring_shape *shape);
	void (*close)(void *ring);
	/* Bursts of one go through the library's call for one object. */
	const struct ring_loops *(*loops)(const struct ring_shape *shape, uint32_t burst);
	const struct ring_stall *stall; /* NULL: offers no way to stop inside */
	const char *only_row;		/* NULL: takes part in every row */
};

struct ring_library {
	struct bench_peer peer;
	/* Sets the library up; NULL, or the reason why it cannot take part. */
	const char *(*start)(int cpu);
	const struct ring_contestant *contestants;
	unsigned n;
};

extern const struct ring_library ring_fp, ring_rte, ring_ck, ring_atomic_queue,
	ring_moodycamel;

/* The loops around two calls that do nothing; see floor.h. */
const struct ring_loops *bench_floor_loops(void);

/* libfp from a caller compiled without -fno-plt; see ring_fp_plt.c. */
extern const struct ring_contestant ring_fp_plt;
const struct ring_loops *bench_plt_loops(void);

/* Objects that are enqueued, and where they are dequeued to. */
#define RING_BURST_MAX 256
#define RING_ELEM_MAX 64
extern unsigned char ring_source[RING_BURST_MAX * RING_ELEM_MAX];
extern unsigned char ring_target[RING_BURST_MAX * RING_ELEM_MAX];

/*
 * The timed loops around PUT(ring, table, n) and GET(ring, table, n), which
 * return how many objects they moved.
 */
#define RING_LOOP __attribute__((noinline)) static uint64_t

#define RING_PAIR(name, PUT, GET)                                         \
	RING_LOOP name##_pair(void *ring, uint32_t burst, uint64_t units) \
	{                                                                 \
		uint64_t out = 0;                                         \
                                                                          \
		for (uint64_t i = 0; i < units; i += burst) {             \
			PUT(ring, ring_source, burst);                    \
			out += GET(ring, ring_target, burst);             \
		}                                                         \
		return out;                                               \
	}

#define RING_LOOPS(name, PUT, GET)                                            \
	RING_PAIR(name, PUT, GET)                                             \
	RING_LOOP name##_feed(void *ring, uint32_t burst, uint64_t units)     \
	{                                                                     \
		for (uint64_t left = units; left;) {                          \
			uint32_t n = left < burst ? (uint32_t)left : burst;   \
			uint32_t k = (uint32_t)PUT(ring, ring_source, n);     \
                                                                              \
			left -= k;                                            \
			if (!k)                                               \
				bench_relax();                                \
		}                                                             \
		return units;                                                 \
	}                                                                     \
	RING_LOOP name##_drain(void *ring, uint32_t burst, uint64_t units)    \
	{                                                                     \
		uint64_t out = 0;                                             \
                                                                              \
		while (out < units) {                                         \
			uint32_t k = (uint32_t)GET(ring, ring_target, burst); \
                                                                              \
			out += k;                                             \
			if (!k)                                               \
				bench_relax();                                \
		}                                                             \
		return out;                                                   \
	}                                                                     \
	static const struct ring_loops name = { name##_pair, name##_feed, name##_drain };

/* The same for PUT1(ring, uint64_t) and GET1(ring, uint64_t *) of one object. */
#define RING_LOOPS_ONE(name, PUT1, GET1)                                   \
	RING_LOOP name##_pair(void *ring, uint32_t burst, uint64_t units)  \
	{                                                                  \
		uint64_t out = 0, object;                                  \
                                                                           \
		(void)burst;                                               \
		for (uint64_t i = 0; i < units; i++) {                     \
			PUT1(ring, units);                                 \
			out += GET1(ring, &object);                        \
		}                                                          \
		return out;                                                \
	}                                                                  \
	RING_LOOP name##_feed(void *ring, uint32_t burst, uint64_t units)  \
	{                                                                  \
		(void)burst;                                               \
		for (uint64_t left = units; left;) {                       \
			if (PUT1(ring, left))                              \
				left--;                                    \
			else                                               \
				bench_relax();                             \
		}                                                          \
		return units;                                              \
	}                                                                  \
	RING_LOOP name##_drain(void *ring, uint32_t burst, uint64_t units) \
	{                                                                  \
		uint64_t out = 0, object;                                  \
                                                                           \
		(void)burst;                                               \
		while (out < units) {                                      \
			if (GET1(ring, &object))                           \
				out++;                                     \
			else                                               \
				bench_relax();                             \
		}                                                          \
		return out;                                                \
	}                                                                  \
	static const struct ring_loops name = { name##_pair, name##_feed, name##_drain };

#ifdef __cplusplus
}
#endif

#endif
