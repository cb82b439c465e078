/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench_mempool.c - libfp's mempools beside DPDK's, and beside malloc. Writes
 * JSON lines to stdout; bench/run starts it several times and makes the report.
 *
 * A turn gets `keep` objects, n a call, then puts them. Of one thread, or of two
 * at once on the same pool, each on a core of its own (the time is one thread's):
 *
 *   pool_resident, pool_resident_2  keep 128: they stay in the thread's cache
 *   pool_common, pool_common_2      keep 2048: they go through the common pool
 *   pool_cache_n                    n is the cache size, and so is keep
 *   pool_pipeline                   one thread gets, the other one puts
 *   pool_malloc, pool_malloc_1      keep 128, or 1; object sizes; single calls
 *   pool_floor                      as pool_resident, calls that do nothing
 *
 * The mode is the kind of call, the capacity the size of a thread's cache. All
 * in ns a call, but pool_pipeline in ns an object. Nobody touches the objects.
 */
#include <stdio.h>
#include <string.h>

#include "pool_contestant.h"

#include <libfp/base.h>

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

#define KEEP_RESIDENT 128
#define KEEP_COMMON POOL_KEEP_MAX
#define CACHE 512 /* rte_mempool's most */
/* One less than a power of two is rte_mempool's best: its ring has no slack. */
#define COUNT 65535
#define COUNT_LARGE 8191 /* of objects larger than SIZE */
#define SIZE 64
#define RING 1024 /* objects between the two ends of the pipeline */

static const struct pool_library *const libraries[] = {
	&pool_fp,  &pool_malloc, &pool_jemalloc, &pool_mimalloc,
#ifdef BENCH_RTE_VERSION
	&pool_rte,
#endif
};

static int present[LEN(libraries)];

static void start_libraries(struct bench *b)
{
	struct bench_peer peers[LEN(libraries) + 1];
	unsigned n = 0;

	for (unsigned i = 0; i < LEN(libraries); i++) {
		const char *why = libraries[i]->start(bench_cpu(b, 0));

		present[i] = !why;
		if (libraries[i] == &pool_fp)
			continue;
		peers[n] = libraries[i]->peer;
		if (why) {
			peers[n].version = NULL;
			peers[n].reason = why;
		}
		n++;
	}
#ifndef BENCH_RTE_VERSION
	peers[n++] = (struct bench_peer){ "rte_mempool", NULL,
					  "libdpdk-dev was not there at build time" };
#endif
	bench_describe(b, peers, n);
}

/* ---- pools of the current run ---- */

#define POOLS_MAX 128

static struct opened {
	const struct pool_contestant *contestant;
	struct pool pool;
} opened[POOLS_MAX];
static unsigned n_opened;

static void close_pools(void)
{
	while (n_opened) {
		struct opened *o = &opened[--n_opened];

		o->contestant->close(&o->pool);
		if (o->pool.ring)
			fp_ring_destroy(o->pool.ring);
	}
}

static int open_pool(struct opened *o, const struct pool_contestant *c,
		     const struct pool_shape *shape)
{
	memset(o, 0, sizeof(*o));
	o->contestant = c;
	return c->open(&o->pool, shape);
}

static fp_ring *open_ring(void)
{
	fp_ring_opts opts = LIBFP_RING_OPTS_INIT;
	fp_ring *ring;

	opts.capacity = RING;
	opts.producer = LIBFP_ST;
	opts.consumer = LIBFP_ST;
	return fp_ring_create(&opts, &ring) ? NULL : ring;
}

static const char *const modes[POOL_CALLS] = { "single", "bulk", "cache", "zero-copy" };

/* What the threads of a row do. */
enum threads { ONE, TWO_AT_ONCE, PIPELINE };

static void add(struct bench *b, const struct pool_contestant *c, const char *row,
		enum threads threads, const struct pool_shape *shape, uint32_t n,
		uint32_t keep)
{
	const struct pool_loops *loops = c->loops[shape->calls];
	struct bench_case k = {
		.row = row,
		.mode = modes[shape->calls],
		.who = c->who,
		.unit = "ns",
		.burst = n,
		.capacity = shape->cache,
		.elem = shape->size,
	};
	struct opened *o = &opened[n_opened];

	if (!loops || !bench_wanted(b, row, k.mode, n, k.capacity, k.elem) ||
	    n_opened == POOLS_MAX || !open_pool(o, c, shape))
		return;
	n_opened++;
	k.object = &o->pool;
	o->pool.keep = keep;
	o->pool.calls = 2 * (keep / n);
	if (shape->calls == POOL_ZERO_COPY) /* reserve and commit */
		o->pool.calls *= 2;
	if (threads == PIPELINE) {
		o->pool.ring = open_ring();
		if (!o->pool.ring)
			return;
		k.feed = loops->feed;
		k.drain = loops->drain;
	} else if (threads == TWO_AT_ONCE) {
		k.step = o->pool.calls;
		k.feed = loops->turns;
		k.drain = loops->turns;
	} else {
		k.step = o->pool.calls;
		k.one = loops->turns;
	}
	bench_add(b, &k);
}

/* One row: the pools that have these calls. */
static void add_row(struct bench *b, const char *row, enum threads threads,
		    enum pool_calls calls, uint32_t n, uint32_t keep, uint32_t cache)
{
	const struct pool_shape shape = { calls, COUNT, SIZE, cache };

	for (unsigned i = 0; i < LEN(libraries); i++)
		if (present[i] && libraries[i]->contestants[0].memory)
			add(b, &libraries[i]->contestants[0], row, threads, &shape, n,
			    keep);
	if (threads == PIPELINE)
		add(b, &pool_ring_only, row, threads, &shape, n, keep);
}

/* Single calls, and bulk calls of each n; keep is at least n. */
static void add_calls(struct bench *b, const char *row, enum threads threads,
		      uint32_t keep)
{
	static const uint32_t bursts[] = { 1, 4, 8, 32, 128, 512 };

	add_row(b, row, threads, POOL_SINGLE, 1, keep, CACHE);
	for (unsigned i = 0; i < LEN(bursts); i++)
		add_row(b, row, threads, POOL_BULK, bursts[i],
			keep < bursts[i] ? bursts[i] : keep, CACHE);
}

/* rte_mempool compiled for this CPU, in the rows that have a bar. */
static void add_native(struct bench *b, const char *row, uint32_t keep)
{
#ifdef BENCH_RTE_VERSION
	static const uint32_t bursts[] = { 8, 32, 128 };
	struct pool_shape shape = { POOL_SINGLE, COUNT, SIZE, CACHE };

	if (!present[LEN(libraries) - 1])
		return;
	add(b, &pool_rte_native, row, ONE, &shape, 1, keep);
	shape.calls = POOL_BULK;
	for (unsigned i = 0; i < LEN(bursts); i++)
		add(b, &pool_rte_native, row, ONE, &shape, bursts[i], keep);
#else
	(void)b, (void)row, (void)keep;
#endif
}

static void one_thread(struct bench *b)
{
	static const uint32_t via[] = { 1, 8, 32, 128 };
	static const uint32_t windows[] = { 1, 8, 32, 128, 256 };
	const struct pool_shape floor = { POOL_SINGLE, COUNT, SIZE, CACHE };

	add(b, &pool_floor, "pool_floor", ONE, &floor, 1, KEEP_RESIDENT);
	add_calls(b, "pool_resident", ONE, KEEP_RESIDENT);
	add_native(b, "pool_resident", KEEP_RESIDENT);
	for (unsigned i = 0; i < LEN(via); i++)
		add_row(b, "pool_resident", ONE, POOL_VIA_CACHE, via[i], KEEP_RESIDENT,
			CACHE);
	/* Of one window each: what is taken goes back to the same places. */
	for (unsigned i = 0; i < LEN(windows); i++)
		add_row(b, "pool_resident", ONE, POOL_ZERO_COPY, windows[i], windows[i],
			CACHE);
	add_row(b, "pool_cache_n", ONE, POOL_BULK, 32, 32, 32);
	add_row(b, "pool_cache_n", ONE, POOL_BULK, 256, 256, 256);
	bench_run(b, "pools, one thread", 3);
	close_pools();

	add_calls(b, "pool_common", ONE, KEEP_COMMON);
	add_native(b, "pool_common", KEEP_COMMON);
	bench_run(b, "pools, through the common pool", 2);
	close_pools();
}

static void allocators(struct bench *b)
{
	static const uint32_t sizes[] = { 64, 256, 2048 };

	for (unsigned s = 0; s < LEN(sizes); s++) {
		const struct pool_shape shape = {
			POOL_SINGLE,
			sizes[s] > SIZE ? COUNT_LARGE : COUNT,
			sizes[s],
			CACHE,
		};

		for (unsigned i = 0; i < LEN(libraries); i++) {
			if (!present[i])
				continue;
			add(b, &libraries[i]->contestants[0], "pool_malloc", ONE, &shape,
			    1, KEEP_RESIDENT);
			add(b, &libraries[i]->contestants[0], "pool_malloc_1", ONE,
			    &shape, 1, 1);
		}
	}
	bench_run(b, "pools and malloc", 1.5);
	close_pools();
}

static void two_threads(struct bench *b)
{
	static const uint32_t bursts[] = { 8, 32, 128 };
	static const uint32_t caches[] = { 32, 256 };

	add_calls(b, "pool_resident_2", TWO_AT_ONCE, KEEP_RESIDENT);
	add_calls(b, "pool_common_2", TWO_AT_ONCE, KEEP_COMMON);
	bench_run(b, "pools, two threads at once", 5);
	close_pools();

	for (unsigned i = 0; i < LEN(bursts); i++)
		add_row(b, "pool_pipeline", PIPELINE, POOL_BULK, bursts[i], bursts[i],
			CACHE);
	for (unsigned i = 0; i < LEN(caches); i++)
		add_row(b, "pool_pipeline", PIPELINE, POOL_BULK, caches[i], caches[i],
			caches[i]);
	bench_run(b, "pools, a pipeline of two threads", 3);
	close_pools();
}

/* What a pool costs in memory; no times. */
static void memory(struct bench *b)
{
	static const struct {
		uint32_t count, size;
	} pools[] = { { 65535, 64 }, { 1023, 64 }, { 8191, 256 }, { 8191, 2048 } };

	for (unsigned i = 0; i < LEN(pools) * LEN(libraries); i++) {
		const struct pool_contestant *c =
			&libraries[i % LEN(libraries)]->contestants[0];
		const struct pool_shape shape = { POOL_BULK,
						  pools[i / LEN(libraries)].count,
						  pools[i / LEN(libraries)].size, CACHE };
		struct pool_memory m;
		struct opened o;

		if (!present[i % LEN(libraries)] || !c->memory ||
		    !bench_wanted(b, "pool_memory", modes[shape.calls], 1, shape.cache,
				  shape.size) ||
		    !open_pool(&o, c, &shape))
			continue;
		/* One thread has a cache. */
		o.pool.keep = 1;
		o.pool.calls = 2;
		c->loops[POOL_BULK]->turns(&o.pool, 1, 2);
		c->memory(&o.pool, &m);
		c->close(&o.pool);
		fprintf(bench_out(b),
			"{\"kind\":\"memory\",\"process\":%u,\"who\":\"%s\",\"count\":%u,"
			"\"elem\":%u,\"cache\":%u,\"per_object\":%.1f,\"in_all\":%.1f}\n",
			bench_process(b), c->who, shape.count, shape.size, shape.cache,
			m.per_object, m.in_all);
	}
}

int main(int argc, char **argv)
{
	struct bench *b = bench_start(argc, argv);

	start_libraries(b);
	memory(b);
	one_thread(b);
	allocators(b);
	if (bench_two_cores(b)) {
		two_threads(b);
	} else {
		bench_skip(b, "pool_resident_2", "needs two cores");
		bench_skip(b, "pool_common_2", "needs two cores");
		bench_skip(b, "pool_pipeline", "needs two cores");
	}
	bench_finish(b);
	return 0;
}
