/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What SWIG wraps: included by the interface file, after its
 * typemaps.
 * Generated from the public headers by tools/gen; do not edit.
 */

#define LIBFP_VERSION_MAJOR 0
#define LIBFP_VERSION_MINOR 9
#define LIBFP_VERSION_PATCH 0
#define LIBFP_VERSION_NUMBER 2304
#define LIBFP_NAME_MAX 63
#define LIBFP_FOREVER 0xffffffffffffffffULL
#define LIBFP_MT 0
#define LIBFP_ST 1
#define LIBFP_STATS 0x1
#define LIBFP_CHECKED 0x2
#define LIBFP_MEM_HUGE 0x4
#define LIBFP_MEM_PREFAULT 0x8
#define LIBFP_MEM_NODE 0x10
#define LIBFP_FEATURE_RING 0x1
#define LIBFP_FEATURE_AVX2 0x2
#define LIBFP_LOG_ERROR 1
#define LIBFP_LOG_INFO 2
#define LIBFP_RING_CAPACITY_MAX 0x40000000
#define LIBFP_RING_ELEM_MAX 4096
#define LIBFP_RING_ALIGN 128
#define LIBFP_RING_BULK 0x1
#define LIBFP_RING_STATS_COUNTED 0x1
#define LIBFP_RING_STATS_BLOCKED 0x2

typedef struct fp_ring fp_ring;

typedef void *(*fp_allocator_alloc_fn)(void *ctx, uint64_t size, uint64_t align);

typedef void (*fp_allocator_free_fn)(void *ctx, void *ptr, uint64_t size, uint64_t align);

typedef struct fp_allocator {
	uint32_t size;
	uint32_t flags;
	fp_allocator_alloc_fn alloc;
	fp_allocator_free_fn free;
	void *ctx;
} fp_allocator;

typedef void (*fp_log_handler)(uint32_t level, const char *line, void *user);

typedef struct fp_ring_opts {
	uint32_t size;
	uint32_t flags;
	const char *name;
	uint32_t capacity;
	uint32_t elem_size;
	uint32_t producer;
	uint32_t consumer;
	uint32_t numa_node;
	uint32_t reserved0;
	const fp_allocator *allocator;
} fp_ring_opts;

typedef struct fp_ring_span {
	void *ptr1;
	void *ptr2;
	uint32_t n1;
	uint32_t n2;
	uint64_t token;
} fp_ring_span;

typedef struct fp_ring_stats {
	uint32_t size;
	uint32_t flags;
	uint64_t enqueued;
	uint64_t dequeued;
	uint64_t refused_full;
	uint64_t refused_empty;
	uint64_t voided;
	uint64_t high_water;
	uint64_t count;
	uint64_t unpublished;
	uint64_t void_pending;
	uint64_t blocked_since_ns;
	int64_t blocked_by;
} fp_ring_stats;

uint32_t fp_version_number(void);
const char *fp_version_string(void);
uint64_t fp_features(void);
const char *fp_strerror(int code);
fp_log_handler fp_log_set_handler(fp_log_handler handler, void *user, void **prev_user);
int fp_ring_opts_init(fp_ring_opts *opts, uint32_t size);
int fp_ring_create(const fp_ring_opts *opts, fp_ring **out);
int fp_ring_destroy(fp_ring *ring);
int fp_ring_lookup(const char *name, fp_ring **out);
int fp_ring_unref(fp_ring *ring);
int64_t fp_ring_memsize(const fp_ring_opts *opts);
int fp_ring_init(void *mem, uint64_t len, const fp_ring_opts *opts, fp_ring **out);
int fp_ring_attach(void *mem, uint64_t len, fp_ring **out);
int fp_ring_reset(fp_ring *ring);
int fp_ring_close(fp_ring *ring);
int32_t fp_ring_enqueue(fp_ring *ring, const void *elem);
int32_t fp_ring_enqueue_u64(fp_ring *ring, uint64_t elem);
int32_t fp_ring_enqueue_bulk(fp_ring *ring, const void *elems, uint32_t n, uint32_t *free_after);
int32_t fp_ring_enqueue_burst(fp_ring *ring, const void *elems, uint32_t n, uint32_t *free_after);
int32_t fp_ring_dequeue(fp_ring *ring, void *elem);
int32_t fp_ring_dequeue_u64(fp_ring *ring, uint64_t *elem);
int32_t fp_ring_dequeue_bulk(fp_ring *ring, void *elems, uint32_t n, uint32_t *left_after);
int32_t fp_ring_dequeue_burst(fp_ring *ring, void *elems, uint32_t n, uint32_t *left_after);
int32_t fp_ring_peek(fp_ring *ring, void *elems, uint32_t n);
int32_t fp_ring_reserve_enqueue(fp_ring *ring, uint32_t n, uint32_t flags, fp_ring_span *span);
int32_t fp_ring_commit_enqueue(fp_ring *ring, fp_ring_span *span, uint32_t k);
int32_t fp_ring_reserve_dequeue(fp_ring *ring, uint32_t n, uint32_t flags, fp_ring_span *span);
int32_t fp_ring_commit_dequeue(fp_ring *ring, fp_ring_span *span, uint32_t k);
int64_t fp_ring_count(const fp_ring *ring);
int64_t fp_ring_free_count(const fp_ring *ring);
int64_t fp_ring_capacity(const fp_ring *ring);
int64_t fp_ring_elem_size(const fp_ring *ring);
int fp_ring_producer_sync(const fp_ring *ring);
int fp_ring_consumer_sync(const fp_ring *ring);
int fp_ring_is_full(const fp_ring *ring);
int fp_ring_is_empty(const fp_ring *ring);
int fp_ring_is_closed(const fp_ring *ring);
const char *fp_ring_name(const fp_ring *ring);
int fp_ring_get_stats(const fp_ring *ring, fp_ring_stats *io);
