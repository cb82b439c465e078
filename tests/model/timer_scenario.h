/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scenarios of timers: threads that arm, cancel and destroy two timers, X and Y, while one
 * polls. Thread 0 is the one that polled last, unless `.owner` says otherwise.
 *
 *   any thread                             poller
 *   a b  arm X, Y for tick 5               p    poll at tick 10: callbacks
 *   e    arm X for tick 1                  q    the same: records
 *   l L  arm X, Y for tick 9               w    sleep until there is something, then poll
 *   t    touch X: tick 9
 *   c    cancel X                          beside it
 *   s    cancel X and wait                 n    arm Y for tick 5 and ask for the next
 *   d    destroy X                              expiry: not later
 *   D    destroy X, then wait for it       m    make a timer, and arm it for tick 5
 *                                          k    count, look at all
 *
 * `armed` says what X and Y are armed for at the start. A callback writes a plain word of
 * its timer, and so does who was told that it does not run and will not, or that it has
 * run: these must never race, and after a destroy it must not be called. At the end a
 * last poll fires what is armed, and arms equal firings and cancels, timer by timer.
 */
#ifndef MODEL_TIMER_SCENARIO_H
#define MODEL_TIMER_SCENARIO_H

#include "driver.h"

struct timer_scenario {
	const char *name;
	const char *threads[EX_THREADS]; /* up to the first NULL */
	uint64_t armed[2];		 /* tick; 0: not */
	int owner;			 /* thread that polled last */
	int rearm;			 /* the callback of X arms it again, once */
	int shared;			 /* X is armed by several: its word is nobody's */
	int fence;			 /* the wake-up is in fence mode */
	int asleep;			 /* thread 0 sleeps when the others begin */
	int big;			 /* for LIBFP_TEST_SCALE=proof only */
};

void timer_scenario_prepare(const struct timer_scenario *s, struct ex_test *test);

#endif
