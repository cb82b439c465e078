/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ring_calls.h - how one step of a script becomes one call of the library. The
 * driver (ring_conformance.c) sets up a struct outcome, looks the call up, lets it
 * run, and compares the outcome with the script.
 */
#ifndef CONFORMANCE_RING_CALLS_H
#define CONFORMANCE_RING_CALLS_H

#include <libfp.h>

#include "script.h"

#define NAMED_MAX 8    /* rings, spans, memories of a case */
#define TABLE_MAX 4096 /* elements of a table; longer counts are for refusals */

enum named_kind { RINGS, SPANS, MEMORIES, NAMED_KINDS };

/* What a case calls by a name. */
struct named {
	char name[16]; /* empty: not in use */
	fp_ring *ring;
	fp_ring_span span;
	void *mem;
	uint64_t len;
};

/* All that. */
struct things {
	struct named named[NAMED_KINDS][NAMED_MAX];
};

/* What came of a step. */
struct outcome {
	int64_t got;
	int is_text;	    /* not a number but text: */
	const char *text;   /* of fp_ring_name() */
	uint32_t elem_size; /* of the ring, set before */
	unsigned char *out; /* room for what comes out, set before */
	uint32_t after;	    /* free or used slots */
	fp_ring_span span;
	fp_ring_stats stats;
};

/* The call of a step. */
const struct call *ring_call(const json_t *step);

/* The object that a step names: found, or a new empty place. */
struct named *named(struct run *run, enum named_kind kind, const char *name);
struct named *named_at(struct run *run, enum named_kind kind, int at);

#endif
