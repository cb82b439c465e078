/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the tests of services share: a service that counts its calls and can be held
 * inside, services and cores in one line, and waiting for a condition. Nothing here waits
 * for a length of time, and nothing needs more than one CPU.
 */
#ifndef FPT_SERVICE_TEST_H
#define FPT_SERVICE_TEST_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <libfp/service.h>

#include "base/step.h"
#include "check.h"
#include "log.h"
#include "thread_state.h"

/* The hook of base/step.h; NULL unless a test holds threads. */
void (*fpi_test_step)(const char *step);

#define ST_MS 1000000u		   /* ns */
#define ST_LONG (60000ull * ST_MS) /* longer than any of this takes */
#define ST_UNTOUCHED ((void *)(uintptr_t)0x1234)

/* ---- a service that counts ---- */

struct st_counter {
	uint64_t calls;	   /* atomic */
	uint64_t released; /* atomic */
	uint64_t overlaps; /* atomic: calls that found another one inside */
	uint64_t both;	   /* atomic: the most that were inside at once */
	uint64_t inside;   /* atomic */
	int32_t returns;
	int hold; /* atomic: stays inside as long as it is set */
	int held; /* atomic: is inside and holds */
};

static inline uint64_t st_get(const uint64_t *counter)
{
	return __atomic_load_n(counter, __ATOMIC_ACQUIRE);
}

static inline uint64_t st_calls(const struct st_counter *k)
{
	return st_get(&k->calls);
}

static inline int32_t st_count(void *user)
{
	struct st_counter *k = user;
	uint64_t inside = __atomic_add_fetch(&k->inside, 1, __ATOMIC_ACQ_REL);

	if (inside > 1)
		__atomic_add_fetch(&k->overlaps, 1, __ATOMIC_RELAXED);
	if (inside > st_get(&k->both))
		__atomic_store_n(&k->both, inside, __ATOMIC_RELEASE);
	__atomic_add_fetch(&k->calls, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&k->hold, __ATOMIC_ACQUIRE)) {
		__atomic_store_n(&k->held, 1, __ATOMIC_RELEASE);
		sched_yield();
	}
	__atomic_store_n(&k->held, 0, __ATOMIC_RELEASE);
	__atomic_sub_fetch(&k->inside, 1, __ATOMIC_ACQ_REL);
	return k->returns;
}

static inline void st_released(void *user)
{
	struct st_counter *k = user;

	__atomic_add_fetch(&k->released, 1, __ATOMIC_RELEASE);
}

static inline void st_hold(struct st_counter *k, int hold)
{
	__atomic_store_n(&k->hold, hold, __ATOMIC_RELEASE);
}

static inline void st_await(const int *flag)
{
	while (!__atomic_load_n(flag, __ATOMIC_ACQUIRE))
		sched_yield();
}

static inline void st_await_held(const struct st_counter *k)
{
	st_await(&k->held);
}

static inline void st_await_more(const uint64_t *counter, uint64_t more)
{
	uint64_t until = st_get(counter) + more;

	while (st_get(counter) < until)
		sched_yield();
}

static inline void st_await_calls(const struct st_counter *k, uint64_t more)
{
	st_await_more(&k->calls, more);
}

/* ---- services ---- */

static inline fp_service *st_make_fn(fp_service_run_fn run, void *user, const char *name,
				     uint32_t flags)
{
	fp_service_opts o = LIBFP_SERVICE_OPTS_INIT;
	fp_service *s = NULL;

	o.name = name;
	o.flags = flags;
	o.run = run;
	o.user = user;
	CHECK_EQ(fp_service_create(&o, &s), 0);
	return s;
}

static inline fp_service *st_make(struct st_counter *k, const char *name, uint32_t flags)
{
	fp_service_opts o = LIBFP_SERVICE_OPTS_INIT;
	fp_service *s = NULL;

	o.name = name;
	o.flags = flags;
	o.run = st_count;
	o.user = k;
	o.released = st_released;
	CHECK_EQ(fp_service_create(&o, &s), 0);
	return s;
}

/* Mapped and started. */
static inline void st_on(fp_service *s, fp_service_core *c)
{
	CHECK_EQ(fp_service_map(s, c), 0);
	CHECK_EQ(fp_service_start(s), 0);
}

static inline void st_end(fp_service *s)
{
	CHECK_EQ(fp_service_destroy(s, LIBFP_SERVICE_FORCE, ST_LONG), 0);
}

static inline fp_service_stats st_stats(fp_service *s)
{
	fp_service_stats st = { .size = sizeof(st) };

	CHECK_EQ(fp_service_get_stats(s, &st), 0);
	CHECK_EQ(st.size, sizeof(st));
	return st;
}

static inline fp_service_map_stats st_map_stats(fp_service *s, fp_service_core *c)
{
	fp_service_map_stats st = { .size = sizeof(st) };

	CHECK_EQ(fp_service_get_map_stats(s, c, &st), 0);
	CHECK_EQ(st.size, sizeof(st));
	return st;
}

/* ---- cores ---- */

static inline fp_service_core *st_core(const char *name)
{
	fp_service_core_opts o = LIBFP_SERVICE_CORE_OPTS_INIT;
	fp_service_core *c = NULL;

	o.name = name;
	CHECK_EQ(fp_service_core_create(&o, &c), 0);
	return c;
}

/* One that runs. */
static inline fp_service_core *st_running(const char *name)
{
	fp_service_core *c = st_core(name);

	CHECK_EQ(fp_service_core_start(c), 0);
	return c;
}

static inline void st_end_core(fp_service_core *c)
{
	int rc = fp_service_core_stop(c, ST_LONG);

	CHECK(rc == 0 || rc == -EALREADY);
	CHECK_EQ(fp_service_core_destroy(c), 0);
}

static inline fp_service_core_stats st_core_stats(fp_service_core *c)
{
	fp_service_core_stats st = { .size = sizeof(st) };

	CHECK_EQ(fp_service_core_get_stats(c, &st), 0);
	CHECK_EQ(st.size, sizeof(st));
	return st;
}

static inline void st_await_state(fp_service_core *c, uint32_t state)
{
	while (st_core_stats(c).state != state)
		sched_yield();
}

/* One that runs and sleeps at once, without spinning or naps. */
static inline fp_service_core *st_sleeper(void)
{
	fp_service_core_opts o = LIBFP_SERVICE_CORE_OPTS_INIT;
	fp_service_core *c = NULL;

	o.flags = LIBFP_SERVICE_CORE_SPIN_NS | LIBFP_SERVICE_CORE_NAP_NS;
	CHECK_EQ(fp_service_core_create(&o, &c), 0);
	CHECK_EQ(fp_service_core_start(c), 0);
	return c;
}

static inline uint64_t st_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/*
 * Behind its naps and in the kernel, and all that was signalled so far is over: a core
 * that is being woken, or refuses to sleep, says that it sleeps, but the kernel does not.
 * (A core that naps may be taken for one that sleeps, but not one of st_sleeper().)
 */
static inline void st_await_asleep(fp_service_core *c)
{
	fp_service_core_stats st, again;
	char state;

	do {
		sched_yield();
		st = st_core_stats(c);
		state = fpt_thread_state((int)st.thread_id);
		again = st_core_stats(c);
	} while (st.state != LIBFP_SERVICE_CORE_ASLEEP || state != 'S' ||
		 again.state != st.state || again.sleeps != st.sleeps ||
		 st.sleeps == st.naps);
}

/*
 * Waits until the core sleeps without limit: one that sleeps for a millisecond at a time,
 * or still sleeps so from before a change, loops in between. What never stands still ends
 * the test by its time-out.
 */
static inline void st_await_still(fp_service_core *c)
{
	uint64_t loops, until;

	do {
		st_await_asleep(c);
		loops = st_core_stats(c).loops;
		until = st_now() + 5 * ST_MS;
		while (st_now() < until)
			sched_yield();
	} while (st_core_stats(c).loops != loops);
}

/* More loops, also of a core that has nothing to do. */
static inline void st_await_loops(fp_service_core *c, uint64_t more)
{
	uint64_t until = st_core_stats(c).loops + more;

	while (st_core_stats(c).loops < until) {
		fp_wakeup_signal(fp_service_core_wakeup(c));
		sched_yield();
	}
}

/* ---- other threads ---- */

struct st_loan {
	fp_service_core *core;
	uint64_t timeout_ns;
	int rc;
	int done; /* atomic */
	pthread_t thread;
};

static inline void *st_lend_thread(void *arg)
{
	struct st_loan *loan = arg;

	loan->rc = fp_service_core_run(loan->core, loan->timeout_ns);
	__atomic_store_n(&loan->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* Runs the core on a thread of the test's. */
static inline void st_lend(struct st_loan *loan, fp_service_core *c, uint64_t timeout_ns)
{
	*loan = (struct st_loan){ .core = c, .timeout_ns = timeout_ns, .rc = 1 };
	CHECK_EQ(pthread_create(&loan->thread, NULL, st_lend_thread, loan), 0);
}

/* What the run returned. */
static inline int st_returned(struct st_loan *loan)
{
	CHECK_EQ(pthread_join(loan->thread, NULL), 0);
	return loan->rc;
}

/* A call on a thread of its own, which the test does not wait for. */
struct st_call {
	int (*fn)(void *arg);
	void *arg;
	int rc;
	int done; /* atomic */
	pthread_t thread;
};

static inline void *st_call_thread(void *arg)
{
	struct st_call *call = arg;

	call->rc = call->fn(call->arg);
	__atomic_store_n(&call->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

static inline void st_begin(struct st_call *call, int (*fn)(void *arg), void *arg)
{
	*call = (struct st_call){ .fn = fn, .arg = arg, .rc = 1 };
	CHECK_EQ(pthread_create(&call->thread, NULL, st_call_thread, call), 0);
}

static inline int st_result(struct st_call *call)
{
	CHECK_EQ(pthread_join(call->thread, NULL), 0);
	return call->rc;
}

/* ---- calls with all arguments in one, for tables ---- */

static inline int st_stop_for_ever(void *s)
{
	return fp_service_stop(s, LIBFP_FOREVER);
}

#endif
