/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The frozen layout of the ABI, for the compiler to confirm: sizes,
 * offsets, values, signatures as capi/libfp.abi.json has them.
 * Generated from the public headers by tools/gen; do not edit.
 */
/* clang-format off */
#include <stddef.h>

#include <libfp.h>

#define SAME(what) _Static_assert(what, "the ABI has changed")
#define TYPE(expr, ...) \
	SAME(__builtin_types_compatible_p(__typeof__(expr), __VA_ARGS__))
#define FIELD(type, field, offset, bytes, ...)               \
	SAME(offsetof(type, field) == (offset));             \
	SAME(sizeof(((type *)0)->field) == (bytes));         \
	TYPE(((type *)0)->field, __VA_ARGS__)

SAME(sizeof(fp_allocator) == 32);
SAME(_Alignof(fp_allocator) == 8);
FIELD(fp_allocator, size, 0, 4, uint32_t);
FIELD(fp_allocator, flags, 4, 4, uint32_t);
FIELD(fp_allocator, alloc, 8, 8, fp_allocator_alloc_fn);
FIELD(fp_allocator, free, 16, 8, fp_allocator_free_fn);
FIELD(fp_allocator, ctx, 24, 8, void *);

SAME(sizeof(fp_mempool_opts) == 64);
SAME(_Alignof(fp_mempool_opts) == 8);
FIELD(fp_mempool_opts, size, 0, 4, uint32_t);
FIELD(fp_mempool_opts, flags, 4, 4, uint32_t);
FIELD(fp_mempool_opts, name, 8, 8, const char *);
FIELD(fp_mempool_opts, count, 16, 4, uint32_t);
FIELD(fp_mempool_opts, object_size, 20, 4, uint32_t);
FIELD(fp_mempool_opts, align, 24, 4, uint32_t);
FIELD(fp_mempool_opts, cache_size, 28, 4, uint32_t);
FIELD(fp_mempool_opts, max_threads, 32, 4, uint32_t);
FIELD(fp_mempool_opts, numa_node, 36, 4, uint32_t);
FIELD(fp_mempool_opts, constructor, 40, 8, fp_mempool_object_fn);
FIELD(fp_mempool_opts, user, 48, 8, void *);
FIELD(fp_mempool_opts, allocator, 56, 8, const fp_allocator *);

SAME(sizeof(fp_mempool_stats) == 144);
SAME(_Alignof(fp_mempool_stats) == 8);
FIELD(fp_mempool_stats, size, 0, 4, uint32_t);
FIELD(fp_mempool_stats, flags, 4, 4, uint32_t);
FIELD(fp_mempool_stats, capacity, 8, 8, uint64_t);
FIELD(fp_mempool_stats, available, 16, 8, uint64_t);
FIELD(fp_mempool_stats, in_use, 24, 8, uint64_t);
FIELD(fp_mempool_stats, in_depot, 32, 8, uint64_t);
FIELD(fp_mempool_stats, in_own_cache, 40, 8, uint64_t);
FIELD(fp_mempool_stats, in_other_caches, 48, 8, uint64_t);
FIELD(fp_mempool_stats, in_explicit_caches, 56, 8, uint64_t);
FIELD(fp_mempool_stats, thread_caches, 64, 8, uint64_t);
FIELD(fp_mempool_stats, explicit_caches, 72, 8, uint64_t);
FIELD(fp_mempool_stats, gets, 80, 8, uint64_t);
FIELD(fp_mempool_stats, objects_got, 88, 8, uint64_t);
FIELD(fp_mempool_stats, puts, 96, 8, uint64_t);
FIELD(fp_mempool_stats, objects_put, 104, 8, uint64_t);
FIELD(fp_mempool_stats, failures, 112, 8, uint64_t);
FIELD(fp_mempool_stats, cache_hits, 120, 8, uint64_t);
FIELD(fp_mempool_stats, depot_exchanges, 128, 8, uint64_t);
FIELD(fp_mempool_stats, misuses, 136, 8, uint64_t);

SAME(sizeof(fp_mempool_leak) == 48);
SAME(_Alignof(fp_mempool_leak) == 8);
FIELD(fp_mempool_leak, object, 0, 8, void *);
FIELD(fp_mempool_leak, index, 8, 8, uint64_t);
FIELD(fp_mempool_leak, thread, 16, 8, int64_t);
FIELD(fp_mempool_leak, tag, 24, 8, uint64_t);
FIELD(fp_mempool_leak, since_ns, 32, 8, uint64_t);
FIELD(fp_mempool_leak, age_ns, 40, 8, uint64_t);

SAME(sizeof(fp_wakeup_opts) == 16);
SAME(_Alignof(fp_wakeup_opts) == 8);
FIELD(fp_wakeup_opts, size, 0, 4, uint32_t);
FIELD(fp_wakeup_opts, flags, 4, 4, uint32_t);
FIELD(fp_wakeup_opts, allocator, 8, 8, const fp_allocator *);

SAME(sizeof(fp_wakeup_stats) == 72);
SAME(_Alignof(fp_wakeup_stats) == 8);
FIELD(fp_wakeup_stats, size, 0, 4, uint32_t);
FIELD(fp_wakeup_stats, flags, 4, 4, uint32_t);
FIELD(fp_wakeup_stats, waiting, 8, 8, uint64_t);
FIELD(fp_wakeup_stats, bound, 16, 8, uint64_t);
FIELD(fp_wakeup_stats, sleeps, 24, 8, uint64_t);
FIELD(fp_wakeup_stats, wakes, 32, 8, uint64_t);
FIELD(fp_wakeup_stats, spurious, 40, 8, uint64_t);
FIELD(fp_wakeup_stats, fallback_polls, 48, 8, uint64_t);
FIELD(fp_wakeup_stats, fd_writes, 56, 8, uint64_t);
FIELD(fp_wakeup_stats, interrupts, 64, 8, uint64_t);

SAME(sizeof(fp_ring_opts) == 48);
SAME(_Alignof(fp_ring_opts) == 8);
FIELD(fp_ring_opts, size, 0, 4, uint32_t);
FIELD(fp_ring_opts, flags, 4, 4, uint32_t);
FIELD(fp_ring_opts, name, 8, 8, const char *);
FIELD(fp_ring_opts, capacity, 16, 4, uint32_t);
FIELD(fp_ring_opts, elem_size, 20, 4, uint32_t);
FIELD(fp_ring_opts, producer, 24, 4, uint32_t);
FIELD(fp_ring_opts, consumer, 28, 4, uint32_t);
FIELD(fp_ring_opts, numa_node, 32, 4, uint32_t);
FIELD(fp_ring_opts, reserved0, 36, 4, uint32_t);
FIELD(fp_ring_opts, allocator, 40, 8, const fp_allocator *);

SAME(sizeof(fp_ring_span) == 32);
SAME(_Alignof(fp_ring_span) == 8);
FIELD(fp_ring_span, ptr1, 0, 8, void *);
FIELD(fp_ring_span, ptr2, 8, 8, void *);
FIELD(fp_ring_span, n1, 16, 4, uint32_t);
FIELD(fp_ring_span, n2, 20, 4, uint32_t);
FIELD(fp_ring_span, token, 24, 8, uint64_t);

SAME(sizeof(fp_ring_stats) == 96);
SAME(_Alignof(fp_ring_stats) == 8);
FIELD(fp_ring_stats, size, 0, 4, uint32_t);
FIELD(fp_ring_stats, flags, 4, 4, uint32_t);
FIELD(fp_ring_stats, enqueued, 8, 8, uint64_t);
FIELD(fp_ring_stats, dequeued, 16, 8, uint64_t);
FIELD(fp_ring_stats, refused_full, 24, 8, uint64_t);
FIELD(fp_ring_stats, refused_empty, 32, 8, uint64_t);
FIELD(fp_ring_stats, voided, 40, 8, uint64_t);
FIELD(fp_ring_stats, high_water, 48, 8, uint64_t);
FIELD(fp_ring_stats, count, 56, 8, uint64_t);
FIELD(fp_ring_stats, unpublished, 64, 8, uint64_t);
FIELD(fp_ring_stats, void_pending, 72, 8, uint64_t);
FIELD(fp_ring_stats, blocked_since_ns, 80, 8, uint64_t);
FIELD(fp_ring_stats, blocked_by, 88, 8, int64_t);

TYPE((fp_allocator_alloc_fn)0, void *(*)(void *, uint64_t, uint64_t));
TYPE((fp_allocator_free_fn)0, void (*)(void *, void *, uint64_t, uint64_t));
TYPE((fp_log_handler)0, void (*)(uint32_t, const char *, void *));
TYPE((fp_mempool_object_fn)0, int (*)(void *, uint32_t, void *));

TYPE(fp_version_number, uint32_t (void));
TYPE(fp_version_string, const char *(void));
TYPE(fp_features, uint64_t (void));
TYPE(fp_strerror, const char *(int));
TYPE(fp_log_set_handler, fp_log_handler (fp_log_handler, void *, void **));
TYPE(fp_mempool_opts_init, int (fp_mempool_opts *, uint32_t));
TYPE(fp_mempool_create, int (const fp_mempool_opts *, fp_mempool **));
TYPE(fp_mempool_destroy, int (fp_mempool *));
TYPE(fp_mempool_lookup, int (const char *, fp_mempool **));
TYPE(fp_mempool_unref, int (fp_mempool *));
TYPE(fp_mempool_name, const char *(const fp_mempool *));
TYPE(fp_mempool_get, void *(fp_mempool *));
TYPE(fp_mempool_put, int (fp_mempool *, void *));
TYPE(fp_mempool_get_bulk, int32_t (fp_mempool *, void **, uint32_t));
TYPE(fp_mempool_put_bulk, int32_t (fp_mempool *, void *const *, uint32_t));
TYPE(fp_mempool_get_reserve, int32_t (fp_mempool *, uint32_t, void *const **));
TYPE(fp_mempool_get_commit, int32_t (fp_mempool *, uint32_t));
TYPE(fp_mempool_put_reserve, int32_t (fp_mempool *, uint32_t, void ***));
TYPE(fp_mempool_put_commit, int32_t (fp_mempool *, uint32_t));
TYPE(fp_mempool_flush, int64_t (fp_mempool *));
TYPE(fp_mempool_reclaim, int64_t (fp_mempool *));
TYPE(fp_mempool_cache_create, int (fp_mempool *, fp_mempool_cache **));
TYPE(fp_mempool_cache_destroy, int (fp_mempool_cache *));
TYPE(fp_mempool_cache_flush, int64_t (fp_mempool_cache *));
TYPE(fp_mempool_cache_count, int64_t (const fp_mempool_cache *));
TYPE(fp_mempool_get_via_cache, void *(fp_mempool *, fp_mempool_cache *));
TYPE(fp_mempool_put_via_cache, int (fp_mempool *, fp_mempool_cache *, void *));
TYPE(fp_mempool_get_bulk_via_cache, int32_t (fp_mempool *, fp_mempool_cache *, void **, uint32_t));
TYPE(fp_mempool_put_bulk_via_cache, int32_t (fp_mempool *, fp_mempool_cache *, void *const *, uint32_t));
TYPE(fp_mempool_get_reserve_via_cache, int32_t (fp_mempool *, fp_mempool_cache *, uint32_t, void *const **));
TYPE(fp_mempool_get_commit_via_cache, int32_t (fp_mempool *, fp_mempool_cache *, uint32_t));
TYPE(fp_mempool_put_reserve_via_cache, int32_t (fp_mempool *, fp_mempool_cache *, uint32_t, void ***));
TYPE(fp_mempool_put_commit_via_cache, int32_t (fp_mempool *, fp_mempool_cache *, uint32_t));
TYPE(fp_mempool_index, int64_t (const fp_mempool *, const void *));
TYPE(fp_mempool_object, void *(const fp_mempool *, uint64_t));
TYPE(fp_mempool_contains, int (const fp_mempool *, const void *));
TYPE(fp_mempool_base, void *(const fp_mempool *));
TYPE(fp_mempool_stride, int64_t (const fp_mempool *));
TYPE(fp_mempool_object_size, int64_t (const fp_mempool *));
TYPE(fp_mempool_capacity, int64_t (const fp_mempool *));
TYPE(fp_mempool_cache_size, int64_t (const fp_mempool *));
TYPE(fp_mempool_memory, int64_t (const fp_mempool *));
TYPE(fp_mempool_avail_count, int64_t (const fp_mempool *));
TYPE(fp_mempool_in_use_count, int64_t (const fp_mempool *));
TYPE(fp_mempool_is_full, int (const fp_mempool *));
TYPE(fp_mempool_is_empty, int (const fp_mempool *));
TYPE(fp_mempool_for_each, int (fp_mempool *, fp_mempool_object_fn, void *));
TYPE(fp_mempool_get_stats, int (const fp_mempool *, fp_mempool_stats *));
TYPE(fp_mempool_audit, int (fp_mempool *));
TYPE(fp_mempool_set_tag, int (fp_mempool *, void *, uint64_t));
TYPE(fp_mempool_leaks, int64_t (const fp_mempool *, fp_mempool_leak *, uint32_t));
TYPE(fp_wakeup_opts_init, int (fp_wakeup_opts *, uint32_t));
TYPE(fp_wakeup_create, int (const fp_wakeup_opts *, fp_wakeup **));
TYPE(fp_wakeup_destroy, int (fp_wakeup *));
TYPE(fp_wakeup_mode, int (const fp_wakeup *));
TYPE(fp_wakeup_prepare, int (fp_wakeup *, uint64_t *));
TYPE(fp_wakeup_cancel, int (fp_wakeup *, uint64_t));
TYPE(fp_wakeup_wait, int (fp_wakeup *, uint64_t, uint64_t));
TYPE(fp_wakeup_signal, int (fp_wakeup *));
TYPE(fp_wakeup_interrupt, int (fp_wakeup *));
TYPE(fp_wakeup_fd, int (fp_wakeup *));
TYPE(fp_wakeup_arm, int (fp_wakeup *));
TYPE(fp_wakeup_clear, int (fp_wakeup *));
TYPE(fp_wakeup_get_stats, int (const fp_wakeup *, fp_wakeup_stats *));
TYPE(fp_ring_opts_init, int (fp_ring_opts *, uint32_t));
TYPE(fp_ring_create, int (const fp_ring_opts *, fp_ring **));
TYPE(fp_ring_destroy, int (fp_ring *));
TYPE(fp_ring_lookup, int (const char *, fp_ring **));
TYPE(fp_ring_unref, int (fp_ring *));
TYPE(fp_ring_memsize, int64_t (const fp_ring_opts *));
TYPE(fp_ring_init, int (void *, uint64_t, const fp_ring_opts *, fp_ring **));
TYPE(fp_ring_attach, int (void *, uint64_t, fp_ring **));
TYPE(fp_ring_reset, int (fp_ring *));
TYPE(fp_ring_close, int (fp_ring *));
TYPE(fp_ring_enqueue, int32_t (fp_ring *, const void *));
TYPE(fp_ring_enqueue_u64, int32_t (fp_ring *, uint64_t));
TYPE(fp_ring_enqueue_bulk, int32_t (fp_ring *, const void *, uint32_t, uint32_t *));
TYPE(fp_ring_enqueue_burst, int32_t (fp_ring *, const void *, uint32_t, uint32_t *));
TYPE(fp_ring_dequeue, int32_t (fp_ring *, void *));
TYPE(fp_ring_dequeue_u64, int32_t (fp_ring *, uint64_t *));
TYPE(fp_ring_dequeue_bulk, int32_t (fp_ring *, void *, uint32_t, uint32_t *));
TYPE(fp_ring_dequeue_burst, int32_t (fp_ring *, void *, uint32_t, uint32_t *));
TYPE(fp_ring_peek, int32_t (fp_ring *, void *, uint32_t));
TYPE(fp_ring_reserve_enqueue, int32_t (fp_ring *, uint32_t, uint32_t, fp_ring_span *));
TYPE(fp_ring_commit_enqueue, int32_t (fp_ring *, fp_ring_span *, uint32_t));
TYPE(fp_ring_reserve_dequeue, int32_t (fp_ring *, uint32_t, uint32_t, fp_ring_span *));
TYPE(fp_ring_commit_dequeue, int32_t (fp_ring *, fp_ring_span *, uint32_t));
TYPE(fp_ring_set_wakeup, int (fp_ring *, uint32_t, fp_wakeup *));
TYPE(fp_ring_wait_readable, int (fp_ring *, uint64_t));
TYPE(fp_ring_wait_writable, int (fp_ring *, uint64_t));
TYPE(fp_ring_dequeue_wait, int32_t (fp_ring *, void *, uint32_t, uint32_t, uint64_t));
TYPE(fp_ring_enqueue_wait, int32_t (fp_ring *, const void *, uint32_t, uint32_t, uint64_t));
TYPE(fp_ring_interrupt, int (fp_ring *, uint32_t));
TYPE(fp_ring_count, int64_t (const fp_ring *));
TYPE(fp_ring_free_count, int64_t (const fp_ring *));
TYPE(fp_ring_capacity, int64_t (const fp_ring *));
TYPE(fp_ring_elem_size, int64_t (const fp_ring *));
TYPE(fp_ring_producer_sync, int (const fp_ring *));
TYPE(fp_ring_consumer_sync, int (const fp_ring *));
TYPE(fp_ring_is_full, int (const fp_ring *));
TYPE(fp_ring_is_empty, int (const fp_ring *));
TYPE(fp_ring_is_closed, int (const fp_ring *));
TYPE(fp_ring_name, const char *(const fp_ring *));
TYPE(fp_ring_get_stats, int (const fp_ring *, fp_ring_stats *));

SAME(LIBFP_VERSION_MAJOR == 0);
SAME(LIBFP_VERSION_MINOR == 9);
SAME(LIBFP_VERSION_PATCH == 0);
SAME(LIBFP_VERSION_NUMBER == 2304);
SAME(LIBFP_NAME_MAX == 63);
SAME(LIBFP_FOREVER == 0xffffffffffffffff);
SAME(LIBFP_MT == 0);
SAME(LIBFP_ST == 1);
SAME(LIBFP_STATS == 0x1);
SAME(LIBFP_CHECKED == 0x2);
SAME(LIBFP_MEM_HUGE == 0x4);
SAME(LIBFP_MEM_PREFAULT == 0x8);
SAME(LIBFP_MEM_NODE == 0x10);
SAME(LIBFP_FEATURE_RING == 0x1);
SAME(LIBFP_FEATURE_AVX2 == 0x2);
SAME(LIBFP_FEATURE_MEMPOOL == 0x4);
SAME(LIBFP_FEATURE_WAKEUP == 0x8);
SAME(LIBFP_LOG_ERROR == 1);
SAME(LIBFP_LOG_INFO == 2);
SAME(LIBFP_POOL_COUNT_MAX == 2147483647);
SAME(LIBFP_POOL_ALIGN_MAX == 4096);
SAME(LIBFP_POOL_CACHE_MAX == 65536);
SAME(LIBFP_POOL_THREADS_MAX == 256);
SAME(LIBFP_POOL_NO_CACHE == 0x100);
SAME(LIBFP_POOL_ST_GET == 0x200);
SAME(LIBFP_POOL_ST_PUT == 0x400);
SAME(LIBFP_POOL_STATS_COUNTED == 0x1);
SAME(LIBFP_WAKEUP_FENCE == 0x100);
SAME(LIBFP_WAKEUP_MODE_MEMBARRIER == 1);
SAME(LIBFP_WAKEUP_MODE_FENCE == 2);
SAME(LIBFP_WAKEUP_MODE_POLL == 3);
SAME(LIBFP_RING_CAPACITY_MAX == 0x40000000);
SAME(LIBFP_RING_ELEM_MAX == 4096);
SAME(LIBFP_RING_ALIGN == 128);
SAME(LIBFP_RING_WAIT == 0x100);
SAME(LIBFP_RING_PRODUCER == 0);
SAME(LIBFP_RING_CONSUMER == 1);
SAME(LIBFP_RING_BULK == 0x1);
SAME(LIBFP_RING_STATS_COUNTED == 0x1);
SAME(LIBFP_RING_STATS_BLOCKED == 0x2);

/* An initialiser names every member; -Wextra reports one that does not. */
extern const fp_allocator fp_allocator_initial;
const fp_allocator fp_allocator_initial = LIBFP_ALLOCATOR_INIT;
extern const fp_mempool_opts fp_mempool_opts_initial;
const fp_mempool_opts fp_mempool_opts_initial = LIBFP_MEMPOOL_OPTS_INIT;
extern const fp_wakeup_opts fp_wakeup_opts_initial;
const fp_wakeup_opts fp_wakeup_opts_initial = LIBFP_WAKEUP_OPTS_INIT;
extern const fp_ring_opts fp_ring_opts_initial;
const fp_ring_opts fp_ring_opts_initial = LIBFP_RING_OPTS_INIT;
