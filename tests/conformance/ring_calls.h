/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ring_calls.h - how one step of a script becomes one call on a ring. The driver
 * (ring_conformance.c) sets up a struct outcome, the call fills it, and the driver
 * compares it with the script.
 */
#ifndef CONFORMANCE_RING_CALLS_H
#define CONFORMANCE_RING_CALLS_H

#include "calls.h"

#define NAMED_MAX 8    /* spans, memories, wake-ups of a case */
#define TABLE_MAX 4096 /* elements of a table; longer counts are for refusals */

/* What a case calls by names, besides rings. */
struct things {
	struct span {
		char name[NAME_SIZE];
		fp_ring_span span;
	} spans[NAMED_MAX];
	struct memory {
		char name[NAME_SIZE];
		void *mem;
		uint64_t len;
	} memories[NAMED_MAX];
	struct handle wakeups[NAMED_MAX];
};

/* What came of a step, besides the result. */
struct outcome {
	uint32_t elem_size; /* of the ring, set before */
	size_t room;	    /* bytes of out */
	unsigned char *out; /* room for what comes out, set before */
	uint32_t after;	    /* free or used slots */
	fp_ring_span span;
	fp_ring_stats stats;
};

extern const struct call ring_calls[];

#endif
