/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timer_calls.h - how one step of a script becomes one call on a timer wheel or a timer.
 * The driver is timer_conformance.c.
 *
 * A script calls timers by names, which stand for ids from the call that makes one on. The
 * callback, where a timer has one, notes what it was called with, and makes the steps that
 * the script has for its first call.
 */
#ifndef CONFORMANCE_TIMER_CALLS_H
#define CONFORMANCE_TIMER_CALLS_H

#include "calls.h"

#define TIMERS_MAX 16  /* of a case */
#define RECORDS_MAX 16 /* of a step */

/* What a case calls by names, besides wheels. */
struct things {
	struct timer {
		char name[NAME_SIZE];
		uint64_t id;
		fp_timer_wheel *wheel;
		const json_t *inside; /* steps of the first call */
	} timers[TIMERS_MAX];
	struct handle wakeups[HANDLES_MAX], cores[HANDLES_MAX];
	struct handle services[HANDLES_MAX]; /* by the names of their wheels */
};

/* What came of a step, besides the result. */
struct outcome {
	fp_timer_record out[RECORDS_MAX + 1]; /* of a burst, and what is behind it */
	fp_timer_record called[RECORDS_MAX];  /* what callbacks were called with */
	size_t n_called;
	fp_timer_info infos[TIMERS_MAX]; /* what for_each has shown */
	size_t n_infos;
	int64_t stop; /* what it is to return */
	int32_t results[TIMERS_MAX + 1];
	uint64_t tick; /* an output */
	fp_timer_wheel_stats stats;
};

extern const struct call timer_calls[];

/* A timer's name in a list; NULL for null. */
const char *timer_name(struct run *run, const json_t *v);

/* What a name stands for; null is the id 0. */
struct timer *timer_entry(struct run *run, const char *name);
uint64_t timer_id(struct run *run, const json_t *v);

/* Ticks as a script writes them: 7, "0xffffffffffffffff", "now", "now+7". */
uint64_t tick_of(struct run *run, const json_t *step, const json_t *v);

/* A policy: its name, or a number. */
uint32_t policy_of(const json_t *v);

/* The callback. */
void timer_fired(fp_timer_wheel *wheel, const fp_timer_record *expired, void *user);

#endif
