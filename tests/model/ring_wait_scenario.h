/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scenarios of waiting for rings: a ring with a wake-up on each side, and threads that
 * run little programs on it through the public calls.
 *
 *   producers                             consumers
 *   e    enqueue_u64                      d      dequeue_u64: a thief, it only polls
 *   E    enqueue_bulk of 2                T      dequeue_bulk of 2
 *   0 1  commit of the first, the second  w      dequeue_wait of 1
 *        span reserved before the start   W      dequeue_wait of 2, together
 *   p    enqueue_wait of 1                t      dequeue_wait of 1, with a time-out
 *   q    wait_writable                    r      wait_readable
 *   c    close
 *
 *   x X  interrupt the consumers, the producers, once somebody has announced himself
 *   v    go on once a consumer is inside a waiting call
 *   D    destroy
 *
 * A wait without time-out must end when it can. So when nobody can run, whoever sleeps
 * must have no reason to be awake: no element is left for a consumer, no slot for a
 * producer, the ring is open, nobody was interrupted. That is how a lost wake-up shows.
 * Elements: nothing lost, nothing twice.
 *
 * All naps (ring_wait.c) and time-outs end at the latest once nobody can run; with
 * `timeouts` also before, once per thread.
 */
#ifndef MODEL_RING_WAIT_SCENARIO_H
#define MODEL_RING_WAIT_SCENARIO_H

#include <libfp/ring.h>

#include "driver.h"

enum ring_wait_bound {
	OWN_WAKEUPS,  /* LIBFP_RING_WAIT: kind ONE */
	BOUND,	      /* fp_ring_set_wakeup(), both sides, kind ALL */
	BOUND_FENCED, /* the same with LIBFP_WAKEUP_FENCE */
};

struct ring_wait_scenario {
	const char *name;
	const char *threads[EX_THREADS]; /* up to the first NULL */
	uint32_t capacity;
	uint32_t fill;	/* elements inside at the start */
	uint32_t spans; /* of one slot each, reserved behind them */
	uint32_t producer;
	uint32_t consumer;
	enum ring_wait_bound bound;
	int no_membarrier; /* the kernel refuses it */
	int timeouts;	   /* see ex_test */
	int asleep;	   /* the same */
	int big;	   /* see struct model_suite */
};

/* Makes the ring and fills in *test. */
void ring_wait_scenario_prepare(const struct ring_wait_scenario *s, struct ex_test *test);

#endif
