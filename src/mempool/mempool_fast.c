/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The exported get and put calls.
 *
 * The fast path: the thread's slot (one thread-local load), the pool's pointer to
 * the cache of that slot, the count of its loaded magazine. Whatever is not served
 * by that magazine alone leaves by a cold branch as a tail call, so that the
 * common path saves no registers. Pools with LIBFP_CHECKED or LIBFP_STATS have no
 * pointers for the fast path and always go the slow way.
 *
 * No memory order is needed here: a magazine belongs to one thread, and came
 * through a lock. The counts are atomics because others read them for statistics.
 */
#include <errno.h>

#include "mempool/mempool_internal.h"

#define GUARDED (LIBFP_CHECKED | LIBFP_STATS)

/* ---- the slow way ---- */

/* 0, or why this pool cannot be used here. */
static int32_t check_pool(const fp_mempool *p)
{
	if (p->generation != fpi_fork_generation())
		return -ECHILD;
	return 0;
}

static int32_t check_table(const fp_mempool *p, const void *objects, uint32_t n)
{
	if (!p || n > INT32_MAX || (n && !objects) || n > p->capacity)
		return -EINVAL;
	return check_pool(p);
}

static int32_t get_through(fp_mempool *p, fp_mempool_cache *c, void **out, uint32_t n)
{
	if (p->flags & GUARDED)
		return fpi_guarded_get(p, c, out, n);
	return (int32_t)fpi_cache_get(p, c, out, n);
}

static int32_t put_through(fp_mempool *p, fp_mempool_cache *c, void *const *objects,
			   uint32_t n)
{
	if (p->flags & GUARDED)
		return fpi_guarded_put(p, c, objects, n);
	fpi_cache_put(p, c, objects, n);
	return (int32_t)n;
}

static FPI_NOINLINE int32_t get_slow(fp_mempool *p, void **out, uint32_t n)
{
	int32_t err = check_table(p, out, n);

	if (err || !n)
		return err;
	return get_through(p, fpi_pool_own_cache(p), out, n);
}

static FPI_NOINLINE int32_t put_slow(fp_mempool *p, void *const *objects, uint32_t n)
{
	int32_t err = check_table(p, objects, n);

	if (err || !n)
		return err;
	return put_through(p, fpi_pool_own_cache(p), objects, n);
}

static FPI_NOINLINE void *get_one_slow(fp_mempool *p)
{
	void *object;

	return get_slow(p, &object, 1) == 1 ? object : NULL;
}

static FPI_NOINLINE int put_one_slow(fp_mempool *p, void *object)
{
	int32_t put = object ? put_slow(p, &object, 1) : -EINVAL;

	return put < 0 ? put : 0;
}

/*
 * More than the loaded magazine serves: what the cache as a whole does needs none of the
 * checks of the slow way.
 */
static FPI_NOINLINE int32_t get_more(fp_mempool *p, fp_mempool_cache *c, void **out,
				     uint32_t n)
{
	return fpi_cache_holds(c, n) ? fpi_cache_get_held(p, c, out, n) :
				       get_slow(p, out, n);
}

static FPI_NOINLINE int32_t put_more(fp_mempool *p, fp_mempool_cache *c,
				     void *const *objects, uint32_t n)
{
	return fpi_cache_has_room(c, n) ? fpi_cache_put_room(p, c, objects, n) :
					  put_slow(p, objects, n);
}

/* ---- from and to the loaded magazine ---- */

/* Objects of the loaded magazine. */
FPI_INLINE uint32_t count_of(const fp_mempool_cache *c)
{
	return FPI_LOAD(&c->count, FPI_RELAXED);
}

/* 1: done. */
FPI_INLINE int take_one(fp_mempool_cache *c, void **object)
{
	uint32_t count = count_of(c);

	if (FPI_UNLIKELY(count == 0))
		return 0;
	*object = FPI_PLAIN_LOAD(&c->objects[count - 1]);
	FPI_STORE(&c->count, count - 1, FPI_RELAXED);
	return 1;
}

FPI_INLINE int give_one(fp_mempool_cache *c, void *object)
{
	uint32_t count = count_of(c);

	if (FPI_UNLIKELY(count >= c->limit))
		return 0;
	FPI_PLAIN_STORE(&c->objects[count], object);
	FPI_STORE(&c->count, count + 1, FPI_RELAXED);
	return 1;
}

/* Whether the loaded magazine serves n; n >= 1, since n - 1 wraps for 0. */
FPI_INLINE int can_take(uint32_t count, uint32_t n)
{
	return n - 1 < count;
}

FPI_INLINE int can_give(const fp_mempool_cache *c, uint32_t count, uint32_t n)
{
	return n - 1 < c->limit - count;
}

FPI_INLINE int32_t take(const fp_mempool *p, fp_mempool_cache *c, void **objects,
			uint32_t n, uint32_t count)
{
	FPI_STORE(&c->count, count - n, FPI_RELAXED);
	if (n == 1) {
		objects[0] = FPI_PLAIN_LOAD(&c->objects[count - 1]);
		return 1;
	}
	if (n > FPI_POOL_FEW)
		return p->take_many(objects, c->objects + count, n);
	fpi_take_few(objects, c->objects + count, n);
	return (int32_t)n;
}

FPI_INLINE int32_t give(const fp_mempool *p, fp_mempool_cache *c, void *const *objects,
			uint32_t n, uint32_t count)
{
	FPI_STORE(&c->count, count + n, FPI_RELAXED);
	if (n == 1) {
		FPI_PLAIN_STORE(&c->objects[count], objects[0]);
		return 1;
	}
	if (n > FPI_POOL_FEW)
		return p->put_many(c->objects + count, objects, n);
	fpi_put_few(c->objects + count, objects, n);
	return (int32_t)n;
}

/* ---- the exported calls ---- */

void *fp_mempool_get(fp_mempool *pool)
{
	fp_mempool_cache *c;
	void *object;

	if (FPI_UNLIKELY(!pool))
		return NULL;
	c = fpi_pool_fast_cache(pool);
	if (FPI_LIKELY(c != NULL) && FPI_LIKELY(take_one(c, &object)))
		return object;
	return get_one_slow(pool);
}

int fp_mempool_put(fp_mempool *pool, void *object)
{
	fp_mempool_cache *c;

	if (FPI_UNLIKELY(!pool || !object))
		return -EINVAL;
	c = fpi_pool_fast_cache(pool);
	if (FPI_LIKELY(c != NULL) && FPI_LIKELY(give_one(c, object)))
		return 0;
	return put_one_slow(pool, object);
}

int32_t fp_mempool_get_bulk(fp_mempool *pool, void **objects, uint32_t n)
{
	fp_mempool_cache *c;
	uint32_t count;

	if (FPI_UNLIKELY(!pool || !objects))
		return get_slow(pool, objects, n);
	c = fpi_pool_fast_cache(pool);
	if (FPI_UNLIKELY(!c))
		return get_slow(pool, objects, n);
	count = count_of(c);
	if (FPI_LIKELY(can_take(count, n)))
		return take(pool, c, objects, n, count);
	return get_more(pool, c, objects, n);
}

int32_t fp_mempool_put_bulk(fp_mempool *pool, void *const *objects, uint32_t n)
{
	fp_mempool_cache *c;
	uint32_t count;

	if (FPI_UNLIKELY(!pool || !objects))
		return put_slow(pool, objects, n);
	c = fpi_pool_fast_cache(pool);
	if (FPI_UNLIKELY(!c))
		return put_slow(pool, objects, n);
	count = count_of(c);
	if (FPI_LIKELY(can_give(c, count, n)))
		return give(pool, c, objects, n, count);
	return put_more(pool, c, objects, n);
}

/* ---- through an explicit cache ---- */

/* The cache is of this pool, and nothing stands between them. */
FPI_INLINE int plain_cache(const fp_mempool *p, const fp_mempool_cache *c)
{
	return FPI_LIKELY(p && c) && FPI_LIKELY(c->pool == p) &&
	       FPI_LIKELY(!(p->flags & GUARDED));
}

static FPI_NOINLINE int32_t get_via_slow(fp_mempool *p, fp_mempool_cache *c, void **out,
					 uint32_t n)
{
	int32_t err = check_table(p, out, n);

	if (!err && !fpi_cache_is_of(c, p))
		err = -EINVAL;
	if (err || !n)
		return err;
	return get_through(p, c, out, n);
}

static FPI_NOINLINE int32_t put_via_slow(fp_mempool *p, fp_mempool_cache *c,
					 void *const *objects, uint32_t n)
{
	int32_t err = check_table(p, objects, n);

	if (!err && !fpi_cache_is_of(c, p))
		err = -EINVAL;
	if (err || !n)
		return err;
	return put_through(p, c, objects, n);
}

static FPI_NOINLINE void *get_one_via_slow(fp_mempool *p, fp_mempool_cache *c)
{
	void *object;

	return get_via_slow(p, c, &object, 1) == 1 ? object : NULL;
}

static FPI_NOINLINE int put_one_via_slow(fp_mempool *p, fp_mempool_cache *c, void *object)
{
	int32_t put = put_via_slow(p, c, &object, 1);

	return put < 0 ? put : 0;
}

void *fp_mempool_get_via_cache(fp_mempool *pool, fp_mempool_cache *cache)
{
	void *object;

	if (plain_cache(pool, cache) && FPI_LIKELY(take_one(cache, &object)))
		return object;
	return get_one_via_slow(pool, cache);
}

int fp_mempool_put_via_cache(fp_mempool *pool, fp_mempool_cache *cache, void *object)
{
	if (FPI_UNLIKELY(!object))
		return -EINVAL;
	if (plain_cache(pool, cache) && FPI_LIKELY(give_one(cache, object)))
		return 0;
	return put_one_via_slow(pool, cache, object);
}

int32_t fp_mempool_get_bulk_via_cache(fp_mempool *pool, fp_mempool_cache *cache,
				      void **objects, uint32_t n)
{
	if (FPI_LIKELY(objects != NULL) && plain_cache(pool, cache)) {
		uint32_t count = count_of(cache);

		if (FPI_LIKELY(can_take(count, n)))
			return take(pool, cache, objects, n, count);
		if (fpi_cache_holds(cache, n))
			return fpi_cache_get_held(pool, cache, objects, n);
	}
	return get_via_slow(pool, cache, objects, n);
}

int32_t fp_mempool_put_bulk_via_cache(fp_mempool *pool, fp_mempool_cache *cache,
				      void *const *objects, uint32_t n)
{
	if (FPI_LIKELY(objects != NULL) && plain_cache(pool, cache)) {
		uint32_t count = count_of(cache);

		if (FPI_LIKELY(can_give(cache, count, n)))
			return give(pool, cache, objects, n, count);
		if (fpi_cache_has_room(cache, n))
			return fpi_cache_put_room(pool, cache, objects, n);
	}
	return put_via_slow(pool, cache, objects, n);
}
