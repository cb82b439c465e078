/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A small program that uses an installed libfp: creates a ring, moves bursts
 * through it, closes and destroys it. Compiles as C11 and as C++17.
 */
#include <errno.h>
#include <stdio.h>

#include <libfp.h>

#define EXPECT(cond)                                                               \
	do {                                                                       \
		if (!(cond)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond); \
			return 1;                                                  \
		}                                                                  \
	} while (0)

int main(void)
{
	fp_ring_opts opts = LIBFP_RING_OPTS_INIT;
	fp_ring *ring = NULL;
	uint64_t in[8], out[8];
	uint32_t left;

	/* Headers and library are of one installation. */
	EXPECT(fp_version_number() == LIBFP_VERSION_NUMBER);
	EXPECT(fp_features() & LIBFP_FEATURE_RING);

	opts.capacity = 1000;
	EXPECT(fp_ring_create(&opts, &ring) == 0);
	EXPECT(fp_ring_capacity(ring) == 1000);

	for (uint64_t i = 0; i < 1000; i += 8) {
		for (uint64_t k = 0; k < 8; k++)
			in[k] = i + k;
		EXPECT(fp_ring_enqueue_burst(ring, in, 8, NULL) == 8);
	}
	EXPECT(fp_ring_enqueue_u64(ring, 1000) == 0);
	EXPECT(fp_ring_close(ring) == 0);
	EXPECT(fp_ring_enqueue_u64(ring, 1000) == -EPIPE);

	for (uint64_t i = 0; i < 1000; i += 8) {
		EXPECT(fp_ring_dequeue_burst(ring, out, 8, &left) == 8);
		EXPECT(left == 1000 - i - 8);
		for (uint64_t k = 0; k < 8; k++)
			EXPECT(out[k] == i + k);
	}
	EXPECT(fp_ring_dequeue_burst(ring, out, 8, NULL) == -EPIPE);
	EXPECT(fp_ring_destroy(ring) == 0);
	return 0;
}
