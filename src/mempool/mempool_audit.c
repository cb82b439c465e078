/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Looking at every object: the audit of a pool, and the list of objects in use of
 * a LIBFP_CHECKED one.
 *
 * The audit walks all magazines and marks each object in a bit map: a pointer that
 * is no object, or one met twice, is a fault. What is not met is in use.
 */
#include <errno.h>

#include "base/clock.h"
#include "base/log.h"
#include "mempool/mempool_internal.h"

struct audit {
	fp_mempool *pool;
	uint64_t *seen; /* one bit per object */
	uint64_t found;
	uint64_t faults;
};

static void fault(struct audit *a, const char *what, const void *where)
{
	a->faults++;
	fpi_log(LIBFP_LOG_ERROR, "pool %s: audit: %s (%p)", fpi_pool_name(a->pool), what,
		where);
}

static void audit_object(struct audit *a, const void *object)
{
	int64_t index = fpi_pool_index(a->pool, object);
	uint64_t bit;

	if (index < 0) {
		fault(a, "a pointer that is no object", object);
		return;
	}
	bit = 1ull << (uint64_t)index % 64;
	if (a->seen[index / 64] & bit)
		fault(a, "an object is available twice", object);
	a->seen[index / 64] |= bit;
	a->found++;
}

static void audit_objects(struct audit *a, void *const *objects, uint64_t n)
{
	if (n > a->pool->magazine_size) {
		fault(a, "a magazine with more objects than it has room for", objects);
		return;
	}
	for (uint64_t i = 0; i < n; i++)
		audit_object(a, objects[i]);
}

static void audit_shard(struct audit *a, const struct fpi_shard *s)
{
	uint64_t before = a->found, empties = 0;

	for (const struct fpi_magazine *m = s->loaded; m; m = m->next)
		audit_objects(a, m->objects, m->count);
	if (a->found - before != FPI_LOAD(&s->count, FPI_RELAXED))
		fault(a, "a shard's count does not match its magazines", s);
	for (const struct fpi_magazine *m = s->empty; m; m = m->next)
		empties++;
	if (empties != FPI_LOAD(&s->empties, FPI_RELAXED))
		fault(a, "a shard's count of empty magazines is wrong", s);
}

static void audit_caches(struct audit *a)
{
	const fp_mempool_cache *c = fpi_pool_caches(a->pool);

	for (; c; c = c->next) {
		if (fpi_cache_count(c) > a->pool->cache_size)
			fault(a, "a cache with more objects than its size", c);
		audit_objects(a, c->objects, FPI_LOAD(&c->count, FPI_RELAXED));
		audit_objects(a, c->previous->objects,
			      FPI_LOAD(&c->previous_count, FPI_RELAXED));
	}
}

/* CHECKED: records, guards, contents. */
static void audit_contents(struct audit *a)
{
	const fp_mempool *p = a->pool;

	for (uint64_t i = 0; i < p->capacity; i++) {
		int available = (a->seen[i / 64] >> i % 64) & 1;
		int taken = FPI_LOAD(&p->records[i].taker, FPI_RELAXED) != 0;

		if (available == taken)
			fault(a,
			      taken ? "an object is available and in use" :
				      "an object is neither available nor in use",
			      fpi_pool_object(p, i));
		if (!fpi_object_guards_intact(p, i))
			fault(a, "an object was written to beyond its ends",
			      fpi_pool_object(p, i));
		else if (available && !fpi_object_untouched(p, i))
			fault(a, "an object was written to after it was put",
			      fpi_pool_object(p, i));
	}
}

static int audit(fp_mempool *p)
{
	struct audit a = { .pool = p };
	struct fpi_mem mem = { 0 };
	int err;

	err = fpi_mem_alloc(&mem, fpi_pool_allocator(p), (p->capacity + 63) / 64 * 8,
			    FPI_CACHELINE, 0, 0);
	if (err)
		return err;
	a.seen = mem.ptr;
	for (uint32_t i = 0; i < p->shards; i++)
		audit_shard(&a, &p->shard[i]);
	audit_caches(&a);
	if (a.found > p->capacity)
		fault(&a, "more objects are available than exist", p);
	if (p->records)
		audit_contents(&a);
	fpi_mem_free(&mem);
	return a.faults ? -EUCLEAN : 0;
}

int fp_mempool_audit(fp_mempool *pool)
{
	int err;

	if (!pool)
		return -EINVAL;
	if (pool->generation != fpi_fork_generation())
		return -ECHILD;
	err = fpi_pool_shut(pool, "fp_mempool_audit");
	if (err)
		return err;
	err = audit(pool);
	fpi_pool_reopen(pool);
	return err;
}

/* ---- objects in use ---- */

int fp_mempool_set_tag(fp_mempool *pool, void *object, uint64_t tag)
{
	struct fpi_object_record *r;
	int64_t index;

	if (!pool)
		return -EINVAL;
	if (!pool->records)
		return -EOPNOTSUPP;
	index = fpi_pool_index(pool, object);
	if (index < 0)
		return -EFAULT;
	r = &pool->records[index];
	if (!FPI_LOAD(&r->taker, FPI_RELAXED))
		return -EALREADY;
	FPI_STORE(&r->tag, tag, FPI_RELAXED);
	return 0;
}

int64_t fp_mempool_leaks(const fp_mempool *pool, fp_mempool_leak *leaks, uint32_t max)
{
	int64_t n = 0;
	uint64_t now;

	if (!pool || (max && !leaks))
		return -EINVAL;
	if (!pool->records)
		return -EOPNOTSUPP;
	now = fpi_now_ns();
	for (uint64_t i = 0; i < pool->capacity; i++) {
		const struct fpi_object_record *r = &pool->records[i];
		/* Acquire: the time with it. Partner: POOL_TAKEN. */
		uint32_t taker = FPI_LOAD(&r->taker, FPI_MO(POOL_LEAK, ACQUIRE));
		uint64_t since;

		if (!taker)
			continue;
		if (n++ >= max)
			continue;
		since = FPI_LOAD(&r->since_ns, FPI_RELAXED);
		*leaks++ = (fp_mempool_leak){
			.object = fpi_pool_object(pool, i),
			.index = i,
			.thread = taker,
			.tag = FPI_LOAD(&r->tag, FPI_RELAXED),
			.since_ns = since,
			.age_ns = now > since ? now - since : 0,
		};
	}
	return n;
}
