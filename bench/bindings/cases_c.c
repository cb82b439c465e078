/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cases_c.c - the ring from C, for the comparison of languages: through the
 * shared library, as every C program calls it.
 */
#include "worker.h"

static uint64_t pairs(fp_ring *ring, uint32_t burst, uint64_t units)
{
	uint64_t done = 0;

	for (uint64_t i = 0; i < units; i += burst) {
		fp_ring_enqueue_burst(ring, worker_source, burst, NULL);
		done += (uint32_t)fp_ring_dequeue_burst(ring, worker_target, burst, NULL);
	}
	return done;
}

static uint64_t singles(fp_ring *ring, uint64_t units)
{
	uint64_t done = 0;

	for (uint64_t i = 0; i < units; i++) {
		fp_ring_enqueue_u64(ring, i);
		done += (uint32_t)fp_ring_dequeue_u64(ring, worker_target);
	}
	return done;
}

int main(int argc, char **argv)
{
	static const struct worker_way way = { "C", "C, single calls", pairs, singles };

	return worker_main(argc, argv, WORKER_COMPILER, &way);
}
