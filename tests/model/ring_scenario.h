/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scenarios of rings: a ring in some state, and threads that run little
 * programs on it through the public calls.
 *
 * One letter is one operation:
 *
 *   producers                           consumers
 *   e      enqueue_u64                  d      dequeue_u64
 *   i      enqueue_burst of 1           j      dequeue_burst of 1
 *   E T    enqueue_burst of 2, 3        D U    dequeue_burst of 2, 3
 *   B      enqueue_bulk of 2            G      dequeue_bulk of 2
 *   R      reserve 2, commit all        Y      reserve 2, commit all
 *   Q A    reserve 2, commit 1, 0       y z    reserve 2, commit 1, 0 (ST)
 *   r a    reserve 1, commit 1, 0
 *   o x    reserve 1; commit it         q v    reserve 1; commit it
 *   c      close                        k      peek 1 (ST)
 *
 *   n      count                        p      plain write that whoever gets
 *   s w    raise, await a flag                 -EPIPE from a dequeue reads
 *   m      commit (a copy of) the span that was reserved before the start
 *   X S    shut as destroy does, as reset does (CHECKED)
 *   I H    init, attach (with .unborn: there is no ring at the start)
 *
 * Elements are numbered per producer. After every execution: nothing lost,
 * nothing twice, nothing torn, each producer's elements in order at every
 * consumer and in what is left; counters exact; after close the rules of
 * -EPIPE; and the ring still works over its whole capacity.
 */
#ifndef MODEL_RING_SCENARIO_H
#define MODEL_RING_SCENARIO_H

#include <libfp/ring.h>

#include "driver.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ring_scenario {
	const char *name;
	const char *threads[EX_THREADS]; /* up to the first NULL */
	uint32_t capacity;
	uint32_t fill;	    /* elements inside at the start */
	uint32_t passed;    /* elements that went through before */
	uint32_t elem_size; /* 0: 8 */
	uint32_t producer;
	uint32_t consumer;
	uint32_t flags; /* LIBFP_CHECKED */
	uint32_t span;	/* elements of a span reserved at the start */
	int unborn;
	int big;		  /* minutes: for LIBFP_TEST_SCALE=proof only */
	int must;		  /* every operation gets all it asks for */
	int count_min, count_max; /* what n may return; 0, 0: 0 to capacity */
};

/*
 * For checkers that cannot find the shared locations of the prepared ring by
 * themselves: calls back with each atomic and each stretch of plain memory.
 */
void ring_scenario_locations(void (*atomic)(void *addr, size_t size),
			     void (*plain)(void *addr, size_t len));

/* Makes the ring and fills in *test. */
void ring_scenario_prepare(const struct ring_scenario *s, struct ex_test *test);

#ifdef __cplusplus
}
#endif

#endif
