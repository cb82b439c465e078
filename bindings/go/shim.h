/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library's functions in the form that costs Go least. What a call returns through a
 * pointer comes back by value, so that no variable of the call moves to Go's heap. Handles
 * and buffers are typed as bytes, which hold no pointers, so that Go need not look into
 * them on every call. All of it is inlined into the stubs that cgo makes.
 */
#ifndef FPGO_SHIM_H
#define FPGO_SHIM_H

#include <libfp.h>

#if LIBFP_VERSION_NUMBER < LIBFP_VERSION_ENCODE(0, 9, 0)
#error "package fp: the libfp headers are too old, it needs 0.9; see PKG_CONFIG_PATH"
#elif LIBFP_VERSION_NUMBER >= LIBFP_VERSION_ENCODE(0, 10, 0)
#error "package fp: the libfp headers are too new, it needs 0.9; see PKG_CONFIG_PATH"
#endif

/* An fp_ring, as Go sees it. */
typedef uint8_t fpgo_ring;

/* A new handle, or why there is none. */
typedef struct fpgo_made {
	fpgo_ring *ring;
	int code;
} fpgo_made;

/* One element, if got is 1. */
typedef struct fpgo_word {
	uint64_t value;
	int32_t got;
} fpgo_word;

/* A span, if got is positive. */
typedef struct fpgo_span {
	uint8_t *ptr1;
	uint8_t *ptr2;
	uint64_t token;
	uint32_t n1;
	uint32_t n2;
	int32_t got;
} fpgo_span;

static inline fpgo_made fpgo_create(const char *name, uint32_t capacity, uint32_t elem_size,
				    uint32_t producer, uint32_t consumer, uint32_t flags,
				    uint32_t numa_node)
{
	fpgo_made made = { 0, 0 };
	fp_ring_opts opts;
	fp_ring *ring = 0;

	made.code = fp_ring_opts_init(&opts, sizeof(opts));
	if (made.code < 0)
		return made;
	opts.flags = flags;
	opts.name = name;
	opts.capacity = capacity;
	opts.elem_size = elem_size;
	opts.producer = producer;
	opts.consumer = consumer;
	opts.numa_node = numa_node;
	made.code = fp_ring_create(&opts, &ring);
	made.ring = (fpgo_ring *)ring;
	return made;
}

static inline fpgo_made fpgo_lookup(const char *name)
{
	fpgo_made made = { 0, 0 };
	fp_ring *ring = 0;

	made.code = fp_ring_lookup(name, &ring);
	made.ring = (fpgo_ring *)ring;
	return made;
}

static inline int fpgo_release(fpgo_ring *ring, int found)
{
	return found ? fp_ring_unref((fp_ring *)ring) : fp_ring_destroy((fp_ring *)ring);
}

/* What has nothing to convert but the handle. */
#define FPGO_RING(result, name, function) \
	static inline result name(fpgo_ring *ring) \
	{ \
		return function((fp_ring *)ring); \
	}
FPGO_RING(int, fpgo_reset, fp_ring_reset)
FPGO_RING(int, fpgo_close, fp_ring_close)
FPGO_RING(int64_t, fpgo_count, fp_ring_count)
FPGO_RING(int64_t, fpgo_free_count, fp_ring_free_count)
FPGO_RING(int64_t, fpgo_capacity, fp_ring_capacity)
FPGO_RING(int64_t, fpgo_elem_size, fp_ring_elem_size)
FPGO_RING(int, fpgo_producer_sync, fp_ring_producer_sync)
FPGO_RING(int, fpgo_consumer_sync, fp_ring_consumer_sync)
FPGO_RING(int, fpgo_is_full, fp_ring_is_full)
FPGO_RING(int, fpgo_is_empty, fp_ring_is_empty)
FPGO_RING(int, fpgo_is_closed, fp_ring_is_closed)
FPGO_RING(const char *, fpgo_name, fp_ring_name)
#undef FPGO_RING

static inline int32_t fpgo_enqueue(fpgo_ring *ring, const uint8_t *elems, uint32_t n, int bulk)
{
	return bulk ? fp_ring_enqueue_bulk((fp_ring *)ring, elems, n, 0) :
		      fp_ring_enqueue_burst((fp_ring *)ring, elems, n, 0);
}

static inline int32_t fpgo_dequeue(fpgo_ring *ring, uint8_t *elems, uint32_t n, int bulk)
{
	return bulk ? fp_ring_dequeue_bulk((fp_ring *)ring, elems, n, 0) :
		      fp_ring_dequeue_burst((fp_ring *)ring, elems, n, 0);
}

static inline int32_t fpgo_peek(fpgo_ring *ring, uint8_t *elems, uint32_t n)
{
	return fp_ring_peek((fp_ring *)ring, elems, n);
}

static inline int32_t fpgo_enqueue_u64(fpgo_ring *ring, uint64_t value)
{
	return fp_ring_enqueue_u64((fp_ring *)ring, value);
}

static inline fpgo_word fpgo_dequeue_u64(fpgo_ring *ring)
{
	fpgo_word word = { 0, 0 };

	word.got = fp_ring_dequeue_u64((fp_ring *)ring, &word.value);
	return word;
}

static inline fpgo_span fpgo_reserve(fpgo_ring *ring, uint32_t n, uint32_t flags, int dequeue)
{
	fp_ring_span span = { 0, 0, 0, 0, 0 };
	fpgo_span out;

	out.got = dequeue ? fp_ring_reserve_dequeue((fp_ring *)ring, n, flags, &span) :
			    fp_ring_reserve_enqueue((fp_ring *)ring, n, flags, &span);
	out.ptr1 = span.ptr1;
	out.ptr2 = span.ptr2;
	out.token = span.token;
	out.n1 = span.n1;
	out.n2 = span.n2;
	return out;
}

static inline int32_t fpgo_commit(fpgo_ring *ring, uint8_t *ptr1, uint8_t *ptr2, uint64_t token,
				  uint32_t n1, uint32_t n2, uint32_t k, int dequeue)
{
	fp_ring_span span = { ptr1, ptr2, n1, n2, token };

	return dequeue ? fp_ring_commit_dequeue((fp_ring *)ring, &span, k) :
			 fp_ring_commit_enqueue((fp_ring *)ring, &span, k);
}

/* size is 0 if the call failed. */
static inline fp_ring_stats fpgo_stats(fpgo_ring *ring)
{
	fp_ring_stats stats = { .size = sizeof(stats) };

	if (fp_ring_get_stats((fp_ring *)ring, &stats) < 0)
		stats.size = 0;
	return stats;
}

#endif
