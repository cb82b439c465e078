/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every call of libfp/service.h once or twice, as a user would make it: that each exists,
 * runs, and says what it should.
 */
#include <errno.h>
#include <libfp/service.h>
#include <pthread.h>
#include <sched.h>

#include "base/step.h"
#include "check.h"

void (*fpi_test_step)(const char *step);

#define NS_PER_MS 1000000u
#define LONG_NS (60000ull * NS_PER_MS) /* longer than any of this takes */

/* ---- a service that counts ---- */

struct counter {
	uint64_t calls;	   /* atomic */
	uint64_t released; /* atomic */
	int32_t returns;
	int hold; /* atomic: stays inside as long as it is set */
	int held; /* atomic: is inside and holds */
};

static uint64_t calls_of(const struct counter *k)
{
	return __atomic_load_n(&k->calls, __ATOMIC_ACQUIRE);
}

static int32_t count(void *user)
{
	struct counter *k = user;

	__atomic_add_fetch(&k->calls, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&k->hold, __ATOMIC_ACQUIRE)) {
		__atomic_store_n(&k->held, 1, __ATOMIC_RELEASE);
		sched_yield();
	}
	__atomic_store_n(&k->held, 0, __ATOMIC_RELEASE);
	return k->returns;
}

static void released(void *user)
{
	struct counter *k = user;

	__atomic_add_fetch(&k->released, 1, __ATOMIC_RELEASE);
}

static fp_service *make(struct counter *k, const char *name, uint32_t flags)
{
	fp_service_opts o = LIBFP_SERVICE_OPTS_INIT;
	fp_service *s;

	o.name = name;
	o.flags = flags;
	o.run = count;
	o.user = k;
	o.released = released;
	CHECK_EQ(fp_service_create(&o, &s), 0);
	return s;
}

static fp_service_core *make_core(const char *name)
{
	fp_service_core_opts o = LIBFP_SERVICE_CORE_OPTS_INIT;
	fp_service_core *c;

	o.name = name;
	CHECK_EQ(fp_service_core_create(&o, &c), 0);
	return c;
}

static void end(fp_service *s)
{
	CHECK_EQ(fp_service_destroy(s, LIBFP_SERVICE_FORCE, LONG_NS), 0);
}

static void end_core(fp_service_core *c)
{
	int rc = fp_service_core_stop(c, LONG_NS);

	CHECK(rc == 0 || rc == -EALREADY);
	CHECK_EQ(fp_service_core_destroy(c), 0);
}

static void await_calls(const struct counter *k, uint64_t more)
{
	uint64_t until = calls_of(k) + more;

	while (calls_of(k) < until)
		sched_yield();
}

static void await_held(const struct counter *k)
{
	while (!__atomic_load_n(&k->held, __ATOMIC_ACQUIRE))
		sched_yield();
}

static fp_service_stats stats_of(fp_service *s)
{
	fp_service_stats st = { .size = sizeof(st) };

	CHECK_EQ(fp_service_get_stats(s, &st), 0);
	CHECK_EQ(st.size, sizeof(st));
	return st;
}

static fp_service_core_stats core_stats_of(fp_service_core *c)
{
	fp_service_core_stats st = { .size = sizeof(st) };

	CHECK_EQ(fp_service_core_get_stats(c, &st), 0);
	CHECK_EQ(st.size, sizeof(st));
	return st;
}

/* ---- the cases ---- */

static void a_service_runs_between_start_and_stop(void)
{
	struct counter k = { 0 };
	fp_service *s = make(&k, NULL, 0);
	fp_service_core *c = make_core(NULL);
	uint64_t calls;

	CHECK_EQ(fp_service_map(s, c), 0);
	CHECK_EQ(fp_service_map(s, c), 0);
	CHECK_EQ(fp_service_is_mapped(s, c), 1);
	CHECK_EQ(fp_service_is_runnable(s), 0);
	CHECK_EQ(fp_service_core_start(c), 0);
	CHECK_EQ(fp_service_core_start(c), -EALREADY);
	CHECK_EQ(fp_service_start(s), 0);
	CHECK_EQ(fp_service_start(s), 0);
	CHECK_EQ(fp_service_is_runnable(s), 1);
	await_calls(&k, 100);
	CHECK_EQ(fp_service_stop(s, LONG_NS), 0);
	calls = calls_of(&k);
	CHECK_EQ(fp_service_is_active(s), 0);
	CHECK_EQ(stats_of(s).calls, calls);
	CHECK_EQ(stats_of(s).flags, LIBFP_SERVICE_IS_READY);
	CHECK_EQ(fp_service_stop(s, 0), 0);
	CHECK_EQ(fp_service_start(s), 0);
	await_calls(&k, 100);
	CHECK_EQ(fp_service_core_stop(c, LONG_NS), 0);
	CHECK_EQ(fp_service_core_stop(c, LONG_NS), -EALREADY);
	calls = calls_of(&k);
	CHECK_EQ(stats_of(s).calls, calls);
	CHECK_EQ(fp_service_core_start(c), 0);
	await_calls(&k, 100);
	CHECK_EQ(fp_service_unmap(s, c, LONG_NS), 0);
	CHECK_EQ(fp_service_unmap(s, c, LONG_NS), 0);
	CHECK_EQ(fp_service_is_mapped(s, c), 0);
	calls = calls_of(&k);
	CHECK_EQ(fp_service_destroy(s, 0, LONG_NS), 0);
	CHECK_EQ(k.released, 1);
	end_core(c);
	CHECK_EQ(calls_of(&k), calls);
}

static void two_gates(void)
{
	struct counter k = { 0 };
	fp_service *s = make(&k, NULL, LIBFP_SERVICE_NOT_READY);
	fp_service_core *c = make_core(NULL);

	CHECK_EQ(fp_service_map(s, c), 0);
	CHECK_EQ(fp_service_core_start(c), 0);
	CHECK_EQ(fp_service_start(s), 0);
	CHECK_EQ(fp_service_is_runnable(s), 0);
	CHECK_EQ(fp_service_run_once(s, 0, NULL), -ESHUTDOWN);
	CHECK_EQ(fp_service_set_ready(s, 2, 0), -EINVAL);
	CHECK_EQ(fp_service_set_ready(s, 1, 0), 0);
	await_calls(&k, 10);
	CHECK_EQ(fp_service_set_ready(s, 0, LONG_NS), 0);
	CHECK_EQ(fp_service_is_active(s), 0);
	CHECK_EQ(stats_of(s).calls, calls_of(&k));
	CHECK_EQ(stats_of(s).flags, LIBFP_SERVICE_IS_STARTED);
	end(s);
	end_core(c);
}

static void a_stop_times_out_while_inside(void)
{
	struct counter k = { .hold = 1 };
	fp_service *s = make(&k, "stuck", 0);
	fp_service_core *c = make_core("holder");

	CHECK_EQ(fp_service_map(s, c), 0);
	CHECK_EQ(fp_service_start(s), 0);
	CHECK_EQ(fp_service_core_start(c), 0);
	await_held(&k);
	CHECK_EQ(stats_of(s).inside_since_ns, 0);
	CHECK(stats_of(s).inside_since_ns != 0);
	CHECK_EQ(fp_service_stop(s, 0), -ETIMEDOUT);
	CHECK_EQ(fp_service_stop(s, NS_PER_MS), -ETIMEDOUT);
	CHECK_EQ(fp_service_is_active(s), 1);
	CHECK_EQ(fp_service_unmap(s, c, NS_PER_MS), -ETIMEDOUT);
	CHECK_EQ(fp_service_is_mapped(s, c), 0);
	CHECK_EQ(fp_service_core_stop(c, NS_PER_MS), -ETIMEDOUT);
	CHECK_EQ(core_stats_of(c).state, LIBFP_SERVICE_CORE_STOPPING);
	CHECK_EQ(fp_service_core_destroy(c), -EBUSY);
	CHECK_EQ(fp_service_destroy(s, 0, NS_PER_MS), -ETIMEDOUT);
	__atomic_store_n(&k.hold, 0, __ATOMIC_RELEASE);
	CHECK_EQ(fp_service_destroy(s, 0, LIBFP_FOREVER), 0);
	CHECK_EQ(k.calls, 1);
	CHECK_EQ(k.released, 1);
	end_core(c);
}

static void a_serialised_service_on_two_cores_and_here(void)
{
	struct counter k = { .returns = -EAGAIN };
	fp_service *s = make(&k, NULL, 0);
	fp_service_core *a = make_core(NULL), *b = make_core(NULL);
	fp_service_map_stats ms = { .size = sizeof(ms) };
	int32_t result = 7;
	uint64_t busy = 0;

	CHECK_EQ(fp_service_start(s), 0);
	CHECK_EQ(fp_service_run_once(s, 0, &result), 0);
	CHECK_EQ(result, -EAGAIN);
	CHECK_EQ(fp_service_run_once(s, 1, &result), -EOPNOTSUPP);
	CHECK_EQ(fp_service_map(s, a), 0);
	CHECK_EQ(fp_service_core_start(a), 0);
	CHECK_EQ(fp_service_core_start(b), 0);
	await_calls(&k, 10);
	while (fp_service_run_once(s, 0, &result) == -EBUSY)
		busy++;
	CHECK_EQ(fp_service_map(s, b), 0);
	do
		CHECK_EQ(fp_service_get_map_stats(s, b, &ms), 0);
	while (ms.calls < 10);
	CHECK_EQ(stats_of(s).cores, 2);
	__atomic_store_n(&k.hold, 1, __ATOMIC_RELEASE);
	await_held(&k);
	CHECK_EQ(fp_service_run_once(s, 0, NULL), -EBUSY);
	__atomic_store_n(&k.hold, 0, __ATOMIC_RELEASE);
	CHECK_EQ(fp_service_stop(s, LONG_NS), 0);
	CHECK_EQ(stats_of(s).calls, calls_of(&k));
	CHECK_EQ(stats_of(s).idle, calls_of(&k));
	CHECK_EQ(fp_service_run_once(s, 0, NULL), -ESHUTDOWN);
	CHECK_EQ(fp_service_reset_stats(s), 0);
	CHECK_EQ(stats_of(s).calls, 0);
	CHECK_EQ(fp_service_get_map_stats(s, b, &ms), 0);
	CHECK_EQ(ms.calls, 0);
	end(s);
	end_core(a);
	end_core(b);
}

static void a_parallel_service_runs_here_and_there_at_once(void)
{
	struct counter k = { .hold = 1, .returns = -EIO };
	fp_service *s = make(&k, NULL, LIBFP_SERVICE_MT_SAFE);
	fp_service_core *c = make_core(NULL);
	int32_t result;

	CHECK_EQ(fp_service_map(s, c), 0);
	CHECK_EQ(fp_service_start(s), 0);
	CHECK_EQ(fp_service_core_start(c), 0);
	await_held(&k);
	CHECK_EQ(fp_service_is_active(s), 1);
	CHECK(stats_of(s).flags & LIBFP_SERVICE_IS_ACTIVE);
	__atomic_store_n(&k.hold, 0, __ATOMIC_RELEASE);
	CHECK_EQ(fp_service_run_once(s, 0, &result), 0);
	CHECK_EQ(result, -EIO);
	CHECK_EQ(fp_service_stop(s, LONG_NS), 0);
	CHECK_EQ(stats_of(s).calls, calls_of(&k));
	CHECK_EQ(stats_of(s).errors, calls_of(&k));
	end(s);
	end_core(c);
}

static void names_and_lists(void)
{
	struct counter k = { 0 };
	fp_service *s = make(&k, "svc", 0), *t = make(&k, NULL, 0), *found, *list[8];
	fp_service_core *c = make_core("core"), *d = make_core(NULL), *fc, *cores[8];

	CHECK(!strcmp(fp_service_name(s), "svc") && !fp_service_name(t));
	CHECK(!strcmp(fp_service_core_name(c), "core") && !fp_service_core_name(d));
	CHECK_EQ(fp_service_lookup("svc", &found), 0);
	CHECK(found == s);
	CHECK_EQ(fp_service_destroy(s, 0, 0), -EBUSY);
	CHECK_EQ(fp_service_unref(s), 0);
	CHECK_EQ(fp_service_unref(s), -EINVAL);
	CHECK_EQ(fp_service_lookup("core", &found), -ENOENT);
	CHECK_EQ(fp_service_core_lookup("core", &fc), 0);
	CHECK(fc == c);
	CHECK_EQ(fp_service_core_destroy(c), -EBUSY);
	CHECK_EQ(fp_service_core_unref(c), 0);
	CHECK_EQ(fp_service_list(list, 8), 2);
	CHECK(list[0] == s && list[1] == t);
	CHECK_EQ(fp_service_core_list(cores, 1), 2);
	CHECK(cores[0] == c);
	CHECK_EQ(fp_service_core_unref(c), 0);
	CHECK_EQ(fp_service_unref(s) + fp_service_unref(t), 0);
	CHECK_EQ(fp_service_map(t, c) + fp_service_map(s, c), 0);
	CHECK_EQ(fp_service_core_services(c, list, 8), 2);
	CHECK(list[0] == t && list[1] == s);
	CHECK_EQ(fp_service_unref(s) + fp_service_unref(t), 0);
	CHECK_EQ(core_stats_of(c).services, 2);
	CHECK_EQ(fp_service_destroy(s, 0, 0), -EBUSY);
	end(s);
	end_core(c);
	CHECK_EQ(fp_service_destroy(t, 0, 0), 0);
	end_core(d);
	CHECK_EQ(fp_service_list(NULL, 0), 0);
	CHECK_EQ(fp_service_core_list(NULL, 0), 0);
}

static void defaults_start_everything(void)
{
	struct counter k[3] = { { 0 }, { 0 }, { 0 } };
	fp_service *s[3];
	fp_service_core *c[2] = { make_core(NULL), make_core(NULL) };

	for (int i = 0; i < 3; i++)
		s[i] = make(&k[i], NULL, 0);
	CHECK_EQ(fp_service_start_defaults(c, 2), 3);
	for (int i = 0; i < 3; i++)
		await_calls(&k[i], 10);
	CHECK_EQ(fp_service_is_mapped(s[2], c[0]), 1);
	for (int i = 0; i < 3; i++)
		end(s[i]);
	end_core(c[0]);
	end_core(c[1]);
}

/* ---- lent threads ---- */

struct loan {
	fp_service_core *core;
	int rc;
};

static void *lend(void *arg)
{
	struct loan *loan = arg;

	loan->rc = fp_service_core_run(loan->core, LIBFP_FOREVER);
	return NULL;
}

static void a_core_runs_on_a_lent_thread(void)
{
	struct counter k = { 0 };
	fp_service *s = make(&k, NULL, 0);
	struct loan loan = { make_core(NULL), 1 };
	pthread_t thread;

	CHECK_EQ(fp_service_map(s, loan.core), 0);
	CHECK_EQ(fp_service_start(s), 0);
	CHECK_EQ(fp_service_core_run(loan.core, 0), -ETIMEDOUT);
	CHECK_EQ(k.calls, 1);
	CHECK_EQ(fp_service_core_run(loan.core, NS_PER_MS), -ETIMEDOUT);
	CHECK_EQ(core_stats_of(loan.core).state, LIBFP_SERVICE_CORE_STOPPED);
	CHECK_EQ(pthread_create(&thread, NULL, lend, &loan), 0);
	await_calls(&k, 10);
	CHECK(core_stats_of(loan.core).flags & LIBFP_SERVICE_CORE_IS_LENT);
	CHECK_EQ(fp_service_core_run(loan.core, 0), -EALREADY);
	CHECK_EQ(fp_service_core_stop(loan.core, LONG_NS), 0);
	pthread_join(thread, NULL);
	CHECK_EQ(loan.rc, 0);
	end(s);
	end_core(loan.core);
}

/* ---- sleeping ---- */

static void await_asleep(fp_service_core *c)
{
	fp_service_core_stats st;

	do {
		sched_yield();
		st = core_stats_of(c);
	} while (st.state != LIBFP_SERVICE_CORE_ASLEEP || st.sleeps == st.naps);
}

static void sleeping_cores_are_woken(void)
{
	struct counter k = { .returns = -EAGAIN }, l = { .returns = -EAGAIN };
	fp_service *s = make(&k, NULL, LIBFP_SERVICE_WAKEABLE);
	fp_service *t = make(&l, NULL, LIBFP_SERVICE_WAKEABLE);
	fp_service_core *c = make_core(NULL);
	struct timespec now;
	uint64_t deadline, calls;

	CHECK_EQ(fp_service_map(s, c), 0);
	CHECK_EQ(fp_service_start(s), 0);
	CHECK_EQ(fp_service_core_start(c), 0);
	await_asleep(c);
	calls = calls_of(&k);
	CHECK_EQ(fp_wakeup_signal(fp_service_wakeup(s)), 1);
	while (calls_of(&k) == calls)
		sched_yield();
	await_asleep(c);
	calls = calls_of(&k);
	CHECK_EQ(fp_wakeup_signal(fp_service_core_wakeup(c)), 1);
	while (calls_of(&k) == calls)
		sched_yield();
	await_asleep(c);
	CHECK_EQ(fp_service_map(t, c), 0);
	CHECK_EQ(fp_service_start(t), 0);
	while (calls_of(&l) == 0)
		sched_yield();
	await_asleep(c);
	clock_gettime(CLOCK_MONOTONIC, &now);
	deadline = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec + NS_PER_MS;
	calls = calls_of(&l);
	CHECK_EQ(fp_service_set_deadline(s, deadline), 0);
	CHECK_EQ(stats_of(s).deadline_ns, deadline);
	while (calls_of(&l) == calls)
		sched_yield();
	await_asleep(c);
	/* A sleeping core is not woken for these. */
	CHECK_EQ(fp_service_stop(t, LONG_NS), 0);
	CHECK_EQ(fp_service_unmap(s, c, LONG_NS), 0);
	CHECK_EQ(stats_of(t).calls, calls_of(&l));
	CHECK_EQ(fp_service_core_stop(c, LONG_NS), 0);
	CHECK_EQ(fp_service_core_reset_stats(c), 0);
	CHECK_EQ(core_stats_of(c).loops, 0);
	end(s);
	end(t);
	end_core(c);
}

static void a_sleeping_core_keeps_nobody_out(void)
{
	struct counter k = { .returns = -EAGAIN };
	fp_service *s = make(&k, NULL, LIBFP_SERVICE_WAKEABLE);
	fp_service_core *a = make_core(NULL), *b = make_core(NULL);
	fp_service_map_stats ms = { .size = sizeof(ms) };
	uint64_t wakes;

	CHECK_EQ(fp_service_map(s, a) + fp_service_start(s), 0);
	CHECK_EQ(fp_service_core_start(a) + fp_service_core_start(b), 0);
	await_asleep(a);
	wakes = core_stats_of(a).wakes;
	CHECK_EQ(fp_service_map(s, b), 0);
	do
		CHECK_EQ(fp_service_get_map_stats(s, b, &ms), 0);
	while (ms.calls == 0);
	CHECK_EQ(core_stats_of(a).wakes, wakes);
	end(s);
	end_core(a);
	end_core(b);
}

static void unwakeable_services_are_called_every_millisecond(void)
{
	struct counter k = { .returns = -EAGAIN };
	fp_service *s = make(&k, NULL, 0);
	fp_service_core *c = make_core(NULL);

	CHECK_EQ(fp_service_map(s, c), 0);
	CHECK_EQ(fp_service_start(s), 0);
	CHECK_EQ(fp_service_core_start(c), 0);
	await_asleep(c);
	await_calls(&k, 5);
	end_core(c);
	end(s);
}

/* ---- options ---- */

static void attributes_of_cores(void)
{
	fp_service_core_opts o = LIBFP_SERVICE_CORE_OPTS_INIT;
	const uint32_t cpus[] = { 0, 1 };
	fp_service_core *c;

	CHECK_EQ(fp_service_core_opts_init(&o, sizeof(o)), 0);
	o.policy = LIBFP_SERVICE_CORE_POLICY_BATCH;
	o.idle = LIBFP_SERVICE_CORE_YIELD;
	o.stack_size = 1 << 18;
	CHECK_EQ(fp_service_core_create(&o, &c), 0);
	CHECK_EQ(fp_service_core_set_cpus(c, cpus, 2), 0);
	CHECK_EQ(fp_service_core_set_cpus(c, NULL, 0), 0);
	CHECK_EQ(fp_service_core_start(c), 0);
	CHECK_EQ(fp_service_core_set_cpus(c, NULL, 0), -EBUSY);
	CHECK(core_stats_of(c).flags & LIBFP_SERVICE_CORE_GOT_POLICY);
	CHECK(core_stats_of(c).thread_id > 0);
	end_core(c);
}

static void cycles(void)
{
	for (uint32_t kind = LIBFP_SERVICE_CYCLES_SAMPLED;
	     kind <= LIBFP_SERVICE_CYCLES_EXACT; kind++) {
		struct counter k = { 0 };
		fp_service_opts o = LIBFP_SERVICE_OPTS_INIT;
		fp_service_core *c = make_core(NULL);
		fp_service *s;

		CHECK_EQ(fp_service_opts_init(&o, sizeof(o)), 0);
		o.run = count;
		o.user = &k;
		o.cycles = kind;
		CHECK_EQ(fp_service_create(&o, &s), 0);
		CHECK_EQ(fp_service_map(s, c), 0);
		CHECK_EQ(fp_service_start(s), 0);
		CHECK_EQ(fp_service_core_start(c), 0);
		await_calls(&k, 100);
		CHECK(stats_of(s).cycles > 0 && stats_of(s).cycle_hz > 1000000);
		CHECK_EQ(stats_of(s).longest > 0, kind == LIBFP_SERVICE_CYCLES_EXACT);
		CHECK(core_stats_of(c).busy_cycles > 0);
		end_core(c);
		end(s);
	}
}

/* ---- inside a service ---- */

struct inside {
	fp_service *self, *other;
	fp_service_core *core;
	int rc[5];
	int done;
};

static int32_t act_inside(void *user)
{
	struct inside *in = user;

	in->rc[0] = fp_service_stop(in->other, LONG_NS);
	in->rc[1] = fp_service_unmap(in->other, in->core, LONG_NS);
	in->rc[2] = fp_service_destroy(in->other, 0, LONG_NS);
	in->rc[3] = fp_service_core_run(in->core, 0);
	in->rc[4] = fp_service_destroy(in->self, LIBFP_SERVICE_FORCE, LONG_NS);
	__atomic_store_n(&in->done, 1, __ATOMIC_RELEASE);
	return 0;
}

static void inside_a_service_nothing_waits(void)
{
	struct counter k = { 0 };
	struct inside in = { .other = make(&k, NULL, 0), .core = make_core(NULL) };
	fp_service_opts o = LIBFP_SERVICE_OPTS_INIT;

	o.run = act_inside;
	o.user = &in;
	CHECK_EQ(fp_service_create(&o, &in.self), 0);
	CHECK_EQ(fp_service_map(in.other, in.core) + fp_service_start(in.other), 0);
	CHECK_EQ(fp_service_map(in.self, in.core) + fp_service_start(in.self), 0);
	CHECK_EQ(fp_service_core_start(in.core), 0);
	while (!__atomic_load_n(&in.done, __ATOMIC_ACQUIRE))
		sched_yield();
	while (!__atomic_load_n(&k.released, __ATOMIC_ACQUIRE))
		sched_yield();
	for (int i = 0; i < 5; i++)
		CHECK_EQ(in.rc[i], i == 3 ? -EDEADLK : -EINPROGRESS);
	end_core(in.core);
	CHECK_EQ(fp_service_list(NULL, 0), 0);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(a_service_runs_between_start_and_stop),
		FPT_CASE(two_gates),
		FPT_CASE(a_stop_times_out_while_inside),
		FPT_CASE(a_serialised_service_on_two_cores_and_here),
		FPT_CASE(a_parallel_service_runs_here_and_there_at_once),
		FPT_CASE(names_and_lists),
		FPT_CASE(defaults_start_everything),
		FPT_CASE(a_core_runs_on_a_lent_thread),
		FPT_CASE(sleeping_cores_are_woken),
		FPT_CASE(a_sleeping_core_keeps_nobody_out),
		FPT_CASE(unwakeable_services_are_called_every_millisecond),
		FPT_CASE(attributes_of_cores),
		FPT_CASE(cycles),
		FPT_CASE(inside_a_service_nothing_waits),
	};
	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
