/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * two-services - one core calls two services: "adder" takes numbers from a ring, and is
 * woken by whoever enqueues; "clock" is called every 10 ms. While there is neither a
 * number nor a tick, the core sleeps. Prints the sum and how often the core slept.
 */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <libfp.h>

#define NUMBERS 1000
#define TICKS 3
#define TICK_NS 10000000u

static fp_ring *ring;
static fp_service *adder, *ticker;
static fp_service_core *core;
static atomic_uint_fast64_t sum, ticks;
static uint64_t next_tick;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int32_t add(void *user)
{
	uint64_t numbers[32];
	int32_t n = fp_ring_dequeue_burst(ring, numbers, 32, NULL);

	(void)user;
	if (n <= 0)
		return -EAGAIN;
	for (int32_t i = 0; i < n; i++)
		sum += numbers[i];
	return 0;
}

static int32_t tick(void *user)
{
	(void)user;
	if (now_ns() < next_tick)
		return -EAGAIN;
	ticks++;
	next_tick += TICK_NS;
	fp_service_set_deadline(ticker, next_tick);
	return 0;
}

static int create(void)
{
	fp_ring_opts numbers = LIBFP_RING_OPTS_INIT;
	fp_service_opts opts = LIBFP_SERVICE_OPTS_INIT;
	int err;

	numbers.capacity = 64;
	numbers.producer = numbers.consumer = LIBFP_ST;
	err = fp_ring_create(&numbers, &ring);
	opts.name = "adder";
	opts.run = add;
	if (!err)
		err = fp_service_create(&opts, &adder);
	opts.name = "clock";
	opts.run = tick;
	opts.flags = LIBFP_SERVICE_WAKEABLE; /* by its deadlines: no polling for it */
	if (!err)
		err = fp_service_create(&opts, &ticker);
	if (!err)
		err = fp_service_core_create(NULL, &core);
	return err;
}

static int start(void)
{
	int err = fp_ring_set_wakeup(ring, LIBFP_RING_CONSUMER, fp_service_wakeup(adder));

	next_tick = now_ns() + TICK_NS;
	if (!err)
		err = fp_service_set_deadline(ticker, next_tick);
	if (!err)
		err = (int)(fp_service_start_defaults(&core, 1) - 2); /* maps both */
	return err;
}

static int end(void)
{
	int err = fp_service_core_stop(core, LIBFP_FOREVER);

	if (!err)
		err = fp_ring_destroy(ring); /* lets go of the wake-up */
	if (!err)
		err = fp_service_destroy(adder, LIBFP_SERVICE_FORCE, LIBFP_FOREVER);
	if (!err)
		err = fp_service_destroy(ticker, LIBFP_SERVICE_FORCE, LIBFP_FOREVER);
	return err ? err : fp_service_core_destroy(core);
}

int main(void)
{
	fp_service_core_stats stats = { .size = sizeof(stats) };
	const uint64_t wanted = (uint64_t)NUMBERS * (NUMBERS + 1) / 2;
	int err = create();

	if (!err)
		err = start();
	if (err) {
		fprintf(stderr, "two-services: %s\n", fp_strerror(err));
		return 1;
	}
	for (uint64_t i = 1; i <= NUMBERS; i++)
		while (!fp_ring_enqueue_u64(ring, i)) /* full */
			sched_yield();
	while (sum != wanted || ticks < TICKS)
		sched_yield();
	fp_service_core_get_stats(core, &stats);
	printf("%" PRIu64 ", %" PRIu64 " sleeps\n", (uint64_t)sum, stats.sleeps);
	err = end();
	if (err)
		fprintf(stderr, "two-services: %s\n", fp_strerror(err));
	return err != 0;
}
