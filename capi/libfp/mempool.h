/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libfp/mempool.h - pools of fixed-size objects.
 *
 * A pool owns `count` objects of one size in one block of memory. Any thread
 * gets and puts them. A thread's first call gives it a cache in the pool: an
 * array of pointers that only this thread touches. What a cache lacks or
 * cannot hold goes to the common depot and back in whole magazines (half a
 * cache), by pointer.
 *
 * Order       get returns what this thread put last: out[0] is the most recent.
 *             The cache comes before the depot. Within one put_bulk the last
 *             object of the table counts as the most recent.
 * Failure     get returns nothing only if this thread's cache and the depot
 *             together hold fewer objects than asked for; nothing has changed
 *             then. Objects in the caches of other threads do not count:
 *             fp_mempool_get_stats() says how many those are. put cannot fail,
 *             except for misuse.
 * Starvation  One thread's cache keeps at most fp_mempool_cache_size() objects
 *             from the others. n threads that may hold h objects in use each
 *             never starve if count >= n * (h + fp_mempool_cache_size()).
 *             Caches give back with fp_mempool_flush(), at the exit of their
 *             thread, or on fp_mempool_reclaim().
 * Contents    The pool never touches an object, so what a constructor (or the
 *             last user) left in it is there at the next get. Exception: a
 *             LIBFP_CHECKED pool without a constructor poisons what is put.
 * Threads     Calls without a cache of their own (threads beyond max_threads, a
 *             thread past its exit hook, no memory for a cache) go to the depot
 *             and work the same. What the thread that puts an object wrote is
 *             seen by the thread that gets it next.
 * Progress    From a cache: wait-free. Through the depot: blocking, under a
 *             lock that is held for a bounded number of instructions.
 * Checks      A LIBFP_CHECKED pool finds double puts, pointers that are no
 *             object of it, writes beyond an object's ends and after its put.
 *             Each gives an error code and one line to the log handler, and
 *             the pool stays as it was. An unchecked pool trusts its users.
 * Fork        A child may destroy a pool of its parent. It must not use it
 *             otherwise; calls that leave the fast path return -ECHILD.
 *
 * The errors below that get and put calls share:
 *   -EINVAL  pool is NULL; a table is NULL with n > 0; n > INT32_MAX, or more
 *            than the pool has objects (it could never succeed)
 *   -ECHILD  the pool was made before a fork (not on the fast path)
 *   -EBUSY   LIBFP_CHECKED only: another thread is inside a call that must be
 *            alone (a LIBFP_POOL_ST_... promise, a cache, destroy)
 */
#ifndef LIBFP_MEMPOOL_H
#define LIBFP_MEMPOOL_H

#include <libfp/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LIBFP_POOL_COUNT_MAX INT32_MAX /* objects of a pool */
#define LIBFP_POOL_ALIGN_MAX 4096      /* bytes */
#define LIBFP_POOL_CACHE_MAX 65536     /* objects of a cache */
#define LIBFP_POOL_THREADS_MAX 256     /* threads with a cache at a time */

/* Flags of fp_mempool_opts, beside those of libfp/base.h. */
#define LIBFP_POOL_NO_CACHE 0x100 /* no thread caches; cache_size is that of explicit \
				   * caches alone */
#define LIBFP_POOL_ST_GET 0x200 /* promise: one thread at a time gets */
#define LIBFP_POOL_ST_PUT 0x400 /* promise: one thread at a time puts. With both, \
				 * one thread at a time makes any call on the \
				 * pool, and one cache serves them all */

typedef struct fp_mempool fp_mempool;
typedef struct fp_mempool_cache fp_mempool_cache;

/*
 * Called for an object of a pool: the constructor of fp_mempool_create() and
 * the visitor of fp_mempool_for_each(). Runs on the calling thread, in order of
 * index; must not call libfp on this pool. Returns 0 to go on; anything else
 * ends the walk.
 */
typedef int (*fp_mempool_object_fn)(void *object, uint32_t index, void *user);

/*
 * flags: LIBFP_STATS counts calls (slower); LIBFP_CHECKED finds misuse (slower,
 * more memory); LIBFP_MEM_... place the memory; LIBFP_POOL_... above.
 */
typedef struct fp_mempool_opts {
	uint32_t size;		/* sizeof(fp_mempool_opts) */
	uint32_t flags;
	const char *name;	/* NULL: not registered */
	uint32_t count;		/* objects, 1 to LIBFP_POOL_COUNT_MAX; no default */
	uint32_t object_size;	/* bytes, 1 and up; no default */
	uint32_t align;		/* bytes, a power of two up to LIBFP_POOL_ALIGN_MAX; 0: 8 */
	uint32_t cache_size;	/* objects a cache holds at most, up to count and
				 * LIBFP_POOL_CACHE_MAX; 0: count / 8, at most 512
				 * (a count below 8: no thread caches) */
	uint32_t max_threads;	/* threads with a cache at a time, up to
				 * LIBFP_POOL_THREADS_MAX; 0: that many */
	uint32_t numa_node;	/* with LIBFP_MEM_NODE */
	fp_mempool_object_fn constructor; /* NULL: objects start as zeroes */
	void *user;		/* for the constructor; last used before create returns */
	const fp_allocator *allocator;	  /* NULL: the library's own */
} fp_mempool_opts;

#define LIBFP_MEMPOOL_OPTS_INIT \
	{ sizeof(fp_mempool_opts), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Bits of fp_mempool_stats.flags. */
#define LIBFP_POOL_STATS_COUNTED 0x1 /* the counters from gets on are kept \
				      * (LIBFP_STATS) */

/* Where the objects are: exact when no call is in progress. */
typedef struct fp_mempool_stats {
	uint32_t size;		/* in: sizeof(fp_mempool_stats); out: bytes filled */
	uint32_t flags;		/* LIBFP_POOL_STATS_... */
	uint64_t capacity;	/* objects of the pool */
	uint64_t available;	/* of these: not in use, wherever they are */
	uint64_t in_use;	/* got and not put */
	uint64_t in_depot;
	uint64_t in_own_cache;	/* in the calling thread's cache */
	uint64_t in_other_caches; /* in those of other threads */
	uint64_t in_explicit_caches; /* of fp_mempool_cache_create() */
	uint64_t thread_caches;	/* threads that have a cache now */
	uint64_t explicit_caches;
	uint64_t gets;		/* get calls that got something */
	uint64_t objects_got;
	uint64_t puts;
	uint64_t objects_put;
	uint64_t failures;	/* get calls refused for want of objects */
	uint64_t cache_hits;	/* get and put calls served by a cache alone */
	uint64_t depot_exchanges; /* get and put calls that took a depot lock */
	uint64_t misuses;	/* found by LIBFP_CHECKED; always kept there */
} fp_mempool_stats;

/* An object in use, as fp_mempool_leaks() lists it. */
typedef struct fp_mempool_leak {
	void *object;
	uint64_t index;
	int64_t thread;	  /* kernel id of the thread that got it */
	uint64_t tag;	  /* of fp_mempool_set_tag(); 0: none */
	uint64_t since_ns; /* CLOCK_MONOTONIC of the get */
	uint64_t age_ns;   /* time since then */
} fp_mempool_leak;

/*
 * Fills *opts with LIBFP_MEMPOOL_OPTS_INIT: for languages without macros.
 *
 * opts:     the struct to fill.
 * size:     its size in bytes as the caller knows it, at least the first
 *           published size (64).
 * Returns:  0; -EINVAL: opts is NULL or size is too small; -E2BIG: size is
 *           larger than 1 MiB, which no options struct will ever be.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int fp_mempool_opts_init(fp_mempool_opts *opts, uint32_t size);

/*
 * Creates a pool with all its objects available.
 *
 * opts:     see fp_mempool_opts; count and object_size have no default.
 * out:      receives the pool; untouched on failure.
 * Returns:  0; -EINVAL: bad count, object size, alignment, cache size or
 *           max_threads, misaligned options, or out is NULL; -E2BIG,
 *           -EOPNOTSUPP: see libfp/base.h; -ENAMETOOLONG; -EEXIST: the name is
 *           taken; -ENOMEM: also when the machine could never hold it; what the
 *           constructor returned if that is negative, -ECANCELED if it is
 *           positive.
 * Threads:  any.
 * Progress: blocking (allocates; time grows with count).
 * Since:    0.9
 */
LIBFP_API int fp_mempool_create(const fp_mempool_opts *opts, fp_mempool **out);

/*
 * Destroys a pool and the memory of its objects.
 *
 * No call on the pool may run or follow; that is the caller's duty, and only a
 * LIBFP_CHECKED pool looks for it. Threads that have a cache may live on.
 *
 * Returns:  0, also for NULL; -EBUSY and nothing freed: objects are in use (how
 *           many: fp_mempool_in_use_count()), explicit caches exist, references
 *           taken by lookup remain, or (LIBFP_CHECKED) a thread is inside a call.
 * Threads:  one, with no other call on this pool.
 * Progress: blocking.
 * Since:    0.9
 */
LIBFP_API int fp_mempool_destroy(fp_mempool *pool);

/*
 * Finds a pool by name and takes a reference to it.
 *
 * name:     the name given at create.
 * out:      receives the pool; untouched on failure.
 * Returns:  0; -EINVAL: name or out is NULL; -ENOENT: no such pool, or it is
 *           being created or destroyed.
 * Threads:  any.
 * Progress: blocking (registry lock).
 * Since:    0.9
 */
LIBFP_API int fp_mempool_lookup(const char *name, fp_mempool **out);

/*
 * Gives back one reference taken by fp_mempool_lookup().
 *
 * Returns:  0; -EINVAL: pool is NULL or no reference is out.
 * Threads:  any.
 * Progress: blocking (registry lock).
 * Since:    0.9
 */
LIBFP_API int fp_mempool_unref(fp_mempool *pool);

/*
 * The name given at create.
 *
 * Returns:  the name, valid until destroy; NULL: pool is NULL or has no name.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API const char *fp_mempool_name(const fp_mempool *pool);

/* ---- get and put ---- */

/*
 * Gets one object: the fastest way.
 *
 * Returns:  the object; NULL: there is none (see "Failure" above), pool is
 *           NULL, or one of the errors at the top. LIBFP_CHECKED: NULL once
 *           also when the object at hand was written to after its put; the
 *           next call goes on.
 * Threads:  any; LIBFP_POOL_ST_GET: one at a time.
 * Progress: wait-free from the cache, else blocking (depot).
 * Since:    0.9
 */
LIBFP_API void *fp_mempool_get(fp_mempool *pool);

/*
 * Puts one object back.
 *
 * object:   from a get of this pool; not used any more by the caller.
 * Returns:  0; -EINVAL: pool or object is NULL; -ECHILD, -EBUSY: see the top.
 *           LIBFP_CHECKED: -EFAULT: not an object of this pool; -EALREADY: it
 *           is not in use (put twice); -EUCLEAN: bytes before or behind it were
 *           overwritten: they are mended, the object stays the caller's, and
 *           putting it again succeeds.
 * Threads:  any; LIBFP_POOL_ST_PUT: one at a time.
 * Progress: wait-free to the cache, else blocking (depot).
 * Since:    0.9
 */
LIBFP_API int fp_mempool_put(fp_mempool *pool, void *object);

/*
 * Gets n objects or none.
 *
 * objects:  receives n pointers, the most recently put first; untouched if the
 *           result is not n (after -EUCLEAN: undefined).
 * Returns:  n; 0: there are fewer (see "Failure" above); -EINVAL, -ECHILD,
 *           -EBUSY: see the top. LIBFP_CHECKED: -EUCLEAN, once: an object was
 *           written to after its put; nothing is taken, and it is mended.
 * Threads:  as fp_mempool_get().
 * Progress: as fp_mempool_get().
 * Since:    0.9
 */
LIBFP_API int32_t fp_mempool_get_bulk(fp_mempool *pool, void **objects, uint32_t n);

/*
 * Puts n objects back.
 *
 * objects:  n pointers from gets of this pool.
 * Returns:  n; -EINVAL, -ECHILD, -EBUSY: see the top. LIBFP_CHECKED: the errors
 *           of fp_mempool_put() for the first object with one; none is put.
 * Threads:  as fp_mempool_put().
 * Progress: as fp_mempool_put().
 * Since:    0.9
 */
LIBFP_API int32_t fp_mempool_put_bulk(fp_mempool *pool, void *const *objects,
				      uint32_t n);

/* ---- zero copy: a window into the calling thread's cache ---- */

/*
 * Shows up to n available objects in place, without taking them. They are this
 * thread's next gets; the last one is the most recently put.
 *
 * n:        up to half the cache size (rounded up) is given whenever cache and
 *           depot hold that many; beyond that the window may be shorter.
 * window:   receives a pointer to the pointers, valid until this thread's next
 *           call on the pool; untouched if the result is not positive.
 * Returns:  how many, 0 to n (0: none is there); -EOPNOTSUPP: the pool or the
 *           thread has no cache (use fp_mempool_get_bulk()); -EINVAL, -ECHILD,
 *           -EBUSY: see the top.
 * Threads:  as fp_mempool_get().
 * Progress: as fp_mempool_get().
 * Since:    0.9
 */
LIBFP_API int32_t fp_mempool_get_reserve(fp_mempool *pool, uint32_t n,
					 void *const **window);

/*
 * Takes the first k objects of the window shown by the last
 * fp_mempool_get_reserve() of this thread.
 *
 * Returns:  k; -EINVAL: pool is NULL, k is more than that reserve gave, or this
 *           thread has got, put or flushed since: nothing has changed (without
 *           LIBFP_CHECKED, calls that took and gave the same number of objects
 *           within the cache are not noticed); -EBUSY: see the top;
 *           LIBFP_CHECKED: -EUCLEAN as fp_mempool_get_bulk().
 * Threads:  the thread that reserved.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int32_t fp_mempool_get_commit(fp_mempool *pool, uint32_t k);

/*
 * Opens up to n free places in this thread's cache, to be filled with pointers
 * of objects that are to be put.
 *
 * n:        up to half the cache size (rounded down, at least 1) is always given.
 * window:   receives a pointer to the places, valid until this thread's next
 *           call on the pool; untouched if the result is not positive.
 * Returns:  how many, 1 to n, 0 for n = 0; -EOPNOTSUPP, -EINVAL, -ECHILD,
 *           -EBUSY: as fp_mempool_get_reserve().
 * Threads:  as fp_mempool_put().
 * Progress: as fp_mempool_put().
 * Since:    0.9
 */
LIBFP_API int32_t fp_mempool_put_reserve(fp_mempool *pool, uint32_t n, void ***window);

/*
 * Puts the objects written to the first k places of the window opened by the
 * last fp_mempool_put_reserve() of this thread.
 *
 * Returns:  k; -EINVAL, -EBUSY: as fp_mempool_get_commit(); LIBFP_CHECKED: the
 *           errors of fp_mempool_put_bulk().
 * Threads:  the thread that reserved.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int32_t fp_mempool_put_commit(fp_mempool *pool, uint32_t k);

/* ---- caches ---- */

/*
 * Gives all objects in the calling thread's cache to the depot; a thread without
 * one gives none and gets none by this.
 *
 * Returns:  how many; -EINVAL: pool is NULL; -ECHILD, -EBUSY: see the top.
 * Threads:  any.
 * Progress: blocking (depot).
 * Since:    0.9
 */
LIBFP_API int64_t fp_mempool_flush(fp_mempool *pool);

/*
 * Flushes the calling thread's cache and asks the other threads for theirs:
 * each gives back at its next call on the pool (a commit of an open window: at
 * the one after). Best effort: a thread that makes no call gives nothing. Explicit caches are not asked.
 *
 * Returns:  how many objects remain in caches of other threads at this moment;
 *           -EINVAL: pool is NULL; -ECHILD, -EBUSY: see the top.
 * Threads:  any.
 * Progress: blocking (depot).
 * Since:    0.9
 */
LIBFP_API int64_t fp_mempool_reclaim(fp_mempool *pool);

/*
 * Creates a cache that belongs to the caller instead of to a thread: for
 * coroutines, fibers and languages whose code moves between threads. It holds as
 * many objects as a thread's cache would (see fp_mempool_opts.cache_size; at least 1).
 *
 * out:      receives the cache; untouched on failure.
 * Returns:  0; -EINVAL: pool or out is NULL; -ENOMEM; -ECHILD, -EBUSY: see the
 *           top.
 * Threads:  any.
 * Progress: blocking (allocates).
 * Since:    0.9
 */
LIBFP_API int fp_mempool_cache_create(fp_mempool *pool, fp_mempool_cache **out);

/*
 * Gives a cache's objects to the depot and frees it.
 *
 * Returns:  0, also for NULL; -EINVAL: destroyed before, as far as that can be
 *           seen (its memory may serve as another cache by now); -EBUSY: see
 *           the top.
 * Threads:  one, with no other call on this cache.
 * Progress: blocking.
 * Since:    0.9
 */
LIBFP_API int fp_mempool_cache_destroy(fp_mempool_cache *cache);

/*
 * Gives all objects in a cache to the depot.
 *
 * Returns:  how many; -EINVAL: cache is NULL; -ECHILD, -EBUSY: see the top.
 * Threads:  one at a time on this cache.
 * Progress: blocking (depot).
 * Since:    0.9
 */
LIBFP_API int64_t fp_mempool_cache_flush(fp_mempool_cache *cache);

/*
 * Objects in a cache at this moment.
 *
 * Returns:  the count; -EINVAL: cache is NULL.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int64_t fp_mempool_cache_count(const fp_mempool_cache *cache);

/*
 * As fp_mempool_get(), through this cache.
 *
 * Returns:  as fp_mempool_get(); NULL also if the cache is NULL or of another
 *           pool.
 * Threads:  one at a time on this cache.
 * Progress: as fp_mempool_get().
 * Since:    0.9
 */
LIBFP_API void *fp_mempool_get_via_cache(fp_mempool *pool, fp_mempool_cache *cache);

/*
 * As fp_mempool_put(), through this cache.
 *
 * Returns:  as fp_mempool_put(); -EINVAL also if the cache is NULL or of
 *           another pool.
 * Threads:  one at a time on this cache.
 * Progress: as fp_mempool_put().
 * Since:    0.9
 */
LIBFP_API int fp_mempool_put_via_cache(fp_mempool *pool, fp_mempool_cache *cache,
				       void *object);

/*
 * As fp_mempool_get_bulk(), through this cache.
 *
 * Returns:  as fp_mempool_get_bulk(); -EINVAL also if the cache is NULL or of
 *           another pool.
 * Threads:  one at a time on this cache.
 * Progress: as fp_mempool_get().
 * Since:    0.9
 */
LIBFP_API int32_t fp_mempool_get_bulk_via_cache(fp_mempool *pool,
						fp_mempool_cache *cache,
						void **objects, uint32_t n);

/*
 * As fp_mempool_put_bulk(), through this cache.
 *
 * Returns:  as fp_mempool_put_bulk(); -EINVAL also if the cache is NULL or of
 *           another pool.
 * Threads:  one at a time on this cache.
 * Progress: as fp_mempool_put().
 * Since:    0.9
 */
LIBFP_API int32_t fp_mempool_put_bulk_via_cache(fp_mempool *pool,
						fp_mempool_cache *cache,
						void *const *objects, uint32_t n);

/*
 * As fp_mempool_get_reserve(), of this cache; the window is valid until the
 * next call on the cache.
 *
 * Returns:  as fp_mempool_get_reserve(); -EINVAL also if the cache is NULL or
 *           of another pool.
 * Threads:  one at a time on this cache.
 * Progress: as fp_mempool_get().
 * Since:    0.9
 */
LIBFP_API int32_t fp_mempool_get_reserve_via_cache(fp_mempool *pool,
						   fp_mempool_cache *cache, uint32_t n,
						   void *const **window);

/*
 * As fp_mempool_get_commit(), of this cache.
 *
 * Returns:  as fp_mempool_get_commit(); -EINVAL also if the cache is NULL or of
 *           another pool.
 * Threads:  one at a time on this cache.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int32_t fp_mempool_get_commit_via_cache(fp_mempool *pool,
						  fp_mempool_cache *cache, uint32_t k);

/*
 * As fp_mempool_put_reserve(), of this cache; the window is valid until the
 * next call on the cache.
 *
 * Returns:  as fp_mempool_put_reserve(); -EINVAL also if the cache is NULL or
 *           of another pool.
 * Threads:  one at a time on this cache.
 * Progress: as fp_mempool_put().
 * Since:    0.9
 */
LIBFP_API int32_t fp_mempool_put_reserve_via_cache(fp_mempool *pool,
						   fp_mempool_cache *cache, uint32_t n,
						   void ***window);

/*
 * As fp_mempool_put_commit(), of this cache.
 *
 * Returns:  as fp_mempool_put_commit(); -EINVAL also if the cache is NULL or of
 *           another pool.
 * Threads:  one at a time on this cache.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int32_t fp_mempool_put_commit_via_cache(fp_mempool *pool,
						  fp_mempool_cache *cache, uint32_t k);

/* ---- objects and indexes ---- */

/*
 * Index of an object: 0 to capacity - 1, in order of address.
 *
 * Returns:  the index; -EINVAL: pool is NULL; -EFAULT: not the address of an
 *           object of this pool.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int64_t fp_mempool_index(const fp_mempool *pool, const void *object);

/*
 * The object with this index, whether in use or not:
 * fp_mempool_base() + index * fp_mempool_stride().
 *
 * Returns:  the object; NULL: pool is NULL or index is not below its capacity.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API void *fp_mempool_object(const fp_mempool *pool, uint64_t index);

/*
 * Whether a pointer points into an object of this pool, at its start or inside.
 *
 * Returns:  1 or 0; -EINVAL: pool is NULL.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int fp_mempool_contains(const fp_mempool *pool, const void *ptr);

/*
 * Address of object 0.
 *
 * Returns:  the address; NULL: pool is NULL.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API void *fp_mempool_base(const fp_mempool *pool);

/*
 * Bytes from one object to the next: the object size rounded up to the
 * alignment, and the guards of a LIBFP_CHECKED pool.
 *
 * Returns:  the bytes; -EINVAL: pool is NULL.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int64_t fp_mempool_stride(const fp_mempool *pool);

/*
 * Bytes of an object, as asked for at create.
 *
 * Returns:  the size; -EINVAL: pool is NULL.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int64_t fp_mempool_object_size(const fp_mempool *pool);

/*
 * Objects of the pool, in use or not.
 *
 * Returns:  the count; -EINVAL: pool is NULL.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int64_t fp_mempool_capacity(const fp_mempool *pool);

/*
 * Objects that the cache of one thread holds at most, and so keeps from others.
 *
 * Returns:  the size, 0: the pool has no thread caches; -EINVAL: pool is NULL.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int64_t fp_mempool_cache_size(const fp_mempool *pool);

/*
 * Bytes of memory that the pool occupies at this moment, objects included.
 *
 * Returns:  the bytes; -EINVAL: pool is NULL.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int64_t fp_mempool_memory(const fp_mempool *pool);

/*
 * Objects not in use: in the depot and in all caches. Never above the capacity;
 * exact when no call is in progress.
 *
 * Returns:  the count; -EINVAL: pool is NULL.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int64_t fp_mempool_avail_count(const fp_mempool *pool);

/*
 * Objects in use: capacity - available.
 *
 * Returns:  the count; -EINVAL: pool is NULL.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int64_t fp_mempool_in_use_count(const fp_mempool *pool);

/*
 * Whether all objects are available.
 *
 * Returns:  1 or 0; -EINVAL: pool is NULL.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int fp_mempool_is_full(const fp_mempool *pool);

/*
 * Whether all objects are in use.
 *
 * Returns:  1 or 0; -EINVAL: pool is NULL.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int fp_mempool_is_empty(const fp_mempool *pool);

/*
 * Calls fn for every object in order of index, in use or not.
 *
 * fn:       see fp_mempool_object_fn; user is handed to it.
 * Returns:  0; what fn returned if that is not 0; -EINVAL: pool or fn is NULL.
 * Threads:  any; what fn may touch of an object in use is the caller's affair.
 * Progress: blocking (as long as fn takes).
 * Since:    0.9
 */
LIBFP_API int fp_mempool_for_each(fp_mempool *pool, fp_mempool_object_fn fn, void *user);

/* ---- inspection ---- */

/*
 * Reads the counters.
 *
 * io:       io->size is set by the caller; the library fills at most that and
 *           writes back what it filled.
 * Returns:  0; -EINVAL: pool or io is NULL, or io->size is below 8.
 * Threads:  any.
 * Progress: wait-free (looks at every cache).
 * Since:    0.9
 */
LIBFP_API int fp_mempool_get_stats(const fp_mempool *pool, fp_mempool_stats *io);

/*
 * Checks the pool: that every available object is an object of this pool and
 * in one place only, that all counts agree; LIBFP_CHECKED: also every guard and
 * every poison. Faults go to the log handler, one line each.
 *
 * Returns:  0; -EUCLEAN: something is wrong; -ENOMEM (needs one bit per
 *           object); -EINVAL: pool is NULL; -ECHILD, -EBUSY: see the top.
 * Threads:  one, with no other call on this pool, and no exit of a thread that
 *           has a cache in it.
 * Progress: blocking (allocates).
 * Since:    0.9
 */
LIBFP_API int fp_mempool_audit(fp_mempool *pool);

/*
 * Notes a number with an object in use, for fp_mempool_leaks(): say, where in
 * the program it is. The next get clears it.
 *
 * Returns:  0; -EINVAL: pool is NULL; -EOPNOTSUPP: not a LIBFP_CHECKED pool;
 *           -EFAULT: not an object of this pool; -EALREADY: it is not in use.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int fp_mempool_set_tag(fp_mempool *pool, void *object, uint64_t tag);

/*
 * Lists objects in use, in order of index: who got them and when.
 *
 * leaks:    receives at most max entries; may be NULL if max is 0.
 * Returns:  how many objects are in use, also if more than max; -EINVAL: pool
 *           is NULL, or leaks is; -EOPNOTSUPP: not a LIBFP_CHECKED pool.
 * Threads:  any; exact when no call is in progress.
 * Progress: wait-free (looks at every object).
 * Since:    0.9
 */
LIBFP_API int64_t fp_mempool_leaks(const fp_mempool *pool, fp_mempool_leak *leaks,
				   uint32_t max);

#ifdef __cplusplus
}
#endif

#endif /* LIBFP_MEMPOOL_H */
