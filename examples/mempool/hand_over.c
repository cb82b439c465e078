/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hand-over - one thread gets messages from a pool and writes them, another reads
 * them and puts them back. A ring between the two carries their indexes. Nothing is
 * allocated on the way, and a producer that is too fast waits for messages to come
 * back. Prints the sum of what was carried.
 */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <libfp.h>

#define MESSAGES 256

struct message {
	uint32_t index; /* of this object; the pool leaves it alone */
	uint64_t value;
};

static fp_mempool *pool;
static fp_ring *ring;

static int construct(void *object, uint32_t index, void *user)
{
	struct message *m = object;

	(void)user;
	m->index = index;
	return 0;
}

static void *produce(void *arg)
{
	for (uint64_t i = 1; i <= 100000; i++) {
		struct message *m;

		while (!(m = fp_mempool_get(pool))) /* all are in use */
			sched_yield();
		m->value = i;
		fp_ring_enqueue(ring, &m->index); /* never full: room for all */
	}
	fp_ring_close(ring);
	return arg;
}

static int create(void)
{
	fp_mempool_opts messages = LIBFP_MEMPOOL_OPTS_INIT;
	fp_ring_opts indexes = LIBFP_RING_OPTS_INIT;
	int err;

	messages.count = MESSAGES;
	messages.object_size = sizeof(struct message);
	messages.align = 64;	  /* neighbours are in use by different threads */
	messages.cache_size = 32; /* what the consumer may keep from the producer */
	messages.constructor = construct;
	err = fp_mempool_create(&messages, &pool);
	indexes.capacity = MESSAGES;
	indexes.elem_size = sizeof(uint32_t);
	indexes.producer = indexes.consumer = LIBFP_ST;
	return err ? err : fp_ring_create(&indexes, &ring);
}

int main(void)
{
	uint32_t index[32];
	void *done[32];
	uint64_t sum = 0;
	pthread_t thread;
	int32_t n = create();

	if (n < 0) {
		fprintf(stderr, "hand-over: %s\n", fp_strerror(n));
		return 1;
	}
	if (pthread_create(&thread, NULL, produce, NULL))
		return 1;
	while ((n = fp_ring_dequeue_burst(ring, index, 32, NULL)) >= 0) {
		for (int32_t i = 0; i < n; i++) {
			done[i] = fp_mempool_object(pool, index[i]);
			sum += ((struct message *)done[i])->value;
		}
		fp_mempool_put_bulk(pool, done, (uint32_t)n);
		if (n == 0) /* empty */
			sched_yield();
	}
	pthread_join(thread, NULL);
	printf("%" PRIu64 "\n", sum);
	/* A pool with objects in use cannot be destroyed: so all are back. */
	if (fp_mempool_destroy(pool) || fp_ring_destroy(ring))
		return 1;
	return sum != UINT64_C(5000050000);
}
