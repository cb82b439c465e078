/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the ring tests share: the four mode pairs, a ring in one line, element
 * contents that are computed from a number (so that a checker needs no copy),
 * tables of any alignment with guard bytes, captured log lines.
 */
#ifndef FPT_RING_TEST_H
#define FPT_RING_TEST_H

#include <errno.h>

#include <libfp/ring.h>

#include "check.h"
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

/*
 * 1 where a test with one thread may do with a sample: TSan makes such tests
 * 20 times slower and has nothing to find in them.
 */
#if defined(__SANITIZE_THREAD__)
#define RT_SAMPLE 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define RT_SAMPLE 1
#endif
#endif
#ifndef RT_SAMPLE
#define RT_SAMPLE 0
#endif

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

/* ---- log lines ---- */

struct rt_log {
	int lines;
	uint32_t level; /* of the last line */
	char last[512];
};
static struct rt_log rt_log;

static inline void rt_log_take(uint32_t level, const char *line, void *user)
{
	struct rt_log *log = user;

	log->lines++;
	log->level = level;
	snprintf(log->last, sizeof(log->last), "%s", line);
}

static inline void rt_log_begin(void)
{
	memset(&rt_log, 0, sizeof(rt_log));
	fp_log_set_handler(rt_log_take, &rt_log, NULL);
}

static inline void rt_log_end(void)
{
	fp_log_set_handler(NULL, NULL, NULL);
}

/* ---- an allocator that counts, checks and can fail ---- */

struct rt_heap {
	int64_t live; /* blocks out */
	uint64_t live_bytes;
	uint64_t allocs;
	int64_t fail_at; /* this allocation fails, counted from 0; -1: none */
	int bad;	 /* frees whose size or alignment was not the alloc's */
};

struct rt_heap_block {
	uint64_t size;
	uint64_t align;
	void *start;
};

static inline void *rt_heap_alloc(void *ctx, uint64_t size, uint64_t align)
{
	struct rt_heap *h = ctx;
	struct rt_heap_block *b;
	unsigned char *start, *p;

	if (align == 0 || (align & (align - 1)) || size == 0)
		h->bad++;
	if ((int64_t)h->allocs++ == h->fail_at)
		return NULL;
	start = malloc(size + align + sizeof(*b));
	if (!start)
		return NULL;
	p = start + sizeof(*b);
	p += (align - ((uintptr_t)p & (align - 1))) & (align - 1);
	memset(p, 0xc7, size); /* memory from here is not zero */
	b = (struct rt_heap_block *)(void *)(p - sizeof(*b));
	memcpy(b, &(struct rt_heap_block){ size, align, start }, sizeof(*b));
	h->live++;
	h->live_bytes += size;
	return p;
}

static inline void rt_heap_free(void *ctx, void *ptr, uint64_t size, uint64_t align)
{
	struct rt_heap *h = ctx;
	struct rt_heap_block b;

	if (!ptr) {
		h->bad++;
		return;
	}
	memcpy(&b, (unsigned char *)ptr - sizeof(b), sizeof(b));
	if (b.size != size || b.align != align)
		h->bad++;
	h->live--;
	h->live_bytes -= b.size;
	free(b.start);
}

static inline fp_allocator rt_heap_allocator(struct rt_heap *h)
{
	fp_allocator a = LIBFP_ALLOCATOR_INIT;

	a.alloc = rt_heap_alloc;
	a.free = rt_heap_free;
	a.ctx = h;
	return a;
}

#endif
