/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * two-threads - one thread fills a ring, another drains it; the end of the
 * stream is the ring's close. Prints the sum of what was carried.
 */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <libfp.h>

static void *produce(void *ring)
{
	for (uint64_t i = 1; i <= 100000; i++)
		while (fp_ring_enqueue_u64(ring, i) == 0) /* full */
			sched_yield();
	fp_ring_close(ring);
	return NULL;
}

int main(void)
{
	fp_ring_opts opts = LIBFP_RING_OPTS_INIT;
	fp_ring *ring;
	pthread_t thread;
	uint64_t elems[32], sum = 0;
	int32_t n;

	opts.capacity = 1000; /* exactly */
	opts.producer = opts.consumer = LIBFP_ST;
	if ((n = fp_ring_create(&opts, &ring)) < 0) {
		fprintf(stderr, "fp_ring_create: %s\n", fp_strerror(n));
		return 1;
	}
	if (pthread_create(&thread, NULL, produce, ring))
		return 1;
	while ((n = fp_ring_dequeue_burst(ring, elems, 32, NULL)) >= 0) {
		for (int32_t i = 0; i < n; i++)
			sum += elems[i];
		if (n == 0) /* empty */
			sched_yield();
	}
	pthread_join(thread, NULL); /* n is -EPIPE: closed, and everything was taken */
	printf("%" PRIu64 "\n", sum);
	return sum == 5000050000 && fp_ring_destroy(ring) == 0 ? 0 : 1;
}
