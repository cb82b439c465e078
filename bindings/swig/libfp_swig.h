/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the wrappers of all languages share: objects around handles, spans, and the
 * memory of pools.
 *
 * An object of the language points to a box, and the box holds the C handle until it is
 * destroyed or given back; then every call gets NULL, which libfp answers with -EINVAL.
 * One box uses up one destroy or unref at most, and destroy is refused while references
 * are out, so no box can be left with a handle that is gone.
 */
#ifndef LIBFP_SWIG_H
#define LIBFP_SWIG_H

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <libfp.h>

/* A part's destroy, or its unref. */
typedef int fp_swig_end_fn(void *handle, int is_reference);

struct fp_swig_box {
	void *handle; /* NULL: ended */
	int is_reference;
	fp_swig_end_fn *end;
	struct fp_swig_box *owner; /* NULL; or whose handle this one lives as long as */
	atomic_uint users; /* the object and the spans that know the box */
};

static inline void *fp_swig_handle(const void *object)
{
	const struct fp_swig_box *box = object;

	if (!box || (box->owner && !fp_swig_handle(box->owner)))
		return NULL;
	return box->handle;
}

static inline void fp_swig_forget(struct fp_swig_box *box)
{
	while (box && atomic_fetch_sub(&box->users, 1) == 1) {
		struct fp_swig_box *owner = box->owner;

		free(box);
		box = owner;
	}
}

/* The object of a new handle; NULL if the call that should have made it failed. */
static inline void *fp_swig_object(void *handle, int is_reference, fp_swig_end_fn *end,
				   int *status)
{
	struct fp_swig_box *box;

	if (*status < 0)
		return NULL;
	box = malloc(sizeof(*box));
	if (!box) {
		end(handle, is_reference);
		*status = -ENOMEM;
		return NULL;
	}
	box->handle = handle;
	box->is_reference = is_reference;
	box->end = end;
	box->owner = NULL;
	atomic_init(&box->users, 1);
	return box;
}

static inline int fp_swig_lent_end(void *handle, int is_reference)
{
	(void)handle, (void)is_reference;
	return 0;
}

/* The object of a handle that belongs to another object's, which ends it. */
static inline void *fp_swig_lent(void *object, void *handle, int *status)
{
	struct fp_swig_box *owner = object, *box;

	*status = handle ? 0 : -EINVAL;
	box = fp_swig_object(handle, 0, fp_swig_lent_end, status);
	if (!box)
		return NULL;
	atomic_fetch_add(&owner->users, 1);
	box->owner = owner;
	return box;
}

static inline int fp_swig_is_lent(const void *object)
{
	const struct fp_swig_box *box = object;

	return box && box->owner;
}

/* After a destroy or unref: if it succeeded, the handle is gone. */
static inline int fp_swig_end(void *object, int status)
{
	if (object && status == 0)
		((struct fp_swig_box *)object)->handle = NULL;
	return status;
}

/* The language has dropped the object. A destroy that is refused leaves the handle. */
static inline void fp_swig_drop(void *object)
{
	struct fp_swig_box *box = object;

	if (fp_swig_handle(box))
		fp_swig_end(box, box->end(box->handle, box->is_reference));
	fp_swig_forget(box);
}

/* ---- spans ---- */

struct fp_swig_span {
	fp_ring_span span;	 /* first: a pointer to one is a pointer to the other */
	struct fp_swig_box *box; /* of the ring whose slots these are */
	const fp_ring *ring;	 /* its handle then */
	uint32_t elem_size;
};

static inline fp_ring_span *fp_swig_span_new(void)
{
	return calloc(1, sizeof(struct fp_swig_span));
}

static inline void fp_swig_span_delete(fp_ring_span *span)
{
	if (span)
		fp_swig_forget(((struct fp_swig_span *)span)->box);
	free(span);
}

/* Bytes of an element of what has elements; 0 if that is not known. */
static inline uint32_t fp_swig_ring_elem_size(const void *ring)
{
	int64_t size = fp_ring_elem_size(ring);

	return size > 0 ? (uint32_t)size : 0;
}

static inline int fp_swig_span_is_open(const fp_ring_span *span)
{
	return span && (span->n1 || span->n2);
}

/* A span that is not open joins the ring of the call at hand. */
static inline void fp_swig_span_uses(fp_ring_span *span, void *object)
{
	struct fp_swig_span *s = (struct fp_swig_span *)span;
	struct fp_swig_box *box = object;

	if (!s || !box || fp_swig_span_is_open(span))
		return;
	if (s->box != box) {
		fp_swig_forget(s->box);
		atomic_fetch_add(&box->users, 1);
		s->box = box;
	}
	s->ring = box->handle;
	s->elem_size = fp_swig_ring_elem_size(s->ring);
}

static inline uint32_t fp_swig_span_elem_size(const void *span)
{
	return span ? ((const struct fp_swig_span *)span)->elem_size : 0;
}

/* A pool's memory is a table of bytes, for fp_mempool.read() and write(). */
static inline uint32_t fp_swig_byte(const void *pool)
{
	(void)pool;
	return 1;
}

/* A wheel has tables of several kinds, each with a type of its own. */
static inline uint32_t fp_swig_no_size(const void *wheel)
{
	(void)wheel;
	return 0;
}

/* Those of a core's are numbers of CPUs. */
static inline uint32_t fp_swig_cpu(const void *core)
{
	(void)core;
	return sizeof(uint32_t);
}

/* Bytes of an element of a table: by the type of what is typed, else by its owner. */
#define FP_SWIG_ELEM_SIZE(owner, table)                                     \
	_Generic((table),                                                   \
		 void **: (uint32_t)sizeof(void *),                         \
		 uint64_t *: (uint32_t)sizeof(uint64_t),                    \
		 const uint64_t *: (uint32_t)sizeof(uint64_t),              \
		 fp_timer_record *: (uint32_t)sizeof(fp_timer_record),      \
		 default: _Generic((owner),                                 \
			 fp_ring_span *: fp_swig_span_elem_size,            \
			 fp_ring *: fp_swig_ring_elem_size,                 \
			 fp_service_core *: fp_swig_cpu,                    \
			 fp_timer_wheel *: fp_swig_no_size,                 \
			 fp_mempool *: fp_swig_byte)(owner))

/* The most elements that can come out of a ring, span or pool at once. */
static inline uint64_t fp_swig_ring_most(const void *ring)
{
	int64_t capacity = fp_ring_capacity(ring);

	return capacity > 0 ? (uint64_t)capacity : 0;
}

static inline uint64_t fp_swig_span_most(const void *span)
{
	const fp_ring_span *s = span;

	return s ? (uint64_t)s->n1 + s->n2 : 0;
}

static inline uint64_t fp_swig_pool_most(const void *pool)
{
	int64_t capacity = fp_mempool_capacity(pool);

	return capacity > 0 ? (uint64_t)capacity : 0;
}

static inline uint64_t fp_swig_bytes_most(const void *pool)
{
	int64_t size = fp_mempool_object_size(pool);

	return size > 0 ? (uint64_t)size : 0;
}

/* How many ids or records come at once at most; larger tables are refused. */
#define FP_SWIG_TIMERS_MAX (1u << 20)

static inline uint64_t fp_swig_timers_most(const void *wheel)
{
	(void)wheel;
	return FP_SWIG_TIMERS_MAX;
}

#define FP_SWIG_MOST(owner, table)                                          \
	_Generic((table), void **: fp_swig_pool_most, default:              \
		_Generic((owner),                                           \
			 fp_ring_span *: fp_swig_span_most,                 \
			 fp_ring *: fp_swig_ring_most,                      \
			 fp_timer_wheel *: fp_swig_timers_most,             \
			 fp_mempool *: fp_swig_bytes_most))(owner)

/* Copies n elements into a span, or out of it, from its element `at` on. */
static inline int32_t fp_swig_span_copy(const fp_ring_span *span, uint32_t at,
					void *elems, uint32_t n, int in)
{
	const struct fp_swig_span *s = (const struct fp_swig_span *)span;
	uint64_t all = (uint64_t)span->n1 + span->n2, i = at, end = i + n;
	char *outside = elems;

	/* Its slots live as long as the ring. */
	if (end > all || !s->box || s->box->handle != s->ring)
		return -EINVAL;
	while (i < end) {
		int first = i < span->n1;
		uint64_t run = (first && end > span->n1 ? span->n1 : end) - i;
		uint64_t bytes = run * s->elem_size;
		char *inside = (char *)(first ? span->ptr1 : span->ptr2) +
			       (first ? i : i - span->n1) * s->elem_size;

		memcpy(in ? inside : outside, in ? outside : inside, bytes);
		outside += bytes;
		i += run;
	}
	return (int32_t)n;
}

/* ---- timers ---- */

/* SWIG's uint64_t is another type of the same size, which a table that is const shows. */
typedef uint64_t fp_swig_word;

/* A table that may be left out has as many entries as the ids have, or none. */
static inline int fp_swig_fits(uint32_t n_entries, uint32_t n)
{
	return n_entries == n || !n_entries;
}

static inline int32_t fp_timer_swig_create_bulk(fp_timer_wheel *wheel, fp_timer_fn cb,
						const fp_swig_word *users, uint32_t n_users,
						uint64_t *ids, uint32_t n)
{
	if (!fp_swig_fits(n_users, n))
		return -EINVAL;
	return fp_timer_create_bulk(wheel, cb, n_users ? (void *const *)users : NULL, ids,
				    n);
}

static inline int32_t fp_timer_swig_destroy_bulk(fp_timer_wheel *wheel,
						 const fp_swig_word *ids, uint32_t n,
						 int32_t *results, uint32_t n_results)
{
	if (!fp_swig_fits(n_results, n))
		return -EINVAL;
	return fp_timer_destroy_bulk(wheel, ids, n, n_results ? results : NULL);
}

static inline int32_t fp_timer_swig_cancel_bulk(fp_timer_wheel *wheel, const fp_swig_word *ids,
						uint32_t n, int32_t *results,
						uint32_t n_results)
{
	if (!fp_swig_fits(n_results, n))
		return -EINVAL;
	return fp_timer_cancel_bulk(wheel, ids, n, n_results ? results : NULL);
}

static inline int32_t fp_timer_swig_arm_bulk(fp_timer_wheel *wheel, const fp_swig_word *ids,
					     uint32_t n, const fp_swig_word *expiry_ticks,
					     uint32_t n_ticks, int32_t *results,
					     uint32_t n_results)
{
	if (n_ticks != n || !fp_swig_fits(n_results, n))
		return -EINVAL;
	return fp_timer_arm_bulk(wheel, ids, expiry_ticks, n, n_results ? results : NULL);
}

static inline int32_t fp_timer_swig_touch_bulk(fp_timer_wheel *wheel, const fp_swig_word *ids,
					       uint32_t n, const fp_swig_word *expiry_ticks,
					       uint32_t n_ticks, int32_t *results,
					       uint32_t n_results)
{
	if (n_ticks != n || !fp_swig_fits(n_results, n))
		return -EINVAL;
	return fp_timer_touch_bulk(wheel, ids, expiry_ticks, n,
				   n_results ? results : NULL);
}

/* ---- objects of pools ---- */

/*
 * Whether a put may go on: all are objects of the pool, or the call itself will say that
 * something is wrong. LIBFP_CHECKED pools look for themselves, and count.
 */
static inline int fp_swig_are_objects(const fp_mempool *pool, void *const *objects,
				      uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (fp_mempool_index(pool, objects[i]) == -EFAULT)
			return fp_mempool_leaks(pool, NULL, 0) >= 0;
	return 1;
}

/* Byte `at` of an object, if n bytes from there on are inside it. */
static inline void *fp_swig_memory(const fp_mempool *pool, void *object, uint32_t at,
				   uint64_t n)
{
	if (fp_mempool_index(pool, object) < 0 ||
	    (int64_t)(at + n) > fp_mempool_object_size(pool))
		return NULL;
	return (char *)object + at;
}

typedef struct fp_mempool_leak_list {
	int64_t count;
	fp_mempool_leak leaks[];
} fp_mempool_leak_list;

static inline fp_mempool_leak_list *fp_mempool_swig_leaks(const fp_mempool *pool,
							  int *status)
{
	int64_t n = fp_mempool_leaks(pool, NULL, 0), now;
	fp_mempool_leak_list *list;

	*status = n < 0 ? (int)n : 0;
	if (n < 0)
		return NULL;
	list = malloc(sizeof(*list) + (size_t)n * sizeof(list->leaks[0]));
	if (!list) {
		*status = -ENOMEM;
		return NULL;
	}
	now = fp_mempool_leaks(pool, list->leaks, (uint32_t)n);
	list->count = now < n ? now : n;
	return list;
}

static inline fp_mempool_leak *fp_swig_leak(const fp_mempool_leak_list *list, int64_t at,
					    int *status)
{
	fp_mempool_leak *leak = NULL;

	if (at < 0 || at >= list->count) {
		*status = -EINVAL;
		return NULL;
	}
	leak = malloc(sizeof(*leak));
	if (leak)
		*leak = list->leaks[at];
	else
		*status = -ENOMEM;
	return leak;
}

#endif
