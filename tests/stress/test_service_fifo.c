/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Nothing spins for ever in front of a thread that it keeps from running: a SCHED_FIFO
 * thread needs what a thread of the normal class holds, which is preempted in the middle,
 * on the same CPU. It has to sleep, or the holder never gets on.
 *
 * No luck is needed for that. Both are pinned to one CPU, so the holder runs only while the
 * other sleeps; it takes what is to be held and wakes the other, which preempts it there
 * and then. Three such meetings: the lock of all services; a serialised service that is
 * being called, which a core passes over and has to nap; a stop, which waits for the call.
 *
 * What is checked is that the real-time thread slept while the thing was held, not how long
 * it took: the system takes some time from real-time threads (sched_rt_runtime_us), so that
 * even an endless spin comes to its end after a second. The longest time is printed.
 *
 * Skipped, aloud, where SCHED_FIFO is not permitted (root, or RLIMIT_RTPRIO).
 */
#define _GNU_SOURCE 1
#include <semaphore.h>
#include <sys/resource.h>

#include "service/service_internal.h"
#include "service_test.h"

#define SKIPPED 77 /* SKIP_RETURN_CODE */

static int the_cpu;

static uint64_t meetings(void)
{
	return fpt_scale(500, 50000);
}

/* Times that this thread has slept; preempted is something else. */
static uint64_t own_sleeps(void)
{
	struct rusage used;

	CHECK_EQ(getrusage(RUSAGE_THREAD, &used), 0);
	return (uint64_t)used.ru_nvcsw;
}

/* What became of the meetings; written by the real-time thread. */
struct tally {
	uint64_t met;	/* the thing was held */
	uint64_t slept; /* of these, slept until it was free */
	uint64_t longest_ns;
};

static void tally(struct tally *t, int held, uint64_t slept, uint64_t ns)
{
	t->met += held;
	t->slept += held && slept;
	if (held && ns > t->longest_ns)
		t->longest_ns = ns;
	/* A few: it was throttled before it came to sleep. */
	CHECK(t->met - t->slept < 5 + t->met / 1000);
}

static void check_tally(const struct tally *t)
{
	printf("  met %" PRIu64 " times, slept %" PRIu64 ", longest %" PRIu64 " us\n",
	       t->met, t->slept, t->longest_ns / 1000);
	CHECK(t->met > meetings() / 2);
}

/* ---- threads on the one CPU ---- */

static int pin(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(the_cpu, &set);
	return pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

static int become_fifo(void)
{
	struct sched_param param = { .sched_priority = 1 };

	return pthread_setschedparam(pthread_self(), SCHED_FIFO, &param);
}

/* fn on a thread of the normal class; returns when that is through. */
static void on_the_cpu(void *(*fn)(void *), void *arg)
{
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, fn, arg), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

/* A core that sleeps as soon as it has nothing to do. */
static fp_service_core *fifo_core(void)
{
	fp_service_core_opts o = LIBFP_SERVICE_CORE_OPTS_INIT;
	fp_service_core *c = NULL;

	o.flags = LIBFP_SERVICE_CORE_SPIN_NS | LIBFP_SERVICE_CORE_PIN;
	o.cpu = (uint32_t)the_cpu;
	o.policy = LIBFP_SERVICE_CORE_POLICY_FIFO;
	o.priority = 1;
	CHECK_EQ(fp_service_core_create(&o, &c), 0);
	CHECK_EQ(fp_service_core_start(c), 0);
	CHECK(st_core_stats(c).flags & LIBFP_SERVICE_CORE_GOT_POLICY);
	CHECK(st_core_stats(c).flags & LIBFP_SERVICE_CORE_GOT_CPUS);
	return c;
}

/* ---- the lock of all services ---- */

struct lock_meeting {
	fp_service *service;
	int asked, held; /* atomic */
	struct tally tally;
};

/* On the core. */
static int32_t wants_the_lock(void *user)
{
	struct lock_meeting *m = user;
	uint64_t sleeps, begin;
	int held;

	if (!__atomic_exchange_n(&m->asked, 0, __ATOMIC_ACQ_REL))
		return -EAGAIN;
	held = __atomic_load_n(&m->held, __ATOMIC_ACQUIRE);
	sleeps = own_sleeps();
	begin = st_now();
	CHECK(fp_service_list(NULL, 0) >= 0);
	tally(&m->tally, held, own_sleeps() - sleeps, st_now() - begin);
	return 0;
}

static void *holds_the_lock(void *arg)
{
	struct lock_meeting *m = arg;

	CHECK_EQ(pin(), 0);
	for (uint64_t i = meetings(); i; i--) {
		fpi_services_lock();
		__atomic_store_n(&m->held, 1, __ATOMIC_RELEASE);
		__atomic_store_n(&m->asked, 1, __ATOMIC_RELEASE);
		fp_wakeup_signal(fp_service_wakeup(m->service)); /* preempted */
		__atomic_store_n(&m->held, 0, __ATOMIC_RELEASE);
		fpi_services_unlock();
	}
	return NULL;
}

static void a_core_waits_for_a_lock(void)
{
	struct lock_meeting m = { .asked = 0 };
	fp_service_core *c = fifo_core();

	m.service = st_make_fn(wants_the_lock, &m, NULL, LIBFP_SERVICE_WAKEABLE);
	st_on(m.service, c);
	on_the_cpu(holds_the_lock, &m);
	st_end(m.service);
	st_end_core(c);
	check_tally(&m.tally);
}

/* ---- a serialised service that is inside elsewhere ---- */

struct busy_meeting {
	fp_service *service;
	uint64_t sleeps; /* of the core, before it was woken */
	fp_service_core *core;
	uint64_t on_core; /* calls */
	struct tally tally;
};

static _Thread_local int is_holder;

static int32_t is_held(void *user)
{
	struct busy_meeting *m = user;
	uint64_t sleeps, busy, begin;

	if (!is_holder) {
		m->on_core++;
		return -EAGAIN;
	}
	sleeps = st_core_stats(m->core).sleeps;
	busy = st_stats(m->service).busy;
	begin = st_now();
	fp_wakeup_signal(fp_service_wakeup(m->service)); /* preempted */
	tally(&m->tally, st_stats(m->service).busy != busy,
	      st_core_stats(m->core).sleeps != sleeps, st_now() - begin);
	return 0;
}

static void *calls_the_service(void *arg)
{
	struct busy_meeting *m = arg;
	int32_t result;

	is_holder = 1;
	CHECK_EQ(pin(), 0);
	for (uint64_t i = meetings(); i; i--)
		CHECK_EQ(fp_service_run_once(m->service, 0, &result), 0);
	return NULL;
}

static void a_core_naps_beside_a_busy_service(void)
{
	struct busy_meeting m = { .core = fifo_core() };

	m.service = st_make_fn(is_held, &m, NULL, LIBFP_SERVICE_WAKEABLE);
	st_on(m.service, m.core);
	on_the_cpu(calls_the_service, &m);
	st_end(m.service);
	st_end_core(m.core);
	CHECK(m.on_core > 0);
	check_tally(&m.tally);
}

/* ---- a stop ---- */

struct stop_meeting {
	fp_service *service;
	sem_t ready, wanted;
	int inside, over; /* atomic */
	struct tally tally;
};

static int32_t has_it_stopped(void *user)
{
	struct stop_meeting *m = user;

	__atomic_store_n(&m->inside, 1, __ATOMIC_RELEASE);
	CHECK_EQ(sem_post(&m->wanted), 0); /* preempted */
	__atomic_store_n(&m->inside, 0, __ATOMIC_RELEASE);
	return 0;
}

static void *calls_until_over(void *arg)
{
	struct stop_meeting *m = arg;
	int32_t result;

	CHECK_EQ(pin(), 0);
	for (uint64_t i = meetings(); i; i--) {
		int err;

		/* Stopped, until the other has slept and starts it again. */
		while ((err = fp_service_run_once(m->service, 0, &result)) == -ESHUTDOWN)
			sched_yield();
		CHECK_EQ(err, 0);
	}
	__atomic_store_n(&m->over, 1, __ATOMIC_RELEASE);
	CHECK_EQ(sem_post(&m->wanted), 0);
	return NULL;
}

static void wait_for(sem_t *s)
{
	while (sem_wait(s))
		; /* EINTR */
}

static void *stops_it(void *arg)
{
	struct stop_meeting *m = arg;

	CHECK_EQ(pin(), 0);
	CHECK_EQ(become_fifo(), 0);
	CHECK_EQ(sem_post(&m->ready), 0);
	for (;;) {
		uint64_t sleeps, begin;
		int held;

		wait_for(&m->wanted);
		if (__atomic_load_n(&m->over, __ATOMIC_ACQUIRE))
			return NULL;
		held = __atomic_load_n(&m->inside, __ATOMIC_ACQUIRE);
		sleeps = own_sleeps();
		begin = st_now();
		CHECK_EQ(fp_service_stop(m->service, LIBFP_FOREVER), 0);
		CHECK_EQ(__atomic_load_n(&m->inside, __ATOMIC_ACQUIRE), 0);
		tally(&m->tally, held, own_sleeps() - sleeps, st_now() - begin);
		CHECK_EQ(fp_service_start(m->service), 0);
	}
}

static void a_stop_waits_for_a_call(void)
{
	struct stop_meeting m = { .inside = 0 };
	pthread_t stopper;

	CHECK_EQ(sem_init(&m.ready, 0, 0), 0);
	CHECK_EQ(sem_init(&m.wanted, 0, 0), 0);
	m.service = st_make_fn(has_it_stopped, &m, NULL, 0);
	CHECK_EQ(fp_service_start(m.service), 0);
	CHECK_EQ(pthread_create(&stopper, NULL, stops_it, &m), 0);
	wait_for(&m.ready);
	on_the_cpu(calls_until_over, &m);
	CHECK_EQ(pthread_join(stopper, NULL), 0);
	st_end(m.service);
	sem_destroy(&m.wanted);
	sem_destroy(&m.ready);
	check_tally(&m.tally);
}

/* ---- whether it can be tried ---- */

static void *try_fifo(void *permitted)
{
	*(int *)permitted = pin() == 0 && become_fifo() == 0;
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(a_core_waits_for_a_lock),
		FPT_CASE(a_core_naps_beside_a_busy_service),
		FPT_CASE(a_stop_waits_for_a_call),
	};
	pthread_t thread;
	int permitted = 0;

	the_cpu = sched_getcpu();
	if (the_cpu < 0 || pthread_create(&thread, NULL, try_fifo, &permitted) ||
	    pthread_join(thread, NULL) || !permitted) {
		printf("skipped: SCHED_FIFO on one CPU is not permitted here\n");
		return SKIPPED;
	}
	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
