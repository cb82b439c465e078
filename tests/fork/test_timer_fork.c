/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a forked child may do with timer wheels: destroy those of its parent, in any order,
 * whatever the parent's threads were doing with them, and make and use new ones. Create-,
 * control- and waiting calls are -ECHILD. With a thread of the parent inside a callback,
 * asleep in a wait, and held at every step that it passes: with a timer's bit set, half on
 * a lane, under the locks of pools and names.
 */
#include "child.h"
#include "hold.h"
#include "service_test.h"
#include "timer_test.h"
#include "wake_test.h"

enum { NAMED, BOUND, SERVED, SLEPT_ON, WHEELS };

#define ARMED 8 /* timers in NAMED */

/* What the parent has. */
struct parent {
	struct fpt_heap heap;
	fp_allocator allocator;
	fp_timer_wheel *w[WHEELS];
	fp_wakeup *wakeup;
	fp_service *service;
	fp_service_core *core;
	uint64_t ids[ARMED];
	uint64_t served; /* atomic; callbacks on the core */
	uint64_t in_served;
	struct wt_thread sleeper;
	int slept; /* what the wait returned */
	int order; /* in which the child destroys */
};

static void served(fp_timer_wheel *w, const fp_timer_record *r, void *user)
{
	(void)w;
	(void)r;
	__atomic_add_fetch((uint64_t *)user, 1, __ATOMIC_ACQ_REL);
}

/* Half of the timers are on a lane. */
static void *arm_from_elsewhere(void *arg)
{
	struct parent *p = arg;

	for (uint64_t i = 0; i < ARMED; i += 2)
		CHECK_EQ(fp_timer_arm(p->w[NAMED], p->ids[i], 100 + i), 0);
	return NULL;
}

static void *sleep_on_it(void *arg)
{
	struct parent *p = arg;

	wt_here(&p->sleeper);
	p->slept = fp_timer_wheel_wait(p->w[SLEPT_ON], LIBFP_FOREVER);
	wt_through(&p->sleeper);
	return NULL;
}

static void make(struct parent *p)
{
	static const uint32_t flags[WHEELS] = { LIBFP_STATS, 0, 0, LIBFP_WHEEL_WAIT };
	fp_timer_wheel *found;

	memset(p, 0, sizeof(*p));
	p->heap.fail_at = -1;
	p->allocator = fpt_heap_allocator(&p->heap);
	for (int i = 0; i < WHEELS; i++) {
		fp_timer_wheel_opts o = tt_opts(0, 1000);

		o.flags |= flags[i];
		o.name = i == NAMED ? "before the fork" : NULL;
		o.allocator = &p->allocator;
		p->w[i] = tt_create(&o);
	}
	CHECK_EQ(fp_timer_wheel_lookup("before the fork", &found), 0);
	for (uint64_t i = 0; i < ARMED; i++) {
		p->ids[i] = tt_timer(p->w[NAMED], i);
		if (i % 2)
			CHECK_EQ(fp_timer_arm(p->w[NAMED], p->ids[i], 100 + i), 0);
	}
	tt_on_thread(arm_from_elsewhere, p);
	p->wakeup = wt_wakeup(&wt_modes[1]);
	CHECK_EQ(fp_timer_wheel_set_wakeup(p->w[BOUND], p->wakeup), 0);
	p->in_served = tt_timer_fn(p->w[SERVED], served, (uintptr_t)&p->served);
	CHECK_EQ(fp_timer_wheel_service(p->w[SERVED], &p->service), 0);
	p->core = st_sleeper();
	st_on(p->service, p->core);
	st_await_asleep(p->core);
	CHECK_EQ(pthread_create(&p->sleeper.thread, NULL, sleep_on_it, p), 0);
	CHECK_EQ(wt_until_asleep(&p->sleeper), 1);
}

/* The parent has noticed nothing. */
static void unmake(struct parent *p)
{
	uint64_t id = tt_timer_fn(p->w[SLEPT_ON], NULL, 0);

	CHECK_EQ(wt_until_asleep(&p->sleeper), 1);
	CHECK_EQ(fp_timer_arm(p->w[SLEPT_ON], id, 1), 0);
	CHECK_EQ(pthread_join(p->sleeper.thread, NULL), 0);
	CHECK_EQ(p->slept, 0);
	CHECK_EQ(p->served, 0);
	CHECK_EQ(fp_timer_arm(p->w[SERVED], p->in_served, 1), 0);
	st_await_more(&p->served, 1 - st_get(&p->served));
	CHECK_EQ(fp_service_unmap(p->service, p->core, LIBFP_FOREVER), 0);
	st_end_core(p->core);
	CHECK_EQ(fp_timer_wheel_count(p->w[NAMED]), ARMED);
	CHECK_EQ(tt_poll(p->w[NAMED], 1000), ARMED);
	TT_FIRED(0, 1, 2, 3, 4, 5, 6, 7);
	CHECK_EQ(tt_stats(p->w[NAMED]).timers, ARMED);
	CHECK_EQ(fp_timer_wheel_destroy(p->w[NAMED]), -EBUSY);
	CHECK_EQ(fp_timer_wheel_unref(p->w[NAMED]), 0);
	CHECK_EQ(fp_wakeup_destroy(p->wakeup), -EBUSY);
	for (int i = 0; i < WHEELS; i++)
		tt_end(p->w[i]);
	CHECK_EQ(fp_wakeup_destroy(p->wakeup), 0);
	CHECK_EQ(p->heap.live + p->heap.bad, 0);
}

/* ---- in the child ---- */

/* Armed, referenced, bound, mapped, slept on: all that belongs to the parent's threads. */
static void destroy_all(void *arg)
{
	struct parent *p = arg;
	fp_timer_wheel *found = TT_UNTOUCHED;

	if (p->order & 1)
		CHECK_EQ(fp_wakeup_destroy(p->wakeup), 0);
	if (p->order & 2)
		CHECK_EQ(fp_service_core_destroy(p->core), 0);
	for (int i = 0; i < WHEELS; i++)
		tt_end(p->w[p->order & 4 ? WHEELS - 1 - i : i]);
	if (!(p->order & 1))
		CHECK_EQ(fp_wakeup_destroy(p->wakeup), 0);
	if (!(p->order & 2))
		CHECK_EQ(fp_service_core_destroy(p->core), 0);
	CHECK_EQ(fp_timer_wheel_lookup("before the fork", &found), -ENOENT);
	CHECK_EQ(p->heap.live + p->heap.bad, 0);
}

static int never_shown(const fp_timer_info *info, void *user)
{
	(void)info;
	(void)user;
	return 1;
}

static void only_destroy_is_allowed(void *arg)
{
	struct parent *p = arg;
	fp_timer_wheel *mine = tt_wheel(0, 4);

	for (int i = 0; i < WHEELS; i++) {
		fp_timer_wheel *w = p->w[i];
		fp_service *s = ST_UNTOUCHED;
		uint64_t id = TT_NO_TICK;

		CHECK_EQ(fp_timer_create(w, tt_note, NULL, &id), -ECHILD);
		CHECK_EQ(fp_timer_create_bulk(w, tt_note, NULL, &id, 1), -ECHILD);
		CHECK_EQ(fp_timer_cancel_sync(w, p->ids[0], LIBFP_FOREVER), -ECHILD);
		CHECK_EQ(fp_timer_wheel_cancel_all(w), -ECHILD);
		CHECK_EQ(fp_timer_wheel_for_each(w, never_shown, NULL), -ECHILD);
		CHECK_EQ(fp_timer_wheel_wait(w, 0), -ECHILD);
		CHECK_EQ(fp_timer_wheel_wait(w, LIBFP_FOREVER), -ECHILD);
		CHECK_EQ(fp_timer_wheel_interrupt(w), -ECHILD);
		CHECK_EQ(fp_timer_wheel_set_wakeup(w, NULL), -ECHILD);
		CHECK_EQ(fp_timer_wheel_service(w, &s), -ECHILD);
		CHECK(s == ST_UNTOUCHED && id == TT_NO_TICK);
	}
	CHECK_EQ(fp_timer_wheel_set_wakeup(mine, p->wakeup), -ECHILD);
	CHECK(!strcmp(fp_timer_wheel_name(p->w[NAMED]), "before the fork"));
	tt_end(mine);
	destroy_all(p);
}

static void *arm_in_the_past(void *w)
{
	uint64_t id = tt_timer(w, 3);

	CHECK_EQ(fp_timer_arm(w, id, 0), 0);
	return NULL;
}

static void create_and_use(void *arg)
{
	fp_timer_wheel_opts o = tt_opts(10, 16);
	fp_timer_wheel *w, *found;
	uint64_t id;
	fp_service *s;
	fp_timer_record r[2];

	(void)arg;
	o.flags |= LIBFP_WHEEL_WAIT;
	o.name = "after the fork";
	w = tt_create(&o);
	CHECK_EQ(fp_timer_wheel_lookup("after the fork", &found), 0);
	CHECK(found == w && fp_timer_wheel_unref(w) == 0);
	tt_forget();
	id = tt_armed(w, 1, 20);
	tt_armed(w, 2, 15);
	CHECK_EQ(fp_timer_wheel_wait(w, LIBFP_FOREVER), 0);
	CHECK_EQ(tt_poll(w, 30), 2);
	TT_FIRED(2, 1);
	CHECK_EQ(fp_timer_wheel_wait(w, 1), -ETIMEDOUT);
	if (FPT_CHILD_STARTS_THREADS)
		tt_on_thread(arm_in_the_past, w);
	else
		arm_in_the_past(w);
	CHECK_EQ(fp_timer_wheel_poll_burst(w, 30, r, 2), 1);
	CHECK_EQ(fp_timer_cancel_sync(w, id, LIBFP_FOREVER), 0);
	CHECK_EQ(fp_timer_arm(w, id, 40), 0);
	CHECK_EQ(fp_timer_wheel_service(w, &s), 0);
	CHECK_EQ(fp_service_start(s) + fp_service_run_once(s, 0, NULL), 0);
	TT_FIRED(1);
	CHECK_EQ(fp_timer_destroy(w, id), 0);
	tt_end(w);
}

static void destroy_then_create(void *arg)
{
	destroy_all(arg);
	create_and_use(arg);
}

/* ---- with a parent whose threads sleep ---- */

static void with_parent(void (*fn)(void *))
{
	struct parent p;

	make(&p);
	fpt_in_child(fn, &p);
	unmake(&p);
}

static void a_child_destroys_in_any_order(void)
{
	struct parent p;

	make(&p);
	for (p.order = 0; p.order < 8; p.order++) {
		fpt_where("order %d", p.order);
		fpt_in_child(destroy_all, &p);
	}
	unmake(&p);
}

static void a_child_may_do_nothing_else(void)
{
	with_parent(only_destroy_is_allowed);
}

static void a_child_makes_and_uses_new_ones(void)
{
	with_parent(destroy_then_create);
	with_parent(create_and_use);
}

static void a_grandchild_does_the_same(void)
{
	struct parent p;
	pid_t pid;

	make(&p);
	fflush(NULL);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		fpt_back = NULL;
		fpt_in_child(destroy_then_create, &p);
		destroy_then_create(&p);
		fpt_child_ends(0);
	}
	CHECK_EQ(fpt_child_stopped(pid), 0);
	unmake(&p);
}

/* ---- a thread of the parent is inside a callback ---- */

struct inside {
	struct parent *p;
	fp_timer_wheel *w;
	uint64_t id;
	int begun; /* atomic */
	int go;	   /* atomic */
	int destroys;
	struct wt_thread waiter;
};

static void stay_inside(fp_timer_wheel *w, const fp_timer_record *r, void *user)
{
	struct inside *x = user;

	if (x->destroys)
		CHECK_EQ(fp_timer_destroy(w, r->id), -EINPROGRESS);
	else
		CHECK_EQ(fp_timer_arm(w, r->id, r->expiry_tick + 1), 0);
	__atomic_store_n(&x->begun, 1, __ATOMIC_RELEASE);
	st_await(&x->go);
}

static void *poll_and_stay(void *arg)
{
	struct inside *x = arg;

	CHECK_EQ(tt_poll(x->w, 10), 1);
	return NULL;
}

static void *wait_for_the_callback(void *arg)
{
	struct inside *x = arg;
	int rc;

	wt_here(&x->waiter);
	rc = fp_timer_cancel_sync(x->w, x->id, LIBFP_FOREVER);
	CHECK_EQ(rc, x->destroys ? -ESTALE : 1);
	wt_through(&x->waiter);
	return NULL;
}

static void destroy_what_is_polled(void *arg)
{
	struct inside *x = arg;

	CHECK_EQ(fp_timer_cancel_sync(x->w, x->id, LIBFP_FOREVER), -ECHILD);
	destroy_then_create(x->p);
}

static void a_child_of_a_parent_that_is_inside_a_callback(void)
{
	for (int destroys = 0; destroys < 2; destroys++) {
		struct parent p;
		struct inside x = { .p = &p, .destroys = destroys };
		pthread_t poller;

		make(&p);
		x.w = p.w[BOUND];
		x.id = tt_timer_fn(x.w, stay_inside, (uintptr_t)&x);
		CHECK_EQ(fp_timer_arm(x.w, x.id, 10), 0);
		CHECK_EQ(pthread_create(&poller, NULL, poll_and_stay, &x), 0);
		st_await(&x.begun);
		CHECK_EQ(
			pthread_create(&x.waiter.thread, NULL, wait_for_the_callback, &x),
			0);
		CHECK_EQ(wt_until_asleep(&x.waiter), 1);
		fpt_in_child(destroy_what_is_polled, &x);
		__atomic_store_n(&x.go, 1, __ATOMIC_RELEASE);
		pthread_join(poller, NULL);
		pthread_join(x.waiter.thread, NULL);
		unmake(&p);
	}
}

/* ---- a thread of the parent is in the middle of something ---- */

struct busy {
	struct parent *p;
	struct fpt_hold h;
};

/* A wheel of its own, from create to destroy, as the thread that polls it. */
static void with_its_own_wheel(void)
{
	fp_timer_wheel_opts o = tt_opts(0, 16);
	fp_timer_wheel *w;
	uint64_t id[4], ticks;
	fp_service *s;

	o.name = "half made";
	o.flags |= LIBFP_WHEEL_WAIT;
	w = tt_create(&o);
	for (int i = 0; i < 4; i++)
		id[i] = tt_timer_fn(w, NULL, 0);
	CHECK_EQ(fp_timer_arm(w, id[0], 20) + fp_timer_arm(w, id[1], 30), 0);
	CHECK_EQ(fp_timer_arm(w, id[1], 10), 1);
	CHECK_EQ(fp_timer_arm_periodic(w, id[2], 10, 5, LIBFP_TIMER_SKIP), 0);
	CHECK_EQ(fp_timer_touch(w, id[2], 12), 1);
	CHECK_EQ(fp_timer_remaining(w, id[2], 0, &ticks), 1);
	CHECK_EQ(fp_timer_cancel(w, id[0]), 1);
	CHECK_EQ(tt_poll(w, 14), 2);
	CHECK_EQ(fp_timer_cancel_sync(w, id[2], LIBFP_FOREVER), 1);
	CHECK_EQ(fp_timer_wheel_cancel_all(w), 0);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(fp_timer_destroy(w, id[i]), 0);
	CHECK_EQ(fp_timer_wheel_service(w, &s), 0);
	tt_end(w);
}

/* As one of the others: lanes. */
static void with_the_parents_wheels(struct parent *p)
{
	fp_timer_wheel *found;
	uint64_t id[2];

	CHECK_EQ(fp_timer_wheel_lookup("before the fork", &found), 0);
	CHECK_EQ(fp_timer_create_bulk(found, NULL, NULL, id, 2), 2);
	CHECK_EQ(fp_timer_arm(found, id[0], 5) + fp_timer_arm(found, id[1], 5), 0);
	CHECK_EQ(fp_timer_arm(found, id[0], 4), 1);
	CHECK_EQ(fp_timer_destroy_bulk(found, id, 2, NULL), 2);
	CHECK_EQ(fp_timer_wheel_unref(found), 0);
	/* Its core may wake up, and finds nothing to do. */
	CHECK_EQ(fp_timer_arm(p->w[SERVED], p->in_served, UINT64_MAX), 0);
	CHECK_EQ(fp_timer_cancel(p->w[SERVED], p->in_served), 1);
}

static void *be_busy(void *arg)
{
	struct busy *b = arg;

	fpt_hold_me(&b->h);
	with_its_own_wheel();
	with_the_parents_wheels(b->p);
	fpt_hold_done(&b->h);
	return NULL;
}

static void at_every_step(void (*fn)(void *))
{
	struct parent p;
	int steps = 0, held;

	make(&p);
	do {
		struct busy b = { .p = &p };
		pthread_t thread;

		fpt_hold_init(&b.h, NULL);
		b.h.skip = steps;
		CHECK_EQ(pthread_create(&thread, NULL, be_busy, &b), 0);
		held = fpt_hold_reached(&b.h);
		fpt_where("step %d %s", steps, held ? b.h.reached_step : "none");
		fpt_join_unheld(&b.h, thread);
		p.order = steps;
		fpt_in_child(fn, &p);
		fpt_hold_release(&b.h);
		fpt_join_held(&b.h, thread);
		fpt_hold_end(&b.h);
		/* Recycles what was destroyed. */
		CHECK_EQ(tt_poll(p.w[NAMED], 1), 0);
		steps += held;
	} while (held);
	unmake(&p);
	CHECK(steps > 20);
	printf("  %d steps\n", steps);
}

static void a_child_does_not_wait_for_the_parents_locks(void)
{
	at_every_step(destroy_then_create);
}

/* The child need not destroy anything. */
static void a_child_leaves_the_parents_wheels_alone(void)
{
	at_every_step(create_and_use);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(a_child_destroys_in_any_order),
		FPT_CASE(a_child_may_do_nothing_else),
		FPT_CASE(a_child_makes_and_uses_new_ones),
		FPT_CASE(a_grandchild_does_the_same),
		FPT_CASE(a_child_of_a_parent_that_is_inside_a_callback),
		FPT_CASE(a_child_does_not_wait_for_the_parents_locks),
		FPT_CASE(a_child_leaves_the_parents_wheels_alone),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
