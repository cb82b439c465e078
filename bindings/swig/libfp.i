/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libfp for every language that SWIG speaks; README.md says how to build one.
 *
 * What there is to wrap is in libfp_exports.i, generated from the public headers. This
 * file says how, once for all parts, by the conventions that all parts follow:
 *
 *   handle     an object that owns a C handle; the C call is made on the handle inside,
 *              and after destroy or unref there is none (FP_OBJECT)
 *   status     a negative result is an exception that carries it (FP_FAIL)
 *   **out      is the return value (FP_OBJECT, FP_CHILD)
 *   pointer    to an object of a pool: its address as a number; a table of them is a
 *              table of elements of 8 bytes
 *   options    an object, initialised by fp_..._opts_init(), that owns its name
 *   table, n   one array argument; of results of each timer none, if the language has none
 *   time       LIBFP_FOREVER is -1, for there are languages without unsigned numbers
 *
 * A new part needs one line FP_OBJECT(fp_part) before the end, and %immutable lines for its
 * counters; one without names FP_NAMELESS(fp_part), one whose destroy has arguments
 * FP_NAMED(fp_part) and that destroy; what it makes of itself,
 * FP_CHILD(fp_part_thing, fp_part). What a language must
 * bring is in a file of its own, libfp_<language>.i.
 */
%module Libfp

%{
#include "libfp_swig.h"
%}

%include <stdint.i>

/* ---- what a language may do better ---- */

%typemap(in, numinputs=0) (int32_t *results, uint32_t n_results) "$1 = NULL; $2 = 0;"

/* ---- from the language: how to fail, and how elements go in and out ---- */

#if defined(SWIGJAVA)
%include "libfp_java.i"
#elif defined(SWIGPERL)
%include "libfp_perl.i"
#else
%include "libfp_language.i" /* yours: README.md shows how to write one */
#endif

/* ---- status ---- */

/* After the result was converted and the arguments were let go. */
%typemap(ret) int, long long {
	if ($1 < 0)
		FP_FAIL_LAST((int)$1)
}

/* For what returns an object: the status takes another way. */
%typemap(in, numinputs=0) int *status (int status) {
	status = 0;
	$1 = &status;
}
%typemap(argout) int *status {
	if (*$1 < 0)
		FP_FAIL(*$1)
}

/* What is free or left after a call can be asked for: fp_ring_count(). */
%typemap(in, numinputs=0) uint32_t *free_after, uint32_t *left_after "$1 = NULL;"

%apply long long { uint64_t timeout_ns };
%ignore LIBFP_FOREVER;
%rename(LIBFP_FOREVER) fp_swig_forever;
%constant long long fp_swig_forever = -1;

/* ---- addresses ---- */

%apply unsigned long long { void *, const void *ptr, const void *object };
%apply (void *elems, uint32_t n) { (void **objects, uint32_t n) };
%apply (const void *elems, uint32_t n) { (void *const *objects, uint32_t n) };

/* ---- objects ---- */

/* No member of an object that is not there. */
%define FP_MEMBERS(TYPE)
%typemap(check) TYPE *self, struct TYPE *self {
	if (!$1)
		FP_FAIL(-EINVAL)
}
%enddef

%typemap(memberin) const char *name {
	free((void *)$1);
	$1 = $input ? strdup($input) : NULL;
}

/* END: what the destructor frees besides. */
%define FP_OPTIONS(TYPE, END)
%ignore TYPE##_init;
%ignore TYPE::size;
%ignore TYPE::reserved0;
%ignore TYPE::allocator;
FP_MEMBERS(TYPE)
%extend TYPE {
	TYPE()
	{
		TYPE *opts = calloc(1, sizeof(*opts));

		if (opts)
			TYPE##_init(opts, sizeof(*opts));
		return opts;
	}
	~TYPE()
	{
		END
		free($self);
	}
}
%enddef

%define FP_STATISTICS(TYPE)
%ignore TYPE::size;
%immutable TYPE::flags;
FP_MEMBERS(TYPE)
%extend TYPE {
	TYPE()
	{
		TYPE *stats = calloc(1, sizeof(*stats));

		if (stats)
			stats->size = sizeof(*stats);
		return stats;
	}
	~TYPE()
	{
		free($self);
	}
}
%enddef

/*
 * What holds a handle. An object owns it: who drops it without destroy has it destroyed
 * (or its reference given back). There is no %delobject: a refused destroy must leave
 * the object as it is, so the object itself knows whether there is a handle.
 */
%define FP_HELD(TYPE)
%typemap(check) TYPE * (void *object), const TYPE * (void *object) {
	object = (void *)$1;
	$1 = fp_swig_handle(object);
}
%typemap(check) TYPE *object, TYPE *self ""
%ignore TYPE##_create;
%ignore TYPE##_destroy;
%rename(TYPE##_create) TYPE##_swig_create;
%rename(TYPE##_destroy) TYPE##_swig_destroy;
%newobject TYPE##_swig_create;
%nodefaultctor TYPE;
typedef struct TYPE {
} TYPE;
%extend TYPE {
	~TYPE()
	{
		fp_swig_drop($self);
	}
}
%{
static int TYPE##_swig_end(void *handle, int is_reference);
%}
%enddef

%define FP_DESTROY(TYPE)
%{
static int TYPE##_swig_destroy(TYPE *object)
{
	return fp_swig_end(object, TYPE##_destroy(fp_swig_handle(object)));
}
%}
int TYPE##_swig_destroy(TYPE *object);
%enddef

/* How an object ends that nobody else can have a reference to. */
%define FP_DESTROYED(TYPE)
%{
static int TYPE##_swig_end(void *handle, int is_reference)
{
	(void)is_reference;
	return TYPE##_destroy(handle);
}
%}
%enddef

/* What is made of a PARENT, and keeps it from being destroyed: no options, no name. */
%define FP_CHILD(TYPE, PARENT)
FP_HELD(TYPE)
FP_DESTROY(TYPE)
FP_DESTROYED(TYPE)
%{
static TYPE *TYPE##_swig_create(PARENT *parent, int *status)
{
	TYPE *handle = NULL;

	*status = TYPE##_create(parent, &handle);
	return fp_swig_object(handle, 0, TYPE##_swig_end, status);
}
%}
TYPE *TYPE##_swig_create(PARENT *parent, int *status);
%enddef

/* What is created with options and has statistics. */
%define FP_CREATED(TYPE, END)
FP_OPTIONS(TYPE##_opts, END)
FP_STATISTICS(TYPE##_stats)
FP_HELD(TYPE)
%{
static TYPE *TYPE##_swig_create(const TYPE##_opts *opts, int *status)
{
	TYPE *handle = NULL;

	*status = TYPE##_create(opts, &handle);
	return fp_swig_object(handle, 0, TYPE##_swig_end, status);
}
%}
TYPE *TYPE##_swig_create(const TYPE##_opts *opts, int *status);
%enddef

/* A part without names: create and destroy. */
%define FP_NAMELESS(TYPE)
FP_CREATED(TYPE, )
FP_DESTROY(TYPE)
FP_DESTROYED(TYPE)
%enddef

/* A part with create, lookup and unref, which says itself how it is destroyed. */
%define FP_NAMED(TYPE)
FP_CREATED(TYPE, free((void *)$self->name);)
%ignore TYPE##_lookup;
%ignore TYPE##_unref;
%rename(TYPE##_lookup) TYPE##_swig_lookup;
%rename(TYPE##_unref) TYPE##_swig_unref;
%newobject TYPE##_swig_lookup;
%{
static TYPE *TYPE##_swig_lookup(const char *name, int *status)
{
	TYPE *handle = NULL;

	*status = TYPE##_lookup(name, &handle);
	return fp_swig_object(handle, 1, TYPE##_swig_end, status);
}

static int TYPE##_swig_unref(TYPE *object)
{
	return fp_swig_end(object, TYPE##_unref(fp_swig_handle(object)));
}
%}
TYPE *TYPE##_swig_lookup(const char *name, int *status);
int TYPE##_swig_unref(TYPE *object);
%enddef

/* A part with create, lookup, unref and destroy. */
%define FP_OBJECT(TYPE)
FP_NAMED(TYPE)
FP_DESTROY(TYPE)
%{
static int TYPE##_swig_end(void *handle, int is_reference)
{
	return is_reference ? TYPE##_unref(handle) : TYPE##_destroy(handle);
}
%}
%enddef

/* ---- left out: exports.txt says why ---- */

%ignore fp_allocator;
%ignore fp_allocator_alloc_fn;
%ignore fp_allocator_free_fn;
%ignore fp_log_handler;
%ignore fp_log_set_handler;

/* ---- ring ---- */

FP_OBJECT(fp_ring)
%ignore fp_ring_memsize;
%ignore fp_ring_init;
%ignore fp_ring_attach;

/* The elements of a span are copied in and out, so none can be touched too late. */
%ignore fp_ring_span::ptr1;
%ignore fp_ring_span::ptr2;
%ignore fp_ring_span::token;
%immutable fp_ring_span::n1;
%immutable fp_ring_span::n2;
FP_MEMBERS(fp_ring_span)
%typemap(check) fp_ring_span *span "fp_swig_span_uses($1, object1);"
/* Reserving into a span that is open would lose what it has. */
%define FP_RESERVES(FUNCTION)
%exception FUNCTION {
	if (fp_swig_span_is_open(arg4))
		result = -EINVAL;
	else
		$action
}
%enddef
FP_RESERVES(fp_ring_reserve_enqueue)
FP_RESERVES(fp_ring_reserve_dequeue)
%extend fp_ring_span {
	fp_ring_span()
	{
		return fp_swig_span_new();
	}
	~fp_ring_span()
	{
		fp_swig_span_delete($self);
	}
	/* Writes elements into the span, from its element `at` on. Returns how many. */
	int32_t write(uint32_t at, const void *elems, uint32_t n)
	{
		return fp_swig_span_copy($self, at, (void *)elems, n, 1);
	}
	/* Reads n elements of the span, from its element `at` on. Returns how many. */
	int32_t read(uint32_t at, void *elems, uint32_t n)
	{
		return fp_swig_span_copy($self, at, elems, n, 0);
	}
}

%immutable fp_ring_stats::enqueued;
%immutable fp_ring_stats::dequeued;
%immutable fp_ring_stats::refused_full;
%immutable fp_ring_stats::refused_empty;
%immutable fp_ring_stats::voided;
%immutable fp_ring_stats::high_water;
%immutable fp_ring_stats::count;
%immutable fp_ring_stats::unpublished;
%immutable fp_ring_stats::void_pending;
%immutable fp_ring_stats::blocked_since_ns;
%immutable fp_ring_stats::blocked_by;

/* A wait for several elements would hold the array of a managed language while it lasts. */
%ignore fp_ring_dequeue_wait;
%ignore fp_ring_enqueue_wait;

/* No object unbinds; one without a handle is a mistake. */
%exception fp_ring_set_wakeup {
	if (object3 && !arg3)
		result = -EINVAL;
	else
		$action
}

/* ---- wake-up ---- */

FP_NAMELESS(fp_wakeup)
%immutable fp_wakeup_stats::waiting;
%immutable fp_wakeup_stats::bound;
%immutable fp_wakeup_stats::sleeps;
%immutable fp_wakeup_stats::wakes;
%immutable fp_wakeup_stats::spurious;
%immutable fp_wakeup_stats::fallback_polls;
%immutable fp_wakeup_stats::fd_writes;
%immutable fp_wakeup_stats::interrupts;

/* The key is the return value. */
%ignore fp_wakeup_prepare;
%rename(fp_wakeup_prepare) fp_wakeup_swig_prepare;
%inline %{
static uint64_t fp_wakeup_swig_prepare(fp_wakeup *wakeup, int *status)
{
	uint64_t key = 0;

	*status = fp_wakeup_prepare(wakeup, &key);
	return key;
}
%}

/* ---- service ---- */

/* Its function is one of C, its address a number. */
%apply unsigned long long { fp_service_run_fn, fp_service_released_fn };
%apply (const void *elems, uint32_t n) { (const uint32_t *cpus, uint32_t n) };

FP_NAMED(fp_service)
FP_OBJECT(fp_service_core)
FP_STATISTICS(fp_service_map_stats)
%ignore fp_service_core_stats::reserved0;
%ignore fp_service_list;
%ignore fp_service_core_list;
%ignore fp_service_core_services;
%ignore fp_service_start_defaults;

/* One that was dropped and is mapped, or inside its function, stays. */
%{
static int fp_service_swig_end(void *handle, int is_reference)
{
	return is_reference ? fp_service_unref(handle) : fp_service_destroy(handle, 0, 0);
}

/* -EINPROGRESS: the library frees it, and the handle is gone. */
static int fp_service_swig_destroy(fp_service *object, uint32_t flags,
				   uint64_t timeout_ns)
{
	int status = fp_swig_is_lent(object) ?
			     -EOPNOTSUPP :
			     fp_service_destroy(fp_swig_handle(object), flags, timeout_ns);

	fp_swig_end(object, status == -EINPROGRESS ? 0 : status);
	return status;
}

static fp_wakeup *fp_service_swig_wakeup(fp_service *object, int *status)
{
	return fp_swig_lent(object, fp_service_wakeup(fp_swig_handle(object)), status);
}

static fp_wakeup *fp_service_core_swig_wakeup(fp_service_core *object, int *status)
{
	return fp_swig_lent(object, fp_service_core_wakeup(fp_swig_handle(object)),
			    status);
}
%}
int fp_service_swig_destroy(fp_service *object, uint32_t flags, uint64_t timeout_ns);
%ignore fp_service_wakeup;
%ignore fp_service_core_wakeup;
%rename(fp_service_wakeup) fp_service_swig_wakeup;
%rename(fp_service_core_wakeup) fp_service_core_swig_wakeup;
%newobject fp_service_swig_wakeup;
%newobject fp_service_core_swig_wakeup;
fp_wakeup *fp_service_swig_wakeup(fp_service *object, int *status);
fp_wakeup *fp_service_core_swig_wakeup(fp_service_core *object, int *status);

/* What the function returned is the result; only the call itself can fail. */
%ignore fp_service_run_once;
%rename(fp_service_run_once) fp_service_swig_run_once;
%typemap(ret) int32_t fp_service_swig_run_once ""
%inline %{
static int32_t fp_service_swig_run_once(fp_service *service, int *status)
{
	int32_t result = 0;

	*status = fp_service_run_once(service, 0, &result);
	return result;
}
%}

%immutable fp_service_stats::calls;
%immutable fp_service_stats::idle;
%immutable fp_service_stats::errors;
%immutable fp_service_stats::busy;
%immutable fp_service_stats::cycles;
%immutable fp_service_stats::longest;
%immutable fp_service_stats::cycle_hz;
%immutable fp_service_stats::cores;
%immutable fp_service_stats::inside_since_ns;
%immutable fp_service_stats::deadline_ns;
%immutable fp_service_map_stats::calls;
%immutable fp_service_map_stats::idle;
%immutable fp_service_map_stats::errors;
%immutable fp_service_map_stats::busy;
%immutable fp_service_map_stats::cycles;
%immutable fp_service_core_stats::state;
%immutable fp_service_core_stats::loops;
%immutable fp_service_core_stats::idle_loops;
%immutable fp_service_core_stats::busy_cycles;
%immutable fp_service_core_stats::idle_cycles;
%immutable fp_service_core_stats::cycle_hz;
%immutable fp_service_core_stats::sleeps;
%immutable fp_service_core_stats::naps;
%immutable fp_service_core_stats::wakes;
%immutable fp_service_core_stats::late_wakes;
%immutable fp_service_core_stats::services;
%immutable fp_service_core_stats::thread_id;

/* ---- timer ---- */

%include "libfp_timer.i"

/* ---- mempool ---- */

FP_OBJECT(fp_mempool)
FP_CHILD(fp_mempool_cache, fp_mempool)
%ignore fp_mempool_object_fn;
%ignore fp_mempool_opts::constructor;
%ignore fp_mempool_opts::user;
%ignore fp_mempool_for_each;
%ignore fp_mempool_get_reserve;
%ignore fp_mempool_get_commit;
%ignore fp_mempool_put_reserve;
%ignore fp_mempool_put_commit;
%ignore fp_mempool_get_reserve_via_cache;
%ignore fp_mempool_get_commit_via_cache;
%ignore fp_mempool_put_reserve_via_cache;
%ignore fp_mempool_put_commit_via_cache;

/* A C program is trusted to put what it got. A number may be anything. */
%define FP_PUTS(FUNCTION, GO_ON)
%exception FUNCTION {
	if (GO_ON)
		$action
	else
		result = -EFAULT;
}
%enddef
FP_PUTS(fp_mempool_put, !arg2 || fp_swig_are_objects(arg1, &arg2, 1))
FP_PUTS(fp_mempool_put_bulk, fp_swig_are_objects(arg1, arg2, arg3))
FP_PUTS(fp_mempool_put_via_cache, !arg3 || fp_swig_are_objects(arg1, &arg3, 1))
FP_PUTS(fp_mempool_put_bulk_via_cache, fp_swig_are_objects(arg1, arg3, arg4))

/* C has NULL for "none" and for errors; here errors are exceptions. */
%ignore fp_mempool_get;
%ignore fp_mempool_get_via_cache;
%rename(fp_mempool_get) fp_mempool_swig_get;
%rename(fp_mempool_get_via_cache) fp_mempool_swig_get_via_cache;
%inline %{
static void *fp_mempool_swig_get(fp_mempool *pool, int *status)
{
	void *object = NULL;

	*status = fp_mempool_get_bulk(pool, &object, 1);
	return object;
}

static void *fp_mempool_swig_get_via_cache(fp_mempool *pool, fp_mempool_cache *cache,
					   int *status)
{
	void *object = NULL;

	*status = fp_mempool_get_bulk_via_cache(pool, cache, &object, 1);
	return object;
}
%}

/* Bytes of an object, from its byte `at` on. */
%extend fp_mempool {
	static int32_t write(const fp_mempool *pool, void *object, uint32_t at,
			     const void *elems, uint32_t n)
	{
		char *to = fp_swig_memory(pool, object, at, n);

		if (!to)
			return -EINVAL;
		memcpy(to, elems, n);
		return (int32_t)n;
	}
	static int32_t read(const fp_mempool *pool, void *object, uint32_t at, void *elems,
			    uint32_t n)
	{
		const char *from = fp_swig_memory(pool, object, at, n);

		if (!from)
			return -EINVAL;
		memcpy(elems, from, n);
		return (int32_t)n;
	}
}

/* The list that fp_mempool_leaks() returns, and its entries. */
%ignore fp_mempool_leaks;
%rename(fp_mempool_leaks) fp_mempool_swig_leaks;
%newobject fp_mempool_swig_leaks;
%nodefaultctor fp_mempool_leak_list;
%nodefaultctor fp_mempool_leak;
%immutable fp_mempool_leak::object;
%immutable fp_mempool_leak::index;
%immutable fp_mempool_leak::thread;
%immutable fp_mempool_leak::tag;
%immutable fp_mempool_leak::since_ns;
%immutable fp_mempool_leak::age_ns;
FP_MEMBERS(fp_mempool_leak)
FP_MEMBERS(fp_mempool_leak_list)
typedef struct fp_mempool_leak_list {
} fp_mempool_leak_list;
%newobject fp_mempool_leak_list::get;
%extend fp_mempool_leak_list {
	~fp_mempool_leak_list()
	{
		free($self);
	}
	int64_t count()
	{
		return $self->count;
	}
	/* A copy of the entry at this place, from 0 on. */
	fp_mempool_leak *get(int64_t at, int *status)
	{
		return fp_swig_leak($self, at, status);
	}
}
fp_mempool_leak_list *fp_mempool_swig_leaks(const fp_mempool *pool, int *status);

%immutable fp_mempool_stats::capacity;
%immutable fp_mempool_stats::available;
%immutable fp_mempool_stats::in_use;
%immutable fp_mempool_stats::in_depot;
%immutable fp_mempool_stats::in_own_cache;
%immutable fp_mempool_stats::in_other_caches;
%immutable fp_mempool_stats::in_explicit_caches;
%immutable fp_mempool_stats::thread_caches;
%immutable fp_mempool_stats::explicit_caches;
%immutable fp_mempool_stats::gets;
%immutable fp_mempool_stats::objects_got;
%immutable fp_mempool_stats::puts;
%immutable fp_mempool_stats::objects_put;
%immutable fp_mempool_stats::failures;
%immutable fp_mempool_stats::cache_hits;
%immutable fp_mempool_stats::depot_exchanges;
%immutable fp_mempool_stats::misuses;

%include "libfp_exports.i"
