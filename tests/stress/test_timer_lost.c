/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * No arming is ever lost: threads arm a timer for now or the past and wait until it has
 * fired (T-02), again and again, with every way to poll: without pause, asleep in
 * fp_timer_wheel_wait() on the wheel's own wake-up or on a bound one, in a loop of one's
 * own around fp_wakeup_wait(), and a service core. Two threads also arm one timer for the
 * same tick.
 *
 * Books do not see what is missed here: a lost arming is still counted as armed.
 *
 * "Lost" means: a timer is armed for a time that is over and has not fired, and at each of
 * twenty looks in a row, over 40 ms, every thread that polls has polled since or is asleep.
 * How long anything takes decides nothing.
 */
#include "service_test.h"
#include "timer_accounts.h"
#include "wake_test.h"

#define ARMERS 3
#define POLLERS 2
#define LOOKS 20
#define FAR (1ull << 39) /* ticks; no test takes so long */

#define MEMBARRIER (&wt_modes[0])
#define FENCE (&wt_modes[1])
#define POLL_MODE (&wt_modes[2])

enum way {
	SPIN, /* polls without pause; time is a count of polls */
	WAIT, /* fp_timer_wheel_wait() */
	LOOP, /* fp_wakeup_prepare(), poll, fp_wakeup_wait() */
	CORE, /* a service core */
};

struct setting {
	const char *name;
	enum way way;
	int pollers;
	const struct wt_mode *bound; /* NULL: LIBFP_WHEEL_WAIT, or nothing to sleep on */
};

struct run;

/* A thread that arms. */
struct armer {
	struct wt_thread t;
	struct run *run;
	uint64_t id;
	uint64_t rounds;
	uint64_t seed;
	uint64_t armed; /* atomic; that have returned, written by this thread */
	uint64_t fired FPI_OWN_LINES; /* atomic; by the callback */
} FPI_OWN_LINES;

struct poller {
	struct wt_thread t;
	struct run *run;
	uint64_t polls; /* atomic */
} FPI_OWN_LINES;

struct run {
	const struct setting *how;
	fp_timer_wheel *w;
	fp_wakeup *bound;
	fp_service_core *core;
	uint64_t clock; /* atomic */
	int over;	/* atomic */
	struct armer a[ARMERS];
	struct poller p[POLLERS];
};

static uint64_t get(const uint64_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

/* A store only, by the one thread that writes it: an RMW would be a fence. */
static void add(uint64_t *p, uint64_t n)
{
	__atomic_store_n(p, __atomic_load_n(p, __ATOMIC_RELAXED) + n, __ATOMIC_RELEASE);
}

static void relax(uint64_t i)
{
	if (i % 64 == 63)
		sched_yield();
	else
		fpi_cpu_relax();
}

static uint64_t now_of(struct run *run)
{
	uint64_t now = 0;

	if (run->how->way == SPIN)
		return __atomic_load_n(&run->clock, __ATOMIC_RELAXED);
	CHECK_EQ(fp_timer_wheel_now(run->w, &now), 0);
	return now;
}

/* ---- who arms ---- */

/* On the polling thread; polls are one after the other, whoever makes them. */
static void fired(fp_timer_wheel *w, const fp_timer_record *r, void *user)
{
	struct armer *a = user;

	(void)w;
	CHECK(r->id == a->id);
	add(&a->fired, 1);
}

/*
 * At times it is armed for later first, which wakes nobody: another timer is before it. Returns whether it is. (Its
 * last callback may be about to return: what is armed now is armed all the same.)
 */
static int arm_for_later(struct armer *a)
{
	uint64_t later = now_of(a->run) + 2 * FAR;

	switch (fpt_random(&a->seed) >> 61) {
	case 0:
		CHECK_EQ(fp_timer_arm(a->run->w, a->id, later), 0);
		return 1;
	case 1:
		CHECK_EQ(fp_timer_arm(a->run->w, a->id, later), 0);
		CHECK(fp_timer_cancel(a->run->w, a->id) != 0);
		return 0;
	default:
		return 0;
	}
}

static void *arm_and_wait(void *arg)
{
	struct armer *a = arg;
	struct run *run = a->run;

	wt_here(&a->t);
	for (uint64_t n = 1; n <= a->rounds; n++) {
		uint32_t kind = (uint32_t)(fpt_random(&a->seed) >> 61);
		uint64_t tick = kind < 2 ? kind : now_of(run) + kind % 2;
		int was;

		ta_moment(&a->seed, 100);
		was = arm_for_later(a);
		CHECK_EQ(fp_timer_arm(run->w, a->id, tick), was);
		add(&a->armed, 1);
		for (uint64_t i = 0; get(&a->fired) != n; i++)
			relax(i);
	}
	wt_through(&a->t);
	return NULL;
}

/* ---- who polls ---- */

static int64_t poll_now(struct run *run)
{
	int64_t n = fp_timer_wheel_poll(run->w, now_of(run), LIBFP_WHEEL_NO_LIMIT);

	CHECK(n >= 0 || (n == -EBUSY && run->how->pollers > 1));
	return n;
}

static void spin_once(struct run *run, uint64_t i)
{
	add(&run->clock, 1);
	poll_now(run);
	if (i % 64 == 63)
		sched_yield(); /* on one core the others are to run too */
}

static void wait_once(struct run *run)
{
	int rc = fp_timer_wheel_wait(run->w, LIBFP_FOREVER);

	CHECK(rc == 0 || rc == -ECANCELED);
	poll_now(run);
}

static void loop_once(struct run *run)
{
	uint64_t key, next, now, ns = LIBFP_FOREVER;
	int rc;

	CHECK_EQ(fp_wakeup_prepare(run->bound, &key), 0);
	if (poll_now(run) != 0) {
		CHECK_EQ(fp_wakeup_cancel(run->bound, key), 0);
		return;
	}
	now = now_of(run);
	if (fp_timer_wheel_next_expiry(run->w, &next) == 1)
		ns = next <= now ?
			     0 :
			     (next - now) * (uint64_t)fp_timer_wheel_tick_ns(run->w);
	rc = fp_wakeup_wait(run->bound, key, ns);
	CHECK(rc == 0 || rc == -ETIMEDOUT || rc == -ECANCELED);
}

static void *keep_polling(void *arg)
{
	struct poller *p = arg;
	struct run *run = p->run;

	wt_here(&p->t);
	for (uint64_t i = 0; !__atomic_load_n(&run->over, __ATOMIC_ACQUIRE); i++) {
		if (run->how->way == SPIN)
			spin_once(run, i);
		else if (run->how->way == WAIT)
			wait_once(run);
		else
			loop_once(run);
		add(&p->polls, 1);
	}
	wt_through(&p->t);
	return NULL;
}

/* ---- the checker ---- */

/* Whether it has polled since the last look, which *polls is from, or is asleep. */
static int has_looked(struct run *run, int i, uint64_t *polls)
{
	int64_t tid = run->core ? st_core_stats(run->core).thread_id :
				  __atomic_load_n(&run->p[i].t.tid, __ATOMIC_ACQUIRE);
	uint64_t before = *polls;

	*polls = get(&run->p[i].polls);
	/* The poll that was in progress at the last look, and a whole one. */
	return *polls > before + 1 || fpt_thread_state((int)tid) == 'S';
}

/* Waits until all who arm are through. */
static void watch(struct run *run)
{
	uint64_t polls[POLLERS] = { 0 }, before[ARMERS] = { 0 };
	int stuck[ARMERS] = { 0 }, through;

	do {
		struct timespec t = { 0, 2000000 };
		int looked = 1;

		nanosleep(&t, NULL);
		for (int i = 0; i < run->how->pollers; i++)
			looked &= has_looked(run, i, &polls[i]);
		through = 1;
		for (int i = 0; i < ARMERS; i++) {
			uint64_t armed = get(&run->a[i].armed);
			int waits = armed > get(&run->a[i].fired);

			through &= wt_is_through(&run->a[i].t);
			stuck[i] =
				looked && waits && armed == before[i] ? stuck[i] + 1 : 0;
			before[i] = armed;
			if (stuck[i] == LOOKS)
				fprintf(stderr, "  LOST: after %" PRIu64 " rounds\n",
					armed);
			CHECK(stuck[i] < LOOKS);
		}
	} while (!through);
}

/* ---- a run ---- */

static uint64_t seed;

static void make(struct run *run)
{
	const struct setting *how = run->how;
	fp_timer_wheel_opts o = tt_opts(0, 8);

	if (how->way != SPIN)
		o.flags = how->way == WAIT && !how->bound ? LIBFP_WHEEL_WAIT : 0;
	run->w = tt_create(&o);
	if (how->bound) {
		run->bound = wt_wakeup(how->bound);
		CHECK_EQ(fp_timer_wheel_set_wakeup(run->w, run->bound), 0);
	}
	if (how->way == CORE) {
		fp_service *s;

		CHECK_EQ(fp_timer_wheel_service(run->w, &s), 0);
		run->core = st_sleeper();
		st_on(s, run->core);
	}
	for (int i = 0; how->way != CORE && i < how->pollers; i++) {
		run->p[i].run = run;
		ta_start(&run->p[i].t.thread, keep_polling, &run->p[i]);
	}
}

static void end(struct run *run)
{
	const struct setting *how = run->how;
	fp_service *s;

	__atomic_store_n(&run->over, 1, __ATOMIC_RELEASE);
	for (int i = 0; how->way != CORE && i < how->pollers; i++) {
		/* An interrupt ends the waits that have begun. */
		while (how->way != SPIN && !wt_is_through(&run->p[i].t)) {
			CHECK_EQ(fp_timer_wheel_interrupt(run->w), 0);
			wt_pause();
		}
		pthread_join(run->p[i].t.thread, NULL);
	}
	if (how->way == CORE) {
		CHECK_EQ(fp_timer_wheel_service(run->w, &s), 0);
		CHECK_EQ(fp_timer_wheel_destroy(run->w), -EBUSY);
		CHECK_EQ(fp_service_unmap(s, run->core, LIBFP_FOREVER), 0);
		st_end_core(run->core);
	}
	tt_end(run->w);
	CHECK_EQ(fp_wakeup_destroy(run->bound), 0);
}

static void one_run(const struct setting *how, uint64_t rounds)
{
	static struct run run;

	fpt_where("%s", how->name);
	memset(&run, 0, sizeof(run));
	run.how = how;
	make(&run);
	CHECK_EQ(fp_timer_arm(run.w, tt_timer_fn(run.w, NULL, 0), now_of(&run) + FAR), 0);
	for (int i = 0; i < ARMERS; i++) {
		struct armer *a = &run.a[i];

		a->run = &run;
		a->rounds = rounds;
		a->seed = fpt_random(&seed) | 1;
		a->id = tt_timer_fn(run.w, fired, (uintptr_t)a);
		ta_start(&a->t.thread, arm_and_wait, a);
	}
	watch(&run);
	for (int i = 0; i < ARMERS; i++) {
		pthread_join(run.a[i].t.thread, NULL);
		CHECK_EQ(run.a[i].fired, rounds);
	}
	CHECK_EQ(fp_timer_wheel_count(run.w), 1);
	end(&run);
}

static uint64_t rounds_each(uint64_t proof)
{
	return fpt_scale(FPT_SAMPLE ? 1000 : 4000, proof);
}

static void a_poller_without_pause_misses_nothing(void) /* T-02 */
{
	static const struct setting how = { "spin", SPIN, 1, NULL };

	one_run(&how, 4 * rounds_each(2000000));
}

static void two_pollers_by_turns_miss_nothing(void)
{
	static const struct setting how = { "spin, two", SPIN, 2, NULL };

	one_run(&how, 2 * rounds_each(1000000));
}

static void every(const struct setting *all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!all[i].bound || wt_mode_exists(all[i].bound))
			one_run(&all[i], all[i].bound == POLL_MODE ?
						 rounds_each(50000) / 20 :
						 rounds_each(1000000));
}

static void a_waiting_poller_misses_nothing(void)
{
	static const struct setting all[] = {
		{ "own", WAIT, 1, NULL },
		{ "own, two", WAIT, 2, NULL },
		{ "bound", WAIT, 1, MEMBARRIER },
		{ "bound, fence", WAIT, 1, FENCE },
		{ "bound, fence, two", WAIT, 2, FENCE },
		{ "bound, poll", WAIT, 1, POLL_MODE },
	};

	every(all, FPT_LEN(all));
}

static void a_loop_of_ones_own_misses_nothing(void)
{
	static const struct setting all[] = {
		{ "loop", LOOP, 1, MEMBARRIER },
		{ "loop, fence", LOOP, 1, FENCE },
		{ "loop, fence, two", LOOP, 2, FENCE },
	};

	every(all, FPT_LEN(all));
}

static void a_service_core_misses_nothing(void)
{
	static const struct setting how = { "core", CORE, 1, NULL };

	one_run(&how, rounds_each(1000000));
}

/* ---- one timer, one tick, two threads ---- */

#define TIMERS 4
#define MOST 3 /* armings of a timer by a thread in a round */

struct pair {
	fp_timer_wheel *w;
	uint64_t id[TIMERS];
	uint64_t fired[TIMERS]; /* atomic; by the poller */
	uint64_t clock;		/* atomic */
	uint64_t tick;		/* of the round */
	uint64_t rounds;
	uint64_t arrived;	/* atomic: barriers passed, by both */
	uint64_t armed[TIMERS]; /* atomic: armings of timers that were not armed */
	int over;		/* atomic */
};

struct half {
	struct pair *pair;
	int number;
	uint64_t seed;
	pthread_t thread;
};

static void count_shot(fp_timer_wheel *w, const fp_timer_record *r, void *user)
{
	(void)w;
	(void)r;
	add(user, 1);
}

/* Both have come so far. */
static void meet(struct pair *p, uint64_t times)
{
	__atomic_add_fetch(&p->arrived, 1, __ATOMIC_ACQ_REL);
	for (uint64_t i = 0; get(&p->arrived) < 2 * times; i++)
		relax(i);
}

static void *arm_the_same(void *arg)
{
	struct half *h = arg;
	struct pair *p = h->pair;
	uint64_t met = 0;

	for (uint64_t round = 0; round < p->rounds; round++) {
		if (h->number == 0)
			p->tick = get(&p->clock) + (fpt_random(&h->seed) >> 20) % 100;
		meet(p, ++met);
		for (int k = 0; k < TIMERS; k++)
			for (uint64_t n = 1 + (fpt_random(&h->seed) >> 20) % MOST; n;
			     n--) {
				/* Sometimes one off, so that the next one moves it back. */
				uint64_t off = fpt_random(&h->seed) >> 62 == 0;
				int rc = fp_timer_arm(p->w, p->id[k], p->tick + off);

				CHECK(rc == 0 || rc == 1);
				if (rc == 0)
					__atomic_add_fetch(&p->armed[k], 1,
							   __ATOMIC_ACQ_REL);
			}
		meet(p, ++met);
		for (int k = 0; k < TIMERS; k++)
			for (uint64_t i = 0; get(&p->fired[k]) < get(&p->armed[k]); i++)
				relax(i);
		for (int k = 0; k < TIMERS; k++)
			CHECK_EQ(get(&p->fired[k]), get(&p->armed[k]));
		meet(p, ++met);
	}
	return NULL;
}

static void *keep_counting(void *arg)
{
	struct pair *p = arg;

	for (uint64_t i = 0; !__atomic_load_n(&p->over, __ATOMIC_ACQUIRE); i++) {
		add(&p->clock, 1);
		CHECK(fp_timer_wheel_poll(p->w, get(&p->clock), LIBFP_WHEEL_NO_LIMIT) >=
		      0);
		if (i % 64 == 63)
			sched_yield();
	}
	return NULL;
}

static void armed_twice_for_one_tick_it_fires_once(void)
{
	static struct pair p;
	struct half h[2];
	pthread_t poller;

	memset(&p, 0, sizeof(p));
	p.w = tt_wheel(0, TIMERS);
	p.rounds = fpt_scale(FPT_SAMPLE ? 1000 : 10000, 1000000);
	for (int k = 0; k < TIMERS; k++)
		p.id[k] = tt_timer_fn(p.w, count_shot, (uintptr_t)&p.fired[k]);
	ta_start(&poller, keep_counting, &p);
	for (int i = 0; i < 2; i++) {
		h[i] = (struct half){ &p, i, fpt_random(&seed) | 1, 0 };
		ta_start(&h[i].thread, arm_the_same, &h[i]);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(h[i].thread, NULL);
	__atomic_store_n(&p.over, 1, __ATOMIC_RELEASE);
	pthread_join(poller, NULL);
	CHECK_EQ(fp_timer_wheel_count(p.w), 0);
	tt_end(p.w);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(a_poller_without_pause_misses_nothing),
		FPT_CASE(two_pollers_by_turns_miss_nothing),
		FPT_CASE(a_waiting_poller_misses_nothing),
		FPT_CASE(a_loop_of_ones_own_misses_nothing),
		FPT_CASE(a_service_core_misses_nothing),
		FPT_CASE(armed_twice_for_one_tick_it_fires_once),
	};

	seed = fpt_seed();
	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
