/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An fp_allocator that counts, checks what it is given back, and can fail. Its memory
 * is not zero.
 */
#ifndef FPT_HEAP_H
#define FPT_HEAP_H

#include <libfp/base.h>

#include "check.h"

struct fpt_heap {
	int64_t live; /* blocks out */
	uint64_t live_bytes;
	uint64_t allocs;
	int64_t fail_at; /* this allocation fails, counted from 0; -1: none */
	int bad;	 /* frees whose size or alignment was not the alloc's */
};

struct fpt_heap_block {
	uint64_t size;
	uint64_t align;
	void *start;
};

static inline void *fpt_heap_alloc(void *ctx, uint64_t size, uint64_t align)
{
	struct fpt_heap *h = ctx;
	struct fpt_heap_block *b;
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
	b = (struct fpt_heap_block *)(void *)(p - sizeof(*b));
	memcpy(b, &(struct fpt_heap_block){ size, align, start }, sizeof(*b));
	h->live++;
	h->live_bytes += size;
	return p;
}

static inline void fpt_heap_free(void *ctx, void *ptr, uint64_t size, uint64_t align)
{
	struct fpt_heap *h = ctx;
	struct fpt_heap_block b;

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

static inline fp_allocator fpt_heap_allocator(struct fpt_heap *h)
{
	fp_allocator a = LIBFP_ALLOCATOR_INIT;

	a.alloc = fpt_heap_alloc;
	a.free = fpt_heap_free;
	a.ctx = h;
	return a;
}

#endif
