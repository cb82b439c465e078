/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Zero copy: windows into a cache.
 *
 * A get window is the top of the loaded magazine, a put window the places above
 * it. Nothing is claimed: commit moves the count. Only if the magazine has too few
 * objects (or places) reserve arranges it first, so that it has up to half a
 * cache of them.
 *
 * commit knows a window by its size and by the count at reserve, which any other
 * call that moved objects has changed: then it is refused.
 */
#include <errno.h>
#include <string.h>

#include "mempool/mempool_internal.h"

/* ---- arranging the loaded magazine ---- */

/*
 * Puts k colder objects, which are at `from`, or (NULL) in the depot, beneath those
 * of the loaded magazine. Returns k, or 0: the depot has fewer.
 */
static uint32_t put_beneath(fp_mempool *p, fp_mempool_cache *c, void *const *from,
			    uint32_t k)
{
	uint32_t count = FPI_LOAD(&c->count, FPI_RELAXED);
	void **base = c->objects;

	memmove(base + k, base, count * sizeof(*base));
	if (from) {
		memcpy(base, from, k * sizeof(*base));
	} else if (!fpi_depot_get(p, NULL, base, k, 0)) {
		memmove(base, base + k, count * sizeof(*base));
		return 0;
	}
	FPI_STORE(&c->count, count + k, FPI_RELAXED);
	return k;
}

/* An empty cache: a magazine from the depot. 0: it has none. */
static int refill(fp_mempool *p, fp_mempool_cache *c)
{
	void *top;

	if (!fpi_cache_get(p, c, &top, 1))
		return 0;
	fpi_cache_put(p, c, &top, 1);
	return 1;
}

/* Up to n objects in the loaded magazine, n at most half a cache. Returns how many. */
static FPI_NOINLINE uint32_t gather(fp_mempool *p, fp_mempool_cache *c, uint32_t n)
{
	uint32_t before = FPI_LOAD(&c->previous_count, FPI_RELAXED);
	uint32_t count = FPI_LOAD(&c->count, FPI_RELAXED);
	uint32_t k;

	if (!count && !before) {
		if (!refill(p, c))
			return 0;
		before = FPI_LOAD(&c->previous_count, FPI_RELAXED);
		count = FPI_LOAD(&c->count, FPI_RELAXED);
	}
	if (count < n && before) {
		k = n - count < before ? n - count : before;
		before -= k;
		FPI_STORE(&c->previous_count, before, FPI_RELAXED);
		count += put_beneath(p, c, c->previous->objects + before, k);
		fpi_cache_set_limit(c, before);
	}
	/* As many as the depot has: ask for fewer until it can. */
	for (k = n - count; count < n && k; k /= 2) {
		if (k > n - count)
			k = n - count;
		count += put_beneath(p, c, NULL, k);
	}
	return count < n ? count : n;
}

/* ---- windows ---- */

FPI_INLINE void open_window(fp_mempool_cache *c, uint32_t n, uint32_t count,
			    enum fpi_cache_way way)
{
	c->window = n;
	c->window_count = count;
	c->window_way = (uint8_t)way;
}

/* Whether the last reserve was of this way and for at least k. */
FPI_INLINE int window_open(const fp_mempool_cache *c, uint32_t k, enum fpi_cache_way way)
{
	return c->window_way == way && k <= c->window &&
	       c->window_count == FPI_LOAD(&c->count, FPI_RELAXED);
}

static FPI_NOINLINE int32_t get_window_gathered(fp_mempool *p, fp_mempool_cache *c,
						uint32_t n, void *const **window)
{
	uint32_t half = p->magazine_size, count;

	n = gather(p, c, n < half ? n : half);
	count = FPI_LOAD(&c->count, FPI_RELAXED);
	open_window(c, n, count, FPI_WAY_GET);
	if (n)
		*window = c->objects + count - n;
	return (int32_t)n;
}

static FPI_NOINLINE int32_t put_window_arranged(fp_mempool *p, fp_mempool_cache *c,
						uint32_t n, void ***window)
{
	uint32_t count = FPI_LOAD(&c->count, FPI_RELAXED);

	if (n > c->limit - count && count) {
		fpi_cache_make_room(p, c);
		count = FPI_LOAD(&c->count, FPI_RELAXED);
	}
	if (n > c->limit - count)
		n = c->limit - count;
	open_window(c, n, count, FPI_WAY_PUT);
	if (n)
		*window = c->objects + count;
	return (int32_t)n;
}

/* n - 1 wraps for 0: that goes the slow way too. */
FPI_INLINE int32_t get_window(fp_mempool *p, fp_mempool_cache *c, uint32_t n,
			      void *const **window)
{
	uint32_t count = FPI_LOAD(&c->count, FPI_RELAXED);

	if (FPI_UNLIKELY(n - 1 >= count))
		return get_window_gathered(p, c, n, window);
	open_window(c, n, count, FPI_WAY_GET);
	*window = c->objects + count - n;
	return (int32_t)n;
}

FPI_INLINE int32_t put_window(fp_mempool *p, fp_mempool_cache *c, uint32_t n,
			      void ***window)
{
	uint32_t count = FPI_LOAD(&c->count, FPI_RELAXED);

	if (FPI_UNLIKELY(n - 1 >= c->limit - count))
		return put_window_arranged(p, c, n, window);
	open_window(c, n, count, FPI_WAY_PUT);
	*window = c->objects + count;
	return (int32_t)n;
}

/* The first k of the window go; those above them move down. */
static FPI_NOINLINE int32_t take_part(fp_mempool_cache *c, uint32_t k)
{
	void **from = c->objects + c->window_count - c->window;

	memmove(from, from + k, (c->window - k) * sizeof(*from));
	FPI_STORE(&c->count, c->window_count - k, FPI_RELAXED);
	c->window_way = FPI_WAY_NONE;
	return (int32_t)k;
}

FPI_INLINE int32_t take_window(fp_mempool_cache *c, uint32_t k)
{
	if (FPI_UNLIKELY(k != c->window))
		return take_part(c, k);
	FPI_STORE(&c->count, c->window_count - k, FPI_RELAXED);
	c->window_way = FPI_WAY_NONE;
	return (int32_t)k;
}

FPI_INLINE int32_t give_window(fp_mempool_cache *c, uint32_t k)
{
	FPI_STORE(&c->count, c->window_count + k, FPI_RELAXED);
	c->window_way = FPI_WAY_NONE;
	return (int32_t)k;
}

/* ---- the four calls, on whichever cache; the guards stand around them ---- */

static int32_t reserve_get(fp_mempool *p, fp_mempool_cache *c, uint32_t n,
			   void *const **window)
{
	int32_t got = fpi_pool_enter(p, c, FPI_WAY_GET);

	if (got)
		return got;
	got = get_window(p, c, n, window);
	fpi_pool_leave_call(p, c, FPI_WAY_GET);
	return got;
}

static int32_t reserve_put(fp_mempool *p, fp_mempool_cache *c, uint32_t n, void ***window)
{
	int32_t got = fpi_pool_enter(p, c, FPI_WAY_PUT);

	if (got)
		return got;
	got = put_window(p, c, n, window);
	fpi_pool_leave_call(p, c, FPI_WAY_PUT);
	return got;
}

static int32_t commit_get(fp_mempool *p, fp_mempool_cache *c, uint32_t k)
{
	int32_t got = fpi_pool_enter(p, c, FPI_WAY_GET);

	if (got)
		return got;
	got = -EINVAL;
	if (window_open(c, k, FPI_WAY_GET))
		got = fpi_guarded_window_get(p, c,
					     c->objects + c->window_count - c->window, k);
	if (got >= 0)
		take_window(c, k);
	fpi_pool_leave_call(p, c, FPI_WAY_GET);
	return got;
}

static int32_t commit_put(fp_mempool *p, fp_mempool_cache *c, uint32_t k)
{
	int32_t put = fpi_pool_enter(p, c, FPI_WAY_PUT);

	if (put)
		return put;
	put = -EINVAL;
	if (window_open(c, k, FPI_WAY_PUT))
		put = fpi_guarded_window_put(p, c, c->objects + c->window_count, k);
	if (put >= 0)
		give_window(c, k);
	fpi_pool_leave_call(p, c, FPI_WAY_PUT);
	return put;
}

/* The cache of this thread for a reserve; 0, or why there is none. */
static FPI_NOINLINE int own_cache(fp_mempool *p, uint32_t n, const void *window,
				  fp_mempool_cache **c)
{
	if (!p || !window || n > INT32_MAX)
		return -EINVAL;
	if (p->generation != fpi_fork_generation())
		return -ECHILD;
	*c = fpi_pool_own_cache(p);
	return *c ? 0 : -EOPNOTSUPP;
}

static int check_cache(const fp_mempool *p, const fp_mempool_cache *c, uint32_t n,
		       const void *window)
{
	if (!p || !fpi_cache_is_of(c, p) || !window || n > INT32_MAX)
		return -EINVAL;
	return p->generation == fpi_fork_generation() ? 0 : -ECHILD;
}

static FPI_NOINLINE int32_t get_reserve_slow(fp_mempool *p, uint32_t n,
					     void *const **window)
{
	fp_mempool_cache *c;
	int err = own_cache(p, n, window, &c);

	return err ? err : reserve_get(p, c, n, window);
}

static FPI_NOINLINE int32_t put_reserve_slow(fp_mempool *p, uint32_t n, void ***window)
{
	fp_mempool_cache *c;
	int err = own_cache(p, n, window, &c);

	return err ? err : reserve_put(p, c, n, window);
}

/*
 * No cache is made here: who has none has no window. Nor does it give back if asked:
 * the window is still open, and the next call will.
 */
static FPI_NOINLINE int32_t commit_slow(fp_mempool *p, uint32_t k, enum fpi_cache_way way)
{
	fp_mempool_cache *c;

	if (p->generation != fpi_fork_generation())
		return -ECHILD;
	c = fpi_pool_cache_now(p);
	if (!c)
		return -EINVAL;
	return way == FPI_WAY_GET ? commit_get(p, c, k) : commit_put(p, c, k);
}

int32_t fp_mempool_get_reserve(fp_mempool *pool, uint32_t n, void *const **window)
{
	fp_mempool_cache *c;

	if (FPI_UNLIKELY(!pool || !window || n > INT32_MAX))
		return -EINVAL;
	c = fpi_pool_fast_cache(pool);
	if (FPI_LIKELY(c != NULL))
		return get_window(pool, c, n, window);
	return get_reserve_slow(pool, n, window);
}

int32_t fp_mempool_get_commit(fp_mempool *pool, uint32_t k)
{
	fp_mempool_cache *c;

	if (FPI_UNLIKELY(!pool))
		return -EINVAL;
	c = fpi_pool_fast_cache(pool);
	if (FPI_UNLIKELY(!c))
		return commit_slow(pool, k, FPI_WAY_GET);
	return FPI_LIKELY(window_open(c, k, FPI_WAY_GET)) ? take_window(c, k) : -EINVAL;
}

int32_t fp_mempool_put_reserve(fp_mempool *pool, uint32_t n, void ***window)
{
	fp_mempool_cache *c;

	if (FPI_UNLIKELY(!pool || !window || n > INT32_MAX))
		return -EINVAL;
	c = fpi_pool_fast_cache(pool);
	if (FPI_LIKELY(c != NULL))
		return put_window(pool, c, n, window);
	return put_reserve_slow(pool, n, window);
}

int32_t fp_mempool_put_commit(fp_mempool *pool, uint32_t k)
{
	fp_mempool_cache *c;

	if (FPI_UNLIKELY(!pool))
		return -EINVAL;
	c = fpi_pool_fast_cache(pool);
	if (FPI_UNLIKELY(!c))
		return commit_slow(pool, k, FPI_WAY_PUT);
	return FPI_LIKELY(window_open(c, k, FPI_WAY_PUT)) ? give_window(c, k) : -EINVAL;
}

int32_t fp_mempool_get_reserve_via_cache(fp_mempool *pool, fp_mempool_cache *cache,
					 uint32_t n, void *const **window)
{
	int err = check_cache(pool, cache, n, window);

	return err ? err : reserve_get(pool, cache, n, window);
}

int32_t fp_mempool_get_commit_via_cache(fp_mempool *pool, fp_mempool_cache *cache,
					uint32_t k)
{
	int err = check_cache(pool, cache, 0, pool);

	return err ? err : commit_get(pool, cache, k);
}

int32_t fp_mempool_put_reserve_via_cache(fp_mempool *pool, fp_mempool_cache *cache,
					 uint32_t n, void ***window)
{
	int err = check_cache(pool, cache, n, window);

	return err ? err : reserve_put(pool, cache, n, window);
}

int32_t fp_mempool_put_commit_via_cache(fp_mempool *pool, fp_mempool_cache *cache,
					uint32_t k)
{
	int err = check_cache(pool, cache, 0, pool);

	return err ? err : commit_put(pool, cache, k);
}
