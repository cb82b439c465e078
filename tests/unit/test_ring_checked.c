/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LIBFP_CHECKED: two threads inside an ST side, calls during destroy, spans
 * committed twice. The misuse is refused, the log line names both threads, and
 * nothing is corrupted. Threads are held inside a call by the steps of the
 * test build, so nothing here depends on timing.
 */
#define _GNU_SOURCE /* gettid */
#include <pthread.h>
#include <unistd.h>

#include "hold.h"
#include "ring_test.h"

/* ---- a victim that is held inside one operation ---- */

enum what { ENQUEUE, DEQUEUE };

struct victim {
	fp_ring *r;
	struct fpt_hold hold;
	enum what what;
	int32_t got;
	uint64_t elem;
	long tid;
	pthread_t thread;
};

static void *victim_main(void *arg)
{
	struct victim *v = arg;

	v->tid = gettid();
	fpt_hold_me(&v->hold);
	v->got = v->what == ENQUEUE ? fp_ring_enqueue_u64(v->r, v->elem) :
				      fp_ring_dequeue_u64(v->r, &v->elem);
	fpt_hold_done(&v->hold);
	return NULL;
}

static void victim_enter(struct victim *v, fp_ring *r, enum what what, uint64_t elem)
{
	memset(v, 0, sizeof(*v));
	v->r = r;
	v->what = what;
	v->elem = elem;
	fpt_hold_init(&v->hold, NULL);
	CHECK_EQ(pthread_create(&v->thread, NULL, victim_main, v), 0);
	CHECK_EQ(fpt_hold_reached(&v->hold), 1);
}

static void victim_leave(struct victim *v)
{
	fpt_hold_release(&v->hold);
	pthread_join(v->thread, NULL);
	fpt_hold_end(&v->hold);
}

/* One refusal: -EBUSY and an error line with both thread ids. */
#define INTRUDES(call, other)                                        \
	do {                                                         \
		fpt_log_begin();                                     \
		CHECK_EQ(call, -EBUSY);                              \
		CHECK_EQ(fpt_log.lines, 1);                          \
		CHECK_EQ(fpt_log.level, LIBFP_LOG_ERROR);            \
		CHECK(fpt_names_thread(fpt_log.last, gettid()));     \
		CHECK(fpt_names_thread(fpt_log.last, (other)->tid)); \
		fpt_log_end();                                       \
	} while (0)

static void two_threads_inside_an_st_producer_side(void)
{
	for (int i = 0; i < 2; i++) {
		fp_ring *r = rt_ring(8, 8, &rt_modes[i], LIBFP_CHECKED);
		uint64_t buf[8] = { 90, 91, 92 };
		uint32_t after = 77;
		struct victim v;
		fp_ring_span s;

		fpt_where("%s", rt_modes[i].name);
		CHECK_EQ(fp_ring_enqueue_u64(r, 1), 1);
		victim_enter(&v, r, ENQUEUE, 2);
		INTRUDES(fp_ring_enqueue_u64(r, 99), &v);
		INTRUDES(fp_ring_enqueue(r, buf), &v);
		INTRUDES(fp_ring_enqueue_burst(r, buf, 3, &after), &v);
		INTRUDES(fp_ring_enqueue_bulk(r, buf, 3, &after), &v);
		INTRUDES(fp_ring_reserve_enqueue(r, 2, 0, &s), &v);
		INTRUDES(fp_ring_close(r), &v);
		INTRUDES(fp_ring_destroy(r), &v);
		INTRUDES(fp_ring_reset(r), &v);
		CHECK_EQ(after, 77);
		CHECK_EQ(fp_ring_is_closed(r), 0);
		/* the other side and the getters are free */
		CHECK_EQ(fp_ring_dequeue_burst(r, buf, 1, NULL), 1);
		CHECK_EQ(buf[0], 1);
		CHECK_EQ(fp_ring_capacity(r), 8);
		CHECK(fp_ring_count(r) <= 1);
		victim_leave(&v);
		CHECK_EQ(v.got, 1);
		CHECK_EQ(fp_ring_enqueue_u64(r, 3), 1); /* handed over by the join */
		CHECK_EQ(fp_ring_dequeue_burst(r, buf, 8, NULL), 2);
		CHECK_EQ(buf[0], 2);
		CHECK_EQ(buf[1], 3);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

static void two_threads_inside_an_st_consumer_side(void)
{
	for (int i = 0; i < 4; i += 2) {
		fp_ring *r = rt_ring(8, 8, &rt_modes[i], LIBFP_CHECKED);
		uint64_t buf[8] = { 9, 9 };
		uint32_t after = 77;
		struct victim v;
		fp_ring_span s;

		fpt_where("%s", rt_modes[i].name);
		for (uint64_t k = 0; k < 4; k++)
			CHECK_EQ(fp_ring_enqueue_u64(r, k), 1);
		victim_enter(&v, r, DEQUEUE, 0);
		INTRUDES(fp_ring_dequeue_u64(r, buf), &v);
		INTRUDES(fp_ring_dequeue(r, buf), &v);
		INTRUDES(fp_ring_dequeue_burst(r, buf, 3, &after), &v);
		INTRUDES(fp_ring_dequeue_bulk(r, buf, 3, &after), &v);
		INTRUDES(fp_ring_peek(r, buf, 1), &v);
		INTRUDES(fp_ring_reserve_dequeue(r, 2, 0, &s), &v);
		INTRUDES(fp_ring_destroy(r), &v);
		CHECK_EQ(after, 77);
		CHECK_EQ(buf[0], 9);
		CHECK_EQ(fp_ring_enqueue_u64(r, 4), 1);
		victim_leave(&v);
		CHECK_EQ(v.got, 1);
		CHECK_EQ(v.elem, 0);
		CHECK_EQ(fp_ring_dequeue_burst(r, buf, 8, NULL), 4);
		for (uint64_t k = 0; k < 4; k++)
			CHECK_EQ(buf[k], k + 1);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

static void a_span_commit_beside_a_thread_inside(void)
{
	struct victim v;
	fp_ring_span s;
	uint64_t buf[8];
	fp_ring *r = rt_ring(8, 8, &rt_modes[0], LIBFP_CHECKED);

	/* An open span is no thread inside; another call would destroy it. */
	CHECK_EQ(fp_ring_reserve_enqueue(r, 2, 0, &s), 2);
	fpt_log_begin();
	CHECK_EQ(fp_ring_enqueue_u64(r, 9), -EBUSY);
	CHECK_EQ(fp_ring_enqueue_burst(r, buf, 3, NULL), -EBUSY);
	CHECK(fpt_log.lines >= 2);
	fpt_log_end();
	rt_span_fill(&s, 8, 0, 2);
	CHECK_EQ(fp_ring_commit_enqueue(r, &s, 2), 2);
	CHECK_EQ(fp_ring_reserve_dequeue(r, 1, 0, &s), 1);
	CHECK_EQ(fp_ring_dequeue_u64(r, buf), -EBUSY);
	CHECK_EQ(fp_ring_commit_dequeue(r, &s, 0), 0);
	CHECK_EQ(fp_ring_reserve_dequeue(r, 1, 0, &s), 1);
	CHECK_EQ(fp_ring_commit_dequeue(r, &s, 1), 1);
	victim_enter(&v, r, DEQUEUE, 0);
	INTRUDES(fp_ring_commit_dequeue(r, &s, 1), &v);
	victim_leave(&v);
	CHECK_EQ(v.got, 1);
	CHECK_EQ(v.elem, rt_u64(1));
	CHECK_EQ(fp_ring_destroy(r), 0);
}

static void any_number_of_threads_inside_an_mt_side(void)
{
	fp_ring *r = rt_ring(8, 8, &rt_modes[3], LIBFP_CHECKED);
	struct victim v;
	uint64_t e;

	CHECK_EQ(fp_ring_enqueue_u64(r, 1), 1);
	CHECK_EQ(fp_ring_enqueue_u64(r, 2), 1);
	victim_enter(&v, r, ENQUEUE, 9);
	fpt_log_begin();
	CHECK_EQ(fp_ring_enqueue_u64(r, 3), 1);
	CHECK_EQ(fp_ring_dequeue_u64(r, &e), 1);
	CHECK_EQ(fp_ring_close(r), 0);
	CHECK_EQ(fpt_log.lines, 0);
	CHECK_EQ(fp_ring_destroy(r), -EBUSY); /* somebody is inside all the same */
	CHECK_EQ(fp_ring_reset(r), -EBUSY);
	CHECK(fpt_names_thread(fpt_log.last, gettid()));
	fpt_log_end();
	victim_leave(&v);
	CHECK(v.got == 1 || v.got == -EPIPE);
	CHECK_EQ(fp_ring_destroy(r), 0);
}

/* ---- a legal hand-over ---- */

static void *one_each(void *arg)
{
	fp_ring *r = arg;
	uint64_t e;

	CHECK_EQ(fp_ring_enqueue_u64(r, 1), 1);
	CHECK_EQ(fp_ring_dequeue_u64(r, &e), 1);
	CHECK_EQ(fp_ring_enqueue_u64(r, e + 1), 1);
	return NULL;
}

static void a_hand_over_is_legal(void)
{
	RT_EACH_MODE(m)
	{
		fp_ring *r = rt_ring(3, 8, m, LIBFP_CHECKED);
		uint64_t e;

		fpt_log_begin();
		for (int i = 0; i < 100; i++) {
			pthread_t t;

			CHECK_EQ(pthread_create(&t, NULL, one_each, r), 0);
			pthread_join(t, NULL);
			CHECK_EQ(fp_ring_dequeue_u64(r, &e), 1);
			CHECK_EQ(e, 2);
			CHECK_EQ(fp_ring_dequeue_u64(r, &e), 0);
		}
		CHECK_EQ(fpt_log.lines, 0);
		fpt_log_end();
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

/* ---- calls during destroy ---- */

struct late {
	struct fpt_heap heap;
	fp_ring *r;
	long tid;
	int32_t put, get;
	int close, destroy;
};
static struct late late;

static void *late_caller(void *arg)
{
	uint64_t e = 0;

	(void)arg;
	late.tid = gettid();
	late.put = fp_ring_enqueue_u64(late.r, 1);
	late.get = fp_ring_dequeue_u64(late.r, &e);
	late.close = fp_ring_close(late.r);
	late.destroy = fp_ring_destroy(late.r);
	return NULL;
}

/* Destroy has got as far as freeing: calls come in from another thread. */
static void free_with_late_calls(void *ctx, void *ptr, uint64_t size, uint64_t align)
{
	pthread_t t;

	/* The state goes first, then the handle: calls are refused until the end. */
	CHECK_EQ(pthread_create(&t, NULL, late_caller, NULL), 0);
	pthread_join(t, NULL);
	fpt_heap_free(ctx, ptr, size, align);
}

static void calls_during_destroy_are_refused(void)
{
	RT_EACH_MODE(m)
	{
		fp_ring_opts o = rt_opts(4, 8, m, LIBFP_CHECKED);
		fp_allocator a;

		fpt_where("%s", m->name);
		memset(&late, 0, sizeof(late));
		late.heap.fail_at = -1;
		a = fpt_heap_allocator(&late.heap);
		a.free = free_with_late_calls;
		o.allocator = &a;
		CHECK_EQ(fp_ring_create(&o, &late.r), 0);
		fpt_log_begin();
		CHECK_EQ(fp_ring_destroy(late.r), 0);
		CHECK_EQ(late.put, -EBUSY);
		CHECK_EQ(late.get, -EBUSY);
		CHECK_EQ(late.close, -EBUSY);
		CHECK_EQ(late.destroy, -EBUSY);
		CHECK_EQ(fpt_log.lines, 2 * 4);
		CHECK(fpt_names_thread(fpt_log.last, gettid()));
		CHECK(fpt_names_thread(fpt_log.last, late.tid));
		fpt_log_end();
		CHECK_EQ(late.heap.live, 0);
		CHECK_EQ(late.heap.bad, 0);
	}
}

/* ---- spans ---- */

static void a_refused_commit_is_logged(void)
{
	RT_EACH_MODE(m)
	{
		fp_ring *r = rt_ring(4, 8, m, LIBFP_CHECKED);
		fp_ring_span s, copy;

		fpt_where("%s", m->name);
		fpt_log_begin();
		CHECK_EQ(fp_ring_reserve_enqueue(r, 2, 0, &s), 2);
		copy = s;
		CHECK_EQ(fp_ring_commit_enqueue(r, &s, 3), -EINVAL);
		CHECK_EQ(fpt_log.lines, 1);
		CHECK(fpt_names_thread(fpt_log.last, gettid()));
		CHECK_EQ(fp_ring_commit_enqueue(r, &s, 2), 2);
		CHECK_EQ(fpt_log.lines, 1);
		CHECK_EQ(fp_ring_commit_enqueue(r, &copy, 2), -EINVAL);
		CHECK_EQ(fpt_log.lines, 2);
		CHECK_EQ(fpt_log.level, LIBFP_LOG_ERROR);
		CHECK_EQ(fp_ring_reserve_dequeue(r, 2, 0, &s), 2);
		copy = s;
		CHECK_EQ(fp_ring_commit_dequeue(r, &s, 2), 2);
		CHECK_EQ(fp_ring_commit_dequeue(r, &copy, 2), -EINVAL);
		CHECK_EQ(fpt_log.lines, 3);
		fpt_log_end();
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

struct race {
	fp_ring *r;
	fp_ring_span span[2];
	int32_t got[2];
	pthread_barrier_t barrier;
	uint64_t rounds;
	int dequeue;
};

struct racer {
	struct race *race;
	int me;
};

static void *race_main(void *arg)
{
	struct racer *a = arg;
	struct race *race = a->race;

	for (uint64_t i = 0; i < race->rounds; i++) {
		fp_ring_span *s = &race->span[a->me];

		pthread_barrier_wait(&race->barrier);
		race->got[a->me] = race->dequeue ? fp_ring_commit_dequeue(race->r, s, 2) :
						   fp_ring_commit_enqueue(race->r, s, 2);
		pthread_barrier_wait(&race->barrier);
	}
	return NULL;
}

/* Both threads commit the same span at the same moment: one of them does. */
static void two_threads_committing_one_span(void)
{
	for (int dequeue = 0; dequeue < 2; dequeue++) {
		struct race race = {
			.r = rt_ring(4, 8, &rt_modes[3], LIBFP_CHECKED),
			.rounds = fpt_scale(2000, 200000),
			.dequeue = dequeue,
		};
		struct racer a = { &race, 0 };
		uint64_t e[2] = { 5, 6 };
		pthread_t t;

		pthread_barrier_init(&race.barrier, NULL, 2);
		CHECK_EQ(pthread_create(&t, NULL, race_main, &a), 0);
		for (uint64_t i = 0; i < race.rounds; i++) {
			fp_ring_span *s = &race.span[0];

			if (dequeue) {
				CHECK_EQ(fp_ring_enqueue_bulk(race.r, e, 2, NULL), 2);
				CHECK_EQ(fp_ring_reserve_dequeue(race.r, 2, 0, s), 2);
			} else {
				CHECK_EQ(fp_ring_reserve_enqueue(race.r, 2, 0, s), 2);
			}
			race.span[1] = *s;
			pthread_barrier_wait(&race.barrier);
			race.got[1] =
				dequeue ?
					fp_ring_commit_dequeue(race.r, &race.span[1], 2) :
					fp_ring_commit_enqueue(race.r, &race.span[1], 2);
			pthread_barrier_wait(&race.barrier);
			CHECK((race.got[0] == 2 && race.got[1] == -EINVAL) ||
			      (race.got[1] == 2 && race.got[0] == -EINVAL));
			if (!dequeue)
				CHECK_EQ(fp_ring_dequeue_bulk(race.r, e, 2, NULL), 2);
			CHECK_EQ(fp_ring_count(race.r), 0);
			CHECK_EQ(fp_ring_free_count(race.r), 4);
		}
		pthread_join(t, NULL);
		pthread_barrier_destroy(&race.barrier);
		CHECK_EQ(fp_ring_destroy(race.r), 0);
	}
}

/* ---- misuse at full speed ---- */

struct hammer {
	fp_ring *r;
	uint64_t rounds, put, got, busy, sum;
	int32_t bad;
	pthread_t thread;
};

static void *hammer_main(void *arg)
{
	struct hammer *h = arg;

	for (uint64_t i = 0; i < h->rounds; i++) {
		uint64_t e = i;
		int32_t rc = fp_ring_enqueue_u64(h->r, e);

		if (rc == 1) {
			h->put++;
			h->sum += e;
		} else if (rc == -EBUSY) {
			h->busy++;
		} else if (rc) {
			h->bad = rc;
		}
		rc = fp_ring_dequeue_u64(h->r, &e);
		if (rc == 1) {
			h->got++;
			h->sum -= e;
		} else if (rc == -EBUSY) {
			h->busy++;
		} else if (rc) {
			h->bad = rc;
		}
	}
	return NULL;
}

static void intruders_at_full_speed_corrupt_nothing(void)
{
	for (int i = 0; i < 3; i++) {
		fp_ring *r = rt_ring(7, 8, &rt_modes[i], LIBFP_CHECKED | LIBFP_STATS);
		struct hammer h[3];
		uint64_t put = 0, got = 0, sum = 0, e, left = 0;

		fpt_where("%s", rt_modes[i].name);
		for (int k = 0; k < 3; k++) {
			h[k] = (struct hammer){ .r = r,
						.rounds = fpt_scale(30000, 3000000) };
			CHECK_EQ(pthread_create(&h[k].thread, NULL, hammer_main, &h[k]),
				 0);
		}
		for (int k = 0; k < 3; k++) {
			pthread_join(h[k].thread, NULL);
			CHECK_EQ(h[k].bad, 0);
			put += h[k].put;
			got += h[k].got;
			sum += h[k].sum;
		}
		CHECK_EQ(rt_stats(r).enqueued, put);
		CHECK_EQ(rt_stats(r).dequeued, got);
		while (fp_ring_dequeue_u64(r, &e) == 1) {
			left++;
			sum -= e;
		}
		CHECK_EQ(put, got + left);
		CHECK_EQ(sum, 0);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(two_threads_inside_an_st_producer_side),
		FPT_CASE(two_threads_inside_an_st_consumer_side),
		FPT_CASE(a_span_commit_beside_a_thread_inside),
		FPT_CASE(any_number_of_threads_inside_an_mt_side),
		FPT_CASE(a_hand_over_is_legal),
		FPT_CASE(calls_during_destroy_are_refused),
		FPT_CASE(a_refused_commit_is_logged),
		FPT_CASE(two_threads_committing_one_span),
		FPT_CASE(intruders_at_full_speed_corrupt_nothing),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
