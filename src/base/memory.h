/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory of objects: the user's allocator, or the library's own (heap for
 * small, private anonymous mappings for large or hinted memory). See memory.c.
 */
#ifndef FPI_BASE_MEMORY_H
#define FPI_BASE_MEMORY_H

#include <stdint.h>

#include <libfp/base.h>

/* A block and how it was obtained; all zero is "none". */
struct fpi_mem {
	void *ptr;
	uint64_t size;
	uint64_t align;
	uint32_t how; /* enum in memory.c */
	uint32_t reserved;
	fp_allocator_free_fn user_free;
	void *user_ctx;
};

/*
 * Checks the allocator of an options struct; NULL is fine (the library's own).
 * Returns 0; -EINVAL: size below the first published one, a function missing,
 * misaligned; -E2BIG, -EOPNOTSUPP: newer than this library.
 */
int fpi_allocator_check(const fp_allocator *allocator);

/*
 * Gets `size` > 0 bytes aligned to `align` (a power of two), all zero.
 * allocator: checked, or NULL. flags: LIBFP_MEM_... ; other bits are ignored.
 * node: with LIBFP_MEM_NODE. The hints do not apply to a user's allocator, but
 * its memory is touched too (zeroed).
 * Returns 0 and fills *mem; -ENOMEM and *mem is untouched. More than the
 * machine's memory and swap together fails at once.
 */
int fpi_mem_alloc(struct fpi_mem *mem, const fp_allocator *allocator, uint64_t size,
		  uint64_t align, uint32_t flags, uint32_t node);

/*
 * Frees the block, if any, and makes *mem "none". A struct fpi_mem that lies
 * in the block it describes must be copied out first.
 */
void fpi_mem_free(struct fpi_mem *mem);

#endif
