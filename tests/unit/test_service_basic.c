/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every call of libfp/service.h once or twice, as a user would make it: that each exists,
 * runs, and says what it should.
 */
#include "service_test.h"

/* ---- the cases ---- */

static void a_service_runs_between_start_and_stop(void)
{
	struct st_counter k = { 0 };
	fp_service *s = st_make(&k, NULL, 0);
	fp_service_core *c = st_core(NULL);
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
	st_await_calls(&k, 100);
	CHECK_EQ(fp_service_stop(s, ST_LONG), 0);
	calls = st_calls(&k);
	CHECK_EQ(fp_service_is_active(s), 0);
	CHECK_EQ(st_stats(s).calls, calls);
	CHECK_EQ(st_stats(s).flags, LIBFP_SERVICE_IS_READY);
	CHECK_EQ(fp_service_stop(s, 0), 0);
	CHECK_EQ(fp_service_start(s), 0);
	st_await_calls(&k, 100);
	CHECK_EQ(fp_service_core_stop(c, ST_LONG), 0);
	CHECK_EQ(fp_service_core_stop(c, ST_LONG), -EALREADY);
	calls = st_calls(&k);
	CHECK_EQ(st_stats(s).calls, calls);
	CHECK_EQ(fp_service_core_start(c), 0);
	st_await_calls(&k, 100);
	CHECK_EQ(fp_service_unmap(s, c, ST_LONG), 0);
	CHECK_EQ(fp_service_unmap(s, c, ST_LONG), 0);
	CHECK_EQ(fp_service_is_mapped(s, c), 0);
	calls = st_calls(&k);
	CHECK_EQ(fp_service_destroy(s, 0, ST_LONG), 0);
	CHECK_EQ(k.released, 1);
	st_end_core(c);
	CHECK_EQ(st_calls(&k), calls);
}

static void two_gates(void)
{
	struct st_counter k = { 0 };
	fp_service *s = st_make(&k, NULL, LIBFP_SERVICE_NOT_READY);
	fp_service_core *c = st_core(NULL);

	CHECK_EQ(fp_service_map(s, c), 0);
	CHECK_EQ(fp_service_core_start(c), 0);
	CHECK_EQ(fp_service_start(s), 0);
	CHECK_EQ(fp_service_is_runnable(s), 0);
	CHECK_EQ(fp_service_run_once(s, 0, NULL), -ESHUTDOWN);
	CHECK_EQ(fp_service_set_ready(s, 2, 0), -EINVAL);
	CHECK_EQ(fp_service_set_ready(s, 1, 0), 0);
	st_await_calls(&k, 10);
	CHECK_EQ(fp_service_set_ready(s, 0, ST_LONG), 0);
	CHECK_EQ(fp_service_is_active(s), 0);
	CHECK_EQ(st_stats(s).calls, st_calls(&k));
	CHECK_EQ(st_stats(s).flags, LIBFP_SERVICE_IS_STARTED);
	st_end(s);
	st_end_core(c);
}

static void a_stop_times_out_while_inside(void)
{
	struct st_counter k = { .hold = 1 };
	fp_service *s = st_make(&k, "stuck", 0);
	fp_service_core *c = st_core("holder");

	CHECK_EQ(fp_service_map(s, c), 0);
	CHECK_EQ(fp_service_start(s), 0);
	CHECK_EQ(fp_service_core_start(c), 0);
	st_await_held(&k);
	CHECK_EQ(st_stats(s).inside_since_ns, 0);
	CHECK(st_stats(s).inside_since_ns != 0);
	CHECK_EQ(fp_service_stop(s, 0), -ETIMEDOUT);
	CHECK_EQ(fp_service_stop(s, ST_MS), -ETIMEDOUT);
	CHECK_EQ(fp_service_is_active(s), 1);
	CHECK_EQ(fp_service_unmap(s, c, ST_MS), -ETIMEDOUT);
	CHECK_EQ(fp_service_is_mapped(s, c), 0);
	CHECK_EQ(fp_service_core_stop(c, ST_MS), -ETIMEDOUT);
	CHECK_EQ(st_core_stats(c).state, LIBFP_SERVICE_CORE_STOPPING);
	CHECK_EQ(fp_service_core_destroy(c), -EBUSY);
	CHECK_EQ(fp_service_destroy(s, 0, ST_MS), -ETIMEDOUT);
	__atomic_store_n(&k.hold, 0, __ATOMIC_RELEASE);
	CHECK_EQ(fp_service_destroy(s, 0, LIBFP_FOREVER), 0);
	CHECK_EQ(k.calls, 1);
	CHECK_EQ(k.released, 1);
	st_end_core(c);
}

static void a_serialised_service_on_two_cores_and_here(void)
{
	struct st_counter k = { .returns = -EAGAIN };
	fp_service *s = st_make(&k, NULL, 0);
	fp_service_core *a = st_core(NULL), *b = st_core(NULL);
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
	st_await_calls(&k, 10);
	while (fp_service_run_once(s, 0, &result) == -EBUSY)
		busy++;
	CHECK_EQ(fp_service_map(s, b), 0);
	do
		CHECK_EQ(fp_service_get_map_stats(s, b, &ms), 0);
	while (ms.calls < 10);
	CHECK_EQ(st_stats(s).cores, 2);
	__atomic_store_n(&k.hold, 1, __ATOMIC_RELEASE);
	st_await_held(&k);
	CHECK_EQ(fp_service_run_once(s, 0, NULL), -EBUSY);
	__atomic_store_n(&k.hold, 0, __ATOMIC_RELEASE);
	CHECK_EQ(fp_service_stop(s, ST_LONG), 0);
	CHECK_EQ(st_stats(s).calls, st_calls(&k));
	CHECK_EQ(st_stats(s).idle, st_calls(&k));
	CHECK_EQ(fp_service_run_once(s, 0, NULL), -ESHUTDOWN);
	CHECK_EQ(fp_service_reset_stats(s), 0);
	CHECK_EQ(st_stats(s).calls, 0);
	CHECK_EQ(fp_service_get_map_stats(s, b, &ms), 0);
	CHECK_EQ(ms.calls, 0);
	st_end(s);
	st_end_core(a);
	st_end_core(b);
}

static void a_parallel_service_runs_here_and_there_at_once(void)
{
	struct st_counter k = { .hold = 1, .returns = -EIO };
	fp_service *s = st_make(&k, NULL, LIBFP_SERVICE_MT_SAFE);
	fp_service_core *c = st_core(NULL);
	int32_t result;

	CHECK_EQ(fp_service_map(s, c), 0);
	CHECK_EQ(fp_service_start(s), 0);
	CHECK_EQ(fp_service_core_start(c), 0);
	st_await_held(&k);
	CHECK_EQ(fp_service_is_active(s), 1);
	CHECK(st_stats(s).flags & LIBFP_SERVICE_IS_ACTIVE);
	__atomic_store_n(&k.hold, 0, __ATOMIC_RELEASE);
	CHECK_EQ(fp_service_run_once(s, 0, &result), 0);
	CHECK_EQ(result, -EIO);
	CHECK_EQ(fp_service_stop(s, ST_LONG), 0);
	CHECK_EQ(st_stats(s).calls, st_calls(&k));
	CHECK_EQ(st_stats(s).errors, st_calls(&k));
	st_end(s);
	st_end_core(c);
}

static void names_and_lists(void)
{
	struct st_counter k = { 0 };
	fp_service *s = st_make(&k, "svc", 0), *t = st_make(&k, NULL, 0), *found,
		   *list[8];
	fp_service_core *c = st_core("core"), *d = st_core(NULL), *fc, *cores[8];

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
	CHECK_EQ(st_core_stats(c).services, 2);
	CHECK_EQ(fp_service_destroy(s, 0, 0), -EBUSY);
	st_end(s);
	st_end_core(c);
	CHECK_EQ(fp_service_destroy(t, 0, 0), 0);
	st_end_core(d);
	CHECK_EQ(fp_service_list(NULL, 0), 0);
	CHECK_EQ(fp_service_core_list(NULL, 0), 0);
}

static void defaults_start_everything(void)
{
	struct st_counter k[3] = { { 0 }, { 0 }, { 0 } };
	fp_service *s[3];
	fp_service_core *c[2] = { st_core(NULL), st_core(NULL) };

	for (int i = 0; i < 3; i++)
		s[i] = st_make(&k[i], NULL, 0);
	CHECK_EQ(fp_service_start_defaults(c, 2), 3);
	for (int i = 0; i < 3; i++)
		st_await_calls(&k[i], 10);
	CHECK_EQ(fp_service_is_mapped(s[2], c[0]), 1);
	for (int i = 0; i < 3; i++)
		st_end(s[i]);
	st_end_core(c[0]);
	st_end_core(c[1]);
}

/* ---- lent threads ---- */

static void a_core_runs_on_a_lent_thread(void)
{
	struct st_counter k = { 0 };
	fp_service *s = st_make(&k, NULL, 0);
	fp_service_core *c = st_core(NULL);
	struct st_loan loan;

	CHECK_EQ(fp_service_map(s, c), 0);
	CHECK_EQ(fp_service_start(s), 0);
	CHECK_EQ(fp_service_core_run(c, 0), -ETIMEDOUT);
	CHECK_EQ(k.calls, 1);
	CHECK_EQ(fp_service_core_run(c, ST_MS), -ETIMEDOUT);
	CHECK_EQ(st_core_stats(c).state, LIBFP_SERVICE_CORE_STOPPED);
	st_lend(&loan, c, LIBFP_FOREVER);
	st_await_calls(&k, 10);
	CHECK(st_core_stats(c).flags & LIBFP_SERVICE_CORE_IS_LENT);
	CHECK_EQ(fp_service_core_run(c, 0), -EALREADY);
	CHECK_EQ(fp_service_core_stop(c, ST_LONG), 0);
	CHECK_EQ(st_returned(&loan), 0);
	st_end(s);
	st_end_core(c);
}

/* ---- sleeping ---- */

static void sleeping_cores_are_woken(void)
{
	struct st_counter k = { .returns = -EAGAIN }, l = { .returns = -EAGAIN };
	fp_service *s = st_make(&k, NULL, LIBFP_SERVICE_WAKEABLE);
	fp_service *t = st_make(&l, NULL, LIBFP_SERVICE_WAKEABLE);
	fp_service_core *c = st_core(NULL);
	struct timespec now;
	uint64_t deadline, calls;

	CHECK_EQ(fp_service_map(s, c), 0);
	CHECK_EQ(fp_service_start(s), 0);
	CHECK_EQ(fp_service_core_start(c), 0);
	st_await_asleep(c);
	calls = st_calls(&k);
	CHECK_EQ(fp_wakeup_signal(fp_service_wakeup(s)), 1);
	while (st_calls(&k) == calls)
		sched_yield();
	st_await_asleep(c);
	calls = st_calls(&k);
	CHECK_EQ(fp_wakeup_signal(fp_service_core_wakeup(c)), 1);
	while (st_calls(&k) == calls)
		sched_yield();
	st_await_asleep(c);
	CHECK_EQ(fp_service_map(t, c), 0);
	CHECK_EQ(fp_service_start(t), 0);
	while (st_calls(&l) == 0)
		sched_yield();
	st_await_asleep(c);
	clock_gettime(CLOCK_MONOTONIC, &now);
	deadline = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec + ST_MS;
	calls = st_calls(&l);
	CHECK_EQ(fp_service_set_deadline(s, deadline), 0);
	CHECK_EQ(st_stats(s).deadline_ns, deadline);
	while (st_calls(&l) == calls)
		sched_yield();
	st_await_asleep(c);
	/* A sleeping core is not woken for these. */
	CHECK_EQ(fp_service_stop(t, ST_LONG), 0);
	CHECK_EQ(fp_service_unmap(s, c, ST_LONG), 0);
	CHECK_EQ(st_stats(t).calls, st_calls(&l));
	CHECK_EQ(fp_service_core_stop(c, ST_LONG), 0);
	CHECK_EQ(fp_service_core_reset_stats(c), 0);
	CHECK_EQ(st_core_stats(c).loops, 0);
	st_end(s);
	st_end(t);
	st_end_core(c);
}

static void a_sleeping_core_keeps_nobody_out(void)
{
	struct st_counter k = { .returns = -EAGAIN };
	fp_service *s = st_make(&k, NULL, LIBFP_SERVICE_WAKEABLE);
	fp_service_core *a = st_core(NULL), *b = st_core(NULL);
	fp_service_map_stats ms = { .size = sizeof(ms) };
	uint64_t wakes;

	CHECK_EQ(fp_service_map(s, a) + fp_service_start(s), 0);
	CHECK_EQ(fp_service_core_start(a) + fp_service_core_start(b), 0);
	st_await_asleep(a);
	wakes = st_core_stats(a).wakes;
	CHECK_EQ(fp_service_map(s, b), 0);
	do
		CHECK_EQ(fp_service_get_map_stats(s, b, &ms), 0);
	while (ms.calls == 0);
	CHECK_EQ(st_core_stats(a).wakes, wakes);
	st_end(s);
	st_end_core(a);
	st_end_core(b);
}

static void unwakeable_services_are_called_every_millisecond(void)
{
	struct st_counter k = { .returns = -EAGAIN };
	fp_service *s = st_make(&k, NULL, 0);
	fp_service_core *c = st_core(NULL);

	CHECK_EQ(fp_service_map(s, c), 0);
	CHECK_EQ(fp_service_start(s), 0);
	CHECK_EQ(fp_service_core_start(c), 0);
	st_await_asleep(c);
	st_await_calls(&k, 5);
	st_end_core(c);
	st_end(s);
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
	CHECK(st_core_stats(c).flags & LIBFP_SERVICE_CORE_GOT_POLICY);
	CHECK(st_core_stats(c).thread_id > 0);
	st_end_core(c);
}

static void cycles(void)
{
	for (uint32_t kind = LIBFP_SERVICE_CYCLES_SAMPLED;
	     kind <= LIBFP_SERVICE_CYCLES_EXACT; kind++) {
		struct st_counter k = { 0 };
		fp_service_opts o = LIBFP_SERVICE_OPTS_INIT;
		fp_service_core *c = st_core(NULL);
		fp_service *s;

		CHECK_EQ(fp_service_opts_init(&o, sizeof(o)), 0);
		o.run = st_count;
		o.user = &k;
		o.cycles = kind;
		CHECK_EQ(fp_service_create(&o, &s), 0);
		CHECK_EQ(fp_service_map(s, c), 0);
		CHECK_EQ(fp_service_start(s), 0);
		CHECK_EQ(fp_service_core_start(c), 0);
		st_await_calls(&k, 100);
		CHECK(st_stats(s).cycles > 0 && st_stats(s).cycle_hz > 1000000);
		CHECK_EQ(st_stats(s).longest > 0, kind == LIBFP_SERVICE_CYCLES_EXACT);
		CHECK(st_core_stats(c).busy_cycles > 0);
		st_end_core(c);
		st_end(s);
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

	in->rc[0] = fp_service_stop(in->other, ST_LONG);
	in->rc[1] = fp_service_unmap(in->other, in->core, ST_LONG);
	in->rc[2] = fp_service_destroy(in->other, 0, ST_LONG);
	in->rc[3] = fp_service_core_run(in->core, 0);
	in->rc[4] = fp_service_destroy(in->self, LIBFP_SERVICE_FORCE, ST_LONG);
	__atomic_store_n(&in->done, 1, __ATOMIC_RELEASE);
	return 0;
}

static void inside_a_service_nothing_waits(void)
{
	struct st_counter k = { 0 };
	struct inside in = { .other = st_make(&k, NULL, 0), .core = st_core(NULL) };
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
	st_end_core(in.core);
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
