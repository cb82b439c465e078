/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the Python package calls for pools, as _glue.h for rings: cffi parses this file as it
 * is, so it holds declarations only.
 *
 * A glue_pool is one Python object's way to a pool: a handle, and an explicit cache that comes
 * at the first get or put. Python code moves between threads, so it never uses the caches that
 * libfp keeps per thread. Objects cross as indexes: Python knows base and stride.
 */

/* Beside negative errno values and GLUE_DESTROYED. */
#define GLUE_NONE_LEFT -10011 /* take: no object */
#define GLUE_FORKED -10012    /* the pool is the parent process's */

typedef struct glue_pool {
	fp_mempool *handle;	 /* NULL: destroyed, or the reference given back */
	fp_mempool_cache *cache; /* NULL: not needed so far */
	uint32_t owner;		 /* destroyed with the glue_pool */
	uint32_t forked;
	uint32_t ending; /* a thread is inside destroy or unref */
	uint32_t pad;
	uint64_t mutex[8]; /* a pthread_mutex_t: one thread at a time inside a call */
} glue_pool;

int glue_pool_create(const char *name, uint32_t count, uint32_t object_size,
		     uint32_t align, uint32_t cache_size, uint32_t flags,
		     uint32_t numa_node, glue_pool *out);
int glue_pool_lookup(const char *name, glue_pool *out);
int glue_pool_destroy(glue_pool *g, int64_t *in_use);
int glue_pool_unref(glue_pool *g);
int64_t glue_pool_drop(glue_pool *g);
void glue_pool_forked(glue_pool *g);

int64_t glue_pool_take(glue_pool *g);
int glue_pool_give(glue_pool *g, uint64_t index);
int32_t glue_pool_get(glue_pool *g, void *indexes, uint64_t n, uint32_t width);
int32_t glue_pool_put(glue_pool *g, const void *indexes, uint64_t n, uint32_t width);

int64_t glue_pool_flush(glue_pool *g);
int64_t glue_pool_reclaim(glue_pool *g);
int64_t glue_pool_cached(glue_pool *g);
int64_t glue_pool_avail_count(glue_pool *g);
int64_t glue_pool_in_use_count(glue_pool *g);
int glue_pool_is_full(glue_pool *g);
int glue_pool_is_empty(glue_pool *g);
int64_t glue_pool_memory(glue_pool *g);
int64_t glue_pool_index(glue_pool *g, uint64_t address);
int glue_pool_contains(glue_pool *g, uint64_t address);
int glue_pool_get_stats(glue_pool *g, fp_mempool_stats *io);
int glue_pool_audit(glue_pool *g);
int glue_pool_set_tag(glue_pool *g, uint64_t index, uint64_t tag);
int64_t glue_pool_leaks(glue_pool *g, fp_mempool_leak *leaks, uint32_t max);
