/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wake_cost.c - what sleepers cost: themselves, and those that work.
 *
 *   wake_barrier  ns of a prepare and a cancel, which contain the membarrier, by what the
 *                 other core does (the mode)
 *   wake_victim   a thread that moves objects through a ring with a wake-up, while the
 *                 other core prepares and cancels one of the same kind: in a loop, or
 *                 every 100 us (the mode). Million objects a second; CPU time would not
 *                 do, the kernel may leave the interrupts out of it
 *   wake_gaps     membarriers and sleeps a second of a consumer whose objects come at
 *                 random, 10 us apart in the mean
 *   wake_idle     CPU share of 1,000 threads that wait for a ring
 */
#include "wake.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void sleep_ns(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

static uint64_t cpu_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void prepare_and_cancel(fp_wakeup *w)
{
	uint64_t key;

	fp_wakeup_prepare(w, &key);
	fp_wakeup_cancel(w, key);
}

/* ---- the time of a barrier ---- */

enum business { ASLEEP, SYSTEM_CALLS, USER_MODE, BUSINESSES, QUIT };

static const char *const business_names[BUSINESSES] = { "asleep", "in system calls",
							"in user mode" };

static _Alignas(128) atomic_int business;

static void neighbour(void *arg)
{
	int what;

	(void)arg;
	while ((what = atomic_load_explicit(&business, memory_order_relaxed)) != QUIT) {
		if (what == ASLEEP)
			sleep_ns(1000000);
		else if (what == SYSTEM_CALLS)
			syscall(SYS_getppid);
	}
}

#define BARRIERS 150
#define BARRIER_PAUSE_NS 20000

static void barriers_beside(struct bench *b, fp_wakeup *const *wakeups, int what)
{
	float values[WAKE_MODES][BARRIERS];

	atomic_store(&business, what);
	sleep_ns(2000000);
	for (unsigned i = 0; i < BARRIERS * WAKE_MODES; i++) {
		uint64_t begin;

		wake_spin(BARRIER_PAUSE_NS);
		begin = bench_now_ns();
		prepare_and_cancel(wakeups[i % WAKE_MODES]);
		values[i % WAKE_MODES][i / WAKE_MODES] = (float)(bench_now_ns() - begin);
	}
	for (unsigned mode = 0; mode < WAKE_MODES; mode++) {
		struct bench_case c = { .row = "wake_barrier",
					.mode = business_names[what],
					.who = wake_mode_names[mode],
					.unit = "ns" };

		bench_samples(b, &c, values[mode], BARRIERS);
	}
}

static void barriers(struct bench *b, fp_wakeup *const *wakeups)
{
	struct wake_thread t;

	if (!bench_wanted(b, "wake_barrier", "", 0, 0, 0))
		return;
	atomic_store(&business, ASLEEP);
	wake_start(&t, b, neighbour, NULL);
	for (int what = ASLEEP; what < BUSINESSES; what++)
		barriers_beside(b, wakeups, what);
	atomic_store(&business, QUIT);
	pthread_join(t.thread, NULL);
}

/* ---- the victim ---- */

#define VICTIM_SLICE_NS 4000000
#define VICTIM_ROUNDS 24

struct victim {
	_Alignas(128) atomic_uint kind; /* whose ring; QUIT_VICTIM ends */
	_Alignas(128) atomic_ulong moved;
	fp_ring *rings[WAKE_MODES];
	atomic_int id; /* the kernel's, of its thread */
};

#define QUIT_VICTIM (WAKE_MODES)

static void victim_main(void *arg)
{
	struct victim *v = arg;
	unsigned kind;

	atomic_store(&v->id, (int)syscall(SYS_gettid));
	while ((kind = atomic_load_explicit(&v->kind, memory_order_acquire)) <
	       QUIT_VICTIM) {
		uint64_t object;

		for (unsigned i = 0; i < 64; i++) {
			fp_ring_enqueue_u64(v->rings[kind], i);
			fp_ring_dequeue_u64(v->rings[kind], &object);
		}
		atomic_store_explicit(
			&v->moved,
			atomic_load_explicit(&v->moved, memory_order_relaxed) + 64,
			memory_order_relaxed);
	}
}

/* How often the victim was descheduled against its will; -1: unknown. */
static long victim_switches(struct victim *v)
{
	char path[64], line[128];
	long n = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", atomic_load(&v->id));
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "nonvoluntary_ctxt_switches: %ld", &n) == 1)
			break;
	if (f)
		fclose(f);
	return n;
}

struct rates {
	float values[VICTIM_ROUNDS];
	unsigned n;
};

/* Adds the victim's rate in a slice; sleeper: NULL: nobody is about to sleep. */
static void victim_slice(struct rates *rates, struct victim *v, unsigned kind,
			 fp_wakeup *sleeper, uint64_t gap_ns)
{
	uint64_t begin, now;
	unsigned long moved;
	long switches;

	atomic_store_explicit(&v->kind, kind, memory_order_release);
	switches = victim_switches(v);
	wake_spin(50000);
	moved = atomic_load_explicit(&v->moved, memory_order_relaxed);
	begin = bench_now_ns();
	for (now = begin; now - begin < VICTIM_SLICE_NS; now = bench_now_ns()) {
		if (sleeper)
			prepare_and_cancel(sleeper);
		if (!sleeper || gap_ns)
			wake_spin(gap_ns ? gap_ns : 100000);
	}
	moved = atomic_load_explicit(&v->moved, memory_order_relaxed) - moved;
	if (moved && victim_switches(v) == switches)
		rates->values[rates->n++] =
			(float)((double)moved * 1e3 / (double)(now - begin));
}

/* Of each mode: with a sleeper, and alone beside it. */
static void victims(struct bench *b, fp_wakeup *const *wakeups)
{
	static const struct {
		const char *name;
		uint64_t gap_ns;
	} paces[] = { { "in a loop", 0 }, { "every 100 us", 100000 } };
	enum { PACES = sizeof(paces) / sizeof(paces[0]) };
	static const char *const alone_names[WAKE_MODES] = { "membarrier, nobody",
							     "fence, nobody",
							     "poll, nobody" };
	struct rates with[PACES][WAKE_MODES] = { 0 }, alone[PACES][WAKE_MODES] = { 0 };
	unsigned rounds = (unsigned)(VICTIM_ROUNDS * bench_scale(b));
	fp_wakeup *bound[WAKE_MODES];
	struct wake_thread t;
	struct victim *v = aligned_alloc(128, sizeof(*v));

	if (!v)
		abort();
	rounds = rounds > VICTIM_ROUNDS ? VICTIM_ROUNDS : rounds < 1 ? 1 : rounds;
	if (!bench_wanted(b, "wake_victim", "", 0, 0, 0)) {
		free(v);
		return;
	}
	atomic_init(&v->kind, 0);
	atomic_init(&v->moved, 0);
	atomic_init(&v->id, 0);
	for (unsigned m = 0; m < WAKE_MODES; m++) {
		bound[m] = wake_create((enum wake_mode)m);
		v->rings[m] = wake_ring(LIBFP_ST, 0);
		fp_ring_set_wakeup(v->rings[m], LIBFP_RING_CONSUMER, bound[m]);
	}
	wake_start(&t, b, victim_main, v);
	while (!atomic_load(&v->id))
		bench_relax();
	for (unsigned r = 0; r < rounds; r++) {
		bench_progress(b, "wake-ups, cost to others", (double)r / rounds);
		for (unsigned p = 0; p < PACES; p++)
			for (unsigned m = 0; m < WAKE_MODES; m++) {
				victim_slice(&with[p][m], v, m, wakeups[m],
					     paces[p].gap_ns);
				victim_slice(&alone[p][m], v, m, NULL, 0);
			}
	}
	atomic_store(&v->kind, QUIT_VICTIM);
	pthread_join(t.thread, NULL);
	for (unsigned i = 0; i < PACES * WAKE_MODES; i++) {
		unsigned p = i / WAKE_MODES, m = i % WAKE_MODES;
		struct bench_case c = { .row = "wake_victim",
					.mode = paces[p].name,
					.who = wake_mode_names[m],
					.unit = "M/s" };

		bench_samples(b, &c, with[p][m].values, with[p][m].n);
		c.who = alone_names[m];
		bench_samples(b, &c, alone[p][m].values, alone[p][m].n);
	}
	for (unsigned m = 0; m < WAKE_MODES; m++) {
		fp_ring_destroy(v->rings[m]);
		fp_wakeup_destroy(bound[m]);
	}
	free(v);
}

/* ---- random gaps ---- */

#define GAP_NS 10000.0
#define GAPS_SECONDS 0.4

struct gaps {
	fp_ring *ring;
	fp_wakeup *wakeup;
	uint64_t taken;
	long sleeps; /* of the consumer: voluntary context switches */
};

static long voluntary_switches(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return u.ru_nvcsw;
}

/* Spins, naps, sleeps. */
static void waiting_consumer(void *arg)
{
	struct gaps *g = arg;
	uint64_t object;

	while (fp_ring_dequeue_wait(g->ring, &object, 1, 1, LIBFP_FOREVER) == 1)
		g->taken++;
	g->sleeps = voluntary_switches();
}

/* Announces itself whenever it finds nothing: a membarrier each time. */
static void preparing_consumer(void *arg)
{
	struct gaps *g = arg;
	uint64_t object, key;
	int32_t n;

	for (;;) {
		n = fp_ring_dequeue_u64(g->ring, &object);
		if (n == 0) {
			fp_wakeup_prepare(g->wakeup, &key);
			n = fp_ring_dequeue_u64(g->ring, &object);
			if (n)
				fp_wakeup_cancel(g->wakeup, key);
			else
				fp_wakeup_wait(g->wakeup, key, LIBFP_FOREVER);
		}
		if (n < 0)
			break;
		g->taken += (uint64_t)n;
	}
	g->sleeps = voluntary_switches();
}

static double random_gap(uint64_t *state)
{
	double u;

	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	u = (double)(*state >> 11) / 9007199254740992.0;
	return -log(1 - u) * GAP_NS;
}

static void one_consumer(struct bench *b, const char *who, void (*consumer)(void *))
{
	struct gaps g = { wake_ring(LIBFP_ST, 0), wake_create(WAKE_MEMBARRIER), 0, 0 };
	uint64_t seed = 88172645463325252u + bench_process(b), begin, end, at;
	uint64_t length = (uint64_t)(GAPS_SECONDS * bench_scale(b) * 1e9);
	uint64_t membarriers;
	struct wake_thread t;
	double seconds;

	fp_ring_set_wakeup(g.ring, LIBFP_RING_CONSUMER, g.wakeup);
	wake_start(&t, b, consumer, &g);
	sleep_ns(2000000);
	membarriers = wake_membarriers();
	begin = bench_now_ns();
	at = begin;
	do {
		at += (uint64_t)random_gap(&seed);
		while ((end = bench_now_ns()) < at)
			bench_relax();
		fp_ring_enqueue_u64(g.ring, 1);
	} while (end - begin < length);
	membarriers = wake_membarriers() - membarriers;
	seconds = (double)(bench_now_ns() - begin) / 1e9;
	fp_ring_close(g.ring);
	pthread_join(t.thread, NULL);
	bench_figure(b, "wake_gaps", who, "membarriers/s", (double)membarriers / seconds);
	bench_figure(b, "wake_gaps", who, "sleeps/s", (double)g.sleeps / seconds);
	bench_figure(b, "wake_gaps", who, "objects/s", (double)g.taken / seconds);
	fp_ring_destroy(g.ring);
	fp_wakeup_destroy(g.wakeup);
}

void wake_cost(struct bench *b)
{
	fp_wakeup *wakeups[WAKE_MODES];

	for (unsigned m = 0; m < WAKE_MODES; m++)
		wakeups[m] = wake_create((enum wake_mode)m);
	bench_pin(bench_cpu(b, 0));
	barriers(b, wakeups);
	victims(b, wakeups);
	if (bench_wanted(b, "wake_gaps", "", 0, 0, 0)) {
		one_consumer(b, "waiting call", waiting_consumer);
		one_consumer(b, "prepare each time", preparing_consumer);
	}
	bench_unpin(b);
	for (unsigned m = 0; m < WAKE_MODES; m++)
		fp_wakeup_destroy(wakeups[m]);
}

/* ---- 1,000 waiters ---- */

#define WAITERS 1000
#define WAITERS_SETTLE_NS 500000000
#define WAITERS_NS 500000000.0
#define WAITER_STACK 65536

static void *waiter(void *arg)
{
	uint64_t object;

	fp_ring_dequeue_wait(arg, &object, 1, 1, LIBFP_FOREVER);
	return NULL;
}

/* CPU time of all threads but this one. The two clocks are not read at once, so a short
 * difference of it may be below zero. */
static int64_t others_ns(void)
{
	uint64_t mine = cpu_ns(CLOCK_THREAD_CPUTIME_ID);

	return (int64_t)(cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - mine);
}

static void waiters(struct bench *b, enum wake_mode mode)
{
	fp_wakeup *wakeup = wake_create(mode);
	fp_ring *ring = wake_ring(LIBFP_MT, 0);
	pthread_t threads[WAITERS];
	pthread_attr_t attr;
	uint64_t begin;
	unsigned n = 0;
	int64_t cpu;

	fp_ring_set_wakeup(ring, LIBFP_RING_CONSUMER, wakeup);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, WAITER_STACK);
	while (n < WAITERS && !pthread_create(&threads[n], &attr, waiter, ring))
		n++;
	pthread_attr_destroy(&attr);
	sleep_ns(WAITERS_SETTLE_NS);
	cpu = others_ns();
	begin = bench_now_ns();
	sleep_ns((uint64_t)(WAITERS_NS * bench_scale(b)));
	cpu = others_ns() - cpu;
	if (n == WAITERS)
		bench_figure(b, "wake_idle", wake_mode_names[mode], "%",
			     cpu > 0 ? 100.0 * (double)cpu /
					       (double)(bench_now_ns() - begin) :
				       0);
	else
		bench_skip(b, "wake_idle", "cannot create 1,000 threads");
	fp_ring_close(ring);
	while (n)
		pthread_join(threads[--n], NULL);
	fp_ring_destroy(ring);
	fp_wakeup_destroy(wakeup);
}

void wake_idle(struct bench *b)
{
	if (!bench_wanted(b, "wake_idle", "", 0, 0, 0))
		return;
	bench_progress(b, "1,000 waiters", 0);
	waiters(b, WAKE_MEMBARRIER);
	waiters(b, WAKE_POLL);
}
