/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * No wake-up is ever lost: random rounds of "the ring is empty, consumers go to sleep, an
 * element comes", with 1-3 producers and 1-3 consumers, through every way to sleep.
 *
 * The producers wait until all has been consumed, then put in a few elements a random
 * moment apart, about as long as a consumer takes from its last look to its sleep: many come
 * within the few nanoseconds that the memory orders of src/wakeup are about.
 *
 * "Lost" means: something can be done, nothing has been done, every thread that could do
 * it was asleep and none was inside a call that may still wake it, each of 500 times that
 * the kernel was asked, over a second. How long anything takes decides nothing: beside
 * another job, or on one core, rounds take as long as they like. A thread that is preempted
 * between its publication and its signal is inside a call; only a timer may be late by
 * that second.
 *
 * The proof makes 10^7 rounds of each pair of 1-3 producers and 1-3 consumers, in all its
 * settings together; three quarters of an hour on two CPUs. What counts is the sleeps: the
 * table at the end says how many a signal ended. A round has two elements of a producer on
 * average, and a lone consumer sleeps for nine of ten.
 *
 * The checker is checked by hand: with LIBFP_TEST_NO_MEMBARRIER=1 the library's membarrier
 * says that it has happened and does nothing, and
 *     LIBFP_TEST_NO_MEMBARRIER=1 LIBFP_TEST_SCALE=proof \
 *             build/release/tests/stress_test_wakeup_lost a_public_loop_loses_nothing
 * must end with "LOST". On two CPUs beside other jobs seven runs of eight did within 30 s,
 * after 2,000 to 320,000 elements: where threads seldom run at once it takes longer.
 */
#define _GNU_SOURCE 1 /* RUSAGE_THREAD */
#include <sys/epoll.h>
#include <sys/resource.h>

#include "ring_checker.h"
#include "wake_test.h"

extern uint32_t fpi_test_spin_ns, fpi_test_nap_ns; /* src/ring/ring_wait.c */

#define THREADS 3 /* most on a side */
#define HOGS 3
#define MOST 3 /* elements of a producer in one round */
#define STUCK_LOOKS 500

#define MEMBARRIER (&wt_modes[0])
#define FENCE (&wt_modes[1])
#define POLL (&wt_modes[2])

enum way {
	RING_CALLS,  /* fp_ring_dequeue_wait() */
	MIXED_CALLS, /* some consumers take 2 together, some wait until it is readable */
	FULL_CALLS, /* fp_ring_enqueue_wait() as well: a ring of 1 that is full or empty */
	LOOP,	    /* fp_wakeup_prepare(), look, fp_wakeup_wait() */
	EPOLL,	    /* the first consumer sleeps in epoll_wait(), the others in LOOP */
};

/* How the threads of a run sleep. */
struct setting {
	const char *name;
	enum way way;
	const struct wt_mode *bound; /* NULL: LIBFP_RING_WAIT */
	uint32_t spin_ns, nap_ns;
	uint32_t gap_ns; /* the longest moment between "empty" and the next element */
};

struct run {
	const struct setting *how;
	fp_ring *r;
	fp_wakeup *w;
	int producers, consumers;
	uint64_t rounds; /* of each producer */
	uint64_t seed;
	struct worker *p, *c;
};

struct worker {
	struct wt_thread t;
	struct run *run;
	int id;
	uint64_t moved;	 /* elements; atomic, written by this thread */
	uint64_t polled; /* sleeps in epoll_wait() */
	int inside;	 /* a call that may wake others; atomic. Consumers: always */
	struct rc_tally accepted;
	struct rc_consumer checker;
	uint64_t seed;
} FPI_OWN_LINES;

/* A store only: an RMW here would be the fence whose absence is looked for. */
static void moves(struct worker *x, uint64_t n)
{
	__atomic_store_n(&x->moved, x->moved + n, __ATOMIC_RELEASE);
}

static uint64_t moved(const struct worker *w, int n)
{
	uint64_t sum = 0;

	for (int i = 0; i < n; i++)
		sum += __atomic_load_n(&w[i].moved, __ATOMIC_ACQUIRE);
	return sum;
}

/* ---- producers ---- */

/* Until the consumers have taken all: they are on their way to sleep. */
static void until_drained(const struct run *run)
{
	for (int i = 1; moved(run->c, run->consumers) != moved(run->p, run->producers);
	     i++)
		if (i % 256)
			fpi_cpu_relax();
		else
			sched_yield();
}

/* A random moment, counted in pauses: reading a clock takes as long as what is tried. */
static void moment(struct worker *x)
{
	uint64_t most = x->run->how->gap_ns / 16 + 1; /* a pause: 10 to 40 ns */

	for (uint64_t i = (fpt_random(&x->seed) >> 20) % most; i; i--)
		fpi_cpu_relax();
}

static void put(struct worker *x, uint64_t number)
{
	struct run *run = x->run;
	uint64_t e = rc_head((uint32_t)x->id, number);
	int32_t got = 0;

	moment(x);
	__atomic_store_n(&x->inside, 1, __ATOMIC_RELAXED);
	/* Counted first: nobody sees more consumed than produced. */
	if (run->how->way != FULL_CALLS)
		moves(x, 1);
	else
		CHECK_EQ(fp_ring_enqueue_wait(run->r, &e, 1, 1, LIBFP_FOREVER), 1);
	while (run->how->way != FULL_CALLS && !(got = fp_ring_enqueue_u64(run->r, e)))
		sched_yield();
	if (run->how->way != FULL_CALLS)
		CHECK_EQ(got, 1);
	else
		moves(x, 1);
	__atomic_store_n(&x->inside, 0, __ATOMIC_RELEASE);
	rc_count(&x->accepted, (uint32_t)x->id, number);
}

/* Several in a row: the second comes when the consumer of the first goes to sleep. */
static void *produce(void *arg)
{
	struct worker *x = arg;
	struct run *run = x->run;
	uint64_t number = 0;

	wt_here(&x->t);
	for (uint64_t round = 0; round < run->rounds; round++) {
		uint64_t n = 1 + (fpt_random(&x->seed) >> 20) % MOST;

		if (run->how->way != FULL_CALLS)
			until_drained(run);
		while (n--)
			put(x, number++);
	}
	wt_through(&x->t);
	return NULL;
}

/* ---- consumers ---- */

static void took(struct worker *x, const uint64_t *e, int32_t n)
{
	for (int32_t i = 0; i < n; i++)
		rc_take(&x->checker, &e[i], 8);
	if (n > 0)
		moves(x, (uint64_t)n);
}

/* One dequeue; 0 when the ring is closed and drained. *got: elements. */
static int look(struct worker *x, int32_t *got)
{
	uint64_t e[4];

	*got = fp_ring_dequeue_burst(x->run->r, e, 1 + x->id % 2, NULL);
	CHECK(*got >= 0 || *got == -EPIPE);
	took(x, e, *got);
	return *got >= 0;
}

/* Through the ring's own calls. */
static int consume_by_call(struct worker *x)
{
	enum way way = x->run->how->way;
	uint32_t min = way == MIXED_CALLS && x->id == 1 ? 2 : 1;
	fp_ring *r = x->run->r;
	uint64_t e[4];
	int32_t got;

	if (way == FULL_CALLS)
		moment(x);
	if (way == MIXED_CALLS && x->id == 2) {
		got = fp_ring_wait_readable(r, LIBFP_FOREVER);
		CHECK(got == 1 || got == -EPIPE);
		return got == 1 ? look(x, &got) : 0;
	}
	got = fp_ring_dequeue_wait(r, e, min, min, LIBFP_FOREVER);
	CHECK(got > 0 || got == -EPIPE);
	took(x, e, got);
	return got > 0;
}

static int consume_in_loop(struct worker *x)
{
	fp_wakeup *w = x->run->w;
	uint64_t key;
	int32_t got;

	/* Until it is empty: meanwhile producers see that nobody sleeps, and cache it. */
	do
		if (!look(x, &got))
			return 0;
	while (got);
	CHECK_EQ(fp_wakeup_prepare(w, &key), 0);
	if (!look(x, &got) || got) {
		CHECK_EQ(fp_wakeup_cancel(w, key), 0);
		return got >= 0;
	}
	CHECK_EQ(fp_wakeup_wait(w, key, LIBFP_FOREVER), 0);
	return 1;
}

static int consume_by_epoll(struct worker *x, int ep)
{
	fp_wakeup *w = x->run->w;
	struct epoll_event ev;
	int32_t got;

	do
		if (!look(x, &got))
			return 0;
	while (got);
	CHECK_EQ(fp_wakeup_arm(w), 0);
	if (look(x, &got) && !got) {
		int timeout = fp_wakeup_mode(w) == LIBFP_WAKEUP_MODE_POLL ? 10 : -1;

		while (epoll_wait(ep, &ev, 1, timeout) < 0)
			CHECK_EQ(errno, EINTR);
	}
	CHECK(fp_wakeup_clear(w) >= 0);
	return got >= 0;
}

static void *consume(void *arg)
{
	struct worker *x = arg;
	struct run *run = x->run;
	struct epoll_event ev = { .events = EPOLLIN };
	struct rusage used;
	int ep = -1;

	wt_here(&x->t);
	if (run->how->way == EPOLL && x->id == 0) {
		ep = epoll_create1(EPOLL_CLOEXEC);
		CHECK(ep >= 0);
		CHECK_EQ(epoll_ctl(ep, EPOLL_CTL_ADD, fp_wakeup_fd(run->w), &ev), 0);
		while (consume_by_epoll(x, ep))
			;
		CHECK_EQ(getrusage(RUSAGE_THREAD, &used), 0);
		x->polled = (uint64_t)used.ru_nvcsw;
		close(ep);
	} else if (run->how->way < LOOP) {
		while (consume_by_call(x))
			;
	} else {
		while (consume_in_loop(x))
			;
	}
	wt_through(&x->t);
	return NULL;
}

/* ---- the checker ---- */

static int is_asleep(const struct worker *x)
{
	return fpt_thread_state(__atomic_load_n(&x->t.tid, __ATOMIC_ACQUIRE)) == 'S';
}

/* Whether every thread of a side that is not through is asleep, and there is one. */
static int all_asleep(struct worker *w, int n)
{
	int asleep = 0;

	for (int i = 0; i < n; i++) {
		if (wt_is_through(&w[i].t))
			continue;
		if (!is_asleep(&w[i]))
			return 0;
		asleep++;
	}
	return asleep > 0;
}

/* Whether no thread of a side is on its way to wake somebody. */
static int none_acts(struct worker *w, int n)
{
	for (int i = 0; i < n; i++)
		if (__atomic_load_n(&w[i].inside, __ATOMIC_ACQUIRE) &&
		    !wt_is_through(&w[i].t) && !is_asleep(&w[i]))
			return 0;
	return 1;
}

static int through(struct worker *w, int n)
{
	for (int i = 0; i < n; i++)
		if (!wt_is_through(&w[i].t))
			return 0;
	return 1;
}

/* Elements that no consumer takes though all sleep, or room that no producer uses. */
static int is_stuck(struct run *run)
{
	int64_t count = fp_ring_count(run->r);

	if ((count || fp_ring_is_closed(run->r)) && all_asleep(run->c, run->consumers) &&
	    none_acts(run->p, run->producers))
		return 1;
	return count < fp_ring_capacity(run->r) && all_asleep(run->p, run->producers) &&
	       none_acts(run->c, run->consumers);
}

/* Watches until all of w[n] are through. */
static void watch(struct run *run, struct worker *w, int n)
{
	uint64_t before = 0;
	int stuck = 0;

	while (!through(w, n)) {
		struct timespec t = { 0, 2000000 };
		uint64_t now =
			moved(run->p, run->producers) + moved(run->c, run->consumers);

		stuck = now == before && is_stuck(run) ? stuck + 1 : 0;
		if (stuck == STUCK_LOOKS) {
			fprintf(stderr,
				"  LOST: %" PRId64 " queued%s, all asleep, after %" PRIu64
				" elements, with %s\n",
				fp_ring_count(run->r),
				fp_ring_is_closed(run->r) ? ", closed" : "",
				moved(run->c, run->consumers), fpt_place);
			exit(1); /* nobody can join them */
		}
		before = now;
		nanosleep(&t, NULL);
	}
}

/* ---- what was done ---- */

static struct tally {
	uint64_t rounds, elements, sleeps;
} tallies[THREADS + 1][THREADS + 1]; /* producers, consumers */

/* Those that a signal ended; of naps and of looks that came in time nothing. */
static uint64_t sleeps(const struct run *run)
{
	const fp_wakeup *c = run->r->wake[LIBFP_RING_CONSUMER];
	const fp_wakeup *p = run->r->wake[LIBFP_RING_PRODUCER];

	return wt_stats(c).wakes + (p != c ? wt_stats(p).wakes : 0) + run->c[0].polled;
}

static void tally(const struct run *run)
{
	struct tally *t = &tallies[run->producers][run->consumers];

	t->rounds += run->rounds * (uint64_t)run->producers;
	t->elements += moved(run->c, run->consumers);
	t->sleeps += sleeps(run);
}

static void print_tallies(void)
{
	for (int p = 1; p <= THREADS; p++)
		for (int c = 1; c <= THREADS; c++)
			printf("  %d producers, %d consumers: %" PRIu64
			       " rounds, %" PRIu64 " elements, %" PRIu64 " sleeps\n",
			       p, c, tallies[p][c].rounds, tallies[p][c].elements,
			       tallies[p][c].sleeps);
}

/* ---- a run ---- */

static uint64_t seed;

static void make(struct run *run)
{
	const struct rt_mode m = { "", run->producers > 1 ? LIBFP_MT : LIBFP_ST,
				   run->consumers > 1 ? LIBFP_MT : LIBFP_ST };
	const struct setting *how = run->how;

	run->r = rt_ring(how->way == FULL_CALLS ? 1 : 8, 8, &m,
			 how->bound ? 0 : LIBFP_RING_WAIT);
	if (!how->bound)
		return;
	run->w = wt_wakeup(how->bound);
	CHECK_EQ(fp_ring_set_wakeup(run->r, LIBFP_RING_CONSUMER, run->w), 0);
	if (how->way == FULL_CALLS)
		CHECK_EQ(fp_ring_set_wakeup(run->r, LIBFP_RING_PRODUCER, run->w), 0);
	if (how->way == EPOLL)
		CHECK(fp_wakeup_fd(run->w) >= 0);
}

static void start(struct run *run, struct worker *w, int n, void *(*fn)(void *))
{
	for (int i = 0; i < n; i++) {
		w[i].run = run;
		w[i].id = i;
		w[i].inside = w == run->c;
		w[i].seed = fpt_random(&run->seed) | 1;
		CHECK_EQ(pthread_create(&w[i].t.thread, NULL, fn, &w[i]), 0);
	}
}

static void one_run(const struct setting *how, int producers, int consumers,
		    uint64_t rounds)
{
	static struct worker p[THREADS], c[THREADS];
	struct rc_tally accepted = { 0 }, delivered = { 0 };
	struct run run = { .how = how,
			   .producers = producers,
			   .consumers = consumers,
			   .rounds = rounds / (uint64_t)producers + 1,
			   .seed = fpt_random(&seed),
			   .p = p,
			   .c = c };

	fpt_where("%s, %d producers, %d consumers", how->name, producers, consumers);
	fpi_test_spin_ns = how->spin_ns;
	fpi_test_nap_ns = how->nap_ns;
	memset(p, 0, sizeof(p));
	memset(c, 0, sizeof(c));
	make(&run);
	if (getenv("LIBFP_TEST_NO_MEMBARRIER"))
		fpi_test_no_membarrier = 2;
	start(&run, c, consumers, consume);
	start(&run, p, producers, produce);
	watch(&run, p, producers);
	for (int i = 0; i < producers; i++) {
		pthread_join(p[i].t.thread, NULL);
		rc_add(&accepted, &p[i].accepted);
	}
	/* That too is a wake-up to lose. */
	CHECK_EQ(fp_ring_close(run.r), 0);
	watch(&run, c, consumers);
	for (int i = 0; i < consumers; i++) {
		pthread_join(c[i].t.thread, NULL);
		rc_add(&delivered, &c[i].checker.tally);
	}
	rc_conserved(&accepted, &delivered);
	tally(&run);
	CHECK_EQ(fp_ring_destroy(run.r), 0);
	CHECK_EQ(fp_wakeup_destroy(run.w), 0);
}

/* Rounds of one pair in one setting: 10^7 in the 12.6 settings that every_pair() gets. */
static uint64_t rounds_each(void)
{
	return fpt_scale(FPT_SAMPLE ? 150 : 1500, 800000);
}

static void every_pair(const struct setting *how, uint64_t rounds)
{
	if (how->bound && !wt_mode_exists(how->bound))
		return;
	for (int producers = 1; producers <= THREADS; producers++)
		for (int consumers = 1; consumers <= THREADS; consumers++)
			one_run(how, producers, consumers, rounds);
}

static const struct setting own_nap = { "own, nap", RING_CALLS, NULL, 0, 100000, 2000 };
static const struct setting own_sleep = { "own, sleep", RING_CALLS, NULL, 0, 0, 300 };
static const struct setting own_ladder = { "own, ladder", RING_CALLS, NULL,
					   2000,	  10000,      20000 };
static const struct setting mixed = { "mixed", MIXED_CALLS, NULL, 0, 0, 300 };
static const struct setting mixed_nap = {
	"mixed, nap", MIXED_CALLS, NULL, 0, 100000, 2000
};
static const struct setting full = { "full", FULL_CALLS, NULL, 0, 0, 1000 };
static const struct setting full_shared = {
	"full, one wake-up", FULL_CALLS, FENCE, 0, 0, 1000
};
static const struct setting bound = { "bound", RING_CALLS, MEMBARRIER, 0, 0, 300 };
static const struct setting bound_fence = {
	"bound, fence", RING_CALLS, FENCE, 0, 0, 2000
};
static const struct setting loop = { "loop", LOOP, MEMBARRIER, 0, 0, 300 };
static const struct setting loop_fence = { "loop, fence", LOOP, FENCE, 0, 0, 300 };
static const struct setting loop_poll = { "loop, poll", LOOP, POLL, 0, 0, 300 };
static const struct setting by_epoll = { "epoll", EPOLL, MEMBARRIER, 0, 0, 300 };
static const struct setting epoll_fence = { "epoll, fence", EPOLL, FENCE, 0, 0, 300 };

static void a_waiting_ring_loses_nothing(void)
{
	every_pair(&own_nap, rounds_each());
	every_pair(&own_sleep, rounds_each());
	every_pair(&own_ladder, rounds_each() / 2);
}

static void waiters_of_different_needs_lose_nothing(void)
{
	every_pair(&mixed, rounds_each());
	every_pair(&mixed_nap, rounds_each());
}

static void a_ring_that_is_full_or_empty_loses_nothing(void)
{
	every_pair(&full, rounds_each());
	every_pair(&full_shared, rounds_each());
}

static void a_bound_wakeup_loses_nothing(void)
{
	every_pair(&bound, rounds_each());
	every_pair(&bound_fence, rounds_each());
}

static void a_public_loop_loses_nothing(void)
{
	every_pair(&loop, rounds_each());
	every_pair(&loop_fence, rounds_each());
}

static void mode_poll_loses_nothing(void)
{
	every_pair(&loop_poll, rounds_each() / 10);
}

static void a_descriptor_loses_nothing(void)
{
	every_pair(&by_epoll, rounds_each());
	every_pair(&epoll_fence, rounds_each());
}

/* ---- more threads than any machine of tests has cores ---- */

static int hogs_go_on;

static void *hog(void *arg)
{
	while (__atomic_load_n(&hogs_go_on, __ATOMIC_RELAXED))
		fpi_cpu_relax();
	return arg;
}

static void oversubscribed_nothing_is_lost(void)
{
	static const struct setting *const all[] = { &own_nap, &own_sleep, &mixed,
						     &full,    &bound,	   &loop,
						     &by_epoll };
	pthread_t hogs[HOGS];

	__atomic_store_n(&hogs_go_on, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < HOGS; i++)
		CHECK_EQ(pthread_create(&hogs[i], NULL, hog, NULL), 0);
	for (size_t i = 0; i < FPT_LEN(all); i++)
		if (!all[i]->bound || wt_mode_exists(all[i]->bound))
			one_run(all[i], THREADS, THREADS, rounds_each() / 50 + 1);
	__atomic_store_n(&hogs_go_on, 0, __ATOMIC_RELAXED);
	for (int i = 0; i < HOGS; i++)
		pthread_join(hogs[i], NULL);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(a_waiting_ring_loses_nothing),
		FPT_CASE(waiters_of_different_needs_lose_nothing),
		FPT_CASE(a_ring_that_is_full_or_empty_loses_nothing),
		FPT_CASE(a_bound_wakeup_loses_nothing),
		FPT_CASE(a_public_loop_loses_nothing),
		FPT_CASE(mode_poll_loses_nothing),
		FPT_CASE(a_descriptor_loses_nothing),
		FPT_CASE(oversubscribed_nothing_is_lost),
	};

	int failed;

	seed = fpt_seed();
	failed = fpt_main(argc, argv, cases, FPT_LEN(cases));
	print_tallies();
	return failed;
}
