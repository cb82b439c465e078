/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scenarios of pools: a pool in some state, and threads that run little programs
 * on it through the public calls.
 *
 * One letter is one operation:
 *
 *   g G    get 1, bulk of 2; writes to the objects
 *   p P    writes to what was got last; put 1, bulk of 2 (what there is)
 *   z v    get 1, put 1 in a window of the thread's cache
 *   o i    open a window for puts; put what is held through it: must succeed
 *   a t    show one object in a window; take it: must succeed, if it was shown
 *   x y    get 1, put 1 through the explicit cache that exists at the start
 *   c e    create and destroy an explicit cache of the thread's own
 *   f r    flush, reclaim
 *   k      check that this thread's cache has given back: at most what `k_max` says
 *   E      what happens at the exit of the thread
 *   N      from here on without a slot, as past the thread's exit hook
 *   0      take over slot 0, as a new thread may after its owner's exit
 *   n      read the counts
 *   X      destroy; must succeed
 *   s w    raise, await a flag
 *
 * and on a LIBFP_CHECKED pool, misuse of `shared`, an object in use that more than
 * one thread puts:
 *
 *   d      put it
 *   D      put it together with a pointer that is no object
 *   h      get 1 and leave it at that (with .fresh it is `shared`, not in use yet)
 *   l      list the leaks
 *   Y      shut as destroy does
 *
 * After every execution: each object is available once or in use, the counts
 * agree, and the pool gives all its objects, each once. Magazines, and the objects
 * from put to get, are checked for races.
 *
 * Thread t has slot t, so it begins at shard t modulo 2. A magazine is half a
 * cache.
 */
#ifndef MODEL_MEMPOOL_SCENARIO_H
#define MODEL_MEMPOOL_SCENARIO_H

#include <libfp/mempool.h>

#include "driver.h"

struct mempool_scenario {
	const char *name;
	const char *threads[EX_THREADS]; /* up to the first NULL */
	uint32_t count;
	uint32_t cache_size; /* 0: no thread caches, magazines of one */
	uint32_t flags;
	uint8_t held[EX_THREADS];   /* objects in use at the start, by thread */
	uint8_t cached[EX_THREADS]; /* objects in the caches at the start */
	uint8_t shard0;		    /* the others: so many in shard 0, the rest in 1 */
	uint8_t k_max;
	int counts;  /* two threads may be on one cache: its counts matter */
	int must;    /* every get gets all it asks for */
	int shared;  /* there is a shared object, in use */
	int fresh;   /* it is the next one to be got instead */
	int via;     /* there is an explicit cache */
	int damaged; /* it was written to beyond its end */
	int constructed;
	int big; /* minutes: for LIBFP_TEST_SCALE=proof only */
};

/* Makes the pool and fills in *test. */
void mempool_scenario_prepare(const struct mempool_scenario *s, struct ex_test *test);

#endif
