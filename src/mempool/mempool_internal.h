/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inside of a pool: shared by the files of src/mempool/.
 *
 *   mempool.c        options, create, destroy, inspection
 *   mempool_fast.c   the exported get and put calls
 *   mempool_cache.c  caches: refill, spill, flush; who has which
 *   mempool_window.c zero copy: windows into a cache
 *   mempool_depot.c  the common store of magazines
 *   mempool_guard.c  LIBFP_CHECKED and LIBFP_STATS
 *   mempool_audit.c  audit and the list of leaks
 *
 * The words are those of Bonwick and Adams, "Magazines and Vmem" (2001): a
 * magazine is an array of object pointers used as a stack; a cache has two, of
 * which one is loaded; the depot has all others.
 */
#ifndef FPI_MEMPOOL_INTERNAL_H
#define FPI_MEMPOOL_INTERNAL_H

#include <stdint.h>

#include <libfp/mempool.h>

#include "base/compiler.h"
#include "base/guard.h"
#include "base/lock.h"
#include "base/memory.h"
#include "base/registry.h"
#include "base/step.h"
#include "base/thread_slot.h"
#include "mempool/mempool_copy.h"

#ifndef FPI_POOL_SHARDS /* the model has fewer */
#define FPI_POOL_SHARDS 8
#define FPI_POOL_SHARD_MAGAZINES 4 /* at least, in each */
#endif

/* objects[0] is the coldest. `count` and `next` are the depot's: not kept in a cache. */
struct fpi_magazine {
	struct fpi_magazine *next;
	uint64_t count;
	const struct fp_mempool_cache *user; /* the cache that it was in last; a hint */
	uint64_t unused; /* so that objects start where a move of 32 bytes does */
	void *objects[];
};

/* A part of the depot. All but the atomics only under the lock. */
struct fpi_shard {
	FPI_OWN_LINES struct fpi_lock lock;
	fpi_atomic_u32 count;	     /* objects */
	fpi_atomic_u32 adds;	     /* times that objects were added; wraps */
	fpi_atomic_u32 empties;	     /* magazines in `empty` */
	struct fpi_magazine *loaded; /* with objects, the last one given first */
	struct fpi_magazine *empty;
};

enum fpi_cache_kind { FPI_CACHE_SPARE, FPI_CACHE_THREAD, FPI_CACHE_EXPLICIT };
enum fpi_cache_way { FPI_WAY_NONE, FPI_WAY_GET, FPI_WAY_PUT };

/* Counters of LIBFP_STATS: in a cache, or in the pool for calls without one. */
struct fpi_pool_counters {
	fpi_atomic_u64 gets;
	fpi_atomic_u64 objects_got;
	fpi_atomic_u64 puts;
	fpi_atomic_u64 objects_put;
	fpi_atomic_u64 failures;
	fpi_atomic_u64 cache_hits;
	fpi_atomic_u64 depot_exchanges;
};

/* One owner at a time; others read the atomics only. Never freed before the pool. */
struct fp_mempool_cache {
	/* line 1: the fast path */
	FPI_OWN_LINES fpi_atomic_u32 count; /* objects in the loaded magazine */
	uint32_t limit; /* of count: the magazine's size, less if the cache's size
			  * leaves less beside `previous` */
	void **objects; /* of the loaded magazine */
	struct fpi_magazine *loaded;
	struct fpi_magazine *previous;
	fpi_atomic_u32 previous_count;
	uint32_t window;       /* objects or places shown by the last reserve */
	uint32_t window_count; /* `count` then: another call since has changed it */
	uint8_t window_way;    /* enum fpi_cache_way */
	uint8_t last_miss; /* enum fpi_cache_way: which way the depot was last asked */
	uint16_t shard;	   /* where this cache goes first */

	fp_mempool *pool;
	fpi_atomic_u32 kind;  /* enum fpi_cache_kind */
	fpi_atomic_u32 asked; /* to give back: fp_mempool_reclaim() */

	struct fp_mempool_cache *next;	     /* of all caches of the pool */
	struct fp_mempool_cache *next_spare; /* under pool->lock */
	uint64_t exchanges;   /* with the depot, so far: for the statistics */
	fpi_atomic_u32 owner; /* CHECKED: the thread inside a call on it */
	struct fpi_pool_counters counters;
	struct fpi_mem mem;
};

/* What LIBFP_CHECKED keeps of each object. */
struct fpi_object_record {
	fpi_atomic_u32 taker; /* thread that got it; 0: available */
	uint32_t reserved;
	fpi_atomic_u64 since_ns;
	fpi_atomic_u64 tag;
	uint64_t content; /* of an available object with a constructor: its checksum */
};

struct fp_mempool {
	/*
	 * The cache of each thread slot, for the fast path; the last one is of
	 * threads without a slot and stays NULL. NULL sends a call the slow way:
	 * no cache yet, LIBFP_CHECKED or LIBFP_STATS, asked to give back.
	 */
	fpi_atomic_ptr fast[FPI_THREAD_SLOTS + 1];

	/* Fixed at create. */
	fpi_take_objects_fn *take_many; /* for this CPU */
	fpi_put_objects_fn *put_many;
	unsigned char *base;
	uint64_t stride;
	uint64_t object_size;
	uint64_t capacity;
	uint32_t flags;
	uint32_t generation; /* fork generation of create */
	uint32_t magazine_size;
	uint32_t cache_size;  /* of every cache */
	uint32_t max_threads; /* with a cache; 0: no thread caches */
	uint32_t shards;      /* a power of two */
	uint32_t single;      /* both ST promises: no locks, one cache */
	uint32_t constructed; /* CHECKED: contents are kept, so not poisoned */
	uint32_t guard_bytes; /* CHECKED: before and behind each object */
	struct fpi_object_record *records; /* CHECKED, else NULL */
	struct fpi_shard *shard;

	/* Life. */
	struct fpi_guard guard;
	fpi_atomic_u32 getter; /* CHECKED: the thread inside an ST side */
	fpi_atomic_u32 putter;
	fpi_atomic_u64 misuses;
	fpi_atomic_u64 memory; /* bytes */
	struct fpi_name name;
	fp_allocator allocator; /* alloc NULL: the library's own */
	uint32_t mem_flags;
	uint32_t mem_node;
	struct fp_mempool *next; /* of all pools: mempool_cache.c */

	/* Caches: changed under lock, read without. */
	FPI_OWN_LINES struct fpi_lock lock;
	fpi_atomic_u32 thread_caches;
	fpi_atomic_u32 explicit_caches;
	fpi_atomic_ptr caches; /* struct fp_mempool_cache: all, only ever added to */
	struct fp_mempool_cache *spares;
	fpi_atomic_ptr own[FPI_THREAD_SLOTS]; /* the cache of each thread slot */
	struct fpi_pool_counters counters;    /* of calls without a cache */

	struct fpi_mem mem; /* this struct and the shards */
	struct fpi_mem depot_mem;
	struct fpi_mem object_mem;
	struct fpi_mem record_mem;
};

FPI_INLINE const fp_allocator *fpi_pool_allocator(const fp_mempool *p)
{
	return p->allocator.alloc ? &p->allocator : NULL;
}

/* ---- mempool_depot.c ---- */

uint64_t fpi_magazine_bytes(uint32_t size);

/* Builds the depot's magazines in `memory` and puts every object in. */
void fpi_depot_init(fp_mempool *p, unsigned char *memory);
uint64_t fpi_depot_bytes(uint64_t capacity, uint32_t magazine_size);

/*
 * Gets `cached` objects from cache c and n - cached from the depot, or nothing.
 * cached: all that c holds, less than n; c NULL: 0. Both of c's magazines are
 * empty afterwards, or the loaded one has what was left of the last one taken.
 * Returns 1, or 0: the depot has too few.
 */
int fpi_depot_get(fp_mempool *p, fp_mempool_cache *c, void **out, uint32_t n,
		  uint32_t cached);

/*
 * Makes room in a full cache: its previous magazine (after a row of puts the
 * loaded one too) goes to the depot.
 */
void fpi_depot_spill(fp_mempool *p, fp_mempool_cache *c);

/* Puts n objects straight into the depot. shard: where to begin. */
void fpi_depot_put(fp_mempool *p, uint32_t shard, void *const *objects, uint64_t n);

/* ---- mempool_cache.c ---- */

/* The cache of the calling thread, made at need; NULL: it has none. */
fp_mempool_cache *fpi_pool_own_cache(fp_mempool *p);
/* The one that it has already, as it is. */
fp_mempool_cache *fpi_pool_cache_now(const fp_mempool *p);
/*
 * n objects that the two magazines together hold, or room for which they have; n is
 * above what the loaded one has alone. Both return n.
 */
int32_t fpi_cache_get_held(fp_mempool *p, fp_mempool_cache *c, void **out, uint32_t n);
int32_t fpi_cache_put_room(fp_mempool *p, fp_mempool_cache *c, void *const *objects,
			   uint32_t n);
/* Slow halves of get and put; c NULL: the depot alone. get returns n or 0. */
uint32_t fpi_cache_get(fp_mempool *p, fp_mempool_cache *c, void **out, uint32_t n);
void fpi_cache_put(fp_mempool *p, fp_mempool_cache *c, void *const *objects, uint32_t n);
/* Room in a loaded magazine that is full, or too full for what is to come. */
void fpi_cache_make_room(fp_mempool *p, fp_mempool_cache *c);
/* Gives everything to the depot; returns how many. */
uint64_t fpi_cache_flush(fp_mempool *p, fp_mempool_cache *c);
/* Objects in a cache, as seen by any thread. */
uint64_t fpi_cache_count(const fp_mempool_cache *c);
/* For pools with both ST promises: the one cache, for every thread. */
int fpi_pool_single_cache(fp_mempool *p);
/* Flushes the caches of a thread that exits, its slot still in place. */
void fpi_pool_thread_exit(uint32_t slot);
/* Joins and leaves the pools whose caches are flushed at thread exit. */
int fpi_pool_join(fp_mempool *p);
void fpi_pool_list_lock(void);
void fpi_pool_list_unlock(void);
void fpi_pool_leave(fp_mempool *p); /* under the list lock */
/* Frees the memory of all caches. */
void fpi_pool_free_caches(fp_mempool *p);
uint32_t fpi_pool_start_shard(const fp_mempool *p);

/* Whether c is an explicit cache of pool p that has not been destroyed. */
FPI_INLINE int fpi_cache_is_of(const fp_mempool_cache *c, const fp_mempool *p)
{
	return FPI_LIKELY(c != NULL) && FPI_LIKELY(c->pool == p) &&
	       FPI_LIKELY(FPI_LOAD(&c->kind, FPI_RELAXED) == FPI_CACHE_EXPLICIT);
}

/* The cache of this thread if the fast path may use it, else NULL. */
FPI_INLINE fp_mempool_cache *fpi_pool_fast_cache(fp_mempool *p)
{
	return FPI_LOAD(&p->fast[fpi_thread_slot_now()], FPI_RELAXED);
}

FPI_INLINE void fpi_cache_set_limit(fp_mempool_cache *c, uint32_t previous_count)
{
	uint32_t room = c->pool->cache_size - previous_count;

	c->limit = room < c->pool->magazine_size ? room : c->pool->magazine_size;
}

/* Whether the cache holds n objects. n - 1 wraps for 0, which is not so. */
FPI_INLINE int fpi_cache_holds(const fp_mempool_cache *c, uint32_t n)
{
	return n - 1 < FPI_LOAD(&c->count, FPI_RELAXED) +
			       FPI_LOAD(&c->previous_count, FPI_RELAXED);
}

/*
 * Whether there is room for n objects, n >= 1, once the magazines are exchanged. A spare
 * cache, whose limit is 0, has none.
 */
FPI_INLINE int fpi_cache_has_room(const fp_mempool_cache *c, uint32_t n)
{
	return c->limit && !FPI_LOAD(&c->previous_count, FPI_RELAXED) &&
	       n - 1 < c->pool->cache_size - FPI_LOAD(&c->count, FPI_RELAXED);
}

/* ---- mempool_guard.c ---- */

/*
 * get, put of pools with LIBFP_CHECKED or LIBFP_STATS; c may be NULL. get returns n,
 * 0 or an error, put n or an error.
 */
int32_t fpi_guarded_get(fp_mempool *p, fp_mempool_cache *c, void **out, uint32_t n);
int32_t fpi_guarded_put(fp_mempool *p, fp_mempool_cache *c, void *const *objects,
			uint32_t n);
/* For the k objects of a window, inside enter and leave; k, or an error. */
int32_t fpi_guarded_window_get(fp_mempool *p, fp_mempool_cache *c, void *const *objects,
			       uint32_t k);
int32_t fpi_guarded_window_put(fp_mempool *p, fp_mempool_cache *c, void *const *objects,
			       uint32_t k);
/*
 * Enters and leaves a call; c may be NULL. Does nothing without CHECKED. -EBUSY: the
 * pool is being destroyed, or another thread is inside where one may be.
 */
int fpi_pool_enter(fp_mempool *p, fp_mempool_cache *c, enum fpi_cache_way way);
void fpi_pool_leave_call(fp_mempool *p, fp_mempool_cache *c, enum fpi_cache_way way);
int fpi_pool_shut(fp_mempool *p, const char *call);
void fpi_pool_reopen(fp_mempool *p);
/* CHECKED: guards, poison or checksum of all objects, at create. */
void fpi_guard_objects(fp_mempool *p);
/* Whether an available object, or the guards of any, are as they were left. */
int fpi_object_untouched(const fp_mempool *p, uint64_t index);
int fpi_object_guards_intact(const fp_mempool *p, uint64_t index);
const char *fpi_pool_name(const fp_mempool *p);

/* ---- mempool.c ---- */

/* The index of the object that starts at ptr, or -1. */
FPI_INLINE int64_t fpi_pool_index(const fp_mempool *p, const void *ptr)
{
	uint64_t offset = (uint64_t)((uintptr_t)ptr - (uintptr_t)p->base);
	uint64_t index = offset / p->stride;

	return index < p->capacity && index * p->stride == offset ? (int64_t)index : -1;
}

/* Whether ptr points into an object. */
FPI_INLINE int fpi_pool_contains(const fp_mempool *p, const void *ptr)
{
	uint64_t offset = (uint64_t)((uintptr_t)ptr - (uintptr_t)p->base);

	return offset < p->capacity * p->stride && offset % p->stride < p->object_size;
}

FPI_INLINE void *fpi_pool_object(const fp_mempool *p, uint64_t index)
{
	return p->base + index * p->stride;
}

uint64_t fpi_pool_available(const fp_mempool *p);
/* The first of all caches; `next` leads to the others. */
const fp_mempool_cache *fpi_pool_caches(const fp_mempool *p);

#endif
