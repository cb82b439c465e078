/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls of the library inside a service's function: of its own service, of others, of its
 * core. Nothing there waits, what cannot be finished at once is finished by somebody
 * else, and `released` is called exactly once and is the last that is heard.
 */
#include "hold.h"
#include "service_test.h"

/* A service that does something at one call; the others have nothing to do. */
struct script {
	struct st_counter k;
	void (*act)(struct script *);
	fp_service *self, *other;
	fp_service_core *core, *second;
	int rc[8];
	int armed; /* atomic */
	int done;  /* atomic */
	int begun; /* atomic */
	int *meet; /* waits for it first */
};

static int32_t follow(void *user)
{
	struct script *x = user;

	__atomic_add_fetch(&x->k.calls, 1, __ATOMIC_RELEASE);
	if (!__atomic_exchange_n(&x->armed, 0, __ATOMIC_ACQ_REL))
		return -EAGAIN;
	__atomic_store_n(&x->begun, 1, __ATOMIC_RELEASE);
	if (x->meet)
		st_await(x->meet);
	x->act(x);
	__atomic_store_n(&x->done, 1, __ATOMIC_RELEASE);
	return 0;
}

static void script(struct script *x, void (*act)(struct script *), uint32_t flags)
{
	fp_service_opts o = LIBFP_SERVICE_OPTS_INIT;

	memset(x, 0, sizeof(*x));
	x->act = act;
	x->armed = 1;
	o.flags = flags;
	o.run = follow;
	o.user = x;
	o.released = st_released; /* the counter is first in the script */
	CHECK_EQ(fp_service_create(&o, &x->self), 0);
	x->core = st_core(NULL);
}

/* Runs it on its core until it has acted. */
static void play(struct script *x)
{
	st_on(x->self, x->core);
	CHECK_EQ(fp_service_core_start(x->core), 0);
	st_await(&x->done);
}

/* ---- itself ---- */

static void stop_self(struct script *x)
{
	x->rc[0] = fp_service_stop(x->self, LIBFP_FOREVER);
	x->rc[1] = fp_service_is_active(x->self);
	x->rc[2] = fp_service_is_runnable(x->self);
	x->rc[3] = fp_service_run_once(x->self, 0, NULL);
}

static void a_service_stops_itself(void)
{
	struct script x;

	script(&x, stop_self, 0);
	play(&x);
	CHECK(x.rc[0] == -EINPROGRESS && x.rc[1] == 1 && x.rc[2] == 0);
	CHECK_EQ(x.rc[3], -ESHUTDOWN);
	while (fp_service_is_active(x.self))
		sched_yield();
	CHECK_EQ(st_calls(&x.k), st_stats(x.self).calls);
	CHECK_EQ(fp_service_stop(x.self, LIBFP_FOREVER), 0);
	CHECK_EQ(fp_service_start(x.self), 0);
	st_await_calls(&x.k, 2);
	st_end(x.self);
	st_end_core(x.core);
}

static void shut_and_open_self(struct script *x)
{
	x->rc[0] = fp_service_set_ready(x->self, 0, LIBFP_FOREVER);
	x->rc[1] = fp_service_set_ready(x->self, 1, LIBFP_FOREVER);
	x->rc[2] = fp_service_stop(x->self, 0);
	x->rc[3] = fp_service_start(x->self);
	x->rc[4] = fp_service_unmap(x->self, x->core, LIBFP_FOREVER);
	x->rc[5] = fp_service_is_mapped(x->self, x->core);
	x->rc[6] = fp_service_map(x->self, x->core);
	x->rc[7] = fp_service_run_once(x->self, 0, NULL);
}

static void a_service_shuts_and_opens_itself(void)
{
	for (uint32_t flags = 0; flags <= LIBFP_SERVICE_MT_SAFE;
	     flags += LIBFP_SERVICE_MT_SAFE) {
		struct script x;

		script(&x, shut_and_open_self, flags);
		play(&x);
		CHECK(x.rc[0] == -EINPROGRESS && x.rc[1] == 0);
		CHECK(x.rc[2] == -EINPROGRESS && x.rc[3] == 0);
		CHECK(x.rc[4] == -EINPROGRESS && x.rc[5] == 0 && x.rc[6] == 0);
		CHECK_EQ(x.rc[7], flags ? 0 : -EBUSY);
		st_await_calls(&x.k, 3); /* it is called on */
		CHECK_EQ(fp_service_stop(x.self, LIBFP_FOREVER), 0);
		CHECK_EQ(st_calls(&x.k), st_stats(x.self).calls);
		st_end(x.self);
		st_end_core(x.core);
	}
}

static void destroy_self(struct script *x)
{
	x->rc[0] = -EBUSY;
	if (fp_service_is_mapped(x->self, x->core))
		x->rc[0] = fp_service_destroy(x->self, 0, LIBFP_FOREVER);
	x->rc[1] = fp_service_destroy(x->self, LIBFP_SERVICE_FORCE, LIBFP_FOREVER);
	x->rc[2] = st_get(&x->k.released) != 0;
	x->rc[3] = (int)fp_service_core_services(x->core, NULL, 0);
	x->rc[4] = (int)fp_service_list(NULL, 0);
}

static void destroyed_once(struct script *x)
{
	uint64_t calls;

	while (!st_get(&x->k.released))
		sched_yield();
	calls = st_calls(&x->k);
	st_await_loops(x->core, 5);
	CHECK_EQ(st_calls(&x->k), calls);
	st_end_core(x->core);
	CHECK_EQ(x->k.released, 1);
	CHECK_EQ(fp_service_list(NULL, 0), 0);
}

static void a_service_destroys_itself(void)
{
	for (uint32_t flags = 0; flags <= LIBFP_SERVICE_MT_SAFE;
	     flags += LIBFP_SERVICE_MT_SAFE) {
		struct script x;

		script(&x, destroy_self, flags);
		play(&x);
		CHECK(x.rc[0] == -EBUSY && x.rc[1] == -EINPROGRESS);
		CHECK(x.rc[2] == 0 && x.rc[3] == 0 && x.rc[4] == 0);
		destroyed_once(&x);
	}
}

/* The same in fp_service_run_once(): the thread that leaves frees it. */
static void a_service_destroys_itself_in_run_once(void)
{
	for (uint32_t flags = 0; flags <= LIBFP_SERVICE_MT_SAFE;
	     flags += LIBFP_SERVICE_MT_SAFE) {
		int32_t result = 7;
		struct script x;

		script(&x, destroy_self, flags);
		CHECK_EQ(fp_service_start(x.self), 0);
		CHECK_EQ(fp_service_run_once(x.self, 0, &result), 0);
		CHECK_EQ(x.rc[1], -EINPROGRESS);
		CHECK(result == 0 && x.k.released == 1 && x.k.calls == 1);
		CHECK_EQ(fp_service_core_destroy(x.core), 0);
	}
}

/* ---- another one ---- */

static void destroy_other(struct script *x)
{
	x->rc[0] = fp_service_stop(x->other, LIBFP_FOREVER);
	x->rc[1] = fp_service_destroy(x->other, LIBFP_SERVICE_FORCE, LIBFP_FOREVER);
}

static void a_service_that_is_inside_is_released_when_it_leaves(void)
{
	struct st_counter k = { .hold = 1 };
	struct script x;
	fp_service_core *c = st_running(NULL);

	script(&x, destroy_other, 0);
	x.other = st_make(&k, NULL, 0);
	st_on(x.other, c);
	st_await_held(&k);
	play(&x);
	CHECK(x.rc[0] == -EINPROGRESS && x.rc[1] == -EINPROGRESS);
	st_await_loops(x.core, 5);
	CHECK_EQ(st_get(&k.released), 0);
	st_hold(&k, 0);
	while (!st_get(&k.released))
		sched_yield();
	CHECK_EQ(k.calls, 1);
	st_end(x.self);
	st_end_core(x.core);
	st_end_core(c);
	CHECK_EQ(k.released, 1);
}

/* Nobody is inside it: it goes at once, also from a core that sleeps and is not woken. */
static void a_service_of_a_sleeping_core_is_released_at_once(void)
{
	struct st_counter k = { .returns = -EAGAIN };
	struct script x;
	fp_service_core *c = st_sleeper();
	uint64_t loops;

	script(&x, destroy_other, 0);
	x.other = st_make(&k, NULL, LIBFP_SERVICE_WAKEABLE);
	st_on(x.other, c);
	st_await_asleep(c);
	loops = st_core_stats(c).loops;
	play(&x);
	CHECK_EQ(k.released, 1);
	CHECK_EQ(st_core_stats(c).loops, loops);
	st_end(x.self);
	st_end_core(x.core);
	st_end_core(c);
}

/* ---- each other ---- */

static void stop_each_other(struct script *x)
{
	x->rc[0] = fp_service_stop(x->other, LIBFP_FOREVER);
	x->rc[1] = fp_service_unmap(x->other, x->second, LIBFP_FOREVER);
	x->rc[2] = fp_service_set_ready(x->other, 0, LIBFP_FOREVER);
	x->rc[3] = fp_service_core_stop(x->second, LIBFP_FOREVER);
}

static void two_services_that_stop_each_other_do_not_hang(void)
{
	struct script x, y;

	script(&x, stop_each_other, 0);
	script(&y, stop_each_other, LIBFP_SERVICE_MT_SAFE);
	x.other = y.self, x.second = y.core, x.meet = &y.begun;
	y.other = x.self, y.second = x.core, y.meet = &x.begun;
	st_on(x.self, x.core);
	st_on(y.self, y.core);
	CHECK_EQ(fp_service_core_start(x.core) + fp_service_core_start(y.core), 0);
	st_await(&x.done);
	st_await(&y.done);
	for (int i = 0; i < 4; i++)
		CHECK(x.rc[i] == -EINPROGRESS && y.rc[i] == -EINPROGRESS);
	CHECK_EQ(fp_service_stop(x.self, LIBFP_FOREVER), 0);
	CHECK_EQ(fp_service_stop(y.self, LIBFP_FOREVER), 0);
	st_await_state(x.core, LIBFP_SERVICE_CORE_STOPPED);
	st_await_state(y.core, LIBFP_SERVICE_CORE_STOPPED);
	st_end(x.self);
	st_end(y.self);
	st_end_core(x.core);
	st_end_core(y.core);
}

static void destroy_each_other(struct script *x)
{
	x->rc[0] = fp_service_destroy(x->other, LIBFP_SERVICE_FORCE, LIBFP_FOREVER);
}

static void two_services_that_destroy_each_other_are_both_released(void)
{
	struct script x, y;

	script(&x, destroy_each_other, 0);
	script(&y, destroy_each_other, 0);
	x.other = y.self, x.meet = &y.begun;
	y.other = x.self, y.meet = &x.begun;
	st_on(x.self, x.core);
	st_on(y.self, y.core);
	CHECK_EQ(fp_service_core_start(x.core) + fp_service_core_start(y.core), 0);
	st_await(&x.done);
	st_await(&y.done);
	CHECK(x.rc[0] == -EINPROGRESS && y.rc[0] == -EINPROGRESS);
	while (!st_get(&x.k.released) || !st_get(&y.k.released))
		sched_yield();
	st_end_core(x.core);
	st_end_core(y.core);
	CHECK(x.k.released == 1 && y.k.released == 1);
}

/* ---- making and mapping ---- */

static struct st_counter born;

static void make_and_start(struct script *x)
{
	fp_service_core *const cores[] = { x->core };

	x->other = st_make(&born, "born inside", 0);
	x->second = st_core("core inside");
	x->rc[0] = fp_service_map(x->other, x->second);
	x->rc[1] = fp_service_map(x->other, x->core);
	x->rc[2] = fp_service_start(x->other);
	x->rc[3] = fp_service_core_start(x->second);
	x->rc[4] = (int)fp_service_start_defaults(cores, 1);
	x->rc[5] = fp_service_core_run(x->second, 0);
	x->rc[6] = fp_service_core_start(x->core);
	x->rc[7] = fp_service_set_deadline(x->self, 1);
}

static void services_and_cores_are_made_inside_a_service(void)
{
	struct script x;

	memset(&born, 0, sizeof(born));
	script(&x, make_and_start, 0);
	play(&x);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(x.rc[i], 0);
	CHECK(x.rc[4] == -EDEADLK && x.rc[5] == -EDEADLK && x.rc[6] == -EALREADY);
	CHECK_EQ(x.rc[7], 0);
	while (!st_map_stats(x.other, x.core).calls ||
	       !st_map_stats(x.other, x.second).calls)
		sched_yield();
	CHECK_EQ(born.overlaps, 0);
	st_end(x.other);
	st_end(x.self);
	st_end_core(x.second);
	st_end_core(x.core);
}

static void stop_own_core(struct script *x)
{
	x->rc[0] = fp_service_core_stop(x->core, LIBFP_FOREVER);
	x->rc[1] = fp_service_core_stop(x->core, LIBFP_FOREVER);
	x->rc[2] = (int)st_core_stats(x->core).state;
	x->rc[3] = fp_service_core_start(x->core);
	x->rc[4] = fp_service_core_run(x->core, 0);
}

static void a_service_stops_its_core(void)
{
	struct script x;
	struct st_loan loan;

	for (int lent = 0; lent < 2; lent++) {
		script(&x, stop_own_core, 0);
		st_on(x.self, x.core);
		if (lent)
			st_lend(&loan, x.core, LIBFP_FOREVER);
		else
			CHECK_EQ(fp_service_core_start(x.core), 0);
		st_await(&x.done);
		CHECK(x.rc[0] == -EINPROGRESS && x.rc[1] == -EINPROGRESS);
		CHECK_EQ(x.rc[2], LIBFP_SERVICE_CORE_STOPPING);
		CHECK(x.rc[3] == -EALREADY && x.rc[4] == -EDEADLK);
		st_await_state(x.core, LIBFP_SERVICE_CORE_STOPPED);
		if (lent)
			CHECK_EQ(st_returned(&loan), 0);
		CHECK_EQ(fp_service_core_start(x.core), 0);
		st_await_calls(&x.k, 1);
		st_end(x.self);
		st_end_core(x.core);
	}
}

/* Inside a function that fp_service_run_once() runs, inside another one's. */
static void nest(struct script *x)
{
	int32_t result = 7;

	x->rc[0] = fp_service_run_once(x->other, 0, &result);
	x->rc[1] = result;
	x->rc[2] = fp_service_run_once(x->self, 0, &result);
	/* Still inside this one. */
	x->rc[3] = fp_service_stop(x->other, LIBFP_FOREVER);
	x->rc[4] = fp_service_core_run(x->core, 0);
}

static void run_once_inside_a_service(void)
{
	struct st_counter k = { .returns = INT32_MIN };
	struct script x;

	script(&x, nest, 0);
	x.other = st_make(&k, NULL, 0);
	CHECK_EQ(fp_service_start(x.other) + fp_service_start(x.self), 0);
	CHECK_EQ(fp_service_run_once(x.self, 0, NULL), 0);
	CHECK(x.rc[0] == 0 && x.rc[1] == INT32_MIN && x.rc[2] == -EBUSY);
	CHECK(x.rc[3] == -EINPROGRESS && x.rc[4] == -EDEADLK);
	/* Outside again: it waits, and may. */
	CHECK_EQ(fp_service_stop(x.other, LIBFP_FOREVER), 0);
	CHECK_EQ(fp_service_core_run(x.core, 0), -ETIMEDOUT);
	CHECK_EQ(k.calls, 1);
	st_end(x.other);
	st_end(x.self);
	st_end_core(x.core);
}

/* ---- taken away from a core that sleeps, or is about to ---- */

static void take_away(struct script *x)
{
	x->rc[0] = fp_service_unmap(x->other, x->second, LIBFP_FOREVER);
}

/* It was that core's alone (biased), and nobody has seen the core leave it. */
static void defaults_run_what_a_sleeping_core_had(void)
{
	struct st_counter k = { .returns = -EAGAIN };
	fp_service_core *sleeper = st_sleeper(), *d = st_core(NULL);
	struct script x;

	script(&x, take_away, 0);
	x.other = st_make(&k, NULL, LIBFP_SERVICE_WAKEABLE);
	x.second = sleeper;
	st_on(x.other, sleeper);
	st_await_asleep(sleeper);
	CHECK_EQ(fp_service_start(x.self), 0);
	CHECK_EQ(fp_service_run_once(x.self, 0, NULL), 0);
	CHECK_EQ(x.rc[0], -EINPROGRESS);
	CHECK_EQ(fp_service_map(x.self, x.core), 0); /* not to be mapped by default */
	CHECK_EQ(fp_service_start_defaults(&d, 1), 1);
	while (!st_map_stats(x.other, d).calls)
		CHECK_EQ(st_map_stats(x.other, d).busy, 0);
	st_end(x.other);
	st_end(x.self);
	st_end_core(x.core);
	st_end_core(d);
	st_end_core(sleeper);
}

/* A core held where it looks at its services for the last time before it sleeps. */
static struct fpt_hold look;

static int32_t hold_next_look(void *user)
{
	int *armed = user;

	if (__atomic_exchange_n(armed, 0, __ATOMIC_ACQ_REL))
		fpt_hold_me(&look);
	return -EAGAIN;
}

static void hold_at_last_look(int *armed, fp_service *keeper, fp_service_core *c)
{
	fpt_hold_init(&look, "SERVICE_LOOKING");
	look.skip = 3; /* the nap's two looks, and the announcement of the sleep */
	__atomic_store_n(armed, 1, __ATOMIC_RELEASE);
	st_on(keeper, c);
	CHECK_EQ(fp_service_core_start(c), 0);
	CHECK(fpt_hold_reached(&look));
}

static void taken_while_it_looks(int destroy)
{
	struct st_counter k = { .returns = -EAGAIN };
	fp_service_core *sleeper = st_core(NULL), *d;
	fp_service_core_opts o = LIBFP_SERVICE_CORE_OPTS_INIT;
	uint64_t calls;
	int armed;
	fp_service *keeper =
		st_make_fn(hold_next_look, &armed, NULL, LIBFP_SERVICE_WAKEABLE);
	struct script x;

	/* It never sleeps, so that no signal of it disturbs the other one. */
	o.idle = LIBFP_SERVICE_CORE_SPIN;
	CHECK_EQ(fp_service_core_create(&o, &d), 0);
	script(&x, destroy ? destroy_each_other : take_away, 0);
	x.other = st_make(&k, NULL, LIBFP_SERVICE_WAKEABLE);
	x.second = sleeper;
	st_on(x.other, sleeper);
	hold_at_last_look(&armed, keeper, sleeper);
	CHECK_EQ(fp_service_core_start(d), 0);
	CHECK_EQ(fp_service_start(x.self), 0);
	CHECK_EQ(fp_service_run_once(x.self, 0, NULL), 0);
	CHECK_EQ(x.rc[0], -EINPROGRESS);
	calls = st_calls(&k);
	if (!destroy)
		CHECK_EQ(fp_service_map(x.other, d), 0);
	fpt_hold_release(&look);
	if (destroy) {
		while (!st_get(&k.released))
			sched_yield();
	} else {
		/* Asking for statistics of it would settle it. */
		while (st_calls(&k) == calls)
			sched_yield();
		st_end(x.other);
	}
	st_end(x.self);
	st_end(keeper);
	st_end_core(x.core);
	st_end_core(sleeper);
	st_end_core(d);
	fpt_hold_end(&look); /* no thread comes by any more */
}

static void a_service_taken_from_a_core_that_looks_runs_elsewhere(void)
{
	taken_while_it_looks(0);
}

static void a_service_destroyed_while_a_core_looks_is_released(void)
{
	taken_while_it_looks(1);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(a_service_stops_itself),
		FPT_CASE(a_service_shuts_and_opens_itself),
		FPT_CASE(a_service_destroys_itself),
		FPT_CASE(a_service_destroys_itself_in_run_once),
		FPT_CASE(a_service_that_is_inside_is_released_when_it_leaves),
		FPT_CASE(a_service_of_a_sleeping_core_is_released_at_once),
		FPT_CASE(two_services_that_stop_each_other_do_not_hang),
		FPT_CASE(two_services_that_destroy_each_other_are_both_released),
		FPT_CASE(services_and_cores_are_made_inside_a_service),
		FPT_CASE(a_service_stops_its_core),
		FPT_CASE(run_once_inside_a_service),
		FPT_CASE(defaults_run_what_a_sleeping_core_had),
		FPT_CASE(a_service_taken_from_a_core_that_looks_runs_elsewhere),
		FPT_CASE(a_service_destroyed_while_a_core_looks_is_released),
	};
	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
