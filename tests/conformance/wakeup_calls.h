/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wakeup_calls.h - how one step of a script becomes one call on a wake-up. The driver is
 * wakeup_conformance.c.
 *
 * A script calls keys by names: prepare makes one, and wait or cancel uses it up.
 */
#ifndef CONFORMANCE_WAKEUP_CALLS_H
#define CONFORMANCE_WAKEUP_CALLS_H

#include "calls.h"

#define KEYS_MAX 8 /* of a case */

/* What a case calls by names, besides wake-ups. */
struct things {
	struct key {
		char name[NAME_SIZE];
		uint64_t key;
	} keys[KEYS_MAX];
};

/* What came of a step, besides the result. */
struct outcome {
	fp_wakeup_stats stats;
};

extern const struct call wakeup_calls[];

#endif
