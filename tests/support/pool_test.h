/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the mempool tests share: a pool in one line, a pool at rest, objects that are
 * told apart, threads of a test.
 */
#ifndef FPT_POOL_TEST_H
#define FPT_POOL_TEST_H

#include <errno.h>
#include <pthread.h>

#include <libfp/mempool.h>

#include "base/compiler.h"
#include "base/step.h"
#include "check.h"
#include "heap.h"
#include "log.h"

/* The hook of base/step.h; NULL unless a test holds threads. */
void (*fpi_test_step)(const char *step);

#define PT_UNTOUCHED ((void *)(uintptr_t)0x1230)
#define PT_SINGLE (LIBFP_POOL_ST_GET | LIBFP_POOL_ST_PUT)

/* Every way in which a pool treats its calls. */
static const uint32_t pt_kinds[] = {
	0,
	LIBFP_STATS,
	LIBFP_CHECKED,
	LIBFP_CHECKED | LIBFP_STATS,
	PT_SINGLE,
	PT_SINGLE | LIBFP_CHECKED,
	LIBFP_POOL_ST_GET,
	LIBFP_POOL_ST_PUT | LIBFP_CHECKED,
};

#define PT_EACH_KIND(flags)                                               \
	for (uint32_t kind_ = 0, flags;                                   \
	     kind_ < FPT_LEN(pt_kinds) &&                                 \
	     (flags = pt_kinds[kind_], fpt_where("flags %#x", flags), 1); \
	     kind_++)

static inline fp_mempool_opts pt_opts(uint32_t count, uint32_t cache_size, uint32_t flags)
{
	fp_mempool_opts o = LIBFP_MEMPOOL_OPTS_INIT;

	o.flags = flags;
	o.count = count;
	o.object_size = 16;
	o.cache_size = cache_size;
	return o;
}

static inline fp_mempool *pt_create(const fp_mempool_opts *o)
{
	fp_mempool *p = NULL;

	CHECK_EQ(fp_mempool_create(o, &p), 0);
	CHECK(p != NULL);
	return p;
}

static inline fp_mempool *pt_pool(uint32_t count, uint32_t cache_size, uint32_t flags)
{
	fp_mempool_opts o = pt_opts(count, cache_size, flags);

	return pt_create(&o);
}

static inline fp_mempool_cache *pt_cache(fp_mempool *p)
{
	fp_mempool_cache *c = NULL;

	CHECK_EQ(fp_mempool_cache_create(p, &c), 0);
	CHECK(c != NULL);
	return c;
}

static inline fp_mempool_stats pt_stats(const fp_mempool *p)
{
	fp_mempool_stats s = { .size = sizeof(s) };

	CHECK_EQ(fp_mempool_get_stats(p, &s), 0);
	CHECK_EQ(s.size, sizeof(s));
	return s;
}

/* With `in_use` objects out and no call in progress, all counts agree. */
static inline void pt_at_rest(fp_mempool *p, uint64_t in_use)
{
	fp_mempool_stats s = pt_stats(p);
	int64_t n = fp_mempool_capacity(p);

	CHECK_EQ(s.in_use, in_use);
	CHECK_EQ(s.available, n - (int64_t)in_use);
	CHECK_EQ(s.in_depot + s.in_own_cache + s.in_other_caches + s.in_explicit_caches,
		 s.available);
	CHECK_EQ(fp_mempool_avail_count(p), s.available);
	CHECK_EQ(fp_mempool_in_use_count(p), in_use);
	CHECK_EQ(fp_mempool_is_full(p), in_use == 0);
	CHECK_EQ(fp_mempool_is_empty(p), s.available == 0);
	CHECK_EQ(fp_mempool_audit(p), 0);
}

/* All objects are back: the end of most tests. */
static inline void pt_end(fp_mempool *p)
{
	pt_at_rest(p, 0);
	CHECK_EQ(fp_mempool_destroy(p), 0);
}

static inline void pt_get(fp_mempool *p, void **objects, uint32_t n)
{
	CHECK_EQ(fp_mempool_get_bulk(p, objects, n), n);
}

static inline void pt_put(fp_mempool *p, void *const *objects, uint32_t n)
{
	CHECK_EQ(fp_mempool_put_bulk(p, objects, n), n);
}

/* n different objects of the pool; n at most 4096. */
static inline void pt_different(const fp_mempool *p, void *const *objects, uint32_t n)
{
	unsigned char seen[4096] = { 0 };

	CHECK(fp_mempool_capacity(p) <= (int64_t)sizeof(seen));
	for (uint32_t i = 0; i < n; i++) {
		int64_t index = fp_mempool_index(p, objects[i]);

		CHECK(index >= 0);
		CHECK(!seen[index]);
		seen[index] = 1;
	}
}

/* The objects a[0..n) are b[0..n) in the other order. */
static inline void pt_reversed(void *const *a, void *const *b, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		CHECK(a[i] == b[n - 1 - i]);
}

/* Runs fn(arg) on a thread of its own to its end, its exit hooks included. */
static inline void pt_on_thread(void *(*fn)(void *), void *arg)
{
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, fn, arg), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

#endif
