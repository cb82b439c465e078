/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_contestant.h - what a library of object pools must offer to take part.
 *
 * Each library has a file of its own (pool_fp.c: ours, through the shared
 * library; pool_rte.c: DPDK's, inlined; pool_malloc.c: the allocators). The
 * timed loops are the same text for all (POOL_TURNS, POOL_PIPE) and are compiled in
 * the contestant's file.
 */
#ifndef BENCH_POOL_CONTESTANT_H
#define BENCH_POOL_CONTESTANT_H

#include <stdint.h>

#include <libfp/ring.h>

#include "harness.h"

/* Which calls of a library are measured. */
enum pool_calls {
	POOL_SINGLE,	/* one object a call */
	POOL_BULK,	/* n objects a call */
	POOL_VIA_CACHE, /* n objects a call, the cache is handed over */
	POOL_ZERO_COPY, /* windows into the cache: two calls for n objects */
	POOL_CALLS,
};

struct pool_shape {
	enum pool_calls calls;
	uint32_t count, size; /* objects, bytes of each */
	uint32_t cache;	      /* objects of a thread's cache */
};

/* An open pool; what the loops get as their object. */
struct pool {
	void *pool;
	void *cache;	/* explicit; NULL: none */
	uint32_t keep;	/* objects that a thread holds before it puts them back */
	uint32_t calls; /* of a turn: all gets and puts of `keep` objects */
	fp_ring *ring;	/* pipeline: from the thread that gets to the one that puts */
};

struct pool_loops {
	bench_loop *turns; /* gets `keep` objects, puts them, ...; counts calls */
	bench_loop *feed,
		*drain; /* pipeline: gets and sends, receives and puts; objects */
};

/* Memory that a pool needs for more than the objects' own bytes. */
struct pool_memory {
	double per_object; /* bytes beside an object, whatever else */
	double in_all;	   /* bytes an object, all that is not the objects */
};

struct pool_contestant {
	const char *who;
	/* Fills pool and cache of *p. 0: does not do this shape, or no memory. */
	int (*open)(struct pool *p, const struct pool_shape *shape);
	void (*close)(struct pool *p);
	const struct pool_loops *loops[POOL_CALLS]; /* NULL: does not have these calls */
	void (*memory)(const struct pool *p, struct pool_memory *m); /* NULL: unknown */
};

struct pool_library {
	struct bench_peer peer;
	/* Sets the library up; NULL, or the reason why it cannot take part. */
	const char *(*start)(int cpu);
	const struct pool_contestant *contestants;
	unsigned n;
};

extern const struct pool_library pool_fp, pool_rte, pool_malloc, pool_jemalloc,
	pool_mimalloc;
extern const struct pool_contestant pool_rte_native; /* see pool_rte_native.c */
/* Loops around nothing. */
extern const struct pool_contestant pool_floor;	    /* two calls that do nothing */
extern const struct pool_contestant pool_ring_only; /* the pipeline without a pool */

#define POOL_KEEP_MAX 2048
#define POOL_BURST_MAX 512

#define POOL_LOOP __attribute__((noinline)) static uint64_t

/*
 * The timed loop around GET(p, table, n) and PUT(p, table, n), which are true if they
 * did it. ENTER() is what a thread must do before its first call.
 */
#define POOL_TURNS(name, ENTER, GET, PUT)                                           \
	POOL_LOOP name##_turns(void *object, uint32_t burst, uint64_t units)        \
	{                                                                           \
		struct pool *p = object;                                            \
		void *table[POOL_KEEP_MAX] __attribute__((aligned(64)));            \
		uint32_t keep = p->keep, calls = p->calls;                          \
		uint64_t done = 0;                                                  \
                                                                                    \
		ENTER();                                                            \
		for (; done < units; done += calls) {                               \
			for (uint32_t i = 0; i < keep; i += burst)                  \
				if (__builtin_expect(!GET(p, table + i, burst), 0)) \
					return 0;                                   \
			for (uint32_t i = 0; i < keep; i += burst)                  \
				if (__builtin_expect(!PUT(p, table + i, burst), 0)) \
					return 0;                                   \
		}                                                                   \
		return done;                                                        \
	}

/* The two ends of the pipeline; whole bursts go through the ring. */
#define POOL_PIPE(name, ENTER, GET, PUT)                                               \
	POOL_LOOP name##_feed(void *object, uint32_t burst, uint64_t units)            \
	{                                                                              \
		struct pool *p = object;                                               \
		void *table[POOL_BURST_MAX] __attribute__((aligned(64)));              \
                                                                                       \
		ENTER();                                                               \
		for (uint64_t done = 0; done < units; done += burst) {                 \
			while (!GET(p, table, burst))                                  \
				bench_relax();                                         \
			while (fp_ring_enqueue_bulk(p->ring, table, burst, NULL) <= 0) \
				bench_relax();                                         \
		}                                                                      \
		return units;                                                          \
	}                                                                              \
	POOL_LOOP name##_drain(void *object, uint32_t burst, uint64_t units)           \
	{                                                                              \
		struct pool *p = object;                                               \
		void *table[POOL_BURST_MAX] __attribute__((aligned(64)));              \
		uint64_t done = 0;                                                     \
                                                                                       \
		ENTER();                                                               \
		while (done < units) {                                                 \
			if (fp_ring_dequeue_bulk(p->ring, table, burst, NULL) <= 0) {  \
				bench_relax();                                         \
				continue;                                              \
			}                                                              \
			if (!PUT(p, table, burst))                                     \
				return 0;                                              \
			done += burst;                                                 \
		}                                                                      \
		return done;                                                           \
	}

#define POOL_LOOPS(name, ENTER, GET, PUT) \
	POOL_TURNS(name, ENTER, GET, PUT) \
	static const struct pool_loops name = { name##_turns, NULL, NULL };
#define POOL_LOOPS_PIPE(name, ENTER, GET, PUT) \
	POOL_TURNS(name, ENTER, GET, PUT)      \
	POOL_PIPE(name, ENTER, GET, PUT)       \
	static const struct pool_loops name = { name##_turns, name##_feed, name##_drain };

#endif
