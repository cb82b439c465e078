/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pools in the form that costs Go least: objects by index, a burst per call. shim.h says
 * what holds for all of it.
 *
 * The library's table of pointers lives in the cache's own memory here, so that Go passes
 * nothing but numbers. Go keeps an age for each object that changes with every get and
 * put; it is changed in the same loop that translates.
 */
#ifndef FPGO_POOL_SHIM_H
#define FPGO_POOL_SHIM_H

#include <errno.h>
#include <stdlib.h>

#include "shim.h"

/* A pool with what the translation needs, and as Go sees it. */
struct fpgo_pool_state {
	fp_mempool *pool;
	unsigned char *base;
	uint64_t stride;
	uint64_t inverse; /* of the odd part of stride, modulo 2^64 */
	uint32_t shift;	  /* stride = odd part << shift */
	uint32_t capacity;
};
typedef uint8_t fpgo_pool;

/* An explicit cache and its table of pointers. Go lets one call at a time in. */
struct fpgo_cache_state {
	fp_mempool_cache *cache;
	void **objects;
	uint32_t room;
};
typedef uint8_t fpgo_cache;

/* A new handle, or why there is none. */
typedef struct fpgo_made_pool {
	fpgo_pool *pool;
	int code;
} fpgo_made_pool;

typedef struct fpgo_made_cache {
	fpgo_cache *cache;
	int code;
} fpgo_made_cache;

/* One index, if got is 1. */
typedef struct fpgo_index {
	uint32_t index;
	int32_t got;
} fpgo_index;

static inline fp_mempool *fpgo_pool_of(fpgo_pool *pool)
{
	return ((struct fpgo_pool_state *)pool)->pool;
}

/*
 * The offset of an object is a multiple of the stride, so a multiplication with the
 * inverse divides it exactly. Each step of Newton's iteration doubles the number of right
 * bits, from 3 at the start to 96.
 */
static inline void fpgo_pool_shape(struct fpgo_pool_state *s)
{
	uint64_t odd;

	s->base = fp_mempool_base(s->pool);
	s->stride = (uint64_t)fp_mempool_stride(s->pool);
	s->capacity = (uint32_t)fp_mempool_capacity(s->pool);
	s->shift = (uint32_t)__builtin_ctzll(s->stride);
	odd = s->stride >> s->shift;
	s->inverse = odd;
	for (int i = 0; i < 5; i++)
		s->inverse *= 2 - odd * s->inverse;
}

/* ---- create, close ---- */

static inline fpgo_made_pool fpgo_pool_create(const char *name, uint32_t count,
					      uint32_t object_size, uint32_t align,
					      uint32_t cache_size, uint32_t max_threads,
					      uint32_t flags, uint32_t numa_node)
{
	fpgo_made_pool made = { 0, -ENOMEM };
	struct fpgo_pool_state *s = malloc(sizeof(*s));
	fp_mempool_opts opts;

	if (!s)
		return made;
	made.code = fp_mempool_opts_init(&opts, sizeof(opts));
	if (!made.code) {
		opts.flags = flags;
		opts.name = name;
		opts.count = count;
		opts.object_size = object_size;
		opts.align = align;
		opts.cache_size = cache_size;
		opts.max_threads = max_threads;
		opts.numa_node = numa_node;
		made.code = fp_mempool_create(&opts, &s->pool);
	}
	if (made.code < 0) {
		free(s);
		return made;
	}
	fpgo_pool_shape(s);
	made.pool = (fpgo_pool *)s;
	return made;
}

static inline fpgo_made_pool fpgo_pool_lookup(const char *name)
{
	fpgo_made_pool made = { 0, -ENOMEM };
	struct fpgo_pool_state *s = malloc(sizeof(*s));

	if (!s)
		return made;
	made.code = fp_mempool_lookup(name, &s->pool);
	if (made.code < 0) {
		free(s);
		return made;
	}
	fpgo_pool_shape(s);
	made.pool = (fpgo_pool *)s;
	return made;
}

static inline int fpgo_pool_release(fpgo_pool *pool, int found)
{
	int code = found ? fp_mempool_unref(fpgo_pool_of(pool)) :
			   fp_mempool_destroy(fpgo_pool_of(pool));

	if (code >= 0)
		free(pool);
	return code;
}

/* What has nothing to convert but the handle. */
#define FPGO_POOL(result, name, function)            \
	static inline result name(fpgo_pool *pool)   \
	{                                            \
		return function(fpgo_pool_of(pool)); \
	}
FPGO_POOL(const char *, fpgo_pool_name, fp_mempool_name)
FPGO_POOL(void *, fpgo_pool_base, fp_mempool_base)
FPGO_POOL(int64_t, fpgo_pool_stride, fp_mempool_stride)
FPGO_POOL(int64_t, fpgo_pool_object_size, fp_mempool_object_size)
FPGO_POOL(int64_t, fpgo_pool_capacity, fp_mempool_capacity)
FPGO_POOL(int64_t, fpgo_pool_cache_size, fp_mempool_cache_size)
FPGO_POOL(int64_t, fpgo_pool_memory, fp_mempool_memory)
FPGO_POOL(int64_t, fpgo_pool_avail_count, fp_mempool_avail_count)
FPGO_POOL(int64_t, fpgo_pool_in_use_count, fp_mempool_in_use_count)
FPGO_POOL(int, fpgo_pool_is_full, fp_mempool_is_full)
FPGO_POOL(int, fpgo_pool_is_empty, fp_mempool_is_empty)
FPGO_POOL(int64_t, fpgo_pool_reclaim, fp_mempool_reclaim)
FPGO_POOL(int, fpgo_pool_audit, fp_mempool_audit)
#undef FPGO_POOL

/* ---- caches ---- */

static inline fpgo_made_cache fpgo_cache_create(fpgo_pool *pool)
{
	fpgo_made_cache made = { 0, -ENOMEM };
	struct fpgo_cache_state *c = calloc(1, sizeof(*c));

	if (!c)
		return made;
	made.code = fp_mempool_cache_create(fpgo_pool_of(pool), &c->cache);
	if (made.code < 0)
		free(c);
	else
		made.cache = (fpgo_cache *)c;
	return made;
}

static inline void fpgo_cache_destroy(fpgo_cache *cache)
{
	struct fpgo_cache_state *c = (struct fpgo_cache_state *)cache;

	fp_mempool_cache_destroy(c->cache);
	free(c->objects);
	free(c);
}

static inline int64_t fpgo_cache_flush(fpgo_cache *cache)
{
	return fp_mempool_cache_flush(((struct fpgo_cache_state *)cache)->cache);
}

static inline int64_t fpgo_cache_count(fpgo_cache *cache)
{
	return fp_mempool_cache_count(((struct fpgo_cache_state *)cache)->cache);
}

/* Room for n pointers, or an error. */
static inline int32_t fpgo_cache_room(const struct fpgo_pool_state *s,
				      struct fpgo_cache_state *c, uint32_t n)
{
	uint32_t room = c->room ? c->room : 64;
	void **objects;

	if (n <= c->room)
		return 0;
	if (n > s->capacity)
		return -EINVAL;
	while (room < n)
		room *= 2;
	objects = realloc(c->objects, room * sizeof(*objects));
	if (!objects)
		return -ENOMEM;
	c->objects = objects;
	c->room = room;
	return 0;
}

/* ---- get and put ---- */

/* A misuse may look on at the same time, hence the atomics; on most CPUs they cost nothing. */
static inline void fpgo_grow_older(uint32_t *age, uint32_t by)
{
	__atomic_store_n(age, __atomic_load_n(age, __ATOMIC_RELAXED) + by,
			 __ATOMIC_RELAXED);
}

static inline int32_t fpgo_pool_get(fpgo_pool *pool, fpgo_cache *cache, uint32_t *ages,
				    uint32_t *indexes, uint32_t n)
{
	struct fpgo_pool_state *s = (struct fpgo_pool_state *)pool;
	struct fpgo_cache_state *c = (struct fpgo_cache_state *)cache;
	int32_t got = fpgo_cache_room(s, c, n);

	if (got < 0)
		return got;
	got = fp_mempool_get_bulk_via_cache(s->pool, c->cache, c->objects, n);
	for (int32_t i = 0; i < got; i++) {
		uint64_t offset = (uint64_t)((unsigned char *)c->objects[i] - s->base);

		indexes[i] = (uint32_t)((offset >> s->shift) * s->inverse);
		fpgo_grow_older(&ages[indexes[i]], 1);
	}
	return got;
}

/* ages: NULL: they are what they will be. */
static inline int32_t fpgo_pool_put(fpgo_pool *pool, fpgo_cache *cache, uint32_t *ages,
				    const uint32_t *indexes, uint32_t n)
{
	struct fpgo_pool_state *s = (struct fpgo_pool_state *)pool;
	struct fpgo_cache_state *c = (struct fpgo_cache_state *)cache;
	int32_t put = fpgo_cache_room(s, c, n);

	if (put < 0)
		return put;
	for (uint32_t i = 0; i < n; i++) {
		if (indexes[i] >= s->capacity)
			return -EFAULT;
		c->objects[i] = s->base + indexes[i] * s->stride;
	}
	/* Before the put: after it they are the next taker's. */
	for (uint32_t i = 0; ages && i < n; i++)
		fpgo_grow_older(&ages[indexes[i]], 1);
	put = fp_mempool_put_bulk_via_cache(s->pool, c->cache, c->objects, n);
	for (uint32_t i = 0; ages && put < 0 && i < n; i++)
		fpgo_grow_older(&ages[indexes[i]], (uint32_t)-1);
	return put;
}

static inline fpgo_index fpgo_pool_get_one(fpgo_pool *pool, fpgo_cache *cache,
					   uint32_t *ages)
{
	fpgo_index out = { 0, 0 };

	out.got = fpgo_pool_get(pool, cache, ages, &out.index, 1);
	return out;
}

static inline int32_t fpgo_pool_put_one(fpgo_pool *pool, fpgo_cache *cache,
					uint32_t index)
{
	return fpgo_pool_put(pool, cache, 0, &index, 1);
}

/* ---- objects and inspection ---- */

static inline int64_t fpgo_pool_index(fpgo_pool *pool, const uint8_t *object)
{
	return fp_mempool_index(fpgo_pool_of(pool), object);
}

static inline int fpgo_pool_contains(fpgo_pool *pool, const uint8_t *ptr)
{
	return fp_mempool_contains(fpgo_pool_of(pool), ptr);
}

static inline int fpgo_pool_set_tag(fpgo_pool *pool, uint32_t index, uint64_t tag)
{
	struct fpgo_pool_state *s = (struct fpgo_pool_state *)pool;

	return fp_mempool_set_tag(s->pool, s->base + index * s->stride, tag);
}

/* size is 0 if the call failed. */
static inline fp_mempool_stats fpgo_pool_stats(fpgo_pool *pool)
{
	fp_mempool_stats stats = { .size = sizeof(stats) };

	if (fp_mempool_get_stats(fpgo_pool_of(pool), &stats) < 0)
		stats.size = 0;
	return stats;
}

static inline int64_t fpgo_pool_leaks(fpgo_pool *pool, fp_mempool_leak *leaks,
				      uint32_t max)
{
	return fp_mempool_leaks(fpgo_pool_of(pool), leaks, max);
}

#endif
