/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mempool_calls.h - how one step of a script becomes one call on a pool. The driver
 * (mempool_conformance.c) sets up a struct outcome, the call fills it, and the driver
 * compares it with the script.
 *
 * A script calls objects by names. A name that is new stands for what comes out; one
 * that is known must be what comes out. A number is the object with that index, null any.
 */
#ifndef CONFORMANCE_MEMPOOL_CALLS_H
#define CONFORMANCE_MEMPOOL_CALLS_H

#include "calls.h"

#define CACHES_MAX 8	 /* of a case */
#define OBJECTS_MAX 2048 /* names of objects of a case, objects held at a time */
#define TABLE_MAX 2048	 /* objects of a table; longer counts are for refusals */

/* What a case calls by names, besides pools. */
struct things {
	struct handle caches[CACHES_MAX];
	struct object {
		char name[NAME_SIZE];
		void *object;
	} objects[OBJECTS_MAX];
	void *held[OBJECTS_MAX]; /* got and not put */
	size_t n_held;
	void **window; /* of the last put_reserve */
};

/* What came of a step, besides the result. */
struct outcome {
	fp_mempool *pool;
	void **out;   /* room for n objects and one more, set before */
	size_t n_out; /* objects that came out */
	fp_mempool_stats stats;
	fp_mempool_leak *leaks; /* room for as many, set before */
};

extern const struct call mempool_calls[];

/* What an object of a step is: a name's, or a number's; NULL: a name that is new. */
void *object_of(struct run *run, const fp_mempool *pool, const char *name, int64_t index);

/* Calls `visit` with each object of a list: its name ("": null), or NULL and its index. */
typedef void visit_fn(struct run *run, size_t at, const char *name, int64_t index);
size_t visit_objects(struct run *run, const json_t *list, visit_fn *visit);

#endif
