/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * See _glue_pool.h. Included into the file that cffi generates, behind _glue.c, whose
 * glue_line receives the reasons that libfp logs.
 *
 * Locking. Each call holds the glue_pool's mutex, for the cache is for one thread at a time.
 * cffi has released the GIL by then, so nobody waits for the mutex with the GIL in hand, and
 * libfp holds it for a bounded time. Destroy and unref take it too and leave the handle NULL:
 * a call comes before or after them, never beside.
 *
 * Fork. The mutex may be held by a thread that the child does not have: it is made anew, and
 * from then on everything but destroy is refused.
 */
#include <pthread.h>

#define GLUE_POOL_FEW 512 /* pointers on the stack */

_Static_assert(sizeof(pthread_mutex_t) <= sizeof(((glue_pool *)0)->mutex),
	       "room for a mutex");

/* ---- one at a time ---- */

static pthread_mutex_t *glue_pool_mutex(glue_pool *g)
{
	return (pthread_mutex_t *)(void *)g->mutex;
}

static void glue_pool_leave(glue_pool *g)
{
	pthread_mutex_unlock(glue_pool_mutex(g));
}

/* 0, or why the pool cannot be used; to be left only after 0. */
static int glue_pool_enter(glue_pool *g)
{
	int err = 0;

	glue_line[0] = 0;
	pthread_mutex_lock(glue_pool_mutex(g));
	if (!g->handle)
		err = GLUE_DESTROYED;
	else if (g->forked)
		err = GLUE_FORKED;
	if (err)
		glue_pool_leave(g);
	return err;
}

/* For calls that get and put: with the cache. */
static int glue_pool_enter_cache(glue_pool *g)
{
	int err = glue_pool_enter(g);

	if (err || g->cache)
		return err;
	err = fp_mempool_cache_create(g->handle, &g->cache);
	if (err)
		glue_pool_leave(g);
	return err;
}

/* ---- life ---- */

static void glue_pool_fill(glue_pool *out, fp_mempool *pool, uint32_t owner)
{
	pthread_mutex_init(glue_pool_mutex(out), NULL);
	out->handle = pool;
	out->owner = owner;
}

int glue_pool_create(const char *name, uint32_t count, uint32_t object_size,
		     uint32_t align, uint32_t cache_size, uint32_t flags,
		     uint32_t numa_node, glue_pool *out)
{
	fp_mempool_opts opts = LIBFP_MEMPOOL_OPTS_INIT;
	fp_mempool *pool = NULL;
	int err;

	glue_line[0] = 0;
	opts.name = name;
	opts.count = count;
	opts.object_size = object_size;
	opts.align = align;
	opts.cache_size = cache_size;
	opts.flags = flags;
	opts.numa_node = numa_node;
	err = fp_mempool_create(&opts, &pool);
	if (!err)
		glue_pool_fill(out, pool, 1);
	return err;
}

int glue_pool_lookup(const char *name, glue_pool *out)
{
	fp_mempool *pool = NULL;
	int err;

	glue_line[0] = 0;
	err = fp_mempool_lookup(name, &pool);
	if (!err)
		glue_pool_fill(out, pool, 0);
	return err;
}

static void glue_pool_drop_cache(glue_pool *g)
{
	fp_mempool_cache_destroy(g->cache);
	g->cache = NULL;
}

/* A child frees its copy whatever the parent has out. */
static int glue_pool_free(glue_pool *g)
{
	/* Refused with the reason; the cache stays, so that puts need no new one. */
	if (!g->forked && fp_mempool_in_use_count(g->handle) > 0)
		return fp_mempool_destroy(g->handle);
	if (!g->forked)
		glue_pool_drop_cache(g);
	return fp_mempool_destroy(g->handle);
}

/* A child has no reference in its parent's registry to give back. */
static int glue_pool_release(glue_pool *g)
{
	if (g->forked)
		return 0;
	glue_pool_drop_cache(g);
	return fp_mempool_unref(g->handle);
}

static int glue_pool_end(glue_pool *g, int (*end)(glue_pool *))
{
	int err;

	g->ending = 1;
	err = end(g);
	g->ending = 0;
	if (!err) {
		g->handle = NULL;
		g->cache = NULL;
	}
	return err;
}

/* in_use: how many objects stand in the way. */
int glue_pool_destroy(glue_pool *g, int64_t *in_use)
{
	int err = glue_pool_enter(g);

	if (err == GLUE_FORKED)
		pthread_mutex_lock(glue_pool_mutex(g));
	else if (err)
		return err;
	err = glue_pool_end(g, glue_pool_free);
	*in_use = err ? fp_mempool_in_use_count(g->handle) : 0;
	glue_pool_leave(g);
	return err;
}

int glue_pool_unref(glue_pool *g)
{
	int err = glue_pool_enter(g);

	if (err == GLUE_FORKED)
		pthread_mutex_lock(glue_pool_mutex(g));
	else if (err)
		return err;
	err = glue_pool_end(g, glue_pool_release);
	glue_pool_leave(g);
	return err;
}

/*
 * The Python object and everything that was made from it are gone. A pool that cannot be
 * destroyed stays: C code holds a reference, or objects are out by index; returns how many.
 */
int64_t glue_pool_drop(glue_pool *g)
{
	int64_t in_use = 0;

	if (g->handle && g->owner)
		glue_pool_destroy(g, &in_use);
	else if (g->handle)
		glue_pool_unref(g);
	if (g->handle)
		glue_pool_drop_cache(g);
	g->handle = NULL;
	return in_use;
}

/*
 * In a child, right after the fork: the parent's other threads are not here. What one of them
 * was about to destroy may be half destroyed: leave it.
 */
void glue_pool_forked(glue_pool *g)
{
	pthread_mutex_init(glue_pool_mutex(g), NULL);
	g->forked = 1;
	if (g->ending)
		g->handle = NULL;
}

/* ---- objects, one at a time ---- */

/* The index of an object, GLUE_NONE_LEFT, or an error. */
int64_t glue_pool_take(glue_pool *g)
{
	void *object;
	int64_t got = glue_pool_enter_cache(g);

	if (got)
		return got;
	got = fp_mempool_get_bulk_via_cache(g->handle, g->cache, &object, 1);
	if (got == 1)
		got = fp_mempool_index(g->handle, object);
	else if (!got)
		got = GLUE_NONE_LEFT;
	glue_pool_leave(g);
	return got;
}

int glue_pool_give(glue_pool *g, uint64_t index)
{
	void *object;
	int err = glue_pool_enter_cache(g);

	if (err)
		return err;
	object = fp_mempool_object(g->handle, index);
	err = object ? fp_mempool_put_via_cache(g->handle, g->cache, object) : -EFAULT;
	glue_pool_leave(g);
	return err;
}

/* ---- and many, as indexes of 4 or 8 bytes ---- */

/*
 * Any buffer may come, also a misaligned one, so indexes are copied. Little endian: the first
 * `width` bytes are the low ones. Inline, so that a constant width makes each copy one move.
 */
#define GLUE_INLINE static inline __attribute__((always_inline))

GLUE_INLINE void glue_to_indexes(glue_pool *g, void *const *objects,
				 unsigned char *indexes, int32_t n, uint32_t width)
{
	for (int32_t i = 0; i < n; i++) {
		uint64_t index = (uint64_t)fp_mempool_index(g->handle, objects[i]);

		memcpy(indexes + (uint64_t)i * width, &index, width);
	}
}

GLUE_INLINE int glue_to_objects(glue_pool *g, const unsigned char *indexes,
				void **objects, uint64_t n, uint32_t width)
{
	for (uint64_t i = 0; i < n; i++) {
		uint64_t index = 0;

		memcpy(&index, indexes + i * width, width);
		objects[i] = fp_mempool_object(g->handle, index);
		if (!objects[i])
			return -EFAULT;
	}
	return 0;
}

/* The table of n pointers: `few`, or allocated. NULL: no memory. */
static void **glue_table(void **few, uint64_t n)
{
	return n <= GLUE_POOL_FEW ? few : malloc(n * sizeof(void *));
}

static void glue_free_table(void **table, void **few)
{
	if (table != few)
		free(table);
}

static int32_t glue_get_all(glue_pool *g, void *indexes, uint64_t n, uint32_t width)
{
	void *few[GLUE_POOL_FEW];
	void **objects = glue_table(few, n);
	int32_t got;

	if (!objects)
		return -ENOMEM;
	got = fp_mempool_get_bulk_via_cache(g->handle, g->cache, objects, (uint32_t)n);
	if (width == sizeof(uint32_t))
		glue_to_indexes(g, objects, indexes, got, sizeof(uint32_t));
	else
		glue_to_indexes(g, objects, indexes, got, sizeof(uint64_t));
	glue_free_table(objects, few);
	return got;
}

static int32_t glue_put_all(glue_pool *g, const void *indexes, uint64_t n, uint32_t width)
{
	void *few[GLUE_POOL_FEW];
	void **objects = glue_table(few, n);
	int32_t put;

	if (!objects)
		return -ENOMEM;
	if (width == sizeof(uint32_t))
		put = glue_to_objects(g, indexes, objects, n, sizeof(uint32_t));
	else
		put = glue_to_objects(g, indexes, objects, n, sizeof(uint64_t));
	if (!put)
		put = fp_mempool_put_bulk_via_cache(g->handle, g->cache, objects,
						    (uint32_t)n);
	glue_free_table(objects, few);
	return put;
}

/* No table for what libfp would refuse anyway. */
static int glue_enter_many(glue_pool *g, uint64_t n)
{
	int err = glue_pool_enter_cache(g);

	if (err || n <= (uint64_t)fp_mempool_capacity(g->handle))
		return err;
	glue_pool_leave(g);
	return -EINVAL;
}

int32_t glue_pool_get(glue_pool *g, void *indexes, uint64_t n, uint32_t width)
{
	int32_t got = glue_enter_many(g, n);

	if (got)
		return got;
	got = glue_get_all(g, indexes, n, width);
	glue_pool_leave(g);
	return got;
}

int32_t glue_pool_put(glue_pool *g, const void *indexes, uint64_t n, uint32_t width)
{
	int32_t put = glue_enter_many(g, n);

	if (put)
		return put;
	put = glue_put_all(g, indexes, n, width);
	glue_pool_leave(g);
	return put;
}

/* ---- the rest ---- */

#define GLUE_POOL_LOOK(type, name, arguments, look) \
	type name arguments                         \
	{                                           \
		type got = glue_pool_enter(g);      \
                                                    \
		if (got)                            \
			return got;                 \
		got = look;                         \
		glue_pool_leave(g);                 \
		return got;                         \
	}

GLUE_POOL_LOOK(int64_t, glue_pool_flush, (glue_pool * g),
	       g->cache ? fp_mempool_cache_flush(g->cache) : 0)
GLUE_POOL_LOOK(int64_t, glue_pool_cached, (glue_pool * g),
	       g->cache ? fp_mempool_cache_count(g->cache) : 0)
GLUE_POOL_LOOK(int64_t, glue_pool_avail_count, (glue_pool * g),
	       fp_mempool_avail_count(g->handle))
GLUE_POOL_LOOK(int64_t, glue_pool_in_use_count, (glue_pool * g),
	       fp_mempool_in_use_count(g->handle))
GLUE_POOL_LOOK(int, glue_pool_is_full, (glue_pool * g), fp_mempool_is_full(g->handle))
GLUE_POOL_LOOK(int, glue_pool_is_empty, (glue_pool * g), fp_mempool_is_empty(g->handle))
GLUE_POOL_LOOK(int64_t, glue_pool_memory, (glue_pool * g), fp_mempool_memory(g->handle))
GLUE_POOL_LOOK(int64_t, glue_pool_index, (glue_pool * g, uint64_t address),
	       fp_mempool_index(g->handle, (const void *)(uintptr_t)address))
GLUE_POOL_LOOK(int, glue_pool_contains, (glue_pool * g, uint64_t address),
	       fp_mempool_contains(g->handle, (const void *)(uintptr_t)address))
GLUE_POOL_LOOK(int, glue_pool_audit, (glue_pool * g), fp_mempool_audit(g->handle))
GLUE_POOL_LOOK(int, glue_pool_set_tag, (glue_pool * g, uint64_t index, uint64_t tag),
	       fp_mempool_set_tag(g->handle, fp_mempool_object(g->handle, index), tag))
GLUE_POOL_LOOK(int64_t, glue_pool_leaks,
	       (glue_pool * g, fp_mempool_leak *leaks, uint32_t max),
	       fp_mempool_leaks(g->handle, leaks, max))

/* Own objects first: that libfp does not ask explicit caches is no reason to keep ours. */
int64_t glue_pool_reclaim(glue_pool *g)
{
	int64_t got = glue_pool_enter(g);

	if (got)
		return got;
	if (g->cache)
		got = fp_mempool_cache_flush(g->cache);
	if (got >= 0)
		got = fp_mempool_reclaim(g->handle);
	glue_pool_leave(g);
	return got;
}

int glue_pool_get_stats(glue_pool *g, fp_mempool_stats *io)
{
	int got = glue_pool_enter(g);

	if (got)
		return got;
	io->size = sizeof(*io);
	got = fp_mempool_get_stats(g->handle, io);
	glue_pool_leave(g);
	return got;
}
