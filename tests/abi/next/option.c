/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * usage: option FLAGS CAPACITY_STEP
 *
 * A program of tomorrow: its options have a member that a library of today does not know,
 * and may have a flag. It asks for a ring of 100 elements and says what it got: the
 * capacity, or an error code, which must have left nothing behind.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <libfp.h>

static int blocks; /* of memory that the library holds */

static void *take(void *ctx, uint64_t size, uint64_t align)
{
	(void)ctx;
	blocks++;
	return aligned_alloc(align, (size + align - 1) / align * align);
}

static void give(void *ctx, void *ptr, uint64_t size, uint64_t align)
{
	(void)ctx, (void)size, (void)align;
	blocks--;
	free(ptr);
}

int main(int argc, char **argv)
{
	fp_allocator allocator = LIBFP_ALLOCATOR_INIT;
	fp_ring_opts opts = LIBFP_RING_OPTS_INIT;
	fp_ring *const untouched = (fp_ring *)(void *)&opts;
	fp_ring *ring = untouched, *found;
	int err;

	if (argc != 3)
		return 2;
	allocator.alloc = take;
	allocator.free = give;
	opts.allocator = &allocator;
	opts.name = "of tomorrow";
	opts.capacity = 100;
	opts.flags = (uint32_t)strtoul(argv[1], NULL, 0);
	opts.capacity_step = strtoull(argv[2], NULL, 0);

	err = fp_ring_create(&opts, &ring);
	if (err) {
		if (ring != untouched || blocks || fp_ring_memsize(&opts) != err ||
		    fp_ring_lookup("of tomorrow", &found) != -ENOENT)
			return 3;
		printf("%d\n", err);
		return 0;
	}
	printf("%" PRId64 "\n", fp_ring_capacity(ring));
	return fp_ring_destroy(ring) || blocks ? 4 : 0;
}
