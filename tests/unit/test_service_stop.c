/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stop, unmap, shut, destroy and the end of a core while somebody is inside: who waits,
 * for whom, what the time-out and its log line say, and what others may do meanwhile.
 */
#include "service_test.h"

/* A service that is held inside, on a core that runs. */
struct stuck {
	struct st_counter k;
	fp_service *s;
	fp_service_core *c;
};

static void stick(struct stuck *x, uint32_t flags)
{
	memset(x, 0, sizeof(*x));
	x->k.hold = 1;
	x->s = st_make(&x->k, "culprit", flags);
	x->c = st_running("scene");
	st_on(x->s, x->c);
	st_await_held(&x->k);
}

static void unstick(struct stuck *x)
{
	st_hold(&x->k, 0);
	st_end(x->s);
	st_end_core(x->c);
	CHECK_EQ(x->k.released, 1);
}

static int stop(void *arg)
{
	return fp_service_stop(((struct stuck *)arg)->s, LIBFP_FOREVER);
}

static int shut(void *arg)
{
	return fp_service_set_ready(((struct stuck *)arg)->s, 0, LIBFP_FOREVER);
}

static int unmap(void *arg)
{
	return fp_service_unmap(((struct stuck *)arg)->s, ((struct stuck *)arg)->c,
				LIBFP_FOREVER);
}

static int destroy(void *arg)
{
	return fp_service_destroy(((struct stuck *)arg)->s, LIBFP_SERVICE_FORCE,
				  LIBFP_FOREVER);
}

static int stop_core(void *arg)
{
	return fp_service_core_stop(((struct stuck *)arg)->c, LIBFP_FOREVER);
}

/* ---- time-outs ---- */

static void timed_out(int rc, const char *call)
{
	CHECK_EQ(rc, -ETIMEDOUT);
	CHECK_EQ(fpt_log.lines, 1);
	CHECK(strstr(fpt_log.last, call) && strstr(fpt_log.last, "'culprit'") &&
	      strstr(fpt_log.last, "'scene'"));
	fpt_log_end();
	fpt_log_begin();
}

static void a_time_out_names_service_core_and_thread(void)
{
	struct stuck x;
	int64_t tid;

	stick(&x, 0);
	tid = st_core_stats(x.c).thread_id;
	fpt_log_begin();
	for (uint64_t t = 0; t <= ST_MS; t += ST_MS) {
		timed_out(fp_service_set_ready(x.s, 0, t), "fp_service_set_ready");
		timed_out(fp_service_stop(x.s, t), "fp_service_stop");
		CHECK_EQ(fp_service_stop(x.s, t), -ETIMEDOUT);
		CHECK(fpt_names_thread(fpt_log.last, (long)tid));
		fpt_log_end();
		fpt_log_begin();
		timed_out(fp_service_unmap(x.s, x.c, t), "fp_service_unmap");
		timed_out(fp_service_core_stop(x.c, t), "fp_service_core_stop");
	}
	timed_out(fp_service_destroy(x.s, 0, 0), "fp_service_destroy");
	timed_out(fp_service_destroy(x.s, 0, ST_MS), "fp_service_destroy");
	fpt_log_end();
	CHECK_EQ(x.k.calls, 1);
	unstick(&x);
}

static void a_core_told_to_stop_in_its_loop_blames_nobody(void)
{
	fp_service_core_opts o = LIBFP_SERVICE_CORE_OPTS_INIT;
	fp_service_core *c;
	int rc;

	o.idle = LIBFP_SERVICE_CORE_SPIN;
	CHECK_EQ(fp_service_core_create(&o, &c), 0);
	CHECK_EQ(fp_service_core_start(c), 0);
	fpt_log_begin();
	rc = fp_service_core_stop(c, 0);
	CHECK(rc == -ETIMEDOUT || rc == 0);
	if (rc)
		CHECK(!strstr(fpt_log.last, "a service that is gone"));
	fpt_log_end();
	st_end_core(c);
}

/* What has timed out is done nevertheless, and stays so. */
static void a_stop_that_timed_out_has_stopped(void)
{
	struct stuck x;
	uint64_t calls;

	stick(&x, 0);
	CHECK_EQ(fp_service_stop(x.s, 0), -ETIMEDOUT);
	CHECK_EQ(fp_service_is_runnable(x.s), 0);
	CHECK_EQ(fp_service_is_active(x.s), 1);
	CHECK_EQ(fp_service_run_once(x.s, 0, NULL), -ESHUTDOWN);
	st_hold(&x.k, 0);
	CHECK_EQ(fp_service_stop(x.s, LIBFP_FOREVER), 0);
	calls = st_calls(&x.k);
	st_await_loops(x.c, 10);
	CHECK_EQ(st_calls(&x.k), calls);
	CHECK_EQ(fp_service_is_active(x.s), 0);
	unstick(&x);
}

/* Started again while it is still inside: it does not run beside itself. */
static void a_start_after_a_time_out_waits_for_its_turn(void)
{
	struct stuck x;
	fp_service_core *d;

	stick(&x, 0);
	d = st_running(NULL);
	CHECK_EQ(fp_service_stop(x.s, 0), -ETIMEDOUT);
	CHECK_EQ(fp_service_map(x.s, d), 0);
	CHECK_EQ(fp_service_start(x.s), 0);
	while (!st_map_stats(x.s, d).busy)
		sched_yield();
	CHECK_EQ(fp_service_run_once(x.s, 0, NULL), -EBUSY);
	CHECK_EQ(x.k.calls, 1);
	CHECK_EQ(fp_service_unmap(x.s, x.c, 0), -ETIMEDOUT);
	st_hold(&x.k, 0);
	while (!st_map_stats(x.s, d).calls)
		sched_yield();
	CHECK_EQ(x.k.overlaps, 0);
	unstick(&x);
	st_end_core(d);
}

/* ---- others meanwhile ---- */

static void may_not_open_while_another_waits(struct stuck *x, fp_service_core *d)
{
	int rc;

	/* -EALREADY-like answers come first: it is only opening that is refused. */
	while ((rc = fp_service_map(x->s, d)) != -EBUSY) {
		CHECK_EQ(rc, 0);
		rc = fp_service_unmap(x->s, d, 0);
		CHECK(rc == 0);
		sched_yield();
	}
	CHECK_EQ(fp_service_start(x->s), -EBUSY);
	CHECK_EQ(fp_service_set_ready(x->s, 1, 0), -EBUSY);
	CHECK_EQ(fp_service_destroy(x->s, LIBFP_SERVICE_FORCE, 0), -EBUSY);
	CHECK_EQ(fp_service_is_mapped(x->s, d), 0);
	CHECK_EQ(fp_service_is_active(x->s), 1);
}

static void nobody_opens_what_another_thread_waits_for(void)
{
	int (*const waits[])(void *) = { stop, shut, unmap };

	for (size_t i = 0; i < FPT_LEN(waits); i++) {
		struct st_call call;
		struct stuck x;
		fp_service_core *d = st_core(NULL);

		fpt_where("wait %zu", i);
		stick(&x, 0);
		st_begin(&call, waits[i], &x);
		may_not_open_while_another_waits(&x, d);
		CHECK(!__atomic_load_n(&call.done, __ATOMIC_ACQUIRE));
		st_hold(&x.k, 0);
		CHECK_EQ(st_result(&call), 0);
		CHECK_EQ(fp_service_map(x.s, d), 0);
		CHECK_EQ(fp_service_set_ready(x.s, 1, 0), 0);
		CHECK_EQ(fp_service_start(x.s), 0);
		unstick(&x);
		st_end_core(d);
	}
}

static void several_may_wait(void)
{
	int (*const waits[])(void *) = { stop, shut, unmap, stop, stop_core };
	struct st_call calls[FPT_LEN(waits)];
	struct stuck x;

	stick(&x, 0);
	for (size_t i = 0; i < FPT_LEN(waits); i++)
		st_begin(&calls[i], waits[i], &x);
	st_await_state(x.c, LIBFP_SERVICE_CORE_STOPPING);
	st_hold(&x.k, 0);
	for (size_t i = 0; i < FPT_LEN(waits); i++)
		CHECK_EQ(st_result(&calls[i]), 0);
	CHECK_EQ(x.k.calls, 1);
	unstick(&x);
}

static void destroy_waits_and_then_releases(void)
{
	struct st_call call;
	struct stuck x;

	stick(&x, LIBFP_SERVICE_MT_SAFE);
	st_begin(&call, destroy, &x);
	while (fp_service_core_services(x.c, NULL, 0))
		sched_yield(); /* unmapped at once, freed later */
	CHECK_EQ(fp_service_lookup("culprit", &(fp_service *){ NULL }), -ENOENT);
	CHECK_EQ(st_get(&x.k.released), 0);
	CHECK(!__atomic_load_n(&call.done, __ATOMIC_ACQUIRE));
	st_hold(&x.k, 0);
	CHECK_EQ(st_result(&call), 0);
	CHECK_EQ(x.k.released, 1);
	CHECK_EQ(x.k.calls, 1);
	st_end_core(x.c);
}

/* A stop waits for its own service only, not for another one on the same core. */
static void who_is_in_another_service_is_not_waited_for(void)
{
	struct st_counter k = { 0 };
	fp_service *s = st_make(&k, NULL, 0);
	struct stuck x;

	stick(&x, 0);
	st_on(s, x.c);
	CHECK_EQ(fp_service_stop(s, LIBFP_FOREVER), 0);
	CHECK_EQ(fp_service_start(s), 0);
	CHECK_EQ(fp_service_unmap(s, x.c, LIBFP_FOREVER), 0);
	CHECK_EQ(fp_service_map(s, x.c), 0);
	CHECK_EQ(fp_service_destroy(s, LIBFP_SERVICE_FORCE, LIBFP_FOREVER), 0);
	CHECK_EQ(k.released, 1);
	CHECK_EQ(k.calls, 0);
	unstick(&x);
}

/* An unmap waits for its own core only. */
static void an_unmap_waits_for_its_core_only(void)
{
	struct st_counter k = { .hold = 1 };
	fp_service *s = st_make(&k, NULL, 0);
	fp_service_core *a = st_running(NULL), *b = st_core(NULL);

	st_on(s, a);
	st_await_held(&k);
	CHECK_EQ(fp_service_map(s, b), 0);
	CHECK_EQ(fp_service_core_start(b), 0);
	while (!st_map_stats(s, b).busy)
		sched_yield();
	CHECK_EQ(fp_service_unmap(s, b, LIBFP_FOREVER), 0);
	CHECK_EQ(fp_service_unmap(s, a, 0), -ETIMEDOUT);
	/* b comes back: it is another mapping, a is still inside. */
	CHECK_EQ(fp_service_map(s, b), 0);
	CHECK_EQ(fp_service_unmap(s, b, LIBFP_FOREVER), 0);
	st_hold(&k, 0);
	CHECK_EQ(fp_service_unmap(s, a, LIBFP_FOREVER), 0);
	CHECK_EQ(k.overlaps, 0);
	CHECK_EQ(fp_service_destroy(s, 0, 0), 0);
	st_end_core(a);
	st_end_core(b);
}

/* ---- threads in run_once ---- */

static int run_once(void *s)
{
	return fp_service_run_once(s, 0, NULL);
}

static void a_stop_waits_for_run_once_too(void)
{
	for (uint32_t flags = 0; flags <= LIBFP_SERVICE_MT_SAFE;
	     flags += LIBFP_SERVICE_MT_SAFE) {
		struct st_counter k = { .hold = 1 };
		fp_service *s = st_make(&k, "culprit", flags);
		fp_service_core *c = st_core(NULL);
		struct st_call call;

		CHECK_EQ(fp_service_start(s), 0);
		st_begin(&call, run_once, s);
		st_await_held(&k);
		CHECK_EQ(fp_service_is_active(s), 1);
		CHECK_EQ(fp_service_is_runnable(s), 0); /* mapped to none */
		fpt_log_begin();
		CHECK_EQ(fp_service_stop(s, 0), -ETIMEDOUT);
		CHECK(strstr(fpt_log.last, "'culprit'") &&
		      strstr(fpt_log.last, "run_once"));
		CHECK_EQ(fp_service_stop(s, ST_MS), -ETIMEDOUT);
		fpt_log_end();
		CHECK_EQ(fp_service_unmap(s, c, LIBFP_FOREVER), 0); /* no core of it */
		CHECK_EQ(fp_service_destroy(s, 0, 0), -ETIMEDOUT);
		st_hold(&k, 0);
		CHECK_EQ(st_result(&call), 0);
		CHECK_EQ(fp_service_destroy(s, 0, LIBFP_FOREVER), 0);
		CHECK(k.released == 1 && k.calls == 1);
		st_end_core(c);
	}
}

/* ---- what keeps from destroying ---- */

static void destroy_is_refused_and_changes_nothing(void)
{
	struct st_counter k = { 0 };
	fp_service *s = st_make(&k, "busy", 0), *found, *list[1];
	fp_service_core *c = st_running("core"), *core, *cores[1];
	int which;

	st_on(s, c);
	for (which = 0; which < 4; which++) {
		fpt_where("reference %d", which);
		if (which == 0)
			CHECK_EQ(fp_service_lookup("busy", &found), 0);
		else if (which == 1)
			CHECK_EQ(fp_service_list(list, 1), 1);
		else if (which == 2)
			CHECK_EQ(fp_service_core_services(c, list, 1), 1);
		fpt_log_begin();
		/* Without a reference: mapped, and not forced. */
		CHECK_EQ(fp_service_destroy(s, which < 3 ? LIBFP_SERVICE_FORCE : 0,
					    LIBFP_FOREVER),
			 -EBUSY);
		CHECK_EQ(fpt_log.lines, 1);
		fpt_log_end();
		CHECK_EQ(fp_service_is_runnable(s), 1);
		CHECK_EQ(fp_service_is_mapped(s, c), 1);
		st_await_calls(&k, 3);
		CHECK_EQ(fp_service_unref(s), which < 3 ? 0 : -EINVAL);
	}
	CHECK_EQ(fp_service_core_destroy(c), -EBUSY);
	CHECK_EQ(fp_service_core_stop(c, LIBFP_FOREVER), 0);
	for (which = 0; which < 2; which++) {
		if (which == 0)
			CHECK_EQ(fp_service_core_lookup("core", &core), 0);
		else
			CHECK_EQ(fp_service_core_list(cores, 1), 1);
		CHECK_EQ(fp_service_core_destroy(c), -EBUSY);
		CHECK_EQ(fp_service_is_mapped(s, c), 1);
		CHECK_EQ(fp_service_core_unref(c), 0);
		CHECK_EQ(fp_service_core_unref(c), -EINVAL);
	}
	CHECK_EQ(k.released, 0);
	CHECK_EQ(fp_service_core_destroy(c), 0);
	CHECK_EQ(fp_service_destroy(s, 0, 0), 0); /* mapped no more */
	CHECK_EQ(k.released, 1);
}

/* A core that looks at the wake-up of a service is waited for, whatever it says. */
static void a_stop_of_a_busy_core_keeps_its_mappings(void)
{
	struct stuck x;
	struct st_call call;

	stick(&x, 0);
	st_begin(&call, stop_core, &x);
	st_await_state(x.c, LIBFP_SERVICE_CORE_STOPPING);
	CHECK_EQ(fp_service_core_start(x.c), -EALREADY);
	CHECK_EQ(fp_service_core_run(x.c, 0), -EALREADY);
	CHECK_EQ(fp_service_core_set_cpus(x.c, NULL, 0), -EBUSY);
	CHECK_EQ(fp_service_is_active(x.s), 1);
	st_hold(&x.k, 0);
	CHECK_EQ(st_result(&call), 0);
	CHECK_EQ(fp_service_is_active(x.s), 0);
	CHECK_EQ(fp_service_is_mapped(x.s, x.c), 1);
	CHECK_EQ(fp_service_is_runnable(x.s), 1);
	CHECK_EQ(fp_service_core_start(x.c), 0);
	st_await_calls(&x.k, 3);
	unstick(&x);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(a_time_out_names_service_core_and_thread),
		FPT_CASE(a_core_told_to_stop_in_its_loop_blames_nobody),
		FPT_CASE(a_stop_that_timed_out_has_stopped),
		FPT_CASE(a_start_after_a_time_out_waits_for_its_turn),
		FPT_CASE(nobody_opens_what_another_thread_waits_for),
		FPT_CASE(several_may_wait),
		FPT_CASE(destroy_waits_and_then_releases),
		FPT_CASE(who_is_in_another_service_is_not_waited_for),
		FPT_CASE(an_unmap_waits_for_its_core_only),
		FPT_CASE(a_stop_waits_for_run_once_too),
		FPT_CASE(destroy_is_refused_and_changes_nothing),
		FPT_CASE(a_stop_of_a_busy_core_keeps_its_mappings),
	};
	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
