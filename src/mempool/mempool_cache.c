/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Caches: the slow halves of get and put, and who has which cache.
 *
 * A cache is two magazines used as stacks. Only the loaded one is read and written
 * by the fast path; when it runs empty or full the two are exchanged, and only
 * when that does not help the depot is asked (mempool_depot.c). So a burst to and
 * fro at a magazine's edge costs no depot exchange. After one, a cache is half
 * full: either direction can go on. A thread that goes one way only gets or gives
 * both magazines at once from its second miss in a row on.
 *
 * The two together never hold more than the cache size: `limit` of the loaded one
 * is what the other leaves.
 *
 * Life. A cache belongs to a thread (slot), to the caller (explicit), or is spare.
 * It is never freed before the pool: magazines wander through the depot, and
 * counts are read by any thread. A thread's exit flushes its caches in every pool
 * and makes them spare; the list of pools, under one lock, is how the exit hook
 * finds them, and destroy takes a pool off that list before it frees.
 *
 * Reclaim. Another thread's cache is not touched: it is marked `asked`, and the
 * pool's pointer for the fast path is set to NULL. The owner's next call goes the
 * slow way, flushes, and puts the pointer back. It exchanges it: so either it sees
 * the NULL and with it the mark (acquire), or the NULL comes later and the call
 * after next goes the slow way.
 */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "mempool/mempool_internal.h"

/* ---- get and put ---- */

static void swap_magazines(fp_mempool_cache *c, uint32_t count, uint32_t before)
{
	struct fpi_magazine *m = c->loaded;

	c->loaded = c->previous;
	c->objects = c->loaded->objects;
	c->previous = m;
	FPI_STORE(&c->count, before, FPI_RELAXED);
	FPI_STORE(&c->previous_count, count, FPI_RELAXED);
	fpi_cache_set_limit(c, count);
	c->window_way = FPI_WAY_NONE;
}

int32_t fpi_cache_get_held(fp_mempool *p, fp_mempool_cache *c, void **out, uint32_t n)
{
	uint32_t count = FPI_LOAD(&c->count, FPI_RELAXED);
	uint32_t before = FPI_LOAD(&c->previous_count, FPI_RELAXED);
	uint32_t rest = n - count;

	p->take_many(out, c->objects + count, count);
	swap_magazines(c, 0, before - rest);
	p->take_many(out + count, c->objects + before, rest);
	return (int32_t)n;
}

int32_t fpi_cache_put_room(fp_mempool *p, fp_mempool_cache *c, void *const *objects,
			   uint32_t n)
{
	uint32_t count = FPI_LOAD(&c->count, FPI_RELAXED);
	uint32_t limit = c->limit;
	uint32_t k = limit - count;

	p->put_many(c->objects + count, objects, k);
	swap_magazines(c, limit, n - k);
	p->put_many(c->objects, objects + k, n - k);
	return (int32_t)n;
}

uint32_t fpi_cache_get(fp_mempool *p, fp_mempool_cache *c, void **out, uint32_t n)
{
	uint32_t count, before;

	if (!c)
		return fpi_depot_get(p, NULL, out, n, 0) ? n : 0;
	c->window_way = FPI_WAY_NONE;
	count = FPI_LOAD(&c->count, FPI_RELAXED);
	before = FPI_LOAD(&c->previous_count, FPI_RELAXED);
	if (n > count) {
		if (n - count > before)
			return fpi_depot_get(p, c, out, n, count + before) ? n : 0;
		return (uint32_t)fpi_cache_get_held(p, c, out, n);
	}
	p->take_many(out, c->objects + count, n);
	FPI_STORE(&c->count, count - n, FPI_RELAXED);
	return n;
}

void fpi_cache_make_room(fp_mempool *p, fp_mempool_cache *c)
{
	uint32_t count = FPI_LOAD(&c->count, FPI_RELAXED);

	if (!FPI_LOAD(&c->previous_count, FPI_RELAXED) && count < p->cache_size)
		swap_magazines(c, count, 0);
	else
		fpi_depot_spill(p, c);
}

void fpi_cache_put(fp_mempool *p, fp_mempool_cache *c, void *const *objects, uint32_t n)
{
	if (!c) {
		fpi_depot_put(p, fpi_pool_start_shard(p), objects, n);
		return;
	}
	c->window_way = FPI_WAY_NONE;
	while (n) {
		uint32_t count = FPI_LOAD(&c->count, FPI_RELAXED);
		uint32_t room = c->limit - count;
		uint32_t k = room < n ? room : n;

		if (!room) {
			fpi_cache_make_room(p, c);
			continue;
		}
		p->put_many(c->objects + count, objects, k);
		FPI_STORE(&c->count, count + k, FPI_RELAXED);
		objects += k;
		n -= k;
	}
}

uint64_t fpi_cache_count(const fp_mempool_cache *c)
{
	return (uint64_t)FPI_LOAD(&c->count, FPI_RELAXED) +
	       FPI_LOAD(&c->previous_count, FPI_RELAXED);
}

uint64_t fpi_cache_flush(fp_mempool *p, fp_mempool_cache *c)
{
	uint32_t count = FPI_LOAD(&c->count, FPI_RELAXED);
	uint32_t before = FPI_LOAD(&c->previous_count, FPI_RELAXED);

	/* The hottest last, so that they are the next to be taken. */
	fpi_depot_put(p, c->shard, c->previous->objects, before);
	fpi_depot_put(p, c->shard, c->objects, count);
	FPI_STORE(&c->count, 0, FPI_RELAXED);
	FPI_STORE(&c->previous_count, 0, FPI_RELAXED);
	fpi_cache_set_limit(c, 0);
	c->last_miss = FPI_WAY_NONE;
	c->window_way = FPI_WAY_NONE;
	return (uint64_t)count + before;
}

/* ---- making caches ---- */

uint32_t fpi_pool_start_shard(const fp_mempool *p)
{
	/* Any number that differs between threads will do. */
	return (uint32_t)fpi_thread_id() & (p->shards - 1);
}

static fp_mempool_cache *new_cache(fp_mempool *p)
{
	uint64_t head = FPI_ALIGN_UP(sizeof(fp_mempool_cache), FPI_FALSE_SHARING);
	uint64_t bytes = fpi_magazine_bytes(p->magazine_size);
	struct fpi_mem mem = { 0 };
	fp_mempool_cache *c;

	if (fpi_mem_alloc(&mem, fpi_pool_allocator(p), head + 2 * bytes,
			  FPI_FALSE_SHARING, p->mem_flags, p->mem_node))
		return NULL;
	c = mem.ptr;
	c->mem = mem;
	c->pool = p;
	c->loaded = (struct fpi_magazine *)(void *)((unsigned char *)mem.ptr + head);
	c->previous =
		(struct fpi_magazine *)(void *)((unsigned char *)mem.ptr + head + bytes);
	c->objects = c->loaded->objects;
	FPI_FETCH_ADD(&p->memory, head + 2 * bytes, FPI_RELAXED);
	return c;
}

static fp_mempool_cache *take_spare(fp_mempool *p)
{
	fp_mempool_cache *c;

	fpi_lock_acquire(&p->lock);
	FPI_STEP(POOL_LOCKED);
	c = FPI_PLAIN_LOAD(&p->spares);
	if (c)
		FPI_PLAIN_STORE(&p->spares, FPI_PLAIN_LOAD(&c->next_spare));
	fpi_lock_release(&p->lock);
	return c;
}

/* A cache of this kind: a spare one, or a new one. NULL: no memory. */
static fp_mempool_cache *get_cache(fp_mempool *p, enum fpi_cache_kind kind,
				   uint32_t shard)
{
	fp_mempool_cache *c = take_spare(p);

	if (!c) {
		c = new_cache(p);
		if (!c)
			return NULL;
		fpi_lock_acquire(&p->lock);
		FPI_PLAIN_STORE(&c->next, FPI_LOAD(&p->caches, FPI_RELAXED));
		FPI_STEP(POOL_LOCKED);
		/* Release: a complete cache. Partner: POOL_CACHES. */
		FPI_STORE(&p->caches, (void *)c, FPI_MO(POOL_CACHES_ADD, RELEASE));
		fpi_lock_release(&p->lock);
	}
	c->shard = (uint16_t)(shard & (p->shards - 1));
	fpi_cache_set_limit(c, 0);
	FPI_STORE(&c->asked, 0, FPI_RELAXED);
	FPI_STORE(&c->kind, kind, FPI_RELAXED);
	return c;
}

/* Flushed, and whoever wants one next may have it. */
static void retire_cache(fp_mempool *p, fp_mempool_cache *c)
{
	fpi_cache_flush(p, c);
	c->limit = 0; /* whoever still uses it goes the slow way, which sees its kind */
	FPI_STORE(&c->kind, FPI_CACHE_SPARE, FPI_RELAXED);
	fpi_lock_acquire(&p->lock);
	FPI_PLAIN_STORE(&c->next_spare, FPI_PLAIN_LOAD(&p->spares));
	FPI_STEP(POOL_LOCKED);
	FPI_PLAIN_STORE(&p->spares, c);
	fpi_lock_release(&p->lock);
}

/* Counts a thread in; 0: as many as may have a cache have one. */
static int admit_thread(fp_mempool *p)
{
	uint32_t n = FPI_LOAD(&p->thread_caches, FPI_RELAXED);

	do {
		if (n >= p->max_threads)
			return 0;
	} while (!FPI_CAS(&p->thread_caches, &n, n + 1, FPI_RELAXED));
	return 1;
}

static fp_mempool_cache *first_cache(fp_mempool *p, uint32_t slot)
{
	fp_mempool_cache *c;

	if (!admit_thread(p))
		return NULL;
	c = get_cache(p, FPI_CACHE_THREAD, slot);
	if (!c) {
		FPI_FETCH_SUB(&p->thread_caches, 1, FPI_RELAXED);
		return NULL;
	}
	/* Release: for reclaim and statistics of others. Partner: POOL_OWN_OTHER. */
	FPI_STORE(&p->own[slot], (void *)c, FPI_MO(POOL_OWN, RELEASE));
	return c;
}

fp_mempool_cache *fpi_pool_cache_now(const fp_mempool *p)
{
	uint32_t slot = p->single ? 0 : fpi_thread_slot_now();

	return slot == FPI_NO_SLOT ? NULL : FPI_LOAD(&p->own[slot], FPI_RELAXED);
}

fp_mempool_cache *fpi_pool_own_cache(fp_mempool *p)
{
	fp_mempool_cache *c;
	uint32_t slot;

	if (!p->max_threads)
		return NULL;
	if (p->single)
		return FPI_LOAD(&p->own[0], FPI_RELAXED);
	slot = fpi_thread_slot();
	if (slot == FPI_NO_SLOT)
		return NULL;
	/* Relaxed: this thread wrote it (or an owner of the slot before: its lock). */
	c = FPI_LOAD(&p->own[slot], FPI_RELAXED);
	if (!c) {
		c = first_cache(p, slot);
		if (!c)
			return NULL;
	}
	if (p->flags & (LIBFP_CHECKED | LIBFP_STATS)) {
		if (FPI_LOAD(&c->asked, FPI_RELAXED)) {
			FPI_STORE(&c->asked, 0, FPI_RELAXED);
			fpi_cache_flush(p, c);
		}
		return c;
	}
	if (FPI_LOAD(&p->fast[slot], FPI_RELAXED) != c) {
		/* Acquire: the mark of the one who set it to NULL. Partner: POOL_ASK. */
		(void)FPI_EXCHANGE(&p->fast[slot], (void *)c, FPI_MO(POOL_FAST, ACQUIRE));
		if (FPI_LOAD(&c->asked, FPI_RELAXED)) {
			FPI_STORE(&c->asked, 0, FPI_RELAXED);
			fpi_cache_flush(p, c);
		}
	}
	return c;
}

int fpi_pool_single_cache(fp_mempool *p)
{
	fp_mempool_cache *c;

	if (!p->max_threads)
		return 0;
	c = get_cache(p, FPI_CACHE_THREAD, 0);
	if (!c)
		return fpi_refuse(-ENOMEM, "fp_mempool_create: no memory for a cache");
	FPI_STORE(&p->thread_caches, 1, FPI_RELAXED);
	FPI_STORE(&p->own[0], (void *)c, FPI_RELAXED);
	if (!(p->flags & (LIBFP_CHECKED | LIBFP_STATS)))
		for (uint32_t slot = 0; slot <= FPI_NO_SLOT; slot++)
			FPI_STORE(&p->fast[slot], (void *)c, FPI_RELAXED);
	return 0;
}

/* ---- the pools, for the exit of a thread ---- */

static struct {
	struct fpi_lock lock;
	fpi_atomic_ptr first; /* fp_mempool; changed by single stores: a fork may come */
} pools;

void fpi_pool_list_lock(void)
{
	fpi_lock_acquire(&pools.lock);
	FPI_STEP(POOL_LIST_LOCKED);
}

void fpi_pool_list_unlock(void)
{
	fpi_lock_release(&pools.lock);
}

void fpi_pool_thread_exit(uint32_t slot)
{
	uint32_t generation = fpi_fork_generation();

	fpi_pool_list_lock();
	for (fp_mempool *p = FPI_LOAD(&pools.first, FPI_RELAXED); p;
	     p = FPI_PLAIN_LOAD(&p->next)) {
		fp_mempool_cache *c;

		/* In a child: a pool of the parent, whose slots are other threads. */
		if (p->generation != generation || p->single)
			continue;
		c = FPI_LOAD(&p->own[slot], FPI_RELAXED);
		if (!c)
			continue;
		FPI_STORE(&p->fast[slot], NULL, FPI_RELAXED);
		FPI_STORE(&p->own[slot], NULL, FPI_RELAXED);
		retire_cache(p, c);
		FPI_FETCH_SUB(&p->thread_caches, 1, FPI_RELAXED);
	}
	fpi_pool_list_unlock();
}

int fpi_pool_join(fp_mempool *p)
{
	int err = fpi_thread_exit_register(fpi_pool_thread_exit);

	if (err)
		return err;
	fpi_pool_list_lock();
	FPI_PLAIN_STORE(&p->next, FPI_LOAD(&pools.first, FPI_RELAXED));
	FPI_STEP(POOL_JOINING);
	/* Release: complete before it is linked, in the memory of a forked child too. */
	FPI_STORE(&pools.first, (void *)p, FPI_MO(POOL_JOIN, RELEASE));
	fpi_pool_list_unlock();
	return 0;
}

void fpi_pool_leave(fp_mempool *p)
{
	fp_mempool *at = FPI_LOAD(&pools.first, FPI_RELAXED);

	if (at == p) {
		FPI_STORE(&pools.first, (void *)p->next, FPI_RELAXED);
		return;
	}
	while (at && at->next != p)
		at = at->next;
	if (at)
		at->next = p->next;
}

void fpi_pool_free_caches(fp_mempool *p)
{
	fp_mempool_cache *c = FPI_LOAD(&p->caches, FPI_RELAXED);

	while (c) {
		struct fpi_mem mem = c->mem;

		c = c->next;
		fpi_mem_free(&mem);
	}
}

/* ---- the exported calls on caches ---- */

/* The calling thread's cache; how many, or an error. */
static int64_t flush_own(fp_mempool *pool)
{
	fp_mempool_cache *c;
	int64_t given = 0;
	int err;

	if (!pool)
		return -EINVAL;
	if (pool->generation != fpi_fork_generation())
		return -ECHILD;
	c = fpi_pool_cache_now(pool);
	err = fpi_pool_enter(pool, c, FPI_WAY_NONE);
	if (err)
		return err;
	if (c)
		given = (int64_t)fpi_cache_flush(pool, c);
	fpi_pool_leave_call(pool, c, FPI_WAY_NONE);
	return given;
}

int64_t fp_mempool_flush(fp_mempool *pool)
{
	return flush_own(pool);
}

int64_t fp_mempool_reclaim(fp_mempool *pool)
{
	int64_t remain = 0, flushed = flush_own(pool);
	uint32_t mine;

	if (flushed < 0)
		return flushed;
	if (pool->single)
		return 0;
	mine = fpi_thread_slot_now();
	for (uint32_t slot = 0; slot < FPI_THREAD_SLOTS; slot++) {
		/* Partner: POOL_OWN. */
		fp_mempool_cache *c =
			FPI_LOAD(&pool->own[slot], FPI_MO(POOL_OWN_OTHER, ACQUIRE));

		if (!c || slot == mine)
			continue;
		FPI_STORE(&c->asked, 1, FPI_RELAXED);
		/* Release: with the mark. Partner: POOL_FAST. */
		FPI_STORE(&pool->fast[slot], NULL, FPI_MO(POOL_ASK, RELEASE));
		remain += (int64_t)fpi_cache_count(c);
	}
	return remain;
}

int fp_mempool_cache_create(fp_mempool *pool, fp_mempool_cache **out)
{
	fp_mempool_cache *c;
	int err;

	if (!pool || !out)
		return -EINVAL;
	if (pool->generation != fpi_fork_generation())
		return -ECHILD;
	err = fpi_pool_enter(pool, NULL, FPI_WAY_NONE);
	if (err)
		return err;
	c = get_cache(pool, FPI_CACHE_EXPLICIT, fpi_pool_start_shard(pool));
	if (c) {
		FPI_FETCH_ADD(&pool->explicit_caches, 1, FPI_RELAXED);
		*out = c;
	}
	fpi_pool_leave_call(pool, NULL, FPI_WAY_NONE);
	return c ? 0 : -ENOMEM;
}

int fp_mempool_cache_destroy(fp_mempool_cache *cache)
{
	fp_mempool *p;
	int err;

	if (!cache)
		return 0;
	p = cache->pool;
	if (!fpi_cache_is_of(cache, p))
		return -EINVAL;
	if (p->generation == fpi_fork_generation()) {
		err = fpi_pool_enter(p, cache, FPI_WAY_NONE);
		if (err)
			return err;
		/* Before it is spare: its next owner may be quick. */
		fpi_pool_leave_call(p, cache, FPI_WAY_NONE);
		retire_cache(p, cache);
	}
	FPI_FETCH_SUB(&p->explicit_caches, 1, FPI_RELAXED);
	return 0;
}

int64_t fp_mempool_cache_flush(fp_mempool_cache *cache)
{
	fp_mempool *p;
	int64_t given;
	int err;

	if (!cache)
		return -EINVAL;
	p = cache->pool;
	if (p->generation != fpi_fork_generation())
		return -ECHILD;
	if (!fpi_cache_is_of(cache, p))
		return -EINVAL;
	err = fpi_pool_enter(p, cache, FPI_WAY_NONE);
	if (err)
		return err;
	given = (int64_t)fpi_cache_flush(p, cache);
	fpi_pool_leave_call(p, cache, FPI_WAY_NONE);
	return given;
}

int64_t fp_mempool_cache_count(const fp_mempool_cache *cache)
{
	return cache ? (int64_t)fpi_cache_count(cache) : -EINVAL;
}
