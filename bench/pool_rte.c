/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_rte.c - DPDK's rte_mempool, inlined into this file with the flags that
 * its pkg-config file gives. The common pool behind the caches is its default:
 * an rte_ring for many producers and consumers. No device looks at the objects,
 * so they need not be contiguous for one, which would waste a part of each small
 * page.
 *
 * Only threads that the EAL knows have a cache, so each one registers first.
 */
#include "eal.h"
#include "pool_contestant.h"

#include <stdio.h>

#include <rte_lcore.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#ifndef POOL_RTE_WHO
#define POOL_RTE_WHO "rte_mempool"
#endif

static int open_pool(struct pool *p, const struct pool_shape *shape)
{
	static unsigned number;
	struct rte_mempool_cache *cache;
	struct rte_mempool *pool;
	char name[RTE_MEMPOOL_NAMESIZE];

	snprintf(name, sizeof(name), "%.12s%u", POOL_RTE_WHO, number++);
	pool = rte_mempool_create(name, shape->count, shape->size, shape->cache, 0, NULL,
				  NULL, NULL, NULL, SOCKET_ID_ANY,
				  RTE_MEMPOOL_F_NO_IOVA_CONTIG);
	if (!pool)
		return 0;
	p->pool = pool;
	if (shape->calls == POOL_VIA_CACHE) {
		cache = rte_mempool_cache_create(shape->cache, SOCKET_ID_ANY);
		if (!cache) {
			rte_mempool_free(pool);
			return 0;
		}
		p->cache = cache;
	}
	return 1;
}

static void close_pool(struct pool *p)
{
	if (p->cache) {
		rte_mempool_cache_flush(p->cache, p->pool);
		rte_mempool_cache_free(p->cache);
	}
	rte_mempool_free(p->pool);
}

static inline void enter(void)
{
	if (rte_lcore_id() == LCORE_ID_ANY)
		rte_thread_register();
}

#define GET1(p, table, n) ((void)(n), rte_mempool_get((p)->pool, table) == 0)
#define PUT1(p, table, n) ((void)(n), rte_mempool_put((p)->pool, *(table)), 1)
POOL_LOOPS(single, enter, GET1, PUT1)

#define GET(p, table, n) (rte_mempool_get_bulk((p)->pool, table, n) == 0)
#define PUT(p, table, n) (rte_mempool_put_bulk((p)->pool, table, n), 1)
POOL_LOOPS_PIPE(bulk, enter, GET, PUT)

#define VIA_GET(p, table, n) \
	(rte_mempool_generic_get((p)->pool, table, n, (p)->cache) == 0)
#define VIA_PUT(p, table, n) (rte_mempool_generic_put((p)->pool, table, n, (p)->cache), 1)
POOL_LOOPS(via, enter, VIA_GET, VIA_PUT)

#ifdef POOL_RTE_NATIVE
const struct pool_contestant pool_rte_native = {
	POOL_RTE_WHO, open_pool, close_pool, { &single, &bulk, NULL, NULL }, NULL,
};
#else

static void add_chunk(struct rte_mempool *pool, void *bytes,
		      struct rte_mempool_memhdr *chunk, unsigned i)
{
	(void)pool;
	(void)i;
	*(double *)bytes += (double)chunk->len;
}

static void memory(const struct pool *p, struct pool_memory *m)
{
	struct rte_mempool *pool = p->pool;
	double bytes = (double)RTE_MEMPOOL_HEADER_SIZE(pool, pool->cache_size);
	double count = pool->size;

	rte_mempool_mem_iter(pool, add_chunk, &bytes);
	bytes += (double)rte_ring_get_memsize(rte_align32pow2(pool->size + 1));
	/* The header and trailer of an object, and its slot in the ring. */
	m->per_object = pool->header_size + pool->trailer_size + (double)sizeof(void *);
	m->in_all = bytes / count - pool->elt_size;
}

static const struct pool_contestant contestants[] = {
	{ POOL_RTE_WHO, open_pool, close_pool, { &single, &bulk, &via, NULL }, memory },
};

const struct pool_library pool_rte = {
	.peer = { "rte_mempool", BENCH_RTE_VERSION, NULL },
	.start = bench_eal_start,
	.contestants = contestants,
	.n = sizeof(contestants) / sizeof(contestants[0]),
};
#endif
