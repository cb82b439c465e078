/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sleeping until a wheel has work: fp_timer_wheel_wait(), what wakes it, what it is bound
 * to, and the wheel's service on a core. Nothing here depends on how long anything takes:
 * what has to happen at last is waited for, and only what is certain is checked.
 */
#include <sys/syscall.h>

#include "heap.h"
#include "service_test.h"
#include "timer_test.h"

#define HOUR_NS (3600ull * 1000 * ST_MS)

/* A wheel on the clock, with a wake-up of its own. */
static fp_timer_wheel *waiting_wheel(void)
{
	fp_timer_wheel_opts o = LIBFP_TIMER_WHEEL_OPTS_INIT;

	o.flags = LIBFP_WHEEL_WAIT;
	o.capacity = 100;
	return tt_create(&o);
}

static uint64_t now_of(const fp_timer_wheel *w)
{
	uint64_t tick = TT_NO_TICK;

	CHECK_EQ(fp_timer_wheel_now(w, &tick), 0);
	return tick;
}

static uint64_t hour(const fp_timer_wheel *w)
{
	uint64_t ticks = TT_NO_TICK;

	CHECK_EQ(fp_timer_wheel_ticks_from_ns(w, HOUR_NS, &ticks), 0);
	return ticks;
}

static fp_wakeup *wakeup(void)
{
	fp_wakeup *u = NULL;

	CHECK_EQ(fp_wakeup_create(NULL, &u), 0);
	return u;
}

static uint64_t bound_to(const fp_wakeup *u)
{
	fp_wakeup_stats s = { .size = sizeof(s) };

	CHECK_EQ(fp_wakeup_get_stats(u, &s), 0);
	return s.bound;
}

/* ---- a thread that waits ---- */

struct waiter {
	fp_timer_wheel *w;
	uint64_t timeout_ns;
	int until_error; /* a wait that ends for nothing is begun again */
	int tid;	 /* atomic: 0 until it runs */
	struct st_call call;
};

static int wait_once(void *arg)
{
	struct waiter *x = arg;

	__atomic_store_n(&x->tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
	for (;;) {
		int rc = fp_timer_wheel_wait(x->w, x->timeout_ns);

		if (rc || !x->until_error)
			return rc;
	}
}

/* Starts it; when this returns it sleeps, or is through. */
static void waiter_start_until(struct waiter *x, fp_timer_wheel *w, uint64_t timeout_ns,
			       int until_error)
{
	*x = (struct waiter){ .w = w,
			      .timeout_ns = timeout_ns,
			      .until_error = until_error };
	st_begin(&x->call, wait_once, x);
	st_await(&x->tid);
	while (!__atomic_load_n(&x->call.done, __ATOMIC_ACQUIRE) &&
	       fpt_thread_state(x->tid) != 'S')
		sched_yield();
}

static void waiter_start(struct waiter *x, fp_timer_wheel *w, uint64_t timeout_ns)
{
	waiter_start_until(x, w, timeout_ns, 0);
}

/* ---- what wait returns ---- */

static void nothing_to_sleep_on(void)
{
	fp_timer_wheel *w = tt_wheel(0, 10);

	CHECK_EQ(fp_timer_wheel_wait(w, 0), -ENXIO);
	CHECK_EQ(fp_timer_wheel_wait(w, LIBFP_FOREVER), -ENXIO);
	CHECK_EQ(fp_timer_wheel_interrupt(w), -ENXIO);
	tt_armed(w, 1, 1);
	CHECK_EQ(fp_timer_wheel_wait(w, 0), -ENXIO); /* also if something is due */
	tt_end(w);
}

static void wait_0_asks_only(void)
{
	fp_timer_wheel *w = waiting_wheel();
	uint64_t id;

	CHECK_EQ(fp_timer_wheel_wait(w, 0), -ETIMEDOUT);
	id = tt_armed(w, 1, now_of(w) + hour(w));
	CHECK_EQ(fp_timer_wheel_wait(w, 0), -ETIMEDOUT);
	tt_armed(w, 2, UINT64_MAX);
	CHECK_EQ(fp_timer_wheel_wait(w, 0), -ETIMEDOUT);
	CHECK_EQ(fp_timer_arm(w, id, now_of(w)), 1);
	CHECK_EQ(fp_timer_wheel_wait(w, 0), 0);
	CHECK_EQ(fp_timer_wheel_wait(w, 0), 0); /* until it was polled */
	CHECK_EQ(tt_poll(w, now_of(w)), 1);
	TT_FIRED(1);
	CHECK_EQ(fp_timer_wheel_wait(w, 0), -ETIMEDOUT);
	CHECK_EQ(fp_timer_arm(w, id, 1), 0); /* for the past */
	CHECK_EQ(fp_timer_wheel_wait(w, 0), 0);
	CHECK_EQ(tt_poll(w, now_of(w)), 1);
	TT_FIRED(1);
	tt_end(w);
}

/* Sleeps until the expiry, and no poll before that finds it due. */
static void sleeps_until_the_expiry(void)
{
	static const uint64_t lengths[] = { 1, 1000, 333 };

	for (size_t t = 0; t < FPT_LEN(lengths); t++) {
		fp_timer_wheel_opts o = LIBFP_TIMER_WHEEL_OPTS_INIT;
		fp_timer_wheel *w;
		uint64_t due;

		o.flags = LIBFP_WHEEL_WAIT;
		o.tick_ns = lengths[t];
		w = tt_create(&o);
		due = st_now() + 3 * ST_MS;
		tt_armed(w, 1, due / lengths[t] + 1);
		while (!tt_poll(w, now_of(w)))
			CHECK_EQ(fp_timer_wheel_wait(w, LIBFP_FOREVER), 0);
		CHECK(st_now() >= due);
		TT_FIRED(1);
		tt_end(w);
	}
}

static void what_is_due_is_not_slept_for(void)
{
	fp_timer_wheel *w = waiting_wheel();

	for (int i = 0; i < 20; i++) {
		tt_armed(w, 1, now_of(w) - (uint64_t)(i % 3));
		CHECK_EQ(fp_timer_wheel_wait(w, LIBFP_FOREVER), 0);
		CHECK_EQ(tt_poll(w, now_of(w)), 1);
	}
	tt_forget();
	tt_end(w);
}

static void the_time_is_over(void)
{
	fp_timer_wheel *w = waiting_wheel();
	uint64_t begin = st_now();
	int rc;

	for (int armed = 0; armed < 2; armed++) {
		if (armed)
			tt_armed(w, 1, now_of(w) + hour(w));
		do /* one may end for nothing */
			rc = fp_timer_wheel_wait(w, ST_MS);
		while (rc == 0);
		CHECK_EQ(rc, -ETIMEDOUT);
	}
	CHECK(st_now() - begin >= 2 * ST_MS);
	tt_end(w);
}

/* ---- what wakes a waiter ---- */

static void armed_by_another_thread(void)
{
	fp_timer_wheel *w = waiting_wheel();
	uint64_t id = tt_timer(w, 1), far = tt_timer(w, 2);

	for (int i = 0; i < 100; i++) {
		struct waiter x;

		if (i % 2) /* else nothing is armed */
			CHECK(fp_timer_arm(w, far, now_of(w) + hour(w)) >= 0);
		else
			CHECK(fp_timer_cancel(w, far) >= 0);
		waiter_start(&x, w, LIBFP_FOREVER);
		if (i % 3 == 0)
			CHECK_EQ(fp_timer_arm(w, id, now_of(w)), 0);
		else if (i % 3 == 1)
			CHECK_EQ(fp_timer_arm_periodic(w, id, 1, UINT64_MAX, 0), 0);
		else
			CHECK_EQ(fp_timer_arm_bulk(w, &id, &(uint64_t){ now_of(w) + 1 },
						   1, NULL),
				 1);
		CHECK_EQ(st_result(&x.call), 0);
		while (!tt_poll(w, now_of(w)))
			sched_yield();
		TT_FIRED(1);
	}
	tt_end(w);
}

/* The waiter has polled last: what others arm lies in a lane until it polls again. */
struct poller {
	fp_timer_wheel *w;
	uint64_t fired; /* atomic */
	int stop;	/* atomic */
};

static void fired_on_poller(fp_timer_wheel *w, const fp_timer_record *r, void *user)
{
	struct poller *p = user;

	(void)w;
	(void)r;
	__atomic_add_fetch(&p->fired, 1, __ATOMIC_RELEASE);
}

static int poll_and_wait(void *arg)
{
	struct poller *p = arg;

	while (!__atomic_load_n(&p->stop, __ATOMIC_ACQUIRE)) {
		int rc;

		CHECK(tt_poll(p->w, now_of(p->w)) >= 0);
		rc = fp_timer_wheel_wait(p->w, LIBFP_FOREVER);
		CHECK(rc == 0 || rc == -ECANCELED);
	}
	return 0;
}

static void arm_then_wait_loses_nothing(void)
{
	fp_timer_wheel *w = waiting_wheel();
	struct poller p = { .w = w };
	struct st_call call;
	uint64_t id, far;

	CHECK_EQ(fp_timer_create(w, fired_on_poller, &p, &id), 0);
	CHECK_EQ(fp_timer_create(w, fired_on_poller, &p, &far), 0);
	st_begin(&call, poll_and_wait, &p);
	for (uint64_t i = 1; i <= fpt_scale(3000, 100000); i++) {
		if (i % 5 == 0)
			CHECK(fp_timer_arm(w, far, now_of(w) + hour(w)) >= 0);
		CHECK_EQ(fp_timer_arm(w, id, i % 2 ? 0 : now_of(w) + i % 50), 0);
		while (st_get(&p.fired) != i)
			sched_yield();
	}
	__atomic_store_n(&p.stop, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&call.done, __ATOMIC_ACQUIRE)) {
		CHECK_EQ(fp_timer_wheel_interrupt(w), 0);
		sched_yield();
	}
	CHECK_EQ(st_result(&call), 0);
	tt_end(w);
}

static void interrupted(void)
{
	fp_timer_wheel *w = waiting_wheel();

	CHECK_EQ(fp_timer_wheel_interrupt(w), 0); /* ends those that have begun */
	CHECK_EQ(fp_timer_wheel_wait(w, 0), -ETIMEDOUT);
	for (int i = 0; i < 20; i++) {
		struct waiter x[2];

		if (i == 10)
			tt_armed(w, 1, now_of(w) + hour(w));
		waiter_start_until(&x[0], w, LIBFP_FOREVER, 1);
		waiter_start_until(&x[1], w, HOUR_NS, 1);
		for (int k = 0; k < 2; k++) /* it may not have announced itself yet */
			while (!__atomic_load_n(&x[k].call.done, __ATOMIC_ACQUIRE)) {
				CHECK_EQ(fp_timer_wheel_interrupt(w), 0);
				sched_yield();
			}
		CHECK_EQ(st_result(&x[0].call), -ECANCELED);
		CHECK_EQ(st_result(&x[1].call), -ECANCELED);
	}
	tt_end(w);
}

/* ---- wake-ups ---- */

static void bound_and_unbound(void)
{
	fp_timer_wheel *plain = tt_wheel(0, 10), *own = waiting_wheel();
	fp_wakeup *u = wakeup(), *v = wakeup();

	CHECK_EQ(fp_timer_wheel_set_wakeup(plain, NULL), 0); /* as it is */
	CHECK_EQ(fp_timer_wheel_set_wakeup(plain, u), 0);
	CHECK_EQ(fp_timer_wheel_set_wakeup(own, u), 0);
	CHECK_EQ(bound_to(u), 2);
	CHECK_EQ(fp_wakeup_destroy(u), -EBUSY);
	CHECK_EQ(fp_timer_wheel_set_wakeup(plain, u), 0); /* again: once in all */
	CHECK_EQ(bound_to(u), 2);
	CHECK_EQ(fp_timer_wheel_set_wakeup(plain, v), 0);
	CHECK_EQ(bound_to(u), 1);
	CHECK_EQ(bound_to(v), 1);
	CHECK_EQ(fp_timer_wheel_wait(plain, 0), -ETIMEDOUT);
	CHECK_EQ(fp_timer_wheel_interrupt(plain), 0);
	CHECK_EQ(fp_timer_wheel_set_wakeup(own, NULL), 0);
	CHECK_EQ(fp_timer_wheel_wait(own, 0), -ETIMEDOUT); /* has its own again */
	CHECK_EQ(fp_wakeup_destroy(u), 0);
	CHECK_EQ(fp_timer_wheel_set_wakeup(plain, NULL), 0);
	CHECK_EQ(fp_timer_wheel_wait(plain, 0), -ENXIO);
	CHECK_EQ(bound_to(v), 0);
	CHECK_EQ(fp_timer_wheel_set_wakeup(plain, v), 0);
	CHECK_EQ(fp_wakeup_destroy(v), -EBUSY);
	tt_end(plain); /* unbinds */
	CHECK_EQ(fp_wakeup_destroy(v), 0);
	tt_end(own);
}

struct remote_arm {
	fp_timer_wheel *w;
	uint64_t id, tick;
};

static int arm_remotely(void *arg)
{
	struct remote_arm *a = arg;

	return fp_timer_arm(a->w, a->id, a->tick);
}

/* Signalled by who arms earlier than all the others, whichever thread that is. */
static void a_bound_wakeup_is_signalled(void)
{
	fp_wakeup *u = wakeup();

	for (int remote = 0; remote < 2; remote++) {
		fp_timer_wheel *w = tt_wheel(0, 10);
		uint64_t key, ticks[] = { 100000, 900, 30, 1 };

		CHECK_EQ(fp_timer_wheel_set_wakeup(w, u), 0);
		for (size_t i = 0; i < FPT_LEN(ticks); i++) {
			struct remote_arm a = { w, tt_timer(w, i), ticks[i] };
			struct st_call call;

			fpt_where("remote %d, tick %" PRIu64, remote, ticks[i]);
			CHECK_EQ(fp_wakeup_prepare(u, &key), 0);
			if (remote) {
				st_begin(&call, arm_remotely, &a);
				CHECK_EQ(st_result(&call), 0);
			} else {
				CHECK_EQ(arm_remotely(&a), 0);
			}
			CHECK_EQ(fp_wakeup_wait(u, key, 0), 0);
		}
		CHECK_EQ(tt_poll(w, 1000), 3);
		TT_FIRED(3, 2, 1);
		tt_end(w);
	}
	CHECK_EQ(fp_wakeup_destroy(u), 0);
}

static void wait_on_a_bound_wakeup(void)
{
	fp_timer_wheel *w = waiting_wheel();
	fp_wakeup *u = wakeup();
	uint64_t id = tt_timer(w, 1);
	struct waiter x;

	CHECK_EQ(fp_timer_wheel_set_wakeup(w, u), 0);
	waiter_start(&x, w, LIBFP_FOREVER);
	while (!__atomic_load_n(&x.call.done, __ATOMIC_ACQUIRE)) {
		fp_wakeup_signal(u); /* for another reason */
		sched_yield();
	}
	CHECK_EQ(st_result(&x.call), 0);
	waiter_start_until(&x, w, LIBFP_FOREVER, 1);
	while (!__atomic_load_n(&x.call.done, __ATOMIC_ACQUIRE)) {
		CHECK_EQ(fp_wakeup_interrupt(u), 0);
		sched_yield();
	}
	CHECK_EQ(st_result(&x.call), -ECANCELED);
	waiter_start(&x, w, LIBFP_FOREVER);
	CHECK_EQ(fp_timer_arm(w, id, now_of(w)), 0);
	CHECK_EQ(st_result(&x.call), 0);
	CHECK_EQ(tt_poll(w, now_of(w)), 1);
	TT_FIRED(1);
	tt_end(w);
	CHECK_EQ(fp_wakeup_destroy(u), 0);
}

/* A thread that waits keeps the wheel as it is. */
static void busy_while_a_thread_waits(void)
{
	fp_timer_wheel *w = waiting_wheel();
	fp_service *s = ST_UNTOUCHED;
	fp_wakeup *u = wakeup();
	struct waiter x;

	if (fp_wakeup_mode(u) == LIBFP_WAKEUP_MODE_POLL) {
		printf("  left out: waits end after 10 ms where membarrier is missing\n");
		tt_end(w);
		CHECK_EQ(fp_wakeup_destroy(u), 0);
		return;
	}
	waiter_start(&x, w, LIBFP_FOREVER);
	while (fp_timer_wheel_set_wakeup(w, NULL) != -EBUSY)
		sched_yield(); /* until it has announced itself */
	CHECK_EQ(fp_timer_wheel_set_wakeup(w, u), -EBUSY);
	CHECK_EQ(fp_timer_wheel_service(w, &s), -EBUSY);
	CHECK_EQ(fp_timer_wheel_destroy(w), -EBUSY);
	CHECK(s == ST_UNTOUCHED);
	CHECK_EQ(bound_to(u), 0);
	tt_armed(w, 1, 0); /* it works */
	CHECK_EQ(st_result(&x.call), 0);
	CHECK_EQ(tt_poll(w, now_of(w)), 1);
	TT_FIRED(1);
	CHECK_EQ(fp_timer_wheel_set_wakeup(w, u), 0);
	CHECK_EQ(fp_timer_wheel_service(w, &s), -EBUSY); /* a wake-up is bound */
	tt_end(w);
	CHECK_EQ(fp_wakeup_destroy(u), 0);
}

/* ---- the service ---- */

static fp_service *service_of(fp_timer_wheel *w)
{
	fp_service *s = NULL, *again = NULL;

	CHECK_EQ(fp_timer_wheel_service(w, &s), 0);
	CHECK_EQ(fp_timer_wheel_service(w, &again), 0);
	CHECK(s != NULL && s == again);
	return s;
}

static void the_service_polls_when_it_runs(void)
{
	fp_timer_wheel *w = waiting_wheel();
	fp_service *s = service_of(w);
	int32_t result = 77;
	uint64_t id;

	CHECK_EQ(fp_service_run_once(s, 0, &result), -ESHUTDOWN); /* not started */
	CHECK_EQ(fp_service_start(s), 0);
	CHECK_EQ(fp_service_run_once(s, 0, &result), 0);
	CHECK_EQ(result, -EAGAIN);
	CHECK_EQ(st_stats(s).deadline_ns, 0);
	id = tt_armed(w, 1, now_of(w));
	CHECK_EQ(fp_service_run_once(s, 0, &result), 0);
	CHECK(result >= 0);
	TT_FIRED(1);
	CHECK_EQ(fp_timer_arm(w, id, now_of(w) + hour(w)), 0);
	CHECK_EQ(fp_service_run_once(s, 0, &result), 0);
	CHECK_EQ(result, -EAGAIN);
	/* Its deadline is the next expiry, or earlier. */
	CHECK(st_stats(s).deadline_ns > 0);
	CHECK(st_stats(s).deadline_ns <= st_now() + HOUR_NS);
	CHECK_EQ(fp_timer_wheel_wait(w, 0), -EOPNOTSUPP);
	CHECK_EQ(fp_timer_wheel_interrupt(w), -EOPNOTSUPP);
	CHECK_EQ(fp_timer_wheel_set_wakeup(w, NULL), -EBUSY);
	tt_end(w); /* and the service with it */
}

static void count_fired(fp_timer_wheel *w, const fp_timer_record *r, void *user)
{
	(void)w;
	(void)r;
	__atomic_add_fetch((uint64_t *)user, 1, __ATOMIC_RELEASE);
}

/* A core that sleeps is woken by what is armed, and by what comes due. */
static void the_service_on_a_core(void)
{
	for (int sleeper = 0; sleeper < 2; sleeper++) {
		fp_timer_wheel *w = sleeper ? tt_create(NULL) : waiting_wheel();
		fp_service_core *c = sleeper ? st_sleeper() : st_running(NULL);
		fp_service *s = service_of(w);
		uint64_t fired = 0, ids[50], now;

		for (int i = 0; i < 50; i++)
			CHECK_EQ(fp_timer_create(w, count_fired, &fired, &ids[i]), 0);
		CHECK_EQ(fp_timer_arm(w, ids[0], now_of(w)), 0);
		CHECK_EQ(fp_service_map(s, c), 0);
		CHECK_EQ(fp_timer_wheel_destroy(w), -EBUSY);
		st_await_loops(c, 3);
		CHECK_EQ(st_get(&fired), 0); /* mapped, not started */
		CHECK_EQ(fp_service_start(s), 0);
		while (st_get(&fired) < 1)
			sched_yield();
		for (uint64_t i = 0; i < 200; i++) {
			if (sleeper && i % 10 == 0)
				st_await_asleep(c);
			CHECK_EQ(fp_timer_arm(w, ids[i % 50], now_of(w) + i % 100), 0);
			while (st_get(&fired) < 2 + i)
				sched_yield();
		}
		/* Several at once, some of them together. */
		now = now_of(w);
		for (uint64_t i = 0; i < 50; i++)
			CHECK_EQ(fp_timer_arm(w, ids[i], now + i / 3 * 100), 0);
		while (st_get(&fired) < 251)
			sched_yield();
		CHECK(now_of(w) >= now + 1600);
		CHECK_EQ(fp_timer_wheel_destroy(w), -EBUSY);
		CHECK_EQ(fp_timer_wheel_count(w), 0);
		CHECK_EQ(fp_service_unmap(s, c, LIBFP_FOREVER), 0);
		CHECK_EQ(fp_timer_arm(w, ids[0], now_of(w)), 0);
		st_await_loops(c, 3);
		CHECK_EQ(st_get(&fired), 251);
		tt_end(w);
		st_end_core(c);
	}
}

static void destroy_inside(fp_timer_wheel *w, const fp_timer_record *r, void *user)
{
	(void)r;
	__atomic_store_n((int *)user, fp_timer_wheel_destroy(w), __ATOMIC_RELEASE);
}

static void the_wheel_is_not_destroyed_inside_its_service(void)
{
	fp_timer_wheel *w = waiting_wheel();
	fp_service *s = service_of(w);
	int rc = 0;
	uint64_t id;

	CHECK_EQ(fp_service_start(s), 0);
	CHECK_EQ(fp_timer_create(w, destroy_inside, &rc, &id), 0);
	CHECK_EQ(fp_timer_arm(w, id, 0), 0);
	CHECK_EQ(fp_service_run_once(s, 0, NULL), 0);
	CHECK_EQ(rc, -EBUSY);
	tt_end(w);
}

/* A wheel's service takes its memory where the wheel does, and gives it back. */
static void the_memory_of_the_service(void)
{
	struct fpt_heap heap = { .fail_at = -1 };
	fp_allocator a = fpt_heap_allocator(&heap);
	fp_timer_wheel_opts o = tt_opts(0, 10);
	fp_service *s = ST_UNTOUCHED;
	fp_timer_wheel *w;
	int rc;

	o.allocator = &a;
	w = tt_create(&o);
	heap.fail_at = (int64_t)heap.allocs;
	rc = fp_timer_wheel_service(w, &s);
	/* It can be tried again. */
	CHECK(rc == 0 || (rc == -ENOMEM && s == ST_UNTOUCHED));
	service_of(w);
	tt_end(w);
	CHECK_EQ(heap.live, 0);
	CHECK_EQ(heap.bad, 0);
	for (int i = 0; i < 200; i++) {
		w = tt_create(&o);
		service_of(w);
		tt_end(w);
	}
	CHECK_EQ(heap.live, 0);
	CHECK_EQ(fp_service_list(NULL, 0), 0);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(nothing_to_sleep_on),
		FPT_CASE(wait_0_asks_only),
		FPT_CASE(sleeps_until_the_expiry),
		FPT_CASE(what_is_due_is_not_slept_for),
		FPT_CASE(the_time_is_over),
		FPT_CASE(armed_by_another_thread),
		FPT_CASE(arm_then_wait_loses_nothing),
		FPT_CASE(interrupted),
		FPT_CASE(bound_and_unbound),
		FPT_CASE(a_bound_wakeup_is_signalled),
		FPT_CASE(wait_on_a_bound_wakeup),
		FPT_CASE(busy_while_a_thread_waits),
		FPT_CASE(the_service_polls_when_it_runs),
		FPT_CASE(the_service_on_a_core),
		FPT_CASE(the_wheel_is_not_destroyed_inside_its_service),
		FPT_CASE(the_memory_of_the_service),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
