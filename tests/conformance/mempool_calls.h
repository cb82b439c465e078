/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mempool_calls.h - how one step of a script becomes one call on a pool. The driver
 * (mempool_conformance.c) sets up a struct outcome, looks the call up, lets it run,
 * and compares the outcome with the script.
 *
 * A script calls objects by names. A name that is new stands for what comes out; one
 * that is known must be what comes out. A number is the object with that index, null any.
 */
#ifndef CONFORMANCE_MEMPOOL_CALLS_H
#define CONFORMANCE_MEMPOOL_CALLS_H

#include <libfp.h>

#include "script.h"

#define NAMED_MAX 8	 /* pools, caches of a case */
#define OBJECTS_MAX 2048 /* names of objects of a case, objects held at a time */
#define TABLE_MAX 2048	 /* objects of a table; longer counts are for refusals */

/* What a case calls by a name; an empty name is not in use. */
struct named_pool {
	char name[16];
	fp_mempool *pool;
};
struct named_cache {
	char name[16];
	fp_mempool_cache *cache;
};
struct named_object {
	char name[16];
	void *object;
};

/* All that. */
struct things {
	struct named_pool pools[NAMED_MAX];
	struct named_cache caches[NAMED_MAX];
	struct named_object objects[OBJECTS_MAX];
	void *held[OBJECTS_MAX]; /* got and not put */
	size_t n_held;
	void **window; /* of the last put_reserve */
};

/* What came of a step. */
struct outcome {
	int64_t got;
	int is_text;	  /* not a number but text: */
	const char *text; /* of fp_mempool_name() */
	fp_mempool *pool;
	void **out;   /* room for n objects and one more, set before */
	size_t n_out; /* objects that came out */
	fp_mempool_stats stats;
	fp_mempool_leak *leaks; /* room for as many, set before */
};

/* The call of a step. */
const struct call *mempool_call(const json_t *step);

/* The pool or cache that a step names: found, or a new empty place. */
struct named_pool *pool_named(struct run *run, const json_t *step);
struct named_cache *cache_named(struct run *run, const json_t *step);

/* What an object of a step is: a name's, or a number's; NULL: a name that is new. */
void *object_of(struct run *run, const fp_mempool *pool, const char *name, int64_t index);

/* Calls `visit` with each object of a list: its name ("": null), or NULL and its index. */
typedef void visit_fn(struct run *run, struct outcome *o, size_t at, const char *name,
		      int64_t index);
size_t visit_objects(struct run *run, struct outcome *o, const json_t *list,
		     visit_fn *visit);

/* Gives a new name to an object. */
void name_object(struct run *run, const char *name, void *object);

#endif
