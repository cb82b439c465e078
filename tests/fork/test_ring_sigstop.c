/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A ring in memory shared by two processes, one of which is stopped with a real
 * SIGSTOP in the middle of its operations: at random moments, many times, and
 * once at each step. The other one goes on producing until the ring is really
 * full and gets everything that is before the hole; after SIGCONT everything
 * arrives, once and in order.
 */
#include <sys/time.h>

#include "child.h"
#include "ring_test.h"
#include "ring_traffic.h"

#define CAP 512
#define SIZE 512 /* a long copy: more stops fall into it */

struct shared {
	uint32_t stop;	/* atomic: the child ends */
	uint32_t calls; /* atomic: of the child, that moved something */
	uint32_t mode;
	int step; /* the child stops itself at this step; -1: never */
	uint32_t op;
	struct rc_tally accepted; /* by the child */
	struct rc_consumer taken; /* by the child */
	uint64_t seed;
	uint64_t len;
	_Alignas(LIBFP_RING_ALIGN) unsigned char ring[];
};

static struct shared *share(const struct rt_mode *m, uint32_t cap, uint32_t size,
			    fp_ring **r)
{
	fp_ring_opts o = rt_opts(cap, size, m, LIBFP_STATS);
	int64_t len = fp_ring_memsize(&o);
	struct shared *s = fpt_shared(sizeof(*s) + (size_t)len);

	s->len = (uint64_t)len;
	s->step = -1;
	CHECK_EQ(fp_ring_init(s->ring, s->len, &o, r), 0);
	return s;
}

static void unshare_ring(struct shared *s, fp_ring *r)
{
	CHECK_EQ(fp_ring_destroy(r), 0);
	munmap(s, sizeof(*s) + s->len);
}

/* ---- random moments ---- */

/*
 * The child stops itself from a timer, so that it is at work when it happens,
 * whichever way the two processes share the cores; every other round the
 * parent sends the signal.
 */
static uint64_t alarm_seed;

static void arm(void)
{
	struct itimerval t = { .it_value.tv_usec =
				       10 + (long)(fpt_random(&alarm_seed) >> 33) % 300 };

	setitimer(ITIMER_REAL, &t, NULL);
}

static void stop_myself(int sig)
{
	(void)sig;
	kill(getpid(), SIGSTOP);
	arm();
}

static void stop_myself_now_and_then(uint64_t seed)
{
	struct sigaction sa = { .sa_handler = stop_myself };

	alarm_seed = seed | 1;
	CHECK_EQ(sigaction(SIGALRM, &sa, NULL), 0);
	arm();
}

static void end_child(struct shared *s, pid_t child)
{
	__atomic_store_n(&s->stop, 1, __ATOMIC_RELEASE);
	while (fpt_child_stopped(child))
		CHECK_EQ(kill(child, SIGCONT), 0);
}

static void child_produces(void *arg)
{
	struct shared *s = arg;
	struct rt_producer p;
	uint32_t tries = 0;
	fp_ring *r = NULL;

	CHECK_EQ(fp_ring_attach(s->ring, s->len, &r), 0);
	rt_producer_init(&p, r, 1, s->seed);
	stop_myself_now_and_then(s->seed);
	while (!__atomic_load_n(&s->stop, __ATOMIC_ACQUIRE)) {
		int32_t got = rt_produce(&p, UINT32_MAX);

		rt_back_off(&tries, got);
		__atomic_fetch_add(&s->calls, got > 0, __ATOMIC_RELAXED);
	}
	s->accepted = p.accepted;
	free(p.buf);
	CHECK_EQ(fp_ring_destroy(r), 0);
}

/* Traffic with the child until it is stopped. c NULL: the parent only produces. */
static void until_stopped(struct shared *s, pid_t child, struct rt_producer *p,
			  struct rt_consumer *c, uint64_t round, uint64_t *seed)
{
	uint32_t until = __atomic_load_n(&s->calls, __ATOMIC_RELAXED) +
			 (uint32_t)(fpt_random(seed) >> 33) % 30;

	for (uint32_t n = 0; !fpt_child_stopped_yet(child); n++) {
		if (c)
			rt_consume(c);
		if (!c || n % 16 == 0)
			rt_produce(p, UINT32_MAX);
		if (n % 64 == 63)
			sched_yield();
		if (round % 2 == 0 &&
		    (int32_t)(__atomic_load_n(&s->calls, __ATOMIC_RELAXED) - until) >= 0)
			CHECK_EQ(kill(child, SIGSTOP), 0);
	}
}

static uint32_t fill_up(struct rt_producer *p)
{
	unsigned char elem[SIZE];
	uint32_t n = 0;

	for (;; n++) {
		int32_t got;

		rc_make(elem, SIZE, p->id, p->number);
		got = fp_ring_enqueue(p->r, elem);
		if (got == 0)
			return n;
		CHECK_EQ(got, 1);
		rc_count(&p->accepted, p->id, p->number++);
		CHECK(n < CAP);
	}
}

static void a_producer_stopped_at_random_moments(void)
{
	uint64_t seed = fpt_seed(), holes = 0,
		 rounds = fpt_scale(FPT_SAMPLE ? 40 : 150, 20000);

	for (int i = 2; i < 4; i++) {
		struct rc_tally in = { 0, 0 };
		struct rt_producer p;
		struct rt_consumer c;
		struct shared *s;
		fp_ring *r;
		pid_t child;

		fpt_where("%s", rt_modes[i].name);
		s = share(&rt_modes[i], CAP, SIZE, &r);
		s->seed = fpt_random(&seed);
		rt_producer_init(&p, r, 0, fpt_random(&seed));
		rt_consumer_init(&c, r, fpt_random(&seed));
		child = fpt_child(child_produces, s);
		for (uint64_t k = 0; k < rounds; k++) {
			fp_ring_stats st;
			uint64_t got;

			until_stopped(s, child, &p, &c, k, &seed);
			fill_up(&p);
			CHECK_EQ(fp_ring_count(r), CAP); /* really full */
			st = rt_stats(r);
			holes += st.unpublished > 0;
			got = rt_consume_all(&c); /* all before the hole */
			if (st.unpublished) {
				CHECK(rt_stats(r).flags & LIBFP_RING_STATS_BLOCKED);
				CHECK_EQ(rt_stats(r).unpublished, st.unpublished);
			} else {
				CHECK_EQ(got, CAP - st.void_pending);
				CHECK_EQ(fp_ring_count(r), 0);
			}
			CHECK(fill_up(&p) >= got); /* and again */
			CHECK_EQ(fp_ring_count(r), CAP);
			CHECK_EQ(kill(child, SIGCONT), 0);
		}
		end_child(s, child);
		rt_consume_all(&c);
		CHECK_EQ(fp_ring_count(r), 0);
		rc_add(&in, &p.accepted);
		rc_add(&in, &s->accepted);
		rc_conserved(&in, &c.checker.tally);
		free(p.buf);
		free(c.buf);
		unshare_ring(s, r);
	}
	printf("  a hole in %" PRIu64 " of %" PRIu64 " rounds\n", holes, 2 * rounds);
}

static void child_consumes(void *arg)
{
	struct shared *s = arg;
	static struct rt_consumer c;
	uint32_t tries = 0;
	fp_ring *r = NULL;

	CHECK_EQ(fp_ring_attach(s->ring, s->len, &r), 0);
	rt_consumer_init(&c, r, s->seed);
	stop_myself_now_and_then(s->seed);
	while (!__atomic_load_n(&s->stop, __ATOMIC_ACQUIRE)) {
		int32_t got = rt_consume(&c);

		rt_back_off(&tries, got);
		__atomic_fetch_add(&s->calls, got > 0, __ATOMIC_RELAXED);
	}
	s->taken = c.checker;
	free(c.buf);
	CHECK_EQ(fp_ring_destroy(r), 0);
}

static void a_consumer_stopped_at_random_moments(void)
{
	uint64_t seed = fpt_seed(), rounds = fpt_scale(FPT_SAMPLE ? 40 : 150, 20000);

	for (int i = 1; i < 4; i += 2) {
		struct rc_tally out = { 0, 0 };
		struct rt_producer p;
		struct rt_consumer c;
		struct shared *s;
		fp_ring *r;
		pid_t child;

		fpt_where("%s", rt_modes[i].name);
		s = share(&rt_modes[i], CAP, SIZE, &r);
		s->seed = fpt_random(&seed);
		rt_producer_init(&p, r, 0, fpt_random(&seed));
		rt_consumer_init(&c, r, fpt_random(&seed));
		child = fpt_child(child_consumes, s);
		for (uint64_t k = 0; k < rounds; k++) {
			uint64_t put, got;

			until_stopped(s, child, &p, NULL, k, &seed);
			rt_consume_all(&c);
			put = fill_up(&p); /* up to what the child has not given back */
			got = rt_consume_all(&c);
			CHECK_EQ(got, put);
			CHECK_EQ(fp_ring_count(r), 0);
			CHECK_EQ(kill(child, SIGCONT), 0);
		}
		end_child(s, child);
		rt_consume_all(&c);
		CHECK_EQ(fill_up(&p), CAP); /* every slot is back */
		CHECK_EQ(rt_consume_all(&c), CAP);
		rc_add(&out, &c.checker.tally);
		rc_add(&out, &s->taken.tally);
		rc_conserved(&p.accepted, &out);
		free(p.buf);
		free(c.buf);
		unshare_ring(s, r);
	}
}

/* ---- at each step ---- */

static int steps_left;

static void stop_at_step(const char *step)
{
	(void)step;
	if (steps_left-- == 0)
		raise(SIGSTOP);
}

static void child_produces_once(void *arg)
{
	struct shared *s = arg;
	unsigned char elems[3 * SIZE];
	fp_ring_span span;
	fp_ring *r = NULL;
	int32_t got;

	CHECK_EQ(fp_ring_attach(s->ring, s->len, &r), 0);
	for (uint32_t i = 0; i < 3; i++)
		rc_make(elems + i * SIZE, SIZE, 1, i);
	steps_left = s->step;
	fpi_test_step = stop_at_step;
	if (s->op == 0)
		got = fp_ring_enqueue(r, elems);
	else if (s->op == 1)
		got = fp_ring_enqueue_bulk(r, elems, 3, NULL);
	else {
		got = fp_ring_reserve_enqueue(r, 3, 0, &span);
		for (int32_t i = 0; i < got; i++)
			memcpy(rt_span_at(&span, SIZE, (uint32_t)i), elems + i * SIZE,
			       SIZE);
		if (got > 0)
			got = fp_ring_commit_enqueue(r, &span, (uint32_t)got);
	}
	fpi_test_step = NULL;
	CHECK(got >= 0);
	for (int32_t i = 0; i < got; i++)
		rc_count(&s->accepted, 1, (uint64_t)i);
	CHECK_EQ(fp_ring_destroy(r), 0);
}

static void a_producer_stopped_at_each_step(void)
{
	for (int i = 2; i < 4; i++)
		for (uint32_t moved = 0; moved < 2; moved++)
			for (uint32_t op = 0; op < 3; op++)
				for (int step = 0, stopped = 1; stopped; step++) {
					struct rc_tally in = { 0, 0 };
					struct rt_producer p;
					struct rt_consumer c;
					struct shared *s;
					fp_ring *r;
					pid_t child;
					uint64_t put, got, hole;

					fpt_where("%s moved %u op %u step %d",
						  rt_modes[i].name, moved, op, step);
					s = share(&rt_modes[i], CAP, SIZE, &r);
					s->op = op;
					s->step = step;
					rt_producer_init(&p, r, 0, 1);
					rt_consumer_init(&c, r, 1);
					if (moved) { /* so that the child's three wrap */
						CHECK_EQ(fill_up(&p), CAP);
						CHECK_EQ(rt_consume_all(&c), CAP);
						fpi_ring_start_at(r, 63);
						for (int k = 0; k < CAP - 1; k++) {
							CHECK_EQ(
								fp_ring_enqueue(r, p.buf),
								1);
							CHECK_EQ(
								fp_ring_dequeue(r, p.buf),
								1);
						}
					}
					child = fpt_child(child_produces_once, s);
					stopped = fpt_child_stopped(child);
					if (stopped) {
						put = fill_up(&p);
						CHECK_EQ(fp_ring_count(r), CAP);
						hole = rt_stats(r).unpublished;
						got = rt_consume_all(&c);
						if (hole)
							CHECK(got <= 3);
						else
							CHECK(got >= put);
						CHECK_EQ(fill_up(&p), got);
						CHECK_EQ(fp_ring_count(r), CAP);
						CHECK_EQ(kill(child, SIGCONT), 0);
						CHECK_EQ(fpt_child_stopped(child), 0);
					} else {
						CHECK(step > 1);
					}
					rt_consume_all(&c);
					CHECK_EQ(fp_ring_count(r), 0);
					rc_add(&in, &p.accepted);
					rc_add(&in, &s->accepted);
					rc_conserved(&in, &c.checker.tally);
					free(p.buf);
					free(c.buf);
					unshare_ring(s, r);
				}
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(a_producer_stopped_at_random_moments),
		FPT_CASE(a_consumer_stopped_at_random_moments),
		FPT_CASE(a_producer_stopped_at_each_step),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
