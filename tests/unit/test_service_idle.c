/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cores without work: when they sleep, for how long, and everything that wakes them. A
 * core that sleeps stands still: its loops do not rise. What must wake it is waited for
 * without a limit; what must not is looked for once the core is asleep.
 */
#include <libfp/ring.h>

#include "service_test.h"

static struct st_counter idle_counter(void)
{
	return (struct st_counter){ .returns = -EAGAIN };
}

/* ---- what wakes a core ---- */

static void woken(const struct st_counter *k, uint64_t calls)
{
	while (st_calls(k) == calls)
		sched_yield();
}

static void everything_wakes_a_sleeping_core(void)
{
	struct st_counter k = idle_counter(), l = idle_counter();
	fp_service *s = st_make(&k, NULL, LIBFP_SERVICE_WAKEABLE);
	fp_service *t =
		st_make(&l, NULL, LIBFP_SERVICE_WAKEABLE | LIBFP_SERVICE_NOT_READY);
	fp_service_core *c = st_sleeper();
	uint64_t calls, wakes;

	st_await_asleep(c);
	st_on(s, c);
	woken(&k, 0); /* start */
	for (int i = 0; i < 20; i++) {
		st_await_asleep(c);
		calls = st_calls(&k);
		wakes = st_core_stats(c).wakes;
		CHECK_EQ(fp_wakeup_signal(fp_service_wakeup(s)), 1);
		woken(&k, calls);
		CHECK(st_core_stats(c).wakes > wakes);
		st_await_asleep(c);
		calls = st_calls(&k);
		CHECK_EQ(fp_wakeup_signal(fp_service_core_wakeup(c)), 1);
		woken(&k, calls);
	}
	st_await_asleep(c);
	CHECK_EQ(fp_service_start(t) + fp_service_map(t, c), 0);
	CHECK_EQ(fp_service_set_ready(t, 1, 0), 0);
	woken(&l, 0); /* the other gate */
	st_await_asleep(c);
	CHECK_EQ(fp_service_unmap(t, c, ST_LONG), 0);
	calls = st_calls(&l);
	st_await_asleep(c);
	CHECK_EQ(fp_service_map(t, c), 0);
	woken(&l, calls); /* a map of what is started */
	/* Any of the mapped. */
	st_await_asleep(c);
	calls = st_calls(&k);
	CHECK_EQ(fp_wakeup_signal(fp_service_wakeup(t)), 1);
	woken(&k, calls);
	st_await_asleep(c);
	CHECK_EQ(fp_service_core_stop(c, LIBFP_FOREVER), 0);
	st_end(s);
	st_end(t);
	st_end_core(c);
}

/* Taking away does not wake, and does not wait for a wake. */
static void a_stop_does_not_wake_a_sleeping_core(void)
{
	struct st_counter k = idle_counter(), l = idle_counter();
	fp_service *s = st_make(&k, NULL, LIBFP_SERVICE_WAKEABLE);
	fp_service *t = st_make(&l, NULL, LIBFP_SERVICE_WAKEABLE);
	fp_service_core *c = st_sleeper();
	uint64_t loops;

	st_on(s, c);
	st_on(t, c);
	st_await_still(c);
	loops = st_core_stats(c).loops;
	CHECK_EQ(fp_service_stop(s, LIBFP_FOREVER), 0);
	CHECK_EQ(fp_service_set_ready(s, 0, LIBFP_FOREVER), 0);
	CHECK_EQ(fp_service_unmap(s, c, LIBFP_FOREVER), 0);
	CHECK_EQ(fp_service_destroy(s, 0, LIBFP_FOREVER), 0);
	CHECK_EQ(fp_service_set_deadline(t, 0), 0);
	CHECK_EQ(fp_service_is_active(t), 0);
	CHECK_EQ(st_stats(t).calls, st_calls(&l));
	CHECK_EQ(st_core_stats(c).loops, loops);
	CHECK_EQ(st_core_stats(c).state, LIBFP_SERVICE_CORE_ASLEEP);
	/* The one that is left still wakes it. */
	CHECK_EQ(fp_wakeup_signal(fp_service_wakeup(t)), 1);
	while (st_core_stats(c).loops == loops)
		sched_yield();
	st_end(t);
	st_end_core(c);
}

/* ---- deadlines ---- */

static int32_t tell_the_time(void *user)
{
	__atomic_store_n((uint64_t *)user, st_now(), __ATOMIC_RELEASE);
	return -EAGAIN;
}

/* However late the core comes, it has called the service after the deadline. */
static void a_deadline_set_from_outside_wakes(void)
{
	uint64_t called = 0, deadline;
	fp_service *s = st_make_fn(tell_the_time, &called, NULL, LIBFP_SERVICE_WAKEABLE);
	fp_service_core *c = st_sleeper();

	st_on(s, c);
	for (int i = 0; i < 6; i++) {
		/* The first, or earlier than before, or in the past. */
		CHECK_EQ(fp_service_set_deadline(s, i % 2 ? st_now() + ST_LONG : 0), 0);
		st_await_asleep(c);
		deadline = st_now();
		if (i < 4)
			deadline += ST_MS;
		CHECK_EQ(fp_service_set_deadline(s, deadline), 0);
		CHECK_EQ(st_stats(s).deadline_ns, deadline);
		while (st_get(&called) < deadline)
			sched_yield();
		/* One that has passed keeps nobody awake. */
		st_await_asleep(c);
	}
	st_end(s);
	st_end_core(c);
}

struct alarm_clock {
	fp_service *s;
	uint64_t due, rings; /* atomic: rings */
};

/* Sets its next deadline itself, every time that the last one is over. */
static int32_t ring_the_alarm(void *user)
{
	struct alarm_clock *a = user;
	uint64_t now = st_now();

	if (a->due && now < a->due)
		return -EAGAIN;
	a->due = now + ST_MS / 2;
	CHECK_EQ(fp_service_set_deadline(a->s, a->due), 0);
	__atomic_add_fetch(&a->rings, 1, __ATOMIC_RELEASE);
	return 0;
}

static void a_service_wakes_itself_by_deadlines(void)
{
	for (int margin = 0; margin < 2; margin++) {
		fp_service_core_opts o = LIBFP_SERVICE_CORE_OPTS_INIT;
		struct alarm_clock a = { 0 };
		struct st_loan loan;
		fp_service_core *c;

		o.late_margin_ns = margin ? 60000 : 0;
		CHECK_EQ(fp_service_core_create(&o, &c), 0);
		a.s = st_make_fn(ring_the_alarm, &a, NULL, LIBFP_SERVICE_WAKEABLE);
		st_on(a.s, c);
		CHECK_EQ(fp_service_core_start(c), 0);
		st_await_more(&a.rings, 20);
		CHECK_EQ(fp_service_core_stop(c, ST_LONG), 0);
		/* The same on a lent thread, which has its slack. */
		st_lend(&loan, c, LIBFP_FOREVER);
		st_await_more(&a.rings, 20);
		CHECK_EQ(fp_service_core_stop(c, ST_LONG), 0);
		CHECK_EQ(st_returned(&loan), 0);
		CHECK(st_core_stats(c).sleeps > 0);
		st_end(a.s);
		st_end_core(c);
	}
}

/* ---- polling, and rings ---- */

static void an_unwakeable_service_is_polled_beside_a_wakeable_one(void)
{
	struct st_counter k = idle_counter(), l = idle_counter();
	fp_service *s = st_make(&k, NULL, LIBFP_SERVICE_WAKEABLE);
	fp_service *t = st_make(&l, NULL, 0);
	fp_service_core *c = st_sleeper();

	st_on(s, c);
	st_on(t, c);
	st_await_calls(&l, 10); /* nobody signals */
	CHECK(st_core_stats(c).sleeps > 0);
	CHECK_EQ(fp_service_unmap(t, c, ST_LONG), 0);
	st_await_still(c);
	CHECK_EQ(st_stats(s).calls, st_calls(&k));
	st_end(s);
	st_end(t);
	st_end_core(c);
}

static fp_ring *a_ring(void)
{
	fp_ring_opts o = LIBFP_RING_OPTS_INIT;
	fp_ring *r = NULL;

	o.capacity = 64;
	o.elem_size = 8;
	o.producer = o.consumer = LIBFP_MT;
	CHECK_EQ(fp_ring_create(&o, &r), 0);
	return r;
}

struct consumer {
	fp_ring *r;
	uint64_t got, sum; /* atomic: got */
};

static int32_t consume(void *user)
{
	struct consumer *x = user;
	uint64_t v;

	if (fp_ring_dequeue(x->r, &v) != 1)
		return -EAGAIN;
	x->sum += v;
	__atomic_add_fetch(&x->got, 1, __ATOMIC_RELEASE);
	return 0;
}

/* The service is called, whatever is in the ring: nobody uses it but this test. */
static void a_bound_ring_lets_its_service_sleep(void)
{
	struct st_counter k = idle_counter();
	fp_service *s = st_make(&k, NULL, 0);
	fp_service_core *c = st_sleeper();
	fp_ring *r = a_ring();
	uint64_t calls, v = 5;

	st_on(s, c);
	CHECK_EQ(fp_ring_set_wakeup(r, LIBFP_RING_CONSUMER, fp_service_wakeup(s)), 0);
	st_await_still(c); /* not called every millisecond any more */
	for (uint64_t i = 1; i <= 50; i++) {
		st_await_asleep(c);
		calls = st_calls(&k);
		CHECK_EQ(fp_ring_enqueue(r, &v), 1);
		woken(&k, calls);
	}
	CHECK_EQ(fp_service_destroy(s, LIBFP_SERVICE_FORCE, 0), -EBUSY);
	CHECK_EQ(fp_service_is_mapped(s, c), 1);
	/* Unbound: it is polled again, although the core sleeps without limit. */
	st_await_asleep(c);
	CHECK_EQ(fp_ring_set_wakeup(r, LIBFP_RING_CONSUMER, NULL), 0);
	st_await_calls(&k, 5);
	st_end(s);
	CHECK_EQ(fp_ring_destroy(r), 0);
	st_end_core(c);
}

static void a_ring_bound_to_a_core_keeps_the_core(void)
{
	fp_service_core *c = st_core(NULL);
	fp_ring *r = a_ring();

	CHECK_EQ(fp_ring_set_wakeup(r, LIBFP_RING_CONSUMER, fp_service_core_wakeup(c)),
		 0);
	CHECK_EQ(fp_service_core_destroy(c), -EBUSY);
	CHECK_EQ(fp_ring_destroy(r), 0); /* unbinds */
	CHECK_EQ(fp_service_core_destroy(c), 0);
}

static void nobody_waits_on_the_wakeup_of_a_service(void)
{
	struct st_counter k = { 0 };
	fp_service *s = st_make(&k, NULL, 0);
	fp_service_core *c = st_core(NULL);
	fp_wakeup *both[] = { fp_service_wakeup(s), fp_service_core_wakeup(c) };
	uint64_t key = 7;

	for (int i = 0; i < 2; i++) {
		fp_wakeup *w = both[i];

		fpt_where("%s", i ? "core" : "service");
		CHECK_EQ(fp_wakeup_prepare(w, &key), -EOPNOTSUPP);
		CHECK_EQ(fp_wakeup_wait(w, 0, 0), -EOPNOTSUPP);
		CHECK_EQ(fp_wakeup_fd(w), -EOPNOTSUPP);
		CHECK_EQ(fp_wakeup_destroy(w), -EOPNOTSUPP);
		CHECK_EQ(key, 7);
		CHECK_EQ(fp_wakeup_signal(w), 0);	       /* nobody sleeps */
		CHECK_EQ(fp_wakeup_interrupt(w), -EOPNOTSUPP); /* nobody waits */
	}
	CHECK(both[0] == fp_service_wakeup(s) && both[1] == fp_service_core_wakeup(c));
	st_end(s);
	st_end_core(c);
}

/* ---- no signal is lost while the mapping changes ---- */

struct producer {
	fp_ring *r;
	uint64_t items;
	const uint64_t *got;
};

/* One at a time: each has to be found before the next one is made. */
static int produce(void *arg)
{
	struct producer *p = arg;
	uint64_t v = 1;

	for (uint64_t i = 0; i < p->items; i++) {
		CHECK_EQ(fp_ring_enqueue(p->r, &v), 1);
		while (st_get(p->got) == i)
			sched_yield();
	}
	return 0;
}

static void remapping_loses_no_signal(void)
{
	struct consumer x = { .r = a_ring() };
	struct producer p = { x.r, fpt_scale(2000, 200000), &x.got };
	fp_service *s = st_make_fn(consume, &x, NULL, 0);
	fp_service_core *c[2] = { st_sleeper(), st_sleeper() };
	struct st_call call;
	int on = 0;

	CHECK_EQ(fp_ring_set_wakeup(x.r, LIBFP_RING_CONSUMER, fp_service_wakeup(s)), 0);
	st_on(s, c[0]);
	st_begin(&call, produce, &p);
	/* Always mapped to one at least; who sleeps without it is not needed. */
	while (!__atomic_load_n(&call.done, __ATOMIC_ACQUIRE)) {
		uint64_t got = st_get(&x.got);

		CHECK_EQ(fp_service_map(s, c[!on]), 0);
		CHECK_EQ(fp_service_unmap(s, c[on], LIBFP_FOREVER), 0);
		on = !on;
		/* A few items in between, without any change that would wake. */
		while (got % 3 && st_get(&x.got) == got &&
		       !__atomic_load_n(&call.done, __ATOMIC_ACQUIRE))
			sched_yield();
	}
	CHECK_EQ(st_result(&call), 0);
	CHECK_EQ(fp_service_stop(s, LIBFP_FOREVER), 0);
	CHECK_EQ(x.got, p.items);
	CHECK_EQ(fp_ring_destroy(x.r), 0);
	st_end(s);
	st_end_core(c[0]);
	st_end_core(c[1]);
}

/* ---- policies ---- */

static void who_may_not_sleep_does_not(void)
{
	for (uint32_t idle = LIBFP_SERVICE_CORE_YIELD; idle <= LIBFP_SERVICE_CORE_SPIN;
	     idle++) {
		fp_service_core_opts o = LIBFP_SERVICE_CORE_OPTS_INIT;
		struct st_counter k = idle_counter();
		fp_service *s = st_make(&k, NULL, LIBFP_SERVICE_WAKEABLE);
		fp_service_core *c;

		o.idle = idle;
		o.flags = LIBFP_SERVICE_CORE_SPIN_NS | LIBFP_SERVICE_CORE_NAP_NS;
		CHECK_EQ(fp_service_core_create(&o, &c), 0);
		st_on(s, c);
		CHECK_EQ(fp_service_core_start(c), 0);
		st_await_calls(&k, 500);
		CHECK_EQ(st_core_stats(c).sleeps, 0);
		CHECK_EQ(st_core_stats(c).state, LIBFP_SERVICE_CORE_RUNNING);
		st_end(s);
		st_end_core(c);
	}
}

static void a_longest_sleep_ends_by_itself(void)
{
	fp_service_core_opts o = LIBFP_SERVICE_CORE_OPTS_INIT;
	struct st_counter k = idle_counter();
	fp_service *s = st_make(&k, NULL, LIBFP_SERVICE_WAKEABLE);
	fp_service_core *c;
	fp_service_core_stats st;

	o.max_sleep_ns = ST_MS / 4;
	CHECK_EQ(fp_service_core_create(&o, &c), 0);
	st_on(s, c);
	CHECK_EQ(fp_service_core_start(c), 0);
	do
		st = st_core_stats(c);
	while (st.sleeps < st.naps + 5);
	CHECK(st.naps >= 1);
	CHECK_EQ(st.wakes, 0);
	st_end(s);
	st_end_core(c);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(everything_wakes_a_sleeping_core),
		FPT_CASE(a_stop_does_not_wake_a_sleeping_core),
		FPT_CASE(a_deadline_set_from_outside_wakes),
		FPT_CASE(a_service_wakes_itself_by_deadlines),
		FPT_CASE(an_unwakeable_service_is_polled_beside_a_wakeable_one),
		FPT_CASE(a_bound_ring_lets_its_service_sleep),
		FPT_CASE(a_ring_bound_to_a_core_keeps_the_core),
		FPT_CASE(nobody_waits_on_the_wakeup_of_a_service),
		FPT_CASE(remapping_loses_no_signal),
		FPT_CASE(who_may_not_sleep_does_not),
		FPT_CASE(a_longest_sleep_ends_by_itself),
	};
	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
