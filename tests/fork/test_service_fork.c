/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a forked child may do with services: destroy those of its parent and their cores,
 * in any order, whatever the parent's threads were doing with them, and make and run new
 * ones. All else is -ECHILD. With a thread of the parent held at every step that it
 * passes, many of them under the lock of all services.
 */
#include "child.h"
#include "hold.h"
#include "service_test.h"

#define SERVICES 3
#define CORES 2

/* What the parent has: a core that runs and one that does not, both with services. */
struct parent {
	struct st_counter k[SERVICES];
	fp_service *s[SERVICES];
	fp_service_core *c[CORES];
	int order; /* in which the child destroys */
};

static void make(struct parent *p)
{
	memset(p, 0, sizeof(*p));
	for (int i = 0; i < SERVICES; i++) {
		p->k[i].returns = -EAGAIN;
		p->s[i] = st_make(&p->k[i], i ? NULL : "before the fork",
				  LIBFP_SERVICE_WAKEABLE |
					  (i == 1 ? LIBFP_SERVICE_MT_SAFE : 0));
	}
	p->c[0] = st_sleeper();
	p->c[1] = st_core("core before the fork");
	for (int i = 0; i < SERVICES; i++) {
		st_on(p->s[i], p->c[0]);
		if (i)
			CHECK_EQ(fp_service_map(p->s[i], p->c[1]), 0);
	}
	/* References that belong to the parent's threads. */
	CHECK_EQ(fp_service_lookup("before the fork", &p->s[0]), 0);
	st_await_asleep(p->c[0]);
}

/* The parent has noticed nothing. */
static void unmake(struct parent *p)
{
	fp_service_core *found;

	st_await_asleep(p->c[0]);
	for (int i = 0; i < SERVICES; i++) {
		uint64_t calls = st_calls(&p->k[i]);

		CHECK_EQ(fp_service_is_runnable(p->s[i]), 1);
		fp_wakeup_signal(fp_service_wakeup(p->s[i]));
		while (st_calls(&p->k[i]) == calls)
			sched_yield();
	}
	CHECK_EQ(fp_service_core_lookup("core before the fork", &found), 0);
	CHECK(found == p->c[1]);
	CHECK_EQ(fp_service_core_unref(found), 0);
	CHECK_EQ(fp_service_unref(p->s[0]), 0);
	for (int i = 0; i < SERVICES; i++) {
		st_end(p->s[i]);
		CHECK_EQ(p->k[i].released, 1);
	}
	for (int i = 0; i < CORES; i++)
		st_end_core(p->c[i]);
}

/* ---- in the child ---- */

static void destroy_service(struct parent *p, int i)
{
	CHECK_EQ(fp_service_destroy(p->s[i], 0, LIBFP_FOREVER), 0);
	CHECK_EQ(p->k[i].released, 1);
}

static void destroy_all(void *arg)
{
	struct parent *p = arg;
	fp_service *found = ST_UNTOUCHED;
	int cores = 0;

	/* The cores after so many services, and both in both orders. */
	for (int i = 0; i <= SERVICES; i++) {
		if (i == p->order % (SERVICES + 1))
			for (; cores < CORES; cores++)
				CHECK_EQ(fp_service_core_destroy(
						 p->c[p->order & 1 ? CORES - 1 - cores :
								     cores]),
					 0);
		if (i < SERVICES)
			destroy_service(p, p->order & 2 ? SERVICES - 1 - i : i);
	}
	CHECK_EQ(cores, CORES);
	CHECK_EQ(fp_service_lookup("before the fork", &found), -ENOENT);
	CHECK_EQ(fp_service_list(NULL, 0) + fp_service_core_list(NULL, 0), 0);
}

static void only_destroy_is_allowed(void *arg)
{
	struct parent *p = arg;
	fp_service *s = p->s[1], *list[4];
	fp_service_core *c = p->c[0];
	const uint32_t cpu = 0;
	fp_service_stats st = { .size = sizeof(st) };
	fp_service_map_stats ms = { .size = sizeof(ms) };
	fp_service_core_stats cs = { .size = sizeof(cs) };
	uint64_t calls = st_calls(&p->k[1]);
	struct st_counter k = { 0 };
	fp_service *mine = st_make(&k, NULL, 0);
	fp_service_core *my_core = st_core(NULL), *both[] = { my_core, c };

	CHECK_EQ(fp_service_set_ready(s, 1, 0), -ECHILD);
	CHECK_EQ(fp_service_set_ready(s, 0, 0), -ECHILD);
	CHECK_EQ(fp_service_start(s), -ECHILD);
	CHECK_EQ(fp_service_stop(s, LIBFP_FOREVER), -ECHILD);
	CHECK_EQ(fp_service_is_runnable(s), -ECHILD);
	CHECK_EQ(fp_service_is_active(s), -ECHILD);
	CHECK_EQ(fp_service_map(s, c), -ECHILD);
	CHECK_EQ(fp_service_map(s, my_core), -ECHILD);
	CHECK_EQ(fp_service_map(mine, c), -ECHILD);
	CHECK_EQ(fp_service_unmap(s, c, LIBFP_FOREVER), -ECHILD);
	CHECK_EQ(fp_service_is_mapped(s, c), -ECHILD);
	CHECK_EQ(fp_service_run_once(s, 0, NULL), -ECHILD);
	CHECK_EQ(fp_service_set_deadline(s, 1), -ECHILD);
	CHECK_EQ(fp_service_get_stats(s, &st), -ECHILD);
	CHECK_EQ(fp_service_reset_stats(s), -ECHILD);
	CHECK_EQ(fp_service_get_map_stats(s, c, &ms), -ECHILD);
	CHECK_EQ(fp_service_core_services(c, list, 4), -ECHILD);
	CHECK_EQ(fp_service_core_set_cpus(c, &cpu, 1), -ECHILD);
	CHECK_EQ(fp_service_core_start(c), -ECHILD);
	CHECK_EQ(fp_service_core_start(p->c[1]), -ECHILD);
	CHECK_EQ(fp_service_core_stop(c, LIBFP_FOREVER), -ECHILD);
	CHECK_EQ(fp_service_core_run(p->c[1], 0), -ECHILD);
	CHECK_EQ(fp_service_core_get_stats(c, &cs), -ECHILD);
	CHECK_EQ(fp_service_core_reset_stats(c), -ECHILD);
	CHECK_EQ(fp_service_start_defaults(both, 2), -ECHILD);
	/* Nothing of it is in the child's lists, and a name is only read. */
	CHECK_EQ(fp_service_list(list, 4), 1);
	CHECK(list[0] == mine && fp_service_unref(mine) == 0);
	CHECK_EQ(fp_service_core_list(NULL, 0), 1);
	CHECK(!strcmp(fp_service_name(p->s[0]), "before the fork"));
	CHECK_EQ(st_calls(&p->k[1]), calls);
	st_end(mine);
	st_end_core(my_core);
	destroy_all(p);
}

static void create_and_run(void *arg)
{
	struct st_counter k[2] = { { 0 }, { 0 } };
	fp_service_core *c[2] = { st_core(NULL), st_core("core after the fork") };
	fp_service *s[2] = { st_make(&k[0], "after the fork", 0),
			     st_make(&k[1], NULL, LIBFP_SERVICE_MT_SAFE) };

	(void)arg;
	CHECK_EQ(fp_service_map(s[0], c[0]) + fp_service_start(s[0]), 0);
	CHECK_EQ(fp_service_core_run(c[0], 0), -ETIMEDOUT);
	CHECK_EQ(fp_service_run_once(s[0], 0, NULL), 0);
	CHECK_EQ(k[0].calls, 2);
	if (FPT_CHILD_STARTS_THREADS) {
		CHECK_EQ(fp_service_start_defaults(c, 2), 1);
		st_await_calls(&k[0], 3);
		st_await_calls(&k[1], 3);
	}
	for (int i = 0; i < 2; i++) {
		st_end(s[i]);
		st_end_core(c[i]);
		CHECK_EQ(k[i].released, 1);
	}
}

static void destroy_then_create(void *arg)
{
	destroy_all(arg);
	create_and_run(arg);
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

static void a_child_makes_and_runs_new_ones(void)
{
	with_parent(destroy_then_create);
	with_parent(create_and_run);
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

/* ---- a thread of the parent is inside a function ---- */

static int run_it_once(void *s)
{
	return fp_service_run_once(s, 0, NULL);
}

struct inside {
	struct st_counter k;
	fp_service *s;
	fp_service_core *c;
};

static void destroy_what_is_inside(void *arg)
{
	struct inside *x = arg;

	CHECK_EQ(fp_service_stop(x->s, 0), -ECHILD);
	CHECK_EQ(fp_service_destroy(x->s, 0, LIBFP_FOREVER), 0);
	CHECK_EQ(x->k.released, 1);
	CHECK_EQ(fp_service_core_destroy(x->c), 0);
	create_and_run(NULL);
}

static void a_child_of_a_parent_that_is_inside(void)
{
	for (int i = 0; i < 4; i++) {
		struct inside x = { .k.hold = 1 };
		struct st_call call;

		x.s = st_make(&x.k, NULL, i & 1 ? LIBFP_SERVICE_MT_SAFE : 0);
		x.c = st_core(NULL);
		st_on(x.s, x.c);
		if (i & 2)
			CHECK_EQ(fp_service_core_start(x.c), 0);
		else
			st_begin(&call, run_it_once, x.s);
		st_await_held(&x.k);
		fpt_in_child(destroy_what_is_inside, &x);
		st_hold(&x.k, 0);
		CHECK_EQ(i & 2 ? 0 : st_result(&call), 0);
		st_end(x.s);
		st_end_core(x.c);
	}
}

/* ---- a thread of the parent is in the middle of a change ---- */

struct busy {
	struct parent *p;
	struct fpt_hold h;
	void (*act)(struct parent *);
};

/* All changes, without anything to wait for: the number of steps is always the same. */
static void everything(struct parent *p)
{
	struct st_counter k = { 0 };
	fp_service *s = st_make(&k, "half made", 0), *found;
	fp_service_core *c = st_core("half a core"), *d = st_core(NULL);

	st_on(s, c);
	CHECK_EQ(fp_service_core_run(c, 0), -ETIMEDOUT);
	CHECK_EQ(fp_service_map(s, d), 0);
	CHECK_EQ(fp_service_run_once(s, 0, NULL), 0);
	CHECK_EQ(fp_service_run_once(p->s[1], 0, NULL), 0);
	CHECK_EQ(fp_service_core_run(c, 0), -ETIMEDOUT);
	CHECK_EQ(fp_service_lookup("half made", &found), 0);
	CHECK_EQ(fp_service_unref(s), 0);
	CHECK_EQ(fp_service_unmap(s, c, LIBFP_FOREVER), 0);
	CHECK_EQ(fp_service_stop(s, LIBFP_FOREVER), 0);
	CHECK_EQ(fp_service_set_ready(s, 0, LIBFP_FOREVER), 0);
	CHECK_EQ(fp_service_unmap(p->s[1], p->c[1], LIBFP_FOREVER), 0);
	CHECK_EQ(fp_service_map(p->s[1], p->c[1]), 0);
	CHECK_EQ(fp_service_core_destroy(c), 0);
	st_end(s);
	CHECK_EQ(fp_service_core_destroy(d), 0);
}

/* What waits for cores that run. */
static void changes_of_a_running_core(struct parent *p)
{
	for (int i = 0; i < SERVICES; i++) {
		CHECK_EQ(fp_service_stop(p->s[i], LIBFP_FOREVER), 0);
		CHECK_EQ(fp_service_start(p->s[i]), 0);
		CHECK_EQ(fp_service_unmap(p->s[i], p->c[0], LIBFP_FOREVER), 0);
		CHECK_EQ(fp_service_map(p->s[i], p->c[0]), 0);
	}
	CHECK_EQ(fp_service_core_stop(p->c[0], LIBFP_FOREVER), 0);
	CHECK_EQ(fp_service_core_start(p->c[0]), 0);
}

static void *be_busy(void *arg)
{
	struct busy *b = arg;

	fpt_hold_me(&b->h);
	b->act(b->p);
	fpt_hold_done(&b->h);
	return NULL;
}

/* Returns whether the thread has met the step. */
static int with_a_busy_thread(struct parent *p, void (*act)(struct parent *),
			      const char *step, int skip, void (*fn)(void *))
{
	struct busy b = { .p = p, .act = act };
	pthread_t thread;
	int held;

	fpt_hold_init(&b.h, step);
	b.h.skip = skip;
	CHECK_EQ(pthread_create(&thread, NULL, be_busy, &b), 0);
	held = fpt_hold_reached(&b.h);
	fpt_where("step %d %s", skip, held ? b.h.reached_step : "none");
	fpt_join_unheld(&b.h, thread);
	p->order = skip;
	fpt_in_child(fn, p);
	fpt_hold_release(&b.h);
	fpt_join_held(&b.h, thread);
	fpt_hold_end(&b.h);
	return held;
}

static void at_every_step(void (*fn)(void *))
{
	struct parent p;
	int steps = 0;

	make(&p);
	while (with_a_busy_thread(&p, everything, NULL, steps, fn))
		steps++;
	unmake(&p);
	CHECK(steps > 20);
	printf("  %d steps\n", steps);
}

static void a_child_does_not_wait_for_the_parents_locks(void)
{
	at_every_step(destroy_then_create);
}

/* The child need not destroy anything. */
static void a_child_leaves_the_parents_services_alone(void)
{
	at_every_step(create_and_run);
}

static void a_child_of_a_parent_that_waits_for_a_core(void)
{
	static const char *const steps[] = {
		"SERVICE_STUBBED", "SERVICE_PUBLISHED",	 "SERVICE_BARRIER",
		"SERVICE_WAITS",   "SERVICE_CORE_WAITS",
	};
	struct parent p;

	make(&p);
	for (size_t i = 0; i < FPT_LEN(steps); i++)
		for (int skip = 0; skip < 4; skip++)
			with_a_busy_thread(&p, changes_of_a_running_core, steps[i], skip,
					   destroy_then_create);
	unmake(&p);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(a_child_destroys_in_any_order),
		FPT_CASE(a_child_may_do_nothing_else),
		FPT_CASE(a_child_makes_and_runs_new_ones),
		FPT_CASE(a_grandchild_does_the_same),
		FPT_CASE(a_child_of_a_parent_that_is_inside),
		FPT_CASE(a_child_does_not_wait_for_the_parents_locks),
		FPT_CASE(a_child_leaves_the_parents_services_alone),
		FPT_CASE(a_child_of_a_parent_that_waits_for_a_core),
	};
	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
