/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the ring tests share: the four mode pairs, a ring in one line, element
 * contents that are computed from a number (so that a checker needs no copy),
 * tables of any alignment with guard bytes.
 */
#ifndef FPT_RING_TEST_H
#define FPT_RING_TEST_H

#include <errno.h>

#include <libfp/ring.h>

#include "check.h"
#include "heap.h"
#include "log.h"
#include "ring/ring_internal.h"

/* The hook of base/step.h; NULL unless a test holds threads. */
void (*fpi_test_step)(const char *step);

struct rt_mode {
	const char *name;
	uint32_t producer;
	uint32_t consumer;
};

static const struct rt_mode rt_modes[] = {
	{ "ST/ST", LIBFP_ST, LIBFP_ST },
	{ "ST/MT", LIBFP_ST, LIBFP_MT },
	{ "MT/ST", LIBFP_MT, LIBFP_ST },
	{ "MT/MT", LIBFP_MT, LIBFP_MT },
};

#define RT_EACH_MODE(m) \
	for (const struct rt_mode *m = rt_modes; m < rt_modes + FPT_LEN(rt_modes); m++)

static inline fp_ring_opts rt_opts(uint32_t capacity, uint32_t elem_size,
				   const struct rt_mode *m, uint32_t flags)
{
	fp_ring_opts o = LIBFP_RING_OPTS_INIT;

	o.flags = flags;
	o.capacity = capacity;
	o.elem_size = elem_size;
	o.producer = m->producer;
	o.consumer = m->consumer;
	return o;
}

static inline fp_ring *rt_ring(uint32_t capacity, uint32_t elem_size,
			       const struct rt_mode *m, uint32_t flags)
{
	fp_ring_opts o = rt_opts(capacity, elem_size, m, flags);
	fp_ring *r = NULL;

	CHECK_EQ(fp_ring_create(&o, &r), 0);
	CHECK(r != NULL);
	return r;
}

static inline fp_ring_stats rt_stats(const fp_ring *r)
{
	fp_ring_stats s = { .size = sizeof(s) };

	CHECK_EQ(fp_ring_get_stats(r, &s), 0);
	CHECK_EQ(s.size, sizeof(s));
	return s;
}

/* ---- element contents: element number v, whatever its size ---- */

static inline uint32_t rt_word(uint64_t v, uint32_t word)
{
	uint64_t x = (v + 1) * 0x9e3779b97f4a7c15ull + word * 0xd1b54a32d192ed03ull;

	return (uint32_t)(x >> 32) ^ (uint32_t)x;
}

static inline void rt_fill(void *elems, uint32_t elem_size, uint64_t first, uint64_t n)
{
	unsigned char *p = elems;

	for (uint64_t i = 0; i < n; i++)
		for (uint32_t w = 0; w < elem_size / 4; w++, p += 4) {
			uint32_t x = rt_word(first + i, w);

			memcpy(p, &x, 4);
		}
}

/* How many of n elements, from the first on, are number first, first + 1, … */
static inline uint64_t rt_right(const void *elems, uint32_t elem_size, uint64_t first,
				uint64_t n)
{
	const unsigned char *p = elems;

	for (uint64_t i = 0; i < n; i++)
		for (uint32_t w = 0; w < elem_size / 4; w++, p += 4) {
			uint32_t x = rt_word(first + i, w);

			if (memcmp(p, &x, 4))
				return i;
		}
	return n;
}

/* An 8-byte element as the _u64 calls see it. */
static inline uint64_t rt_u64(uint64_t v)
{
	uint64_t x;

	rt_fill(&x, 8, v, 1);
	return x;
}

/* ---- tables ---- */

#define RT_GUARD 64
#define RT_GUARD_BYTE 0xa5

/* Room for `bytes` at an address that is `offset` off a cache line. */
struct rt_table {
	unsigned char *base;
	unsigned char *at;
	size_t offset;
	size_t bytes;
};

static inline struct rt_table rt_table_new(size_t bytes, size_t offset)
{
	struct rt_table t = { .offset = offset, .bytes = bytes };
	size_t all = FPI_ALIGN_UP(bytes + offset + 2 * RT_GUARD, 64);

	t.base = aligned_alloc(64, all);
	CHECK(t.base != NULL);
	memset(t.base, RT_GUARD_BYTE, all);
	t.at = t.base + RT_GUARD + offset;
	return t;
}

static inline void rt_table_wipe(struct rt_table *t)
{
	memset(t->at, RT_GUARD_BYTE, t->bytes);
}

/* True if nothing was written beside the first `used` bytes. */
static inline int rt_table_clean(const struct rt_table *t, size_t used)
{
	for (const unsigned char *p = t->base; p < t->at; p++)
		if (*p != RT_GUARD_BYTE)
			return 0;
	for (const unsigned char *p = t->at + used; p < t->at + t->bytes + RT_GUARD; p++)
		if (*p != RT_GUARD_BYTE)
			return 0;
	return 1;
}

static inline void rt_table_free(struct rt_table *t)
{
	free(t->base);
}

/* ---- spans ---- */

static inline unsigned char *rt_span_at(const fp_ring_span *s, uint32_t elem_size,
					uint32_t i)
{
	return i < s->n1 ? (unsigned char *)s->ptr1 + (size_t)i * elem_size :
			   (unsigned char *)s->ptr2 + (size_t)(i - s->n1) * elem_size;
}

static inline void rt_span_fill(const fp_ring_span *s, uint32_t elem_size, uint64_t first,
				uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		rt_fill(rt_span_at(s, elem_size, i), elem_size, first + i, 1);
}

static inline uint32_t rt_span_right(const fp_ring_span *s, uint32_t elem_size,
				     uint64_t first, uint32_t n)
{
	uint32_t i = 0;

	while (i < n && rt_right(rt_span_at(s, elem_size, i), elem_size, first + i, 1))
		i++;
	return i;
}

static inline int rt_span_is_zero(const fp_ring_span *s)
{
	return !s->ptr1 && !s->ptr2 && !s->n1 && !s->n2 && !s->token;
}

#endif
