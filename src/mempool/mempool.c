/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pools: options, create, destroy, inspect. mempool_internal.h says what is where.
 *
 * A pool is up to four blocks: the struct with the shards of its depot, the depot's
 * magazines, the objects, and with LIBFP_CHECKED a record of each object. Caches
 * come at first use.
 */
#include <errno.h>
#include <string.h>

#include "base/copy.h"
#include "base/log.h"
#include "base/opts.h"
#include "mempool/mempool_internal.h"

#define POOL_OPTS_FIRST 64 /* sizeof(fp_mempool_opts) as first published */
#define POOL_FLAGS                                                           \
	(LIBFP_STATS | LIBFP_CHECKED | LIBFP_MEM_HUGE | LIBFP_MEM_PREFAULT | \
	 LIBFP_MEM_NODE | LIBFP_POOL_NO_CACHE | LIBFP_POOL_ST_GET | LIBFP_POOL_ST_PUT)
#define POOL_MEM_FLAGS (LIBFP_MEM_HUGE | LIBFP_MEM_PREFAULT | LIBFP_MEM_NODE)
#define POOL_ALIGN_DEFAULT 8
#define POOL_CACHE_DEFAULT 512
#define POOL_CACHE_SHARE 8 /* a default cache is this part of the pool at most */
#define POOL_GUARD_MIN 16  /* CHECKED: guard bytes at each end of an object */

static struct fpi_registry pool_names = FPI_REGISTRY_INIT;

int fp_mempool_opts_init(fp_mempool_opts *opts, uint32_t size)
{
	return fpi_opts_init(opts, size, POOL_OPTS_FIRST);
}

/* ---- options ---- */

static int check_sizes(fp_mempool_opts *o)
{
	if (o->count == 0 || o->count > LIBFP_POOL_COUNT_MAX)
		return fpi_refuse(-EINVAL, "fp_mempool_create: count %u is not 1 to %d",
				  o->count, LIBFP_POOL_COUNT_MAX);
	if (o->object_size == 0)
		return fpi_refuse(-EINVAL, "fp_mempool_create: object_size is 0");
	if (o->align == 0)
		o->align = POOL_ALIGN_DEFAULT;
	if (o->align & (o->align - 1) || o->align > LIBFP_POOL_ALIGN_MAX)
		return fpi_refuse(
			-EINVAL,
			"fp_mempool_create: align %u is no power of two up to %d",
			o->align, LIBFP_POOL_ALIGN_MAX);
	return 0;
}

static int check_caches(fp_mempool_opts *o)
{
	if (o->cache_size > o->count || o->cache_size > LIBFP_POOL_CACHE_MAX)
		return fpi_refuse(-EINVAL,
				  "fp_mempool_create: cache_size %u is above count or %d",
				  o->cache_size, LIBFP_POOL_CACHE_MAX);
	if (o->max_threads > LIBFP_POOL_THREADS_MAX)
		return fpi_refuse(-EINVAL,
				  "fp_mempool_create: max_threads %u is above %d",
				  o->max_threads, LIBFP_POOL_THREADS_MAX);
	if (o->max_threads == 0)
		o->max_threads = LIBFP_POOL_THREADS_MAX;
	if (o->cache_size == 0) {
		o->cache_size = o->count / POOL_CACHE_SHARE;
		if (o->cache_size > POOL_CACHE_DEFAULT)
			o->cache_size = POOL_CACHE_DEFAULT;
		if (o->cache_size == 0) {
			/* Too small a pool to keep anything from others unasked. */
			o->cache_size = 1;
			o->max_threads = 0;
		}
	}
	if (o->flags & LIBFP_POOL_NO_CACHE)
		o->max_threads = 0;
	return 0;
}

static int read_opts(fp_mempool_opts *o, const fp_mempool_opts *opts)
{
	int err = fpi_opts_read(o, sizeof(*o), POOL_OPTS_FIRST, opts);

	if (err)
		return fpi_refuse(err,
				  "fp_mempool_create: options missing, misaligned or "
				  "of a size this library does not know");
	if (o->flags & ~(uint32_t)POOL_FLAGS)
		return fpi_refuse(-EOPNOTSUPP, "fp_mempool_create: unknown flags %#x",
				  o->flags);
	err = check_sizes(o);
	if (!err)
		err = check_caches(o);
	return err ? err : fpi_allocator_check(o->allocator);
}

/* ---- create ---- */

/*
 * Where object 0 lies in the objects' block, and the distance of objects. With
 * CHECKED, guard bytes lie before each object and behind it.
 */
static void lay_out(fp_mempool *p, const fp_mempool_opts *o, uint64_t *first)
{
	uint64_t front = 0, back = 0;

	if (o->flags & LIBFP_CHECKED) {
		front = FPI_ALIGN_UP((uint64_t)POOL_GUARD_MIN, o->align);
		back = POOL_GUARD_MIN;
	}
	p->object_size = o->object_size;
	p->guard_bytes = (uint32_t)front;
	p->stride = FPI_ALIGN_UP(front + o->object_size + back, (uint64_t)o->align);
	*first = front;
}

/* The largest power of two up to 8 that leaves each shard some magazines. */
static uint32_t shards_for(const fp_mempool *p)
{
	uint64_t magazines = p->capacity / p->magazine_size;
	uint32_t shards = 1;

	if (p->single)
		return 1;
	while (shards < FPI_POOL_SHARDS &&
	       shards * 2 * FPI_POOL_SHARD_MAGAZINES <= magazines)
		shards *= 2;
	return shards;
}

static void set_options(fp_mempool *p, const fp_mempool_opts *o)
{
	p->flags = o->flags;
	p->generation = fpi_fork_generation();
	p->capacity = o->count;
	p->cache_size = o->cache_size;
	p->magazine_size = (o->cache_size - 1) / 2 + 1; /* half, rounded up */
	p->max_threads = o->max_threads;
	p->single = (o->flags & (LIBFP_POOL_ST_GET | LIBFP_POOL_ST_PUT)) ==
		    (LIBFP_POOL_ST_GET | LIBFP_POOL_ST_PUT);
	p->constructed = o->constructor != NULL;
	p->take_many = fpi_take_objects_for(fpi_cpu_avx2());
	p->put_many = fpi_put_objects_for(fpi_cpu_avx2());
	if (o->allocator)
		p->allocator = *o->allocator;
	p->mem_flags = o->flags & POOL_MEM_FLAGS;
	p->mem_node = o->numa_node;
	p->shards = shards_for(p);
}

static int get_block(fp_mempool *p, struct fpi_mem *mem, uint64_t size, uint64_t align)
{
	int err = fpi_mem_alloc(mem, fpi_pool_allocator(p), size, align, p->mem_flags,
				p->mem_node);

	if (err)
		return fpi_refuse(err, "fp_mempool_create: no %llu bytes of memory",
				  (unsigned long long)size);
	FPI_FETCH_ADD(&p->memory, size, FPI_RELAXED);
	return 0;
}

/* Objects, records, magazines. What was got is the caller's to free. */
static int get_memory(fp_mempool *p, const fp_mempool_opts *o)
{
	uint64_t first;
	int err;

	lay_out(p, o, &first);
	/* 2^31 objects of 2^32 bytes and guards: below 2^64. */
	err = get_block(p, &p->object_mem, first + p->capacity * p->stride,
			o->align < FPI_FALSE_SHARING ? FPI_FALSE_SHARING : o->align);
	if (err)
		return err;
	p->base = (unsigned char *)p->object_mem.ptr + first;
	if (o->flags & LIBFP_CHECKED) {
		err = get_block(p, &p->record_mem, p->capacity * sizeof(*p->records),
				FPI_CACHELINE);
		if (err)
			return err;
		p->records = p->record_mem.ptr;
	}
	err = get_block(p, &p->depot_mem, fpi_depot_bytes(p->capacity, p->magazine_size),
			FPI_FALSE_SHARING);
	if (!err)
		fpi_depot_init(p, p->depot_mem.ptr);
	return err;
}

static int for_each(fp_mempool *p, fp_mempool_object_fn fn, void *user)
{
	for (uint64_t i = 0; i < p->capacity; i++) {
		int rc = fn(fpi_pool_object(p, i), (uint32_t)i, user);

		if (rc)
			return rc;
	}
	return 0;
}

static int construct(fp_mempool *p, const fp_mempool_opts *o)
{
	int rc = 0;

	if (o->constructor)
		rc = for_each(p, o->constructor, o->user);
	if (rc)
		return fpi_refuse(rc < 0 ? rc : -ECANCELED,
				  "fp_mempool_create: the constructor returned %d", rc);
	if (o->flags & LIBFP_CHECKED)
		fpi_guard_objects(p);
	return 0;
}

static void free_memory(fp_mempool *p)
{
	struct fpi_mem mem = p->mem;

	fpi_pool_free_caches(p);
	fpi_mem_free(&p->record_mem);
	fpi_mem_free(&p->depot_mem);
	fpi_mem_free(&p->object_mem);
	if (p->flags & LIBFP_CHECKED)
		fpi_guard_let_out(&p->guard);
	fpi_mem_free(&mem);
}

/* Everything but the names: what can fail. */
static int make_pool(fp_mempool *p, const fp_mempool_opts *o)
{
	int err;

	set_options(p, o);
	err = get_memory(p, o);
	if (!err)
		err = construct(p, o);
	if (!err && p->single)
		err = fpi_pool_single_cache(p);
	return err;
}

int fp_mempool_create(const fp_mempool_opts *opts, fp_mempool **out)
{
	uint64_t head = FPI_ALIGN_UP(sizeof(fp_mempool), FPI_FALSE_SHARING);
	uint64_t size = head + FPI_POOL_SHARDS * sizeof(struct fpi_shard);
	struct fpi_mem mem = { 0 };
	fp_mempool_opts o;
	fp_mempool *p;
	int err = read_opts(&o, opts);

	if (err)
		return err;
	if (!out)
		return fpi_refuse(-EINVAL, "fp_mempool_create: out is NULL");
	err = fpi_fork_register();
	if (err)
		return err;
	err = fpi_mem_alloc(&mem, o.allocator, size, FPI_FALSE_SHARING, 0, 0);
	if (err)
		return fpi_refuse(err, "fp_mempool_create: no %llu bytes of memory",
				  (unsigned long long)size);
	p = mem.ptr;
	p->mem = mem;
	p->memory.value = size;
	p->shard = (struct fpi_shard *)(void *)((unsigned char *)mem.ptr + head);
	err = fpi_registry_reserve(&pool_names, &p->name, o.name, p);
	if (err) {
		fpi_refuse(err,
			   "fp_mempool_create: name '%.64s' is taken, empty or too long",
			   o.name);
		free_memory(p);
		return err;
	}
	err = make_pool(p, &o);
	if (!err)
		err = fpi_pool_join(p);
	if (err) {
		fpi_registry_cancel(&p->name);
		free_memory(p);
		return err;
	}
	*out = p;
	fpi_registry_publish(&p->name);
	return 0;
}

/* ---- destroy ---- */

static int take_down(fp_mempool *p)
{
	uint64_t in_use;
	uint32_t explicit_caches;
	int err = -EBUSY;

	/* No thread's exit looks at the pool any more once it is off the list. */
	fpi_pool_list_lock();
	in_use = p->capacity - fpi_pool_available(p);
	explicit_caches = FPI_LOAD(&p->explicit_caches, FPI_RELAXED);
	if (!in_use && !explicit_caches)
		err = fpi_registry_retire(&p->name, 0);
	if (!err)
		fpi_pool_leave(p);
	fpi_pool_list_unlock();
	/* The log's handler is the user's: not under a lock that exits wait for. */
	if (in_use)
		return fpi_refuse(err, "fp_mempool_destroy: %llu objects are in use",
				  (unsigned long long)in_use);
	if (explicit_caches)
		return fpi_refuse(err, "fp_mempool_destroy: %u explicit caches exist",
				  explicit_caches);
	return err;
}

int fp_mempool_destroy(fp_mempool *pool)
{
	int err;

	if (!pool)
		return 0;
	/* Threads, users and references of the parent do not exist in a child. */
	if (pool->generation != fpi_fork_generation()) {
		fpi_registry_retire(&pool->name, 1);
		fpi_pool_list_lock();
		fpi_pool_leave(pool);
		fpi_pool_list_unlock();
		pool->flags = 0;
		free_memory(pool);
		return 0;
	}
	/* First: who holds a reference may be inside a call, rightly. */
	if (fpi_registry_referenced(&pool->name))
		return fpi_refuse(-EBUSY,
				  "fp_mempool_destroy: references by lookup are out");
	err = fpi_pool_shut(pool, "fp_mempool_destroy");
	if (err)
		return err;
	err = take_down(pool);
	if (err) {
		fpi_pool_reopen(pool);
		return err;
	}
	free_memory(pool);
	return 0;
}

/* ---- names ---- */

int fp_mempool_lookup(const char *name, fp_mempool **out)
{
	void *object;
	int err;

	if (!name || !out)
		return -EINVAL;
	err = fpi_registry_lookup(&pool_names, name, &object);
	if (!err)
		*out = object;
	return err;
}

int fp_mempool_unref(fp_mempool *pool)
{
	return pool ? fpi_registry_unref(&pool->name) : -EINVAL;
}

const char *fp_mempool_name(const fp_mempool *pool)
{
	return pool ? fpi_registry_name(&pool->name) : NULL;
}

/* ---- objects ---- */

int64_t fp_mempool_index(const fp_mempool *pool, const void *object)
{
	int64_t index;

	if (!pool)
		return -EINVAL;
	index = fpi_pool_index(pool, object);
	return index < 0 ? -EFAULT : index;
}

void *fp_mempool_object(const fp_mempool *pool, uint64_t index)
{
	if (!pool || index >= pool->capacity)
		return NULL;
	return fpi_pool_object(pool, index);
}

int fp_mempool_contains(const fp_mempool *pool, const void *ptr)
{
	return pool ? fpi_pool_contains(pool, ptr) : -EINVAL;
}

void *fp_mempool_base(const fp_mempool *pool)
{
	return pool ? pool->base : NULL;
}

int64_t fp_mempool_stride(const fp_mempool *pool)
{
	return pool ? (int64_t)pool->stride : -EINVAL;
}

int64_t fp_mempool_object_size(const fp_mempool *pool)
{
	return pool ? (int64_t)pool->object_size : -EINVAL;
}

int fp_mempool_for_each(fp_mempool *pool, fp_mempool_object_fn fn, void *user)
{
	return pool && fn ? for_each(pool, fn, user) : -EINVAL;
}

/* ---- counts ---- */

static uint64_t in_depot(const fp_mempool *p)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < p->shards; i++)
		n += FPI_LOAD(&p->shard[i].count, FPI_RELAXED);
	return n;
}

const fp_mempool_cache *fpi_pool_caches(const fp_mempool *p)
{
	/* Partner: POOL_CACHES_ADD. */
	return FPI_LOAD(&p->caches, FPI_MO(POOL_CACHES, ACQUIRE));
}

/* Objects in the caches of this kind. */
static uint64_t in_caches(const fp_mempool *p, uint32_t kind)
{
	const fp_mempool_cache *c = fpi_pool_caches(p);
	uint64_t n = 0;

	for (; c; c = FPI_PLAIN_LOAD(&c->next))
		if (FPI_LOAD(&c->kind, FPI_RELAXED) == kind)
			n += fpi_cache_count(c);
	return n;
}

uint64_t fpi_pool_available(const fp_mempool *p)
{
	uint64_t n = in_depot(p) + in_caches(p, FPI_CACHE_THREAD) +
		     in_caches(p, FPI_CACHE_EXPLICIT);

	/* Objects may wander while we look. */
	return n < p->capacity ? n : p->capacity;
}

int64_t fp_mempool_capacity(const fp_mempool *pool)
{
	return pool ? (int64_t)pool->capacity : -EINVAL;
}

int64_t fp_mempool_cache_size(const fp_mempool *pool)
{
	if (!pool)
		return -EINVAL;
	return pool->max_threads ? (int64_t)pool->cache_size : 0;
}

int64_t fp_mempool_memory(const fp_mempool *pool)
{
	return pool ? (int64_t)FPI_LOAD(&pool->memory, FPI_RELAXED) : -EINVAL;
}

int64_t fp_mempool_avail_count(const fp_mempool *pool)
{
	return pool ? (int64_t)fpi_pool_available(pool) : -EINVAL;
}

int64_t fp_mempool_in_use_count(const fp_mempool *pool)
{
	return pool ? (int64_t)(pool->capacity - fpi_pool_available(pool)) : -EINVAL;
}

int fp_mempool_is_full(const fp_mempool *pool)
{
	return pool ? fpi_pool_available(pool) == pool->capacity : -EINVAL;
}

int fp_mempool_is_empty(const fp_mempool *pool)
{
	return pool ? fpi_pool_available(pool) == 0 : -EINVAL;
}

static void add_counters(fp_mempool_stats *s, const struct fpi_pool_counters *k)
{
	s->gets += FPI_LOAD(&k->gets, FPI_RELAXED);
	s->objects_got += FPI_LOAD(&k->objects_got, FPI_RELAXED);
	s->puts += FPI_LOAD(&k->puts, FPI_RELAXED);
	s->objects_put += FPI_LOAD(&k->objects_put, FPI_RELAXED);
	s->failures += FPI_LOAD(&k->failures, FPI_RELAXED);
	s->cache_hits += FPI_LOAD(&k->cache_hits, FPI_RELAXED);
	s->depot_exchanges += FPI_LOAD(&k->depot_exchanges, FPI_RELAXED);
}

/* Objects in the calling thread's cache; a thread without one gets none here. */
static uint64_t in_own_cache(const fp_mempool *p)
{
	const fp_mempool_cache *c = fpi_pool_cache_now(p);

	return c ? fpi_cache_count(c) : 0;
}

int fp_mempool_get_stats(const fp_mempool *pool, fp_mempool_stats *io)
{
	fp_mempool_stats s = { 0 };
	const fp_mempool_cache *c;
	uint64_t in_threads;

	if (!pool || !io)
		return -EINVAL;
	s.capacity = pool->capacity;
	s.in_depot = in_depot(pool);
	s.in_own_cache = in_own_cache(pool);
	in_threads = in_caches(pool, FPI_CACHE_THREAD);
	s.in_other_caches = in_threads > s.in_own_cache ? in_threads - s.in_own_cache : 0;
	s.in_explicit_caches = in_caches(pool, FPI_CACHE_EXPLICIT);
	s.available = s.in_depot + in_threads + s.in_explicit_caches;
	if (s.available > s.capacity)
		s.available = s.capacity;
	s.in_use = s.capacity - s.available;
	s.thread_caches = FPI_LOAD(&pool->thread_caches, FPI_RELAXED);
	s.explicit_caches = FPI_LOAD(&pool->explicit_caches, FPI_RELAXED);
	s.misuses = FPI_LOAD(&pool->misuses, FPI_RELAXED);
	if (pool->flags & LIBFP_STATS) {
		s.flags |= LIBFP_POOL_STATS_COUNTED;
		add_counters(&s, &pool->counters);
		/* Spare caches too: what their threads did has been done. */
		for (c = fpi_pool_caches(pool); c; c = FPI_PLAIN_LOAD(&c->next))
			add_counters(&s, &c->counters);
	}
	return fpi_stats_write(io, &s, sizeof(s));
}
