/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stress tests of DPDK's timers under this library's rules: one timer that all threads
 * set and stop while all of them poll; 8192 timers that all threads arm at once; slow
 * periodic timers that others re-arm meanwhile (T-01). Then what a wheel with lanes has to
 * stand as well: nobody ever polls; threads come and go while they arm.
 */
#include "timer_accounts.h"

#define THREADS 4

struct run;

struct worker {
	struct run *run;
	pthread_t thread;
	uint32_t number;
	uint64_t seed;
	struct ta_book book;
} FPI_OWN_LINES;

struct run {
	fp_timer_wheel *w;
	uint64_t *ids;
	uint64_t clock;	  /* atomic */
	uint64_t working; /* atomic: threads that are not through */
	uint64_t steps;
	struct worker x[THREADS];
};

static _Thread_local struct worker *me;

static uint32_t below(uint32_t n)
{
	return (uint32_t)((fpt_random(&me->seed) >> 32) % n);
}

static uint64_t get(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

/* Time passes with every poll. */
static int64_t poll_next(struct run *run)
{
	int64_t n = ta_poll(run->w, __atomic_add_fetch(&run->clock, 1, __ATOMIC_RELAXED),
			    LIBFP_WHEEL_NO_LIMIT);

	if (n < 0)
		sched_yield(); /* let whoever polls get on */
	return n;
}

static void poll_until_through(struct run *run)
{
	while (get(&run->working)) {
		poll_next(run);
		sched_yield();
	}
}

static void through(struct run *run)
{
	__atomic_sub_fetch(&run->working, 1, __ATOMIC_ACQ_REL);
}

static void *nothing_more(struct worker *x)
{
	through(x->run);
	return NULL;
}

static void be(struct worker *x)
{
	me = x;
	ta_mine = &x->book;
}

/* ---- a run: worker 0 is the test's own thread, which made the wheel ---- */

static uint64_t seed;

static void prepare(struct run *run, uint32_t timers, fp_timer_fn cb, void *user,
		    uint64_t steps)
{
	fp_timer_wheel_opts o = tt_opts(0, timers);

	memset(run, 0, sizeof(*run));
	o.flags |= LIBFP_STATS;
	run->w = tt_create(&o);
	run->ids = calloc(timers, sizeof(*run->ids));
	CHECK(run->ids != NULL);
	for (uint32_t i = 0; i < timers; i++)
		run->ids[i] = tt_timer_fn(run->w, cb, (uintptr_t)user + i);
	run->steps = steps;
	for (uint32_t i = 0; i < THREADS; i++) {
		run->x[i].run = run;
		run->x[i].number = i;
		run->x[i].seed = fpt_random(&seed) | 1;
	}
	be(&run->x[0]);
}

static void start(struct run *run, int first, void *(*fn)(void *))
{
	__atomic_store_n(&run->working, (uint64_t)(THREADS - first), __ATOMIC_RELEASE);
	for (int i = first; i < THREADS; i++)
		if (i)
			ta_start(&run->x[i].thread, fn, &run->x[i]);
}

static void join(struct run *run)
{
	for (int i = 1; i < THREADS; i++)
		pthread_join(run->x[i].thread, NULL);
}

/* The books of all, settled. */
static struct ta_book settle(struct run *run, uint64_t pending)
{
	struct ta_book sum = { 0 };

	for (int i = 0; i < THREADS; i++)
		ta_add(&sum, &run->x[i].book);
	CHECK_EQ(ta_settle(run->w, &sum), pending);
	return sum;
}

static void finish(struct run *run, uint32_t timers)
{
	CHECK_EQ(fp_timer_destroy_bulk(run->w, run->ids, timers, NULL), timers);
	ta_all_free(run->w, UINT64_MAX, timers);
	tt_end(run->w);
	free(run->ids);
}

static void saw(fp_timer_wheel *w, const fp_timer_record *r, void *user)
{
	(void)w;
	(void)user;
	ta_saw(r);
}

/* ---- one timer, all threads set, stop and poll ---- */

static void set_or_stop(struct run *run)
{
	if (below(3))
		ta_arm(run->w, run->ids[0], get(&run->clock) + below(3));
	else
		ta_cancel(run->w, run->ids[0]);
}

static void set_or_stop_inside(fp_timer_wheel *w, const fp_timer_record *r, void *user)
{
	(void)w;
	(void)user;
	ta_saw(r);
	if (below(2))
		set_or_stop(me->run);
	if (below(8) == 0)
		sched_yield();
}

static void *set_stop_and_poll(void *arg)
{
	be(arg);
	for (uint64_t i = 0; i < me->run->steps; i++) {
		poll_next(me->run);
		set_or_stop(me->run);
	}
	return nothing_more(me);
}

static void one_timer_of_all_threads(void)
{
	static struct run run;
	struct ta_book sum;
	int rc;

	prepare(&run, 1, set_or_stop_inside, NULL,
		fpt_scale(FPT_SAMPLE ? 20000 : 100000, 10000000));
	start(&run, 0, set_stop_and_poll);
	set_stop_and_poll(&run.x[0]);
	/* Beside the others' last polls and armings, then for good. */
	rc = ta_cancel_sync(run.w, run.ids[0], LIBFP_FOREVER);
	CHECK(rc == 0 || rc == 1);
	join(&run);
	rc = ta_cancel_sync(run.w, run.ids[0], LIBFP_FOREVER);
	CHECK(rc == 0 || rc == 1);
	CHECK_EQ(fp_timer_is_pending(run.w, run.ids[0]), 0);
	sum = settle(&run, 0);
	CHECK(sum.fired > 0 && sum.cancelled > 0);
	CHECK_EQ(ta_poll(run.w, UINT64_MAX, LIBFP_WHEEL_NO_LIMIT), 0);
	printf("  %" PRIu64 " armed, %" PRIu64 " fired, %" PRIu64 " polls refused\n",
	       sum.arms, sum.fired, sum.busy);
	finish(&run, 1);
}

/* ---- 8192 timers ---- */

#define MANY 8192
#define SOON (1ull << 40) /* no poll comes that far meanwhile */

static void *arm_all(void *arg)
{
	be(arg);
	for (uint32_t i = 0; i < MANY; i++)
		ta_arm(me->run->w, me->run->ids[i], SOON + below(10000));
	return nothing_more(me);
}

static void *stop_and_arm_some(void *arg)
{
	be(arg);
	for (uint64_t n = 0; n < me->run->steps; n++) {
		uint64_t id = me->run->ids[below(MANY)];

		/* Whoever comes last to a timer leaves it armed. */
		ta_cancel(me->run->w, id);
		ta_arm(me->run->w, id, SOON + below(10000));
	}
	return nothing_more(me);
}

static void *poll_all(void *arg)
{
	be(arg);
	do
		/* Others may have the wheel: then they fire. */
		ta_poll(me->run->w, 2 * SOON, 1 + below(100));
	while (fp_timer_wheel_count(me->run->w));
	return nothing_more(me);
}

/* While others arm, this thread polls and makes room in their lanes; nothing is due. */
static void beside_polls(struct run *run, void *(*fn)(void *))
{
	start(run, 1, fn);
	poll_until_through(run);
	join(run);
	CHECK_EQ(settle(run, MANY).fired, 0);
}

static void all_fire(struct run *run, uint64_t in_all)
{
	start(run, 0, poll_all);
	poll_all(&run->x[0]);
	join(run);
	CHECK_EQ(settle(run, 0).fired, in_all);
}

static void eight_thousand_timers_fire_once_each(void)
{
	static struct run run;

	prepare(&run, MANY, saw, NULL, fpt_scale(100000, 10000000) / (THREADS - 1));
	/* All arm all, this thread too, and nobody polls. */
	start(&run, 0, arm_all);
	arm_all(&run.x[0]);
	join(&run);
	CHECK_EQ(settle(&run, MANY).arms, MANY);
	CHECK_EQ(settle(&run, MANY).moves, (THREADS - 1) * MANY);
	all_fire(&run, MANY);
	finish(&run, MANY);

	prepare(&run, MANY, saw, NULL, fpt_scale(100000, 10000000) / (THREADS - 1));
	beside_polls(&run, arm_all);
	beside_polls(&run, stop_and_arm_some);
	all_fire(&run, MANY);
	finish(&run, MANY);
}

/* ---- slow periodic timers ---- */

#define SLOW 50

static uint64_t slow_calls; /* atomic */

/* Others get on while it runs: they wait for it to begin. */
static void slow(fp_timer_wheel *w, const fp_timer_record *r, void *user)
{
	(void)w;
	(void)user;
	ta_saw(r);
	__atomic_add_fetch(&slow_calls, 1, __ATOMIC_ACQ_REL);
	for (int i = 0; i < 4; i++)
		sched_yield();
}

/* Whenever a callback has begun, arms every third timer anew, all in the same pass. */
static void *rearm_some(void *arg)
{
	uint64_t seen = 0;

	be(arg);
	for (uint64_t n = 0; n < me->run->steps; n++) {
		uint64_t i = 0;

		for (; get(&slow_calls) == seen && i < 1000; i++)
			sched_yield();
		seen = get(&slow_calls);
		for (uint32_t k = me->number - 1; k < SLOW; k += THREADS - 1)
			ta_arm_periodic(me->run->w, me->run->ids[k],
					get(&me->run->clock) + below(2), 1 + below(5),
					below(3));
	}
	return nothing_more(me);
}

static int count_one(const fp_timer_info *info, void *user)
{
	(void)info;
	++*(uint64_t *)user;
	return 0;
}

static void slow_timers_that_others_rearm(void) /* T-01 */
{
	static struct run run;
	uint64_t found = 0, fired;

	prepare(&run, SLOW, slow, NULL, fpt_scale(FPT_SAMPLE ? 100 : 400, 20000));
	for (uint32_t i = 0; i < SLOW; i++)
		ta_arm_periodic(run.w, run.ids[i], i % 3, 1 + i % 4, i % 3);
	start(&run, 1, rearm_some);
	poll_until_through(&run);
	join(&run);
	fired = settle(&run, SLOW).fired;
	CHECK(fired > 0);
	/* The lists are intact: every timer is there once, and fires once when told to. */
	CHECK_EQ(fp_timer_wheel_for_each(run.w, count_one, &found), 0);
	CHECK_EQ(found, SLOW);
	for (uint32_t i = 0; i < SLOW; i++)
		CHECK_EQ(ta_arm(run.w, run.ids[i], run.clock + 1 + i), 1);
	CHECK_EQ(ta_poll(run.w, run.clock + SLOW, LIBFP_WHEEL_NO_LIMIT), SLOW);
	CHECK_EQ(settle(&run, 0).fired, fired + SLOW);
	finish(&run, SLOW);
}

/* ---- nobody polls ---- */

#define UNPOLLED 1000

static void *do_anything(void *arg)
{
	be(arg);
	for (uint64_t n = 0; n < me->run->steps; n++) {
		uint64_t id = me->run->ids[below(UNPOLLED)];
		uint64_t tick = 1 + below(1u << below(31));

		switch (below(8)) {
		case 0:
		case 1:
			ta_cancel(me->run->w, id);
			break;
		case 2:
			CHECK(fp_timer_touch(me->run->w, id, tick) >= 0);
			break;
		case 3:
			ta_arm_periodic(me->run->w, id, tick, tick, LIBFP_TIMER_COALESCE);
			break;
		default:
			ta_arm(me->run->w, id, tick);
		}
	}
	return nothing_more(me);
}

/* Everything armed fires in one poll; what is periodic then goes on. */
static void first_poll_fires_what_is_armed(struct run *run)
{
	uint64_t armed = (uint64_t)fp_timer_wheel_count(run->w);
	struct ta_book sum;

	CHECK(armed > UNPOLLED / 2);
	CHECK_EQ(ta_poll(run->w, 1ull << 32, LIBFP_WHEEL_NO_LIMIT), armed);
	ta_cancel_all(run->w);
	sum = settle(run, 0);
	CHECK_EQ(sum.fired, armed);
	CHECK_EQ(ta_poll(run->w, UINT64_MAX, LIBFP_WHEEL_NO_LIMIT), 0);
}

static void never_polled_it_does_not_grow(void)
{
	static struct run run;
	uint64_t used;

	/* Of others: everything is in the records. */
	prepare(&run, UNPOLLED, saw, NULL,
		fpt_scale(FPT_SAMPLE ? 30000 : 300000, 30000000));
	used = tt_stats(run.w).memory_used;
	start(&run, 1, do_anything);
	join(&run);
	CHECK_EQ(tt_stats(run.w).memory_used, used);
	first_poll_fires_what_is_armed(&run);
	finish(&run, UNPOLLED);

	/* Also of the one that polled last: an entry of each timer at most, in 512 bytes. */
	prepare(&run, UNPOLLED, saw, NULL,
		fpt_scale(FPT_SAMPLE ? 30000 : 300000, 30000000));
	used = tt_stats(run.w).memory_used;
	start(&run, 0, do_anything);
	do_anything(&run.x[0]);
	join(&run);
	CHECK(tt_stats(run.w).memory_used <= used + UNPOLLED * 512 + 512);
	CHECK(tt_stats(run.w).memory_used <= tt_stats(run.w).memory);
	first_poll_fires_what_is_armed(&run);
	finish(&run, UNPOLLED);
}

/* Another thread moves all of them nearer. */
static void *arm_all_nearer(void *arg)
{
	be(arg);
	for (uint32_t i = 0; i < UNPOLLED; i++)
		CHECK_EQ(ta_arm(me->run->w, me->run->ids[i],
				SOON - me->run->clock * UNPOLLED - i),
			 me->run->clock > 0);
	return NULL;
}

/* Or, the poll after they were armed, destroys them and makes others. */
static void *arm_or_replace_all(void *arg)
{
	struct worker *x = arg;
	struct run *run = x->run;

	be(x);
	for (uint32_t i = 0; i < UNPOLLED; i++) {
		if (run->clock % 2 == 0)
			CHECK_EQ(ta_arm(run->w, run->ids[i], SOON + below(1u << 31)), 0);
		else
			CHECK_EQ(ta_destroy(run->w, run->ids[i]), 1);
	}
	return NULL;
}

static void arm_and_poll(void *(*fn)(void *))
{
	static struct run run;
	uint64_t used;

	prepare(&run, UNPOLLED, saw, NULL, 2 * fpt_scale(FPT_SAMPLE ? 50 : 150, 10000));
	used = tt_stats(run.w).memory_used;
	for (uint64_t n = 0; n < run.steps; n++) {
		ta_start(&run.x[1].thread, fn, &run.x[1]);
		pthread_join(run.x[1].thread, NULL);
		CHECK_EQ(poll_next(&run), 0);
		for (uint32_t i = 0; i < UNPOLLED; i++)
			if (fp_timer_is_pending(run.w, run.ids[i]) == -ESTALE)
				run.ids[i] = tt_timer_fn(run.w, saw, i);
	}
	/* One entry of each at most, whatever there has been before. */
	CHECK(tt_stats(run.w).memory_used <= used + UNPOLLED * 512 + 512);
	CHECK_EQ(ta_poll(run.w, 2 * SOON, LIBFP_WHEEL_NO_LIMIT),
		 fn == arm_all_nearer ? UNPOLLED : 0);
	settle(&run, 0);
	finish(&run, UNPOLLED);
}

static void moved_or_replaced_for_ever_it_does_not_grow(void)
{
	arm_and_poll(arm_all_nearer);
	arm_and_poll(arm_or_replace_all);
}

/* ---- threads come and go ---- */

#define EACH 16 /* timers of one life */

struct life {
	struct run *run;
	uint64_t *ids;
	uint64_t seed;
	int polls; /* its thread is the owner when it ends; a later one may look like it */
	struct ta_book book;
};

static void *live(void *arg)
{
	struct life *l = arg;
	struct worker x = { .run = l->run, .seed = l->seed };

	me = &x;
	ta_mine = &l->book;
	if (l->polls)
		poll_next(l->run);
	for (int i = 0; i < EACH; i++)
		ta_arm(l->run->w, l->ids[i], get(&l->run->clock) + below(4));
	ta_cancel(l->run->w, l->ids[below(EACH)]);
	ta_arm(l->run->w, l->ids[below(EACH)], 0);
	if (l->polls)
		poll_next(l->run);
	return NULL;
}

static void threads_that_come_and_go_lose_nothing(void) /* */
{
	static struct run run;
	uint64_t lives = fpt_scale(FPT_SAMPLE ? 300 : 1000, 100000);

	for (int polls = 0; polls < 2; polls++) {
		fpt_where("polls %d", polls);
		prepare(&run, THREADS * EACH, saw, NULL, 0);
		for (uint64_t n = 0; n < lives; n++) {
			struct life l[THREADS];
			pthread_t t[THREADS];

			for (int i = 0; i < THREADS; i++) {
				l[i] = (struct life){ .run = &run,
						      .ids = run.ids + i * EACH,
						      .seed = fpt_random(&seed) | 1,
						      .polls = polls && i < 2 };
				ta_start(&t[i], live, &l[i]);
			}
			/* Or nobody does until they are gone. */
			for (int i = 0; i < 4 && n % 2; i++)
				poll_next(&run);
			for (int i = 0; i < THREADS; i++) {
				pthread_join(t[i], NULL);
				ta_add(&run.x[0].book, &l[i].book);
			}
		}
		run.clock += 10;
		poll_next(&run);
		settle(&run, 0);
		finish(&run, THREADS * EACH);
	}
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(one_timer_of_all_threads),
		FPT_CASE(eight_thousand_timers_fire_once_each),
		FPT_CASE(slow_timers_that_others_rearm),
		FPT_CASE(never_polled_it_does_not_grow),
		FPT_CASE(moved_or_replaced_for_ever_it_does_not_grow),
		FPT_CASE(threads_that_come_and_go_lose_nothing),
	};

	seed = fpt_seed();
	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
