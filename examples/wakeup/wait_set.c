/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wait-set - one thread sleeps on two rings at once. Both are bound to one wake-up, which
 * whoever enqueues, or closes, signals without knowing. Prints the sum of what came and
 * how often the thread slept for it.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <libfp.h>

#define RINGS 2
#define EACH 50000

static fp_ring *rings[RINGS];
static fp_wakeup *wakeup;
static uint64_t sum;

static void *produce(void *arg)
{
	fp_ring *ring = arg;

	for (uint64_t i = 1; i <= EACH; i++)
		/* The producers' side has no wake-up of its own: try again. */
		while (!fp_ring_enqueue_u64(ring, i))
			sched_yield();
	fp_ring_close(ring);
	return NULL;
}

/* Takes what is there. Returns 1: something; 0: both rings are empty; -EPIPE: at their end. */
static int drain(void)
{
	uint64_t values[32];
	int found = 0, ended = 0;

	for (int r = 0; r < RINGS; r++) {
		int32_t n = fp_ring_dequeue_burst(rings[r], values, 32, NULL);

		for (int32_t i = 0; i < n; i++)
			sum += values[i];
		found |= n > 0;
		ended += n == -EPIPE;
	}
	return ended == RINGS ? -EPIPE : found;
}

static void consume(void)
{
	uint64_t key;
	int found;

	while ((found = drain()) != -EPIPE) {
		if (found)
			continue;
		fp_wakeup_prepare(wakeup, &key); /* from here on a signal is seen ... */
		if (drain() == 0)		 /* ... and what came before is found */
			fp_wakeup_wait(wakeup, key, LIBFP_FOREVER);
		else
			fp_wakeup_cancel(wakeup, key);
	}
}

static int create(void)
{
	fp_ring_opts opts = LIBFP_RING_OPTS_INIT;
	int err = fp_wakeup_create(NULL, &wakeup);

	opts.capacity = 256;
	opts.producer = opts.consumer = LIBFP_ST;
	for (int r = 0; !err && r < RINGS; r++) {
		err = fp_ring_create(&opts, &rings[r]);
		if (!err)
			err = fp_ring_set_wakeup(rings[r], LIBFP_RING_CONSUMER, wakeup);
	}
	return err;
}

int main(void)
{
	pthread_t producers[RINGS];
	fp_wakeup_stats stats = { .size = sizeof(stats) };
	int err = create();

	if (err) {
		fprintf(stderr, "wait-set: %s\n", fp_strerror(err));
		return 1;
	}
	for (int r = 0; r < RINGS; r++)
		if (pthread_create(&producers[r], NULL, produce, rings[r]))
			return 1;
	consume();
	for (int r = 0; r < RINGS; r++)
		pthread_join(producers[r], NULL);
	fp_wakeup_get_stats(wakeup, &stats);
	printf("%" PRIu64 ", %" PRIu64 " sleeps\n", sum, stats.sleeps);
	for (int r = 0; r < RINGS; r++)
		fp_ring_destroy(rings[r]); /* lets go of the wake-up */
	return fp_wakeup_destroy(wakeup) ||
	       sum != (uint64_t)RINGS * EACH * (EACH + 1) / 2;
}
