/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scenarios of wake-ups: things that are published, threads that sleep until they are,
 * by the three ways there are.
 *
 * Thing 0 and thing 1 are a flag each, stored with release, and a plain word that it
 * publishes. Of kind CORES each thing has a wake-up of its own (a service), else both
 * have the same one.
 *
 *   signallers                              sleepers, by prepare and wait
 *   0 1  publish the thing, then signal     a b c  until thing 0, thing 1, both are there
 *   s    signal, nothing new                z      one prepare, one wait with time-out 0
 *   x    interrupt, once all sleepers have  t      until thing 0, with a time-out
 *        prepared
 *                                           sleepers, by descriptor
 *   the end                                 f g h  until thing 0, thing 1, both are there
 *   u    unbind
 *   v    go on once a sleeper is there      service cores
 *   D    destroy, if it is not in use       A B C  core 0, until thing 0, thing 1, both
 *                                           E F G  core 1, the same
 *
 * A prepared wait must end once there is a reason. So when nobody can run, whoever sleeps
 * must have none: that is how a lost wake-up shows. A thread that has prepared before an
 * interrupt must be told. The descriptor is written once per arm at most.
 */
#ifndef MODEL_WAKEUP_SCENARIO_H
#define MODEL_WAKEUP_SCENARIO_H

#include "driver.h"
#include "wakeup/wakeup.h"

struct wakeup_scenario {
	const char *name;
	const char *threads[EX_THREADS]; /* up to the first NULL */
	uint32_t kind;			 /* enum fpi_wakeup_kind: ALL or CORES */
	uint32_t flags;			 /* LIBFP_WAKEUP_FENCE */
	int one_bit;			 /* both cores have the same */
	int bound;			 /* objects, at the start */
	int new_fd;			 /* the descriptor is made by who polls */
	int at_once;	   /* after a poll and a clear all is there that is wanted */
	int no_membarrier; /* the kernel refuses it */
	int timeouts;	   /* see ex_test */
	int asleep;	   /* the same */
	int big;	   /* see struct model_suite */
};

void wakeup_scenario_prepare(const struct wakeup_scenario *s, struct ex_test *test);

#endif
