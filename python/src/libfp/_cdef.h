/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Declarations of libfp for cffi.
 * Generated from the public headers by tools/gen; do not edit.
 */

#define LIBFP_VERSION_MAJOR 0
#define LIBFP_VERSION_MINOR 9
#define LIBFP_VERSION_PATCH 0
#define LIBFP_VERSION_NUMBER 2304
#define LIBFP_NAME_MAX 63
#define LIBFP_FOREVER 0xffffffffffffffff
#define LIBFP_MT 0
#define LIBFP_ST 1
#define LIBFP_STATS 0x1
#define LIBFP_CHECKED 0x2
#define LIBFP_MEM_HUGE 0x4
#define LIBFP_MEM_PREFAULT 0x8
#define LIBFP_MEM_NODE 0x10
#define LIBFP_FEATURE_RING 0x1
#define LIBFP_FEATURE_AVX2 0x2
#define LIBFP_FEATURE_MEMPOOL 0x4
#define LIBFP_FEATURE_WAKEUP 0x8
#define LIBFP_FEATURE_SERVICE 0x10
#define LIBFP_FEATURE_TIMER 0x20
#define LIBFP_LOG_ERROR 1
#define LIBFP_LOG_INFO 2
#define LIBFP_POOL_COUNT_MAX 2147483647
#define LIBFP_POOL_ALIGN_MAX 4096
#define LIBFP_POOL_CACHE_MAX 65536
#define LIBFP_POOL_THREADS_MAX 256
#define LIBFP_POOL_NO_CACHE 0x100
#define LIBFP_POOL_ST_GET 0x200
#define LIBFP_POOL_ST_PUT 0x400
#define LIBFP_POOL_STATS_COUNTED 0x1
#define LIBFP_WAKEUP_FENCE 0x100
#define LIBFP_WAKEUP_MODE_MEMBARRIER 1
#define LIBFP_WAKEUP_MODE_FENCE 2
#define LIBFP_WAKEUP_MODE_POLL 3
#define LIBFP_RING_CAPACITY_MAX 0x40000000
#define LIBFP_RING_ELEM_MAX 4096
#define LIBFP_RING_ALIGN 128
#define LIBFP_RING_WAIT 0x100
#define LIBFP_RING_PRODUCER 0
#define LIBFP_RING_CONSUMER 1
#define LIBFP_RING_BULK 0x1
#define LIBFP_RING_STATS_COUNTED 0x1
#define LIBFP_RING_STATS_BLOCKED 0x2
#define LIBFP_SERVICE_MT_SAFE 0x100
#define LIBFP_SERVICE_WAKEABLE 0x200
#define LIBFP_SERVICE_NOT_READY 0x400
#define LIBFP_SERVICE_CYCLES_OFF 0
#define LIBFP_SERVICE_CYCLES_SAMPLED 1
#define LIBFP_SERVICE_CYCLES_EXACT 2
#define LIBFP_SERVICE_IS_READY 0x1
#define LIBFP_SERVICE_IS_STARTED 0x2
#define LIBFP_SERVICE_IS_ACTIVE 0x4
#define LIBFP_SERVICE_FORCE 0x1
#define LIBFP_SERVICE_CORE_SLEEP 0
#define LIBFP_SERVICE_CORE_YIELD 1
#define LIBFP_SERVICE_CORE_SPIN 2
#define LIBFP_SERVICE_CORE_POLICY_NONE 0
#define LIBFP_SERVICE_CORE_POLICY_OTHER 1
#define LIBFP_SERVICE_CORE_POLICY_FIFO 2
#define LIBFP_SERVICE_CORE_POLICY_RR 3
#define LIBFP_SERVICE_CORE_POLICY_BATCH 4
#define LIBFP_SERVICE_CORE_POLICY_IDLE 5
#define LIBFP_SERVICE_CORE_SPIN_NS 0x100
#define LIBFP_SERVICE_CORE_NAP_NS 0x200
#define LIBFP_SERVICE_CORE_PIN 0x400
#define LIBFP_SERVICE_CORE_CPU_MAX 1023
#define LIBFP_SERVICE_CORE_SPIN_DEFAULT 50000
#define LIBFP_SERVICE_CORE_NAP_DEFAULT 100000
#define LIBFP_SERVICE_CORE_UNWAKEABLE_DEFAULT 1000000
#define LIBFP_SERVICE_CORE_STOPPED 0
#define LIBFP_SERVICE_CORE_RUNNING 1
#define LIBFP_SERVICE_CORE_ASLEEP 2
#define LIBFP_SERVICE_CORE_STOPPING 3
#define LIBFP_SERVICE_CORE_GOT_CPUS 0x1
#define LIBFP_SERVICE_CORE_GOT_POLICY 0x2
#define LIBFP_SERVICE_CORE_IS_LENT 0x4
#define LIBFP_TIMER_IS_PERIODIC 0x1
#define LIBFP_WHEEL_START_AT 0x100
#define LIBFP_WHEEL_WAIT 0x200
#define LIBFP_WHEEL_TIMERS_DEFAULT 65536
#define LIBFP_WHEEL_TIMERS_MAX 268435456
#define LIBFP_WHEEL_TICK_NS_DEFAULT 1000
#define LIBFP_WHEEL_NO_LIMIT 0x7fffffff
#define LIBFP_WHEEL_STATS_COUNTED 0x1
#define LIBFP_TIMER_SKIP 0
#define LIBFP_TIMER_COALESCE 1
#define LIBFP_TIMER_CATCH_UP 2
#define LIBFP_TIMER_IS_ARMED 0x2

typedef struct fp_mempool fp_mempool;
typedef struct fp_mempool_cache fp_mempool_cache;
typedef struct fp_wakeup fp_wakeup;
typedef struct fp_ring fp_ring;
typedef struct fp_service fp_service;
typedef struct fp_service_core fp_service_core;
typedef struct fp_timer_wheel fp_timer_wheel;

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

typedef int (*fp_mempool_object_fn)(void *object, uint32_t index, void *user);

typedef struct fp_mempool_opts {
	uint32_t size;
	uint32_t flags;
	const char *name;
	uint32_t count;
	uint32_t object_size;
	uint32_t align;
	uint32_t cache_size;
	uint32_t max_threads;
	uint32_t numa_node;
	fp_mempool_object_fn constructor;
	void *user;
	const fp_allocator *allocator;
} fp_mempool_opts;

typedef struct fp_mempool_stats {
	uint32_t size;
	uint32_t flags;
	uint64_t capacity;
	uint64_t available;
	uint64_t in_use;
	uint64_t in_depot;
	uint64_t in_own_cache;
	uint64_t in_other_caches;
	uint64_t in_explicit_caches;
	uint64_t thread_caches;
	uint64_t explicit_caches;
	uint64_t gets;
	uint64_t objects_got;
	uint64_t puts;
	uint64_t objects_put;
	uint64_t failures;
	uint64_t cache_hits;
	uint64_t depot_exchanges;
	uint64_t misuses;
} fp_mempool_stats;

typedef struct fp_mempool_leak {
	void *object;
	uint64_t index;
	int64_t thread;
	uint64_t tag;
	uint64_t since_ns;
	uint64_t age_ns;
} fp_mempool_leak;

typedef struct fp_wakeup_opts {
	uint32_t size;
	uint32_t flags;
	const fp_allocator *allocator;
} fp_wakeup_opts;

typedef struct fp_wakeup_stats {
	uint32_t size;
	uint32_t flags;
	uint64_t waiting;
	uint64_t bound;
	uint64_t sleeps;
	uint64_t wakes;
	uint64_t spurious;
	uint64_t fallback_polls;
	uint64_t fd_writes;
	uint64_t interrupts;
} fp_wakeup_stats;

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

typedef int32_t (*fp_service_run_fn)(void *user);

typedef void (*fp_service_released_fn)(void *user);

typedef struct fp_service_opts {
	uint32_t size;
	uint32_t flags;
	const char *name;
	fp_service_run_fn run;
	void *user;
	fp_service_released_fn released;
	uint32_t cycles;
	uint32_t reserved0;
	const fp_allocator *allocator;
} fp_service_opts;

typedef struct fp_service_stats {
	uint32_t size;
	uint32_t flags;
	uint64_t calls;
	uint64_t idle;
	uint64_t errors;
	uint64_t busy;
	uint64_t cycles;
	uint64_t longest;
	uint64_t cycle_hz;
	uint64_t cores;
	uint64_t inside_since_ns;
	uint64_t deadline_ns;
} fp_service_stats;

typedef struct fp_service_core_opts {
	uint32_t size;
	uint32_t flags;
	const char *name;
	uint32_t cpu;
	uint32_t policy;
	int32_t priority;
	uint32_t idle;
	uint64_t spin_ns;
	uint64_t nap_ns;
	uint64_t late_margin_ns;
	uint64_t max_sleep_ns;
	uint64_t unwakeable_ns;
	uint64_t stack_size;
	const fp_allocator *allocator;
} fp_service_core_opts;

typedef struct fp_service_core_stats {
	uint32_t size;
	uint32_t flags;
	uint32_t state;
	uint32_t reserved0;
	uint64_t loops;
	uint64_t idle_loops;
	uint64_t busy_cycles;
	uint64_t idle_cycles;
	uint64_t cycle_hz;
	uint64_t sleeps;
	uint64_t naps;
	uint64_t wakes;
	uint64_t late_wakes;
	uint64_t services;
	int64_t thread_id;
} fp_service_core_stats;

typedef struct fp_service_map_stats {
	uint32_t size;
	uint32_t flags;
	uint64_t calls;
	uint64_t idle;
	uint64_t errors;
	uint64_t busy;
	uint64_t cycles;
} fp_service_map_stats;

typedef struct fp_timer_record {
	uint64_t id;
	uint64_t user;
	uint64_t expiry_tick;
	uint32_t overruns;
	uint32_t flags;
} fp_timer_record;

typedef void (*fp_timer_fn)(fp_timer_wheel *wheel, const fp_timer_record *expired, void *user);

typedef struct fp_timer_wheel_opts {
	uint32_t size;
	uint32_t flags;
	const char *name;
	uint64_t tick_ns;
	uint64_t start_tick;
	uint32_t capacity;
	uint32_t max_timers;
	uint32_t numa_node;
	uint32_t reserved0;
	const fp_allocator *allocator;
} fp_timer_wheel_opts;

typedef struct fp_timer_wheel_stats {
	uint32_t size;
	uint32_t flags;
	uint64_t timers;
	uint64_t max_timers;
	uint64_t arms;
	uint64_t rearms;
	uint64_t cancelled;
	uint64_t fired;
	uint64_t expired;
	uint64_t overruns;
	uint64_t late_max;
	uint64_t polls;
	uint64_t entries_moved;
	uint64_t entries_moved_max;
	uint64_t memory;
	uint64_t memory_used;
} fp_timer_wheel_stats;

typedef struct fp_timer_info {
	uint64_t id;
	uint64_t user;
	uint64_t expiry_tick;
	uint64_t period_ticks;
	uint32_t flags;
	uint32_t policy;
} fp_timer_info;

typedef int (*fp_timer_info_fn)(const fp_timer_info *info, void *user);

uint32_t fp_version_number(void);
const char *fp_version_string(void);
uint64_t fp_features(void);
const char *fp_strerror(int code);
fp_log_handler fp_log_set_handler(fp_log_handler handler, void *user, void **prev_user);
int fp_mempool_opts_init(fp_mempool_opts *opts, uint32_t size);
int fp_mempool_create(const fp_mempool_opts *opts, fp_mempool **out);
int fp_mempool_destroy(fp_mempool *pool);
int fp_mempool_lookup(const char *name, fp_mempool **out);
int fp_mempool_unref(fp_mempool *pool);
const char *fp_mempool_name(const fp_mempool *pool);
void *fp_mempool_get(fp_mempool *pool);
int fp_mempool_put(fp_mempool *pool, void *object);
int32_t fp_mempool_get_bulk(fp_mempool *pool, void **objects, uint32_t n);
int32_t fp_mempool_put_bulk(fp_mempool *pool, void *const *objects, uint32_t n);
int32_t fp_mempool_get_reserve(fp_mempool *pool, uint32_t n, void *const **window);
int32_t fp_mempool_get_commit(fp_mempool *pool, uint32_t k);
int32_t fp_mempool_put_reserve(fp_mempool *pool, uint32_t n, void ***window);
int32_t fp_mempool_put_commit(fp_mempool *pool, uint32_t k);
int64_t fp_mempool_flush(fp_mempool *pool);
int64_t fp_mempool_reclaim(fp_mempool *pool);
int fp_mempool_cache_create(fp_mempool *pool, fp_mempool_cache **out);
int fp_mempool_cache_destroy(fp_mempool_cache *cache);
int64_t fp_mempool_cache_flush(fp_mempool_cache *cache);
int64_t fp_mempool_cache_count(const fp_mempool_cache *cache);
void *fp_mempool_get_via_cache(fp_mempool *pool, fp_mempool_cache *cache);
int fp_mempool_put_via_cache(fp_mempool *pool, fp_mempool_cache *cache, void *object);
int32_t fp_mempool_get_bulk_via_cache(fp_mempool *pool, fp_mempool_cache *cache, void **objects, uint32_t n);
int32_t fp_mempool_put_bulk_via_cache(fp_mempool *pool, fp_mempool_cache *cache, void *const *objects, uint32_t n);
int32_t fp_mempool_get_reserve_via_cache(fp_mempool *pool, fp_mempool_cache *cache, uint32_t n, void *const **window);
int32_t fp_mempool_get_commit_via_cache(fp_mempool *pool, fp_mempool_cache *cache, uint32_t k);
int32_t fp_mempool_put_reserve_via_cache(fp_mempool *pool, fp_mempool_cache *cache, uint32_t n, void ***window);
int32_t fp_mempool_put_commit_via_cache(fp_mempool *pool, fp_mempool_cache *cache, uint32_t k);
int64_t fp_mempool_index(const fp_mempool *pool, const void *object);
void *fp_mempool_object(const fp_mempool *pool, uint64_t index);
int fp_mempool_contains(const fp_mempool *pool, const void *ptr);
void *fp_mempool_base(const fp_mempool *pool);
int64_t fp_mempool_stride(const fp_mempool *pool);
int64_t fp_mempool_object_size(const fp_mempool *pool);
int64_t fp_mempool_capacity(const fp_mempool *pool);
int64_t fp_mempool_cache_size(const fp_mempool *pool);
int64_t fp_mempool_memory(const fp_mempool *pool);
int64_t fp_mempool_avail_count(const fp_mempool *pool);
int64_t fp_mempool_in_use_count(const fp_mempool *pool);
int fp_mempool_is_full(const fp_mempool *pool);
int fp_mempool_is_empty(const fp_mempool *pool);
int fp_mempool_for_each(fp_mempool *pool, fp_mempool_object_fn fn, void *user);
int fp_mempool_get_stats(const fp_mempool *pool, fp_mempool_stats *io);
int fp_mempool_audit(fp_mempool *pool);
int fp_mempool_set_tag(fp_mempool *pool, void *object, uint64_t tag);
int64_t fp_mempool_leaks(const fp_mempool *pool, fp_mempool_leak *leaks, uint32_t max);
int fp_wakeup_opts_init(fp_wakeup_opts *opts, uint32_t size);
int fp_wakeup_create(const fp_wakeup_opts *opts, fp_wakeup **out);
int fp_wakeup_destroy(fp_wakeup *wakeup);
int fp_wakeup_mode(const fp_wakeup *wakeup);
int fp_wakeup_prepare(fp_wakeup *wakeup, uint64_t *key);
int fp_wakeup_cancel(fp_wakeup *wakeup, uint64_t key);
int fp_wakeup_wait(fp_wakeup *wakeup, uint64_t key, uint64_t timeout_ns);
int fp_wakeup_signal(fp_wakeup *wakeup);
int fp_wakeup_interrupt(fp_wakeup *wakeup);
int fp_wakeup_fd(fp_wakeup *wakeup);
int fp_wakeup_arm(fp_wakeup *wakeup);
int fp_wakeup_clear(fp_wakeup *wakeup);
int fp_wakeup_get_stats(const fp_wakeup *wakeup, fp_wakeup_stats *io);
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
int fp_ring_set_wakeup(fp_ring *ring, uint32_t side, fp_wakeup *wakeup);
int fp_ring_wait_readable(fp_ring *ring, uint64_t timeout_ns);
int fp_ring_wait_writable(fp_ring *ring, uint64_t timeout_ns);
int32_t fp_ring_dequeue_wait(fp_ring *ring, void *elems, uint32_t min, uint32_t n, uint64_t timeout_ns);
int32_t fp_ring_enqueue_wait(fp_ring *ring, const void *elems, uint32_t min, uint32_t n, uint64_t timeout_ns);
int fp_ring_interrupt(fp_ring *ring, uint32_t side);
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
int fp_service_opts_init(fp_service_opts *opts, uint32_t size);
int fp_service_create(const fp_service_opts *opts, fp_service **out);
int fp_service_destroy(fp_service *service, uint32_t flags, uint64_t timeout_ns);
int fp_service_lookup(const char *name, fp_service **out);
int fp_service_unref(fp_service *service);
const char *fp_service_name(const fp_service *service);
int64_t fp_service_list(fp_service **list, uint32_t n);
int fp_service_set_ready(fp_service *service, uint32_t ready, uint64_t timeout_ns);
int fp_service_start(fp_service *service);
int fp_service_stop(fp_service *service, uint64_t timeout_ns);
int fp_service_is_runnable(const fp_service *service);
int fp_service_is_active(const fp_service *service);
int fp_service_map(fp_service *service, fp_service_core *core);
int fp_service_unmap(fp_service *service, fp_service_core *core, uint64_t timeout_ns);
int fp_service_is_mapped(const fp_service *service, const fp_service_core *core);
int fp_service_run_once(fp_service *service, uint32_t flags, int32_t *result);
fp_wakeup *fp_service_wakeup(fp_service *service);
int fp_service_set_deadline(fp_service *service, uint64_t deadline_ns);
int fp_service_get_stats(fp_service *service, fp_service_stats *io);
int fp_service_reset_stats(fp_service *service);
int fp_service_get_map_stats(fp_service *service, fp_service_core *core, fp_service_map_stats *io);
int64_t fp_service_start_defaults(fp_service_core *const *cores, uint32_t n);
int fp_service_core_opts_init(fp_service_core_opts *opts, uint32_t size);
int fp_service_core_create(const fp_service_core_opts *opts, fp_service_core **out);
int fp_service_core_set_cpus(fp_service_core *core, const uint32_t *cpus, uint32_t n);
int fp_service_core_destroy(fp_service_core *core);
int fp_service_core_lookup(const char *name, fp_service_core **out);
int fp_service_core_unref(fp_service_core *core);
const char *fp_service_core_name(const fp_service_core *core);
int64_t fp_service_core_list(fp_service_core **list, uint32_t n);
int64_t fp_service_core_services(fp_service_core *core, fp_service **list, uint32_t n);
int fp_service_core_start(fp_service_core *core);
int fp_service_core_stop(fp_service_core *core, uint64_t timeout_ns);
int fp_service_core_run(fp_service_core *core, uint64_t timeout_ns);
fp_wakeup *fp_service_core_wakeup(fp_service_core *core);
int fp_service_core_get_stats(fp_service_core *core, fp_service_core_stats *io);
int fp_service_core_reset_stats(fp_service_core *core);
int fp_timer_wheel_opts_init(fp_timer_wheel_opts *opts, uint32_t size);
int fp_timer_wheel_create(const fp_timer_wheel_opts *opts, fp_timer_wheel **out);
int fp_timer_wheel_destroy(fp_timer_wheel *wheel);
int fp_timer_wheel_lookup(const char *name, fp_timer_wheel **out);
int fp_timer_wheel_unref(fp_timer_wheel *wheel);
const char *fp_timer_wheel_name(const fp_timer_wheel *wheel);
int fp_timer_wheel_now(const fp_timer_wheel *wheel, uint64_t *tick);
int fp_timer_wheel_ticks_from_ns(const fp_timer_wheel *wheel, uint64_t ns, uint64_t *ticks);
int64_t fp_timer_wheel_tick_ns(const fp_timer_wheel *wheel);
int64_t fp_timer_wheel_poll(fp_timer_wheel *wheel, uint64_t now_tick, uint32_t max);
int32_t fp_timer_wheel_poll_burst(fp_timer_wheel *wheel, uint64_t now_tick, fp_timer_record *records, uint32_t n);
int64_t fp_timer_wheel_poll_many(fp_timer_wheel *const *wheels, uint32_t n, uint64_t now_tick, uint32_t max);
int fp_timer_wheel_next_expiry(const fp_timer_wheel *wheel, uint64_t *tick);
int64_t fp_timer_wheel_count(const fp_timer_wheel *wheel);
int64_t fp_timer_wheel_cancel_all(fp_timer_wheel *wheel);
int fp_timer_wheel_for_each(fp_timer_wheel *wheel, fp_timer_info_fn fn, void *user);
int fp_timer_wheel_get_stats(const fp_timer_wheel *wheel, fp_timer_wheel_stats *io);
int fp_timer_wheel_reset_stats(fp_timer_wheel *wheel);
int fp_timer_wheel_set_wakeup(fp_timer_wheel *wheel, fp_wakeup *wakeup);
int fp_timer_wheel_wait(fp_timer_wheel *wheel, uint64_t timeout_ns);
int fp_timer_wheel_interrupt(fp_timer_wheel *wheel);
int fp_timer_wheel_service(fp_timer_wheel *wheel, fp_service **service);
int fp_timer_create(fp_timer_wheel *wheel, fp_timer_fn cb, void *user, uint64_t *id);
int32_t fp_timer_create_bulk(fp_timer_wheel *wheel, fp_timer_fn cb, void *const *users, uint64_t *ids, uint32_t n);
int fp_timer_destroy(fp_timer_wheel *wheel, uint64_t id);
int32_t fp_timer_destroy_bulk(fp_timer_wheel *wheel, const uint64_t *ids, uint32_t n, int32_t *results);
int fp_timer_arm(fp_timer_wheel *wheel, uint64_t id, uint64_t expiry_tick);
int32_t fp_timer_arm_bulk(fp_timer_wheel *wheel, const uint64_t *ids, const uint64_t *expiry_ticks, uint32_t n, int32_t *results);
int fp_timer_arm_periodic(fp_timer_wheel *wheel, uint64_t id, uint64_t first_tick, uint64_t period_ticks, uint32_t policy);
int fp_timer_touch(fp_timer_wheel *wheel, uint64_t id, uint64_t expiry_tick);
int32_t fp_timer_touch_bulk(fp_timer_wheel *wheel, const uint64_t *ids, const uint64_t *expiry_ticks, uint32_t n, int32_t *results);
int fp_timer_cancel(fp_timer_wheel *wheel, uint64_t id);
int32_t fp_timer_cancel_bulk(fp_timer_wheel *wheel, const uint64_t *ids, uint32_t n, int32_t *results);
int fp_timer_cancel_sync(fp_timer_wheel *wheel, uint64_t id, uint64_t timeout_ns);
int fp_timer_is_pending(const fp_timer_wheel *wheel, uint64_t id);
int fp_timer_remaining(fp_timer_wheel *wheel, uint64_t id, uint64_t now_tick, uint64_t *ticks);
