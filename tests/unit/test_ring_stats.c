/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fp_ring_get_stats: the size protocol and every counter.
 */
#define _GNU_SOURCE /* gettid */
#include <pthread.h>
#include <unistd.h>

#include "ring_test.h"

static void fill(fp_ring *r, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		CHECK_EQ(fp_ring_enqueue_u64(r, i), 1);
}

static void the_caller_says_how_much_it_knows(void)
{
	struct {
		fp_ring_stats s;
		unsigned char more[64];
	} io;
	fp_ring *r = rt_ring(8, 8, &rt_modes[3], 0);

	fill(r, 3);
	for (uint32_t size = 0; size < 8; size++) {
		memset(&io, 0xaa, sizeof(io));
		io.s.size = size;
		CHECK_EQ(fp_ring_get_stats(r, &io.s), -EINVAL);
		CHECK_EQ(io.s.size, size);
		CHECK_EQ(io.s.flags, 0xaaaaaaaa);
	}
	for (uint32_t size = 8; size <= sizeof(io); size++) {
		memset(&io, 0xaa, sizeof(io));
		io.s.size = size;
		fpt_where("size %u", size);
		CHECK_EQ(fp_ring_get_stats(r, &io.s), 0);
		CHECK(io.s.size >= 8 && io.s.size <= size);
		CHECK(io.s.size <= sizeof(io.s));
		if (size >= sizeof(io.s))
			CHECK_EQ(io.s.size, sizeof(io.s));
		for (size_t i = io.s.size; i < sizeof(io); i++)
			CHECK_EQ(((unsigned char *)&io)[i], 0xaa);
		if (io.s.size >= 16)
			CHECK_EQ(io.s.enqueued, 3);
	}
	CHECK_EQ(fp_ring_destroy(r), 0);
}

static void elements_are_always_counted(void)
{
	RT_EACH_MODE(m)
	for (uint32_t cap = 1; cap <= 9; cap++)
		for (uint32_t flags = 0; flags < 4; flags++) {
			fp_ring *r = rt_ring(cap, 8, m, flags);
			uint64_t v, n = 0;

			fpt_where("%s capacity %u flags %u", m->name, cap, flags);
			for (int round = 0; round < 100; round++) {
				fp_ring_stats s;

				fill(r, cap);
				n += cap;
				s = rt_stats(r);
				CHECK_EQ(s.enqueued, n);
				CHECK_EQ(s.dequeued, n - cap);
				CHECK_EQ(s.count, cap);
				for (uint32_t i = 0; i < cap; i++)
					CHECK_EQ(fp_ring_dequeue_u64(r, &v), 1);
				s = rt_stats(r);
				CHECK_EQ(s.dequeued, n);
				CHECK_EQ(s.count, 0);
				CHECK_EQ(s.unpublished, 0);
				CHECK_EQ(s.void_pending, 0);
				CHECK_EQ(s.flags & LIBFP_RING_STATS_BLOCKED, 0);
			}
			CHECK_EQ(fp_ring_close(r), 0);
			CHECK_EQ(rt_stats(r).enqueued, n);
			CHECK_EQ(fp_ring_destroy(r), 0);
		}
}

static void refusals_are_counted_on_request(void)
{
	RT_EACH_MODE(m)
	for (uint32_t flags = 0; flags < 4; flags++) {
		fp_ring *r = rt_ring(4, 8, m, flags);
		int on = !!(flags & LIBFP_STATS);
		uint64_t buf[8] = { 0 };
		fp_ring_span s;

		fpt_where("%s flags %u", m->name, flags);
		CHECK_EQ(!!(rt_stats(r).flags & LIBFP_RING_STATS_COUNTED), on);
		CHECK_EQ(fp_ring_dequeue(r, buf), 0);
		CHECK_EQ(fp_ring_dequeue_u64(r, buf), 0);
		CHECK_EQ(fp_ring_dequeue_burst(r, buf, 2, NULL), 0);
		CHECK_EQ(fp_ring_dequeue_bulk(r, buf, 2, NULL), 0);
		CHECK_EQ(fp_ring_reserve_dequeue(r, 1, 0, &s), 0);
		CHECK_EQ(rt_stats(r).refused_empty, on * 5);
		CHECK_EQ(fp_ring_enqueue_burst(r, buf, 3, NULL), 3);
		CHECK_EQ(rt_stats(r).refused_full, 0);
		CHECK_EQ(fp_ring_enqueue_burst(r, buf, 3, NULL), 1); /* fewer */
		CHECK_EQ(rt_stats(r).refused_full, on * 1);
		CHECK_EQ(fp_ring_enqueue(r, buf), 0);
		CHECK_EQ(fp_ring_enqueue_u64(r, 1), 0);
		CHECK_EQ(fp_ring_enqueue_burst(r, buf, 3, NULL), 0);
		CHECK_EQ(fp_ring_enqueue_bulk(r, buf, 3, NULL), 0);
		CHECK_EQ(fp_ring_reserve_enqueue(r, 1, 0, &s), 0);
		CHECK_EQ(rt_stats(r).refused_full, on * 6);
		CHECK_EQ(fp_ring_dequeue_burst(r, buf, 8, NULL), 4); /* fewer */
		CHECK_EQ(rt_stats(r).refused_empty, on * 6);
		/* errors are not refusals */
		CHECK_EQ(fp_ring_enqueue_bulk(r, buf, 5, NULL), -EINVAL);
		CHECK_EQ(fp_ring_dequeue_bulk(r, buf, 5, NULL), -EINVAL);
		CHECK_EQ(fp_ring_close(r), 0);
		CHECK_EQ(fp_ring_enqueue_u64(r, 1), -EPIPE);
		CHECK_EQ(fp_ring_dequeue_u64(r, buf), -EPIPE);
		CHECK_EQ(rt_stats(r).refused_full, on * 6);
		CHECK_EQ(rt_stats(r).refused_empty, on * 6);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

static void the_high_water_mark_stays(void)
{
	RT_EACH_MODE(m)
	for (uint32_t flags = 0; flags < 4; flags++) {
		fp_ring *r = rt_ring(10, 8, m, flags);
		uint32_t on = !!(flags & LIBFP_STATS);
		uint64_t buf[10] = { 0 };
		fp_ring_span s;

		fpt_where("%s flags %u", m->name, flags);
		CHECK_EQ(rt_stats(r).high_water, 0);
		fill(r, 2);
		CHECK_EQ(rt_stats(r).high_water, on * 2);
		CHECK_EQ(fp_ring_dequeue_burst(r, buf, 2, NULL), 2);
		fill(r, 1);
		CHECK_EQ(rt_stats(r).high_water, on * 2);
		CHECK_EQ(fp_ring_enqueue_burst(r, buf, 4, NULL), 4);
		CHECK_EQ(rt_stats(r).high_water, on * 5);
		CHECK_EQ(fp_ring_reserve_enqueue(r, 2, 0, &s), 2);
		CHECK_EQ(fp_ring_commit_enqueue(r, &s, 2), 2);
		CHECK_EQ(rt_stats(r).high_water, on * 7);
		CHECK_EQ(fp_ring_enqueue_burst(r, buf, 10, NULL), 3);
		CHECK_EQ(rt_stats(r).high_water, on * 10);
		CHECK_EQ(fp_ring_dequeue_burst(r, buf, 10, NULL), 10);
		CHECK_EQ(rt_stats(r).high_water, on * 10);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

static void void_slots_are_told_apart(void)
{
	for (int i = 2; i < 4; i++) {
		fp_ring *r = rt_ring(10, 8, &rt_modes[i], 0);
		fp_ring_span a, b;
		fp_ring_stats s;
		uint64_t buf[10];

		fpt_where("%s", rt_modes[i].name);
		CHECK_EQ(fp_ring_reserve_enqueue(r, 4, 0, &a), 4);
		s = rt_stats(r);
		CHECK_EQ(s.unpublished, 4);
		CHECK_EQ(s.enqueued, 0);
		CHECK_EQ(s.count, 4);
		CHECK_EQ(fp_ring_commit_enqueue(r, &a, 1), 1);
		s = rt_stats(r);
		CHECK_EQ(s.unpublished, 0);
		CHECK_EQ(s.enqueued, 1);
		CHECK_EQ(s.voided, 3);
		CHECK_EQ(s.void_pending, 3);
		CHECK_EQ(s.count, 4);
		CHECK_EQ(fp_ring_reserve_enqueue(r, 2, 0, &b), 2);
		fill(r, 2);
		s = rt_stats(r);
		CHECK_EQ(s.unpublished, 2);
		CHECK_EQ(s.enqueued, 3);
		CHECK_EQ(s.void_pending, 3);
		CHECK_EQ(s.count, 8);
		CHECK_EQ(fp_ring_dequeue_burst(r, buf, 10, NULL), 1);
		CHECK_EQ(fp_ring_dequeue_burst(r, buf, 10, NULL), 0);
		s = rt_stats(r);
		CHECK_EQ(s.void_pending, 0);
		CHECK_EQ(s.voided, 3);
		CHECK_EQ(s.count, 4);
		CHECK_EQ(s.dequeued, 1);
		CHECK_EQ(fp_ring_commit_enqueue(r, &b, 0), 0);
		CHECK_EQ(rt_stats(r).voided, 5);
		CHECK_EQ(fp_ring_dequeue_burst(r, buf, 10, NULL), 2);
		s = rt_stats(r);
		CHECK_EQ(s.enqueued, 3);
		CHECK_EQ(s.dequeued, 3);
		CHECK_EQ(s.count, 0);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

static void st_spans_leave_no_void_slots(void)
{
	for (int i = 0; i < 2; i++) {
		fp_ring *r = rt_ring(10, 8, &rt_modes[i], 0);
		fp_ring_span a;
		fp_ring_stats s;

		CHECK_EQ(fp_ring_reserve_enqueue(r, 4, 0, &a), 4);
		CHECK_EQ(rt_stats(r).enqueued, 0);
		CHECK_EQ(fp_ring_commit_enqueue(r, &a, 1), 1);
		s = rt_stats(r);
		CHECK_EQ(s.voided, 0);
		CHECK_EQ(s.void_pending, 0);
		CHECK_EQ(s.count, 1);
		CHECK_EQ(s.enqueued, 1);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

/* ---- a blocked head ---- */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct reserver {
	fp_ring *r;
	fp_ring_span s;
	int64_t tid;
};

static void *reserve_on_another_thread(void *arg)
{
	struct reserver *v = arg;

	v->tid = gettid();
	CHECK_EQ(fp_ring_reserve_enqueue(v->r, 2, 0, &v->s), 2);
	return NULL;
}

static void a_blocked_head_is_reported_with_its_thread(void)
{
	for (int i = 2; i < 4; i++)
		for (uint32_t flags = 0; flags < 4; flags++) {
			struct reserver v = { .r = rt_ring(8, 8, &rt_modes[i], flags) };
			uint64_t before, since, e;
			fp_ring_stats s;
			pthread_t t;

			fpt_where("%s flags %u", rt_modes[i].name, flags);
			fill(v.r, 1);
			CHECK_EQ(pthread_create(&t, NULL, reserve_on_another_thread, &v),
				 0);
			pthread_join(t, NULL);
			fill(v.r, 1);
			s = rt_stats(v.r);
			CHECK_EQ(s.flags & LIBFP_RING_STATS_BLOCKED, 0); /* not yet */
			CHECK_EQ(s.blocked_since_ns, 0);
			CHECK_EQ(s.blocked_by, 0);
			CHECK_EQ(fp_ring_dequeue_u64(v.r, &e), 1);
			before = now_ns();
			CHECK_EQ(fp_ring_dequeue_u64(v.r, &e), 0);
			s = rt_stats(v.r);
			CHECK(s.flags & LIBFP_RING_STATS_BLOCKED);
			CHECK_EQ(s.unpublished, 2);
			since = s.blocked_since_ns;
			if (flags)
				CHECK(since >= before && since <= now_ns());
			else
				CHECK_EQ(since, 0);
			CHECK_EQ(s.blocked_by, flags & LIBFP_CHECKED ? v.tid : 0);
			CHECK_EQ(fp_ring_dequeue_u64(v.r, &e), 0);
			CHECK_EQ(rt_stats(v.r).blocked_since_ns, since); /* first seen */
			CHECK_EQ(fp_ring_commit_enqueue(v.r, &v.s, 2), 2);
			s = rt_stats(v.r);
			CHECK_EQ(s.flags & LIBFP_RING_STATS_BLOCKED, 0);
			CHECK_EQ(s.blocked_since_ns, 0);
			CHECK_EQ(s.blocked_by, 0);
			CHECK_EQ(fp_ring_destroy(v.r), 0);
		}
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(the_caller_says_how_much_it_knows),
		FPT_CASE(elements_are_always_counted),
		FPT_CASE(refusals_are_counted_on_request),
		FPT_CASE(the_high_water_mark_stays),
		FPT_CASE(void_slots_are_told_apart),
		FPT_CASE(st_spans_leave_no_void_slots),
		FPT_CASE(a_blocked_head_is_reported_with_its_thread),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
