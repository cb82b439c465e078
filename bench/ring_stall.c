/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ring_stall.c - what a healthy producer pays while another one is stopped in
 * the middle of an enqueue.
 *
 * A victim reserves 8 slots, sleeps 1 ms as if it had been preempted, and
 * publishes them. Meanwhile the healthy producer enqueues bursts of 8 and
 * takes out whatever can be dequeued, so that the ring (65536) never fills.
 * Counted are its enqueue calls that burn more than 200 us of *its own CPU
 * time*: wall time would count its own descheduling too. The same time without
 * a victim tells how many of these are the machine's (interrupts, and what a
 * hypervisor takes without saying so).
 */
#include "ring_stall.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define STALL_CAPACITY 65536
#define STALL_NS 1000000
#define SLOW_CALL_NS 200000
#define BURST 8

struct stall {
	const struct ring_stall *calls;
	void *ring;
	int cpu;
	atomic_uint stop;
	uint64_t stalls;
};

static uint64_t thread_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *victim(void *arg)
{
	const struct timespec nap = { 0, STALL_NS };
	struct stall *s = arg;
	struct ring_hold hold;

	bench_pin(s->cpu);
	while (!atomic_load_explicit(&s->stop, memory_order_relaxed)) {
		if (s->calls->hold(s->ring, &hold)) {
			nanosleep(&nap, NULL);
			s->calls->release(s->ring, &hold);
			s->stalls++;
		}
		/* A moment in which the ring is whole. */
		nanosleep(&(struct timespec){ 0, STALL_NS / 10 }, NULL);
	}
	return NULL;
}

struct tally {
	uint64_t calls, slow, longest, objects, cpu;
};

/* The healthy producer, which also takes out what it can. */
static struct tally healthy(const struct stall *s, double seconds)
{
	uint64_t end = bench_now_ns() + (uint64_t)(seconds * 1e9),
		 begun = thread_cpu_ns();
	struct tally t = { 0 };

	while (bench_now_ns() < end) {
		uint64_t start = thread_cpu_ns(), took;

		t.objects += s->calls->put(s->ring, BURST);
		took = thread_cpu_ns() - start;
		t.calls++;
		t.slow += took > SLOW_CALL_NS;
		if (took > t.longest)
			t.longest = took;
		while (s->calls->take(s->ring, RING_BURST_MAX))
			;
	}
	t.cpu = thread_cpu_ns() - begun;
	return t;
}

void ring_stall_run(struct bench *b, const struct ring_contestant *c, double seconds)
{
	const struct ring_shape shape = { RING_MT, STALL_CAPACITY, 8 };
	struct stall s = { c->stall, c->open(&shape), bench_cpu(b, 1), 0, 0 };
	struct tally alone, t;
	pthread_t thread;

	if (!s.ring)
		return;
	bench_pin(bench_cpu(b, 0));
	alone = healthy(&s, seconds);
	if (pthread_create(&thread, NULL, victim, &s)) {
		c->close(s.ring);
		return;
	}
	t = healthy(&s, seconds);
	atomic_store_explicit(&s.stop, 1, memory_order_relaxed);
	pthread_join(thread, NULL);
	c->close(s.ring);
	fprintf(bench_out(b),
		"{\"kind\":\"stall\",\"process\":%u,\"who\":\"%s\",\"capacity\":%d,"
		"\"burst\":%d,\"stalls\":%lu,\"calls\":%lu,\"slow_calls\":%lu,"
		"\"slow_calls_alone\":%lu,\"longest_us\":%.1f,\"longest_alone_us\":%.1f,"
		"\"mobj_per_cpu_s\":%.2f}\n",
		bench_process(b), c->who, STALL_CAPACITY, BURST, (unsigned long)s.stalls,
		(unsigned long)t.calls, (unsigned long)t.slow, (unsigned long)alone.slow,
		(double)t.longest / 1e3, (double)alone.longest / 1e3,
		(double)t.objects * 1e3 / (double)t.cpu);
}
