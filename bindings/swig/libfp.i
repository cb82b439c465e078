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
 *   **out      is the return value (FP_OBJECT)
 *   options    an object, initialised by fp_..._opts_init(), that owns its name
 *   table, n   one array argument
 *   time       LIBFP_FOREVER is -1, for there are languages without unsigned numbers
 *
 * A new part needs one line FP_OBJECT(fp_part) before the end, and %immutable lines for its
 * counters. What a language must bring is in a file of its own, libfp_<language>.i.
 */
%module Libfp

%{
#include "libfp_swig.h"
%}

%include <stdint.i>

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

%define FP_OPTIONS(TYPE)
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
		free((void *)$self->name);
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
 * A part with create, lookup, unref and destroy, with options and statistics. An object
 * owns its handle: who drops it without destroy has it destroyed (or its reference given
 * back). There is no %delobject: a refused destroy must leave the object as it is, so
 * the object itself knows whether there is a handle.
 */
%define FP_OBJECT(TYPE)
FP_OPTIONS(TYPE##_opts)
FP_STATISTICS(TYPE##_stats)
%typemap(check) TYPE * (void *object), const TYPE * (void *object) {
	object = (void *)$1;
	$1 = fp_swig_handle(object);
}
%typemap(check) TYPE *object, TYPE *self ""
%ignore TYPE##_create;
%ignore TYPE##_lookup;
%ignore TYPE##_unref;
%ignore TYPE##_destroy;
%rename(TYPE##_create) TYPE##_swig_create;
%rename(TYPE##_lookup) TYPE##_swig_lookup;
%rename(TYPE##_unref) TYPE##_swig_unref;
%rename(TYPE##_destroy) TYPE##_swig_destroy;
%newobject TYPE##_swig_create;
%newobject TYPE##_swig_lookup;
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
static int TYPE##_swig_end(void *handle, int is_reference)
{
	return is_reference ? TYPE##_unref(handle) : TYPE##_destroy(handle);
}

static TYPE *TYPE##_swig_create(const TYPE##_opts *opts, int *status)
{
	TYPE *handle = NULL;

	*status = TYPE##_create(opts, &handle);
	return fp_swig_object(handle, 0, TYPE##_swig_end, status);
}

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

static int TYPE##_swig_destroy(TYPE *object)
{
	return fp_swig_end(object, TYPE##_destroy(fp_swig_handle(object)));
}
%}
TYPE *TYPE##_swig_create(const TYPE##_opts *opts, int *status);
TYPE *TYPE##_swig_lookup(const char *name, int *status);
int TYPE##_swig_unref(TYPE *object);
int TYPE##_swig_destroy(TYPE *object);
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

%include "libfp_exports.i"
