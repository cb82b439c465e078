/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that uses a function with two versions, and a ring of the same library. */
#include <libfp.h>
#include <stdio.h>

#include "answer.h"

int main(void)
{
	fp_ring_opts opts = LIBFP_RING_OPTS_INIT;
	fp_ring *ring = NULL;
	uint64_t elem = 0;

	opts.capacity = 4;
	if (fp_ring_create(&opts, &ring) || fp_ring_enqueue_u64(ring, 7) != 1 ||
	    fp_ring_dequeue_u64(ring, &elem) != 1 || fp_ring_destroy(ring))
		return 1;
	printf("%d\n", elem == 7 ? fp_symver_answer() : -1);
	return 0;
}
