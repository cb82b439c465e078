/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ring_fp_plt.c - the single calls once more, from a caller that was compiled
 * without -fno-plt: each call makes a stop in the procedure linkage table.
 */
#include "ring_contestant.h"

#include <libfp/ring.h>

RING_LOOPS_ONE(plt_one, fp_ring_enqueue_u64, fp_ring_dequeue_u64)

const struct ring_loops *bench_plt_loops(void)
{
	return &plt_one;
}
