/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Faults that timers of this kind have had in the field, each as a test named after what
 * it proves. The ids are those of the list the project keeps.
 *
 * In other files:
 *   T-01, A-03                stress/test_timer_peer.c
 *   T-02                      stress/test_timer_lost.c
 *   T-06, T-14, T-15, T-17, T-22, A-01, A-05
 *                             test_timer_field_time.c
 *   T-18, T-19                stress/test_timer_answers.c; when nothing races, here
 * Of T-11 (init and finalise on two threads) only the objects are left: there is nothing to
 * initialise. T-04, T-08, T-12, T-16, T-20 and A-04 are not in the list.
 */
#include <pthread.h>
#include <sched.h>

#include <libfp/service.h>

#include "timer_test.h"

static void *cancel_it(void *arg)
{
	struct tt_call *c = arg;

	c->rc = fp_timer_cancel(c->w, c->id);
	return NULL;
}

static void *cancel_all(void *arg)
{
	struct tt_call *c = arg;

	c->rc = fp_timer_wheel_cancel_all(c->w);
	return NULL;
}

static void *destroy_it(void *arg)
{
	struct tt_call *c = arg;

	c->rc = fp_timer_destroy(c->w, c->id);
	return NULL;
}

static void *poll_it(void *arg)
{
	struct tt_call *c = arg;

	c->rc = tt_poll(c->w, c->tick);
	return NULL;
}

/* ---- T-03, T-05: what callbacks and others do to timers of the same pass ---- */

/* The timer that act_on_other() acts on, how, and what came of it. */
static struct {
	void *(*fn)(void *);
	int by_another;
	struct tt_call c;
} act;

static void act_on_other(fp_timer_wheel *w, const fp_timer_record *r, void *user)
{
	(void)user;
	tt_keep(r);
	act.c.w = w;
	if (act.by_another)
		tt_on_thread(act.fn, &act.c);
	else
		act.fn(&act.c);
}

static void a_callback_that_moves_one_of_its_pass_fires_it_once(void) /* T-03 */
{
	/* Both due at 10: moved to the tick being fired, the past, this poll's end, later. */
	static const uint64_t to[] = { 10, 9, 0, 15, 20, 1000 };

	for (size_t i = 0; i < FPT_LEN(to); i++)
		for (act.by_another = 0; act.by_another < 2; act.by_another++) {
			fp_timer_wheel *w = tt_wheel(0, 8);
			uint64_t a = tt_timer_fn(w, act_on_other, 1), b = tt_timer(w, 2);
			int64_t n;

			fpt_where("to %" PRIu64 " by_another %d", to[i], act.by_another);
			act.fn = tt_arm_it;
			act.c = (struct tt_call){ .id = b, .tick = to[i] };
			CHECK_EQ(fp_timer_arm(w, a, 10) + fp_timer_arm(w, b, 10), 0);
			n = tt_poll(w, 15);
			/* What a callback arms for its own tick or before waits. */
			CHECK(act.by_another || n == (to[i] == 15 ? 2 : 1));
			n += tt_poll(w, 15);
			n += tt_poll(w, 20);
			n += tt_poll(w, 1000);
			CHECK_EQ(n, 2);
			CHECK_EQ(act.c.rc, 1);
			CHECK_EQ(tt_fired[1].expiry_tick, to[i]);
			TT_FIRED(1, 2);
			CHECK_EQ(fp_timer_wheel_count(w), 0);
			tt_end(w);
		}
}

static void cancelled_in_its_pass_it_is_not_put_back(void) /* T-05 */
{
	for (act.by_another = 0; act.by_another < 2; act.by_another++)
		for (int i = 0; i < 2; i++) {
			fp_timer_wheel *w = tt_wheel(0, 8);
			uint64_t a = tt_timer_fn(w, act_on_other, 1), b = tt_timer(w, 2);

			fpt_where("by_another %d destroy %d", act.by_another, i);
			act.fn = i ? destroy_it : cancel_it;
			act.c = (struct tt_call){ .id = b };
			CHECK_EQ(fp_timer_arm(w, a, 10) + fp_timer_arm(w, b, 10), 0);
			CHECK_EQ(fp_timer_arm_periodic(w, b, 10, 5, LIBFP_TIMER_CATCH_UP),
				 1);
			CHECK_EQ(tt_poll(w, 12), 1);
			CHECK_EQ(act.c.rc, 1);
			CHECK_EQ(tt_poll(w, 1000), 0);
			TT_FIRED(1);
			CHECK_EQ(fp_timer_wheel_count(w), 0);
			CHECK_EQ(tt_stats(w).timers, i ? 1 : 2);
			tt_end(w);
		}
}

/* ---- T-07, T-21: while another thread has the wheel ---- */

struct inside {
	fp_timer_wheel *w;
	int begun; /* atomic */
	int go;	   /* atomic */
	pthread_t thread;
};

static void stay_inside(fp_timer_wheel *w, const fp_timer_record *r, void *user)
{
	struct inside *x = user;

	(void)w;
	(void)r;
	__atomic_store_n(&x->begun, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&x->go, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void *poll_and_stay(void *arg)
{
	struct inside *x = arg;

	CHECK_EQ(tt_poll(x->w, 10), 1);
	return NULL;
}

/* Another thread is inside a callback of the wheel when this returns. */
static void hold_wheel(struct inside *x, fp_timer_wheel *w)
{
	uint64_t id = tt_timer_fn(w, stay_inside, (uintptr_t)x);

	*x = (struct inside){ .w = w };
	CHECK_EQ(fp_timer_arm(w, id, 10), 0);
	CHECK_EQ(pthread_create(&x->thread, NULL, poll_and_stay, x), 0);
	while (!__atomic_load_n(&x->begun, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void let_go(struct inside *x)
{
	__atomic_store_n(&x->go, 1, __ATOMIC_RELEASE);
	pthread_join(x->thread, NULL);
}

static void cancel_all_waits_for_no_wheel(void) /* T-07 */
{
	fp_timer_wheel *w = tt_wheel(0, 64);
	struct inside x;

	/* Armed by two other threads and this one, the poller's and lanes. */
	for (uint64_t i = 0; i < 20; i++)
		tt_armed(w, i, 100 + i);
	hold_wheel(&x, w);
	for (uint64_t i = 0; i < 20; i++) {
		uint64_t id = tt_timer(w, 100 + i);

		CHECK_EQ(tt_by_another(tt_arm_it, w, id, 50), 0);
		tt_armed(w, 200 + i, 12);
	}
	CHECK_EQ(tt_by_another(cancel_all, w, 0, 0), 60);
	CHECK_EQ(fp_timer_wheel_count(w), 0);
	let_go(&x);
	CHECK_EQ(tt_by_another(poll_it, w, 0, 1000), 0);
	TT_NONE_FIRED();
	tt_end(w);
}

static void destroy_refuses_while_a_thread_polls(void) /* T-21 */
{
	fp_timer_wheel_opts o = tt_opts(0, 64);
	fp_timer_wheel *w, *found;
	struct inside x;

	o.name = "scanned";
	w = tt_create(&o);
	hold_wheel(&x, w);
	for (int i = 0; i < 10; i++)
		CHECK_EQ(fp_timer_wheel_destroy(w), -EBUSY);
	/* Nothing has changed. */
	CHECK_EQ(fp_timer_wheel_lookup("scanned", &found), 0);
	let_go(&x);
	CHECK_EQ(fp_timer_wheel_destroy(w), -EBUSY); /* somebody has found it */
	CHECK_EQ(fp_timer_wheel_unref(found), 0);
	tt_armed(w, 1, 20);
	CHECK_EQ(tt_poll(w, 20), 1);
	TT_FIRED(1);
	tt_end(w);
	CHECK_EQ(fp_timer_wheel_lookup("scanned", &found), -ENOENT);
}

/* ---- T-09, T-10, T-11: before, without and beside create ---- */

static void a_list_of_no_wheels_is_polled(void) /* T-09 */
{
	fp_timer_wheel *none[1] = { NULL };

	CHECK_EQ(fp_timer_wheel_poll_many(NULL, 0, 1, TT_ALL), 0);
	CHECK_EQ(fp_timer_wheel_poll_many(none, 0, 1, TT_ALL), 0);
	CHECK_EQ(fp_timer_wheel_poll_many(NULL, 1, 1, TT_ALL), -EINVAL);
	CHECK_EQ(fp_timer_wheel_poll_many(none, 1, 1, TT_ALL), -EINVAL);
}

/* A wheel in which no timer was ever made; NULL is test_timer_null.c. */
static void an_empty_wheel_answers(void) /* T-10 */
{
	fp_timer_wheel *w = tt_wheel(0, 4);
	uint64_t tick = TT_NO_TICK;

	for (uint64_t id = 0; id < 10; id++) {
		CHECK_EQ(fp_timer_arm(w, id, 1), -ESTALE);
		CHECK_EQ(fp_timer_cancel(w, id), -ESTALE);
		CHECK_EQ(fp_timer_destroy(w, id), -ESTALE);
		CHECK_EQ(fp_timer_cancel_sync(w, id, LIBFP_FOREVER), -ESTALE);
	}
	CHECK_EQ(fp_timer_wheel_next_expiry(w, &tick), 0);
	CHECK_EQ(tt_poll(w, UINT64_MAX), 0);
	CHECK_EQ(fp_timer_wheel_cancel_all(w), 0);
	CHECK_EQ(fp_timer_wheel_count(w), 0);
	CHECK(tick == TT_NO_TICK);
	tt_end(w);
}

static void *make_and_destroy(void *arg)
{
	uint64_t *made = arg;

	for (int i = 0; i < 200; i++) {
		fp_timer_wheel_opts o = tt_opts(0, 8);
		fp_timer_wheel *w = TT_UNTOUCHED;
		int rc;

		o.name = "the one";
		rc = fp_timer_wheel_create(&o, &w);
		CHECK(rc == 0 || rc == -EEXIST);
		CHECK((rc == 0) == (w != TT_UNTOUCHED));
		if (rc)
			continue;
		CHECK_EQ(fp_timer_arm(w, tt_timer_fn(w, NULL, 0), 1), 0);
		CHECK_EQ(tt_poll(w, 1), 1);
		tt_end(w);
		++*made;
	}
	return NULL;
}

static void wheels_of_one_name_come_and_go_on_all_threads(void) /* T-11 */
{
	uint64_t made[4] = { 0 };
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, make_and_destroy, &made[i]), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	CHECK(made[0] + made[1] + made[2] + made[3] > 0);
}

/* ---- T-13: every kind of thread ---- */

static int32_t arm_and_poll(void *user)
{
	struct tt_call *c = user;

	CHECK(fp_timer_arm(c->w, c->id, c->tick) >= 0);
	CHECK_EQ(tt_poll(c->w, c->tick), 1);
	c->rc++;
	return -EAGAIN;
}

static void *arm_and_poll_on_thread(void *arg)
{
	arm_and_poll(arg);
	return NULL;
}

static void fires_on_every_kind_of_thread(void) /* T-13 */
{
	fp_timer_wheel *w = tt_wheel(0, 4);
	struct tt_call c = { .w = w, .id = tt_timer_fn(w, NULL, 0), .tick = 5 };
	fp_service_core_opts co = LIBFP_SERVICE_CORE_OPTS_INIT;
	fp_service_opts so = LIBFP_SERVICE_OPTS_INIT;
	fp_service_core *core;
	fp_service *s;

	arm_and_poll(&c);
	tt_on_thread(arm_and_poll_on_thread, &c);
	so.run = arm_and_poll;
	so.user = &c;
	CHECK_EQ(fp_service_create(&so, &s), 0);
	CHECK_EQ(fp_service_core_create(&co, &core), 0);
	CHECK_EQ(fp_service_map(s, core) + fp_service_start(s), 0);
	/* A lent core, a core's own thread, an application's call. */
	CHECK_EQ(fp_service_core_run(core, 0), -ETIMEDOUT);
	CHECK_EQ(c.rc, 3);
	CHECK_EQ(fp_service_core_start(core), 0);
	while (fp_service_core_stop(core, LIBFP_FOREVER), c.rc < 4)
		CHECK_EQ(fp_service_core_start(core), 0);
	CHECK_EQ(fp_service_run_once(s, 0, NULL), 0);
	CHECK_EQ(fp_service_destroy(s, LIBFP_SERVICE_FORCE, LIBFP_FOREVER), 0);
	CHECK_EQ(fp_service_core_destroy(core), 0);
	CHECK_EQ(tt_stats(w).fired, c.rc);
	tt_end(w);
}

/* ---- T-18, T-19: what destroy and cancel say ---- */

struct answers {
	int destroy; /* which of the two */
	int inside;  /* what it said in the timer's own callback */
	int sync;    /* and then cancel_sync */
	uint64_t ran;
};

static int say(fp_timer_wheel *w, uint64_t id, const struct answers *a)
{
	return a->destroy ? fp_timer_destroy(w, id) : fp_timer_cancel(w, id);
}

static void ask_inside(fp_timer_wheel *w, const fp_timer_record *r, void *user)
{
	struct answers *a = user;

	a->ran++;
	a->inside = say(w, r->id, a);
	a->sync = fp_timer_cancel_sync(w, r->id, LIBFP_FOREVER);
}

static void not_asked(fp_timer_wheel *w, const fp_timer_record *r, void *user)
{
	struct answers *a = user;

	(void)w;
	(void)r;
	a->ran++;
}

static void too_early_too_late_or_just_now(void) /* T-18, T-19 */
{
	for (int destroy = 0; destroy < 2; destroy++) {
		fp_timer_wheel *w = tt_wheel(0, 8);
		struct answers a = { .destroy = destroy };
		uint64_t id[4];
		fp_timer_record r[2];

		fpt_where("destroy %d", destroy);
		for (int i = 0; i < 4; i++)
			id[i] = tt_timer_fn(w, i == 2 ? ask_inside : not_asked,
					    (uintptr_t)&a);
		/* Armed: it will not run. */
		CHECK_EQ(fp_timer_arm(w, id[0], 5), 0);
		CHECK_EQ(say(w, id[0], &a), 1);
		CHECK_EQ(tt_poll(w, 5), 0);
		/* Has run, once. */
		CHECK_EQ(fp_timer_arm(w, id[1], 6), 0);
		CHECK_EQ(tt_poll(w, 6), 1);
		CHECK_EQ(say(w, id[1], &a), 0);
		/* Runs. */
		CHECK_EQ(fp_timer_arm(w, id[2], 7), 0);
		CHECK_EQ(tt_poll(w, 7), 1);
		CHECK(a.inside == -EINPROGRESS && a.sync == -EDEADLK);
		CHECK_EQ(fp_timer_cancel_sync(w, id[2], LIBFP_FOREVER),
			 destroy ? -ESTALE : 0);
		/* Its record is out: it has run. */
		CHECK_EQ(fp_timer_arm(w, id[3], 8), 0);
		CHECK_EQ(fp_timer_wheel_poll_burst(w, 8, r, 2), 1);
		CHECK_EQ(say(w, id[3], &a), 0);
		CHECK(r[0].id == id[3]);
		/* None of them comes again. */
		CHECK_EQ(tt_poll(w, UINT64_MAX), 0);
		CHECK_EQ(a.ran, 2);
		for (int i = 0; i < 4; i++)
			CHECK_EQ(fp_timer_is_pending(w, id[i]), destroy ? -ESTALE : 0);
		tt_end(w);
	}
}

/* ---- T-23: refused armings ---- */

static void a_refused_arming_costs_nothing(void) /* T-23 */
{
	fp_timer_wheel_opts o = tt_opts(0, 8);
	fp_timer_wheel_stats before, after;
	fp_timer_wheel *w;
	uint64_t id, gone;

	o.flags |= LIBFP_STATS;
	w = tt_create(&o);
	id = tt_timer(w, 1);
	gone = tt_timer(w, 2);
	CHECK_EQ(fp_timer_destroy(w, gone), 0);
	CHECK_EQ(fp_timer_arm_periodic(w, id, 10, 20, LIBFP_TIMER_COALESCE), 0);
	before = tt_stats(w);
	for (int i = 0; i < 1000; i++) {
		const uint64_t ids[2] = { gone, 0 }, ticks[2] = { 1, 1 };
		int32_t results[2];

		CHECK_EQ(fp_timer_arm(w, gone, 1), -ESTALE);
		CHECK_EQ(fp_timer_arm_periodic(w, gone, 1, 1, 0), -ESTALE);
		CHECK_EQ(fp_timer_arm_periodic(w, id, 1, 0, 0), -EINVAL);
		CHECK_EQ(fp_timer_arm_periodic(w, id, 1, 1, 3), -EOPNOTSUPP);
		CHECK_EQ(fp_timer_arm_periodic(w, id, 1, 1, UINT32_MAX), -EOPNOTSUPP);
		CHECK_EQ(fp_timer_arm_bulk(w, ids, ticks, 2, results), 0);
		CHECK(results[0] == -ESTALE && results[1] == -ESTALE);
	}
	after = tt_stats(w);
	CHECK_EQ(memcmp(&before, &after, sizeof(before)), 0);
	/* It is armed as it was. */
	tt_is_armed(w, id, 10);
	CHECK_EQ(tt_poll(w, 10), 1);
	tt_is_armed(w, id, 30);
	tt_forget();
	tt_end(w);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(a_callback_that_moves_one_of_its_pass_fires_it_once),
		FPT_CASE(cancelled_in_its_pass_it_is_not_put_back),
		FPT_CASE(cancel_all_waits_for_no_wheel),
		FPT_CASE(destroy_refuses_while_a_thread_polls),
		FPT_CASE(a_list_of_no_wheels_is_polled),
		FPT_CASE(an_empty_wheel_answers),
		FPT_CASE(wheels_of_one_name_come_and_go_on_all_threads),
		FPT_CASE(fires_on_every_kind_of_thread),
		FPT_CASE(too_early_too_late_or_just_now),
		FPT_CASE(a_refused_arming_costs_nothing),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
