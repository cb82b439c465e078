/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_fp.c - libfp's mempools, through the exported functions of the shared
 * library; and what the loops cost around nothing: two exported calls that do
 * nothing, and the pipeline's ring without a pool.
 */
#include "floor.h"
#include "pool_contestant.h"

#include <libfp/mempool.h>

static int fp_open(struct pool *p, const struct pool_shape *shape)
{
	fp_mempool_opts opts = LIBFP_MEMPOOL_OPTS_INIT;
	fp_mempool_cache *cache;
	fp_mempool *pool;

	opts.count = shape->count;
	opts.object_size = shape->size;
	opts.cache_size = shape->cache;
	if (fp_mempool_create(&opts, &pool))
		return 0;
	p->pool = pool;
	if (shape->calls == POOL_VIA_CACHE) {
		if (fp_mempool_cache_create(pool, &cache)) {
			fp_mempool_destroy(pool);
			return 0;
		}
		p->cache = cache;
	}
	return 1;
}

static void fp_close(struct pool *p)
{
	fp_mempool_cache_destroy(p->cache);
	fp_mempool_destroy(p->pool);
}

static void fp_memory(const struct pool *p, struct pool_memory *m)
{
	double count = (double)fp_mempool_capacity(p->pool);
	double size = (double)fp_mempool_object_size(p->pool);

	/* A pointer in a magazine, and what rounding up the object adds. */
	m->per_object = (double)fp_mempool_stride(p->pool) - size + sizeof(void *);
	m->in_all = (double)fp_mempool_memory(p->pool) / count - size;
}

#define NOTHING_TO_DO() ((void)0)

/* ---- the calls ---- */

#define GET1(p, table, n) ((void)(n), (*(table) = fp_mempool_get((p)->pool)) != NULL)
#define PUT1(p, table, n) ((void)(n), fp_mempool_put((p)->pool, *(table)) == 0)
POOL_LOOPS(fp_single, NOTHING_TO_DO, GET1, PUT1)

#define GET(p, table, n) (fp_mempool_get_bulk((p)->pool, table, n) > 0)
#define PUT(p, table, n) (fp_mempool_put_bulk((p)->pool, table, n) > 0)
POOL_LOOPS_PIPE(fp_bulk, NOTHING_TO_DO, GET, PUT)

#define VIA_GET(p, table, n) \
	(fp_mempool_get_bulk_via_cache((p)->pool, (p)->cache, table, n) > 0)
#define VIA_PUT(p, table, n) \
	(fp_mempool_put_bulk_via_cache((p)->pool, (p)->cache, table, n) > 0)
POOL_LOOPS(fp_via, NOTHING_TO_DO, VIA_GET, VIA_PUT)

/*
 * The pointers stay where they are: the window of the put has the same places as
 * that of the get before it, so there is nothing to write.
 */
static inline int zero_get(struct pool *p, uint32_t n)
{
	void *const *window;

	return fp_mempool_get_reserve(p->pool, n, &window) == (int32_t)n &&
	       fp_mempool_get_commit(p->pool, n) == (int32_t)n;
}

static inline int zero_put(struct pool *p, uint32_t n)
{
	void **window;

	return fp_mempool_put_reserve(p->pool, n, &window) == (int32_t)n &&
	       fp_mempool_put_commit(p->pool, n) == (int32_t)n;
}
#define ZERO_GET(p, table, n) ((void)(table), zero_get(p, n))
#define ZERO_PUT(p, table, n) ((void)(table), zero_put(p, n))
POOL_LOOPS(fp_zero_copy, NOTHING_TO_DO, ZERO_GET, ZERO_PUT)

static const char *fp_start(int cpu)
{
	(void)cpu;
	return NULL;
}

static const struct pool_contestant fp_contestants[] = {
	{ "libfp",
	  fp_open,
	  fp_close,
	  { &fp_single, &fp_bulk, &fp_via, &fp_zero_copy },
	  fp_memory },
};

const struct pool_library pool_fp = {
	.peer = { "libfp", "", NULL },
	.start = fp_start,
	.contestants = fp_contestants,
	.n = sizeof(fp_contestants) / sizeof(fp_contestants[0]),
};

/* ---- nothing ---- */

static int open_nothing(struct pool *p, const struct pool_shape *shape)
{
	(void)shape;
	p->pool = p;
	return 1;
}

static void close_nothing(struct pool *p)
{
	(void)p;
}

#define FLOOR_GET(p, table, n) \
	((void)(n), (*(table) = bench_floor_get((p)->pool)) != NULL)
#define FLOOR_PUT(p, table, n) ((void)(n), bench_floor_put((p)->pool, *(table)) == 0)
POOL_LOOPS(floor_single, NOTHING_TO_DO, FLOOR_GET, FLOOR_PUT)

const struct pool_contestant pool_floor = {
	"empty calls", open_nothing, close_nothing, { &floor_single, NULL, NULL, NULL },
	NULL,
};

static inline int no_get(void **table, uint32_t n)
{
	__asm__ volatile("" : : "r"(table), "r"(n) : "memory");
	return 1;
}
#define NO_GET(p, table, n) ((void)(p), no_get(table, n))
#define NO_PUT(p, table, n) ((void)(p), no_get(table, n))
POOL_LOOPS_PIPE(ring_only, NOTHING_TO_DO, NO_GET, NO_PUT)

const struct pool_contestant pool_ring_only = {
	"ring only", open_nothing, close_nothing, { NULL, &ring_only, NULL, NULL }, NULL,
};
