/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * service_asleep.c - four service cores without work: the CPU time that they use, and
 * how soon a service runs when an object comes into its ring after a while.
 *
 * Beside them a thread sleeps on a bare futex, on the same core as the service's. Each is
 * woken in turn after the same time of rest for all, because a core of the machine sleeps
 * the deeper, the longer it sleeps.
 */
#include "service_contestant.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <libfp/ring.h>
#include <libfp/service.h>

#define LEN(a) (sizeof(a) / sizeof((a)[0]))
#define CORES 4
#define SERVICES 8
#define SETTLE_NS 3000000
#define SAMPLES_MAX 100

static const struct rest {
	const char *mode;
	uint64_t ns;
	unsigned samples;
} rests[] = {
	{ "after 1 ms", 1000000, 100 },
	{ "after 20 ms", 20000000, 40 },
	{ "after 1 s", 1000000000, 4 },
};

/* When the woken one ran; 0: not yet. */
static _Alignas(128) atomic_ulong ran_ns;

static struct {
	fp_service_core *cores[CORES];
	fp_service *services[SERVICES];
	fp_ring *rings[SERVICES];
} idle;

static int32_t take_one(void *user)
{
	uint64_t object;

	if (fp_ring_dequeue_u64(*(fp_ring **)user, &object) != 1)
		return -EAGAIN;
	atomic_store_explicit(&ran_ns, bench_now_ns(), memory_order_release);
	return 1;
}

static fp_service_core *make_core(int cpu)
{
	fp_service_core_opts opts = LIBFP_SERVICE_CORE_OPTS_INIT;
	fp_service_core *core;

	if (cpu >= 0) {
		opts.flags = LIBFP_SERVICE_CORE_PIN;
		opts.cpu = (uint32_t)cpu;
	}
	if (fp_service_core_create(&opts, &core))
		abort();
	return core;
}

static void open_idle(struct bench *b)
{
	for (unsigned i = 0; i < CORES; i++)
		idle.cores[i] = make_core(i ? -1 : bench_cpu(b, 1));
	for (unsigned i = 0; i < SERVICES; i++) {
		fp_ring_opts ring_opts = LIBFP_RING_OPTS_INIT;
		fp_service_opts opts = LIBFP_SERVICE_OPTS_INIT;

		ring_opts.capacity = 64;
		opts.run = take_one;
		opts.user = &idle.rings[i];
		if (fp_ring_create(&ring_opts, &idle.rings[i]) ||
		    fp_service_create(&opts, &idle.services[i]) ||
		    fp_ring_set_wakeup(idle.rings[i], LIBFP_RING_CONSUMER,
				       fp_service_wakeup(idle.services[i])) ||
		    fp_service_start(idle.services[i]) ||
		    fp_service_map(idle.services[i], idle.cores[i % CORES]))
			abort();
	}
	for (unsigned i = 0; i < CORES; i++)
		if (fp_service_core_start(idle.cores[i]))
			abort();
}

static void close_idle(void)
{
	for (unsigned i = 0; i < CORES; i++)
		fp_service_core_stop(idle.cores[i], LIBFP_FOREVER);
	for (unsigned i = 0; i < SERVICES; i++) {
		fp_ring_destroy(idle.rings[i]);
		fp_service_destroy(idle.services[i], LIBFP_SERVICE_FORCE, LIBFP_FOREVER);
	}
	for (unsigned i = 0; i < CORES; i++)
		fp_service_core_destroy(idle.cores[i]);
}

/* ---- the bare futex ---- */

#define LEAVE UINT32_MAX

static _Alignas(128) atomic_uint word;

static void *futex_main(void *arg)
{
	unsigned seen = 0, now;

	bench_pin(*(int *)arg);
	for (;;) {
		while ((now = atomic_load_explicit(&word, memory_order_acquire)) == seen)
			syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, NULL);
		if (now == LEAVE)
			return NULL;
		seen = now;
		atomic_store_explicit(&ran_ns, bench_now_ns(), memory_order_release);
	}
}

static void set_word(unsigned value)
{
	atomic_store_explicit(&word, value, memory_order_release);
	syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1);
}

/* ---- rounds ---- */

struct share {
	int64_t cpu_ns;
	uint64_t wall_ns;
};

/* CPU time of all threads but this one. The two clocks are not read at once, so a short
 * difference of it may be below zero. */
static int64_t others_ns(void)
{
	uint64_t mine = service_cpu_ns(CLOCK_THREAD_CPUTIME_ID);

	return (int64_t)(service_cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - mine);
}

/* Rests, and adds what everybody but this thread used meanwhile. */
static void rest(uint64_t ns, struct share *share)
{
	uint64_t begin;
	int64_t cpu;

	service_sleep(SETTLE_NS); /* they spin and nap before they sleep */
	cpu = others_ns();
	begin = bench_now_ns();
	service_sleep(ns);
	share->wall_ns += bench_now_ns() - begin;
	share->cpu_ns += others_ns() - cpu;
}

/* From the wake until it runs. */
static float wake(int futex)
{
	static unsigned value;
	uint64_t begin, ran;

	atomic_store_explicit(&ran_ns, 0, memory_order_relaxed);
	begin = bench_now_ns();
	if (futex)
		set_word(++value);
	else
		fp_ring_enqueue_u64(idle.rings[0], 1);
	while (!(ran = atomic_load_explicit(&ran_ns, memory_order_acquire)))
		bench_relax();
	return (float)(ran - begin);
}

static void one_rest(struct bench *b, const struct rest *r, struct share *share)
{
	float values[2][SAMPLES_MAX];
	unsigned n = (unsigned)(r->samples * bench_scale(b) + 0.5);
	struct share ignored = { 0 };

	n = n < 1 ? 1 : n > SAMPLES_MAX ? SAMPLES_MAX : n;
	for (unsigned i = 0; i < 2 * n; i++) {
		bench_progress(b, "services, asleep", (double)i / (2 * n));
		rest(r->ns, r->ns < 1000000000 ? &ignored : share);
		values[i % 2][i / 2] = wake((int)(i % 2));
	}
	for (unsigned futex = 0; futex < 2; futex++) {
		struct bench_case c = { .row = "service_first",
					.mode = r->mode,
					.who = futex ? "futex" : "libfp",
					.unit = "ns" };

		bench_samples(b, &c, values[futex], n);
	}
}

void service_asleep(struct bench *b)
{
	int cpu = bench_cpu(b, 1);
	struct share share = { 0 };
	pthread_t thread;

	if (!bench_wanted(b, "service_first", "", 0, 0, 0) &&
	    !bench_wanted(b, "service_idle", "", 0, 0, 0))
		return;
	bench_pin(bench_cpu(b, 0));
	open_idle(b);
	atomic_store(&word, 0);
	if (pthread_create(&thread, NULL, futex_main, &cpu))
		abort();
	for (unsigned i = 0; i < LEN(rests); i++)
		one_rest(b, &rests[i], &share);
	set_word(LEAVE);
	pthread_join(thread, NULL);
	close_idle();
	bench_unpin(b);
	bench_figure(b, "service_idle", "4 cores", "%",
		     share.cpu_ns > 0 ?
			     100.0 * (double)share.cpu_ns / (double)share.wall_ns :
			     0);
}
