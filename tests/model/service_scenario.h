/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scenarios of services: cores that walk over their services, and threads that take these
 * away from them.
 *
 * There are two cores, 0 and 1, in their loops, and services A and B. `mapped` says which
 * cores call a service at the start; both are started.
 *
 *   core 0, core 1                          control
 *   1 5  one pass over the services         s S  stop A, B
 *   2 6  two, of services without work      a    stop A without waiting, ask if active
 *   n    core 0: one, without work, then    t    start A
 *        the announcement of a sleep        m M  map A to core 1, core 0
 *   N    that, another pass, and the look   u    unmap A from core 0
 *        before the sleep                   v    the same without waiting
 *   l    core 0 leaves
 *                                           others
 *                                           r    run A once
 *                                           b    a barrier, for other services
 *
 * The function of a service writes a plain word, and so does who has stopped it: these
 * must never race. A function of a serialised service always writes the same word, one
 * that is MT_SAFE has a word for each thread. It must not be called once a stop has
 * returned. Bindings and snapshots are plain memory, written when they are made and when
 * they are freed, and so is a stopped service, as if it were destroyed.
 *
 * Time is a count of looks at the clock: a wait looks once before its barrier, and
 * `looks` times after it; then it gives up, which is right at any time.
 */
#ifndef MODEL_SERVICE_SCENARIO_H
#define MODEL_SERVICE_SCENARIO_H

#include "driver.h"

struct service_scenario {
	const char *name;
	const char *threads[EX_THREADS]; /* up to the first NULL */
	const char *mapped[2];		 /* cores of A and B, "01" for both */
	int mt_safe;			 /* A and B are */
	int exchange;			 /* the kernel has no membarrier */
	int looks;			 /* 0: 1 */
	int stopped;			 /* A is not started */
	int big;			 /* see struct model_suite */
};

void service_scenario_prepare(const struct service_scenario *s, struct ex_test *test);

#endif
