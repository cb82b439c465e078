/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Spans: reserve and commit on each kind of side.
 *
 * An ST side commits any k and gives the rest back; one span is open at a
 * time. An MT producer publishes the rest as void slots; an MT consumer takes
 * all. A span is committed once, by any thread, on the ring it came from.
 */
#include <pthread.h>

#include "ring_test.h"

/* Fills a span of exactly n elements with first, first + 1, … and commits k. */
static void put_span(fp_ring *r, uint32_t n, uint32_t k, uint64_t first)
{
	fp_ring_span s;

	CHECK_EQ(fp_ring_reserve_enqueue(r, n, LIBFP_RING_BULK, &s), n);
	CHECK_EQ(s.n1 + s.n2, n);
	rt_span_fill(&s, r->elem_size, first, k);
	CHECK_EQ(fp_ring_commit_enqueue(r, &s, k), k);
	CHECK(rt_span_is_zero(&s));
}

/* Takes n elements by one or, at a wrap or void slots, more calls. */
static void get_all(fp_ring *r, uint32_t n, uint64_t first)
{
	while (n) {
		fp_ring_span s;
		int32_t got = fp_ring_reserve_dequeue(r, n, 0, &s);

		CHECK(got > 0 && (uint32_t)got <= n);
		CHECK_EQ(rt_span_right(&s, r->elem_size, first, (uint32_t)got), got);
		CHECK_EQ(fp_ring_commit_dequeue(r, &s, (uint32_t)got), got);
		CHECK(rt_span_is_zero(&s));
		n -= (uint32_t)got;
		first += (uint32_t)got;
	}
}

static void whole_spans_carry_every_size_and_length(void)
{
	static const uint32_t sizes[] = { 4, 8, 12, 16, 20, 64, 4096 };
	static const uint32_t caps[] = { 1, 2, 3, 9, 64, 100 };

	RT_EACH_MODE(m)
	for (size_t s = 0; s < FPT_LEN(sizes); s++)
		for (size_t c = 0; c < FPT_LEN(caps); c++) {
			uint32_t cap = caps[c];
			uint64_t v = 0;
			fp_ring *r;

			if (cap * sizes[s] > 1u << 16)
				continue;
			r = rt_ring(cap, sizes[s], m, 0);
			fpt_where("%s element %u capacity %u", m->name, sizes[s], cap);
			for (uint32_t n = 1; n <= cap; n++) {
				put_span(r, n, n, v);
				CHECK_EQ(fp_ring_count(r), n);
				get_all(r, n, v);
				CHECK_EQ(fp_ring_count(r), 0);
				v += n;
			}
			CHECK_EQ(fp_ring_destroy(r), 0);
		}
}

static void a_span_across_the_wrap_has_two_pieces(void)
{
	RT_EACH_MODE(m)
	for (uint32_t cap = 2; cap <= 9; cap++)
		for (uint32_t start = 1; start < cap; start++) {
			fp_ring *r = rt_ring(cap, 12, m, 0);
			fp_ring_span s;

			fpt_where("%s capacity %u start %u", m->name, cap, start);
			put_span(r, start, start, 0);
			get_all(r, start, 0);
			CHECK_EQ(fp_ring_reserve_enqueue(r, cap, 0, &s), cap);
			CHECK_EQ(s.n1, cap - start);
			CHECK_EQ(s.n2, start);
			CHECK((char *)s.ptr1 - (char *)s.ptr2 == (ptrdiff_t)start * 12);
			rt_span_fill(&s, 12, 50, cap);
			CHECK_EQ(fp_ring_commit_enqueue(r, &s, cap), cap);
			CHECK_EQ(fp_ring_reserve_dequeue(r, cap, LIBFP_RING_BULK, &s),
				 cap);
			CHECK_EQ(s.n1, cap - start);
			CHECK_EQ(s.n2, start);
			CHECK_EQ(rt_span_right(&s, 12, 50, cap), cap);
			CHECK_EQ(fp_ring_commit_dequeue(r, &s, cap), cap);
			CHECK_EQ(fp_ring_count(r), 0);
			CHECK_EQ(fp_ring_destroy(r), 0);
		}
}

static void a_span_that_does_not_wrap_has_no_second_piece(void)
{
	RT_EACH_MODE(m)
	{
		fp_ring *r = rt_ring(8, 8, m, 0);
		fp_ring_span s;

		memset(&s, 0xff, sizeof(s));
		CHECK_EQ(fp_ring_reserve_enqueue(r, 8, 0, &s), 8);
		CHECK_EQ(s.n1, 8);
		CHECK_EQ(s.n2, 0);
		CHECK(s.ptr2 == NULL);
		CHECK_EQ(fp_ring_commit_enqueue(r, &s, 8), 8);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

static void spans_take_what_fits_and_bulk_all_or_none(void)
{
	RT_EACH_MODE(m)
	{
		fp_ring *r = rt_ring(8, 8, m, 0);
		fp_ring_span s, before;

		fpt_where("%s", m->name);
		put_span(r, 3, 3, 0);
		memset(&s, 0x77, sizeof(s));
		before = s;
		CHECK_EQ(fp_ring_reserve_enqueue(r, 9, LIBFP_RING_BULK, &s), -EINVAL);
		CHECK_EQ(fp_ring_reserve_dequeue(r, 9, LIBFP_RING_BULK, &s), -EINVAL);
		CHECK_EQ(fp_ring_reserve_enqueue(r, 1, 2, &s), -EOPNOTSUPP);
		CHECK_EQ(fp_ring_reserve_dequeue(r, 1, 0x80000000, &s), -EOPNOTSUPP);
		CHECK(!memcmp(&s, &before, sizeof(s)));
		CHECK_EQ(fp_ring_reserve_enqueue(r, 6, LIBFP_RING_BULK, &s), 0);
		CHECK(rt_span_is_zero(&s));
		memset(&s, 0x77, sizeof(s));
		CHECK_EQ(fp_ring_reserve_dequeue(r, 4, LIBFP_RING_BULK, &s), 0);
		CHECK(rt_span_is_zero(&s));
		memset(&s, 0x77, sizeof(s));
		CHECK_EQ(fp_ring_reserve_enqueue(r, 0, 0, &s), 0);
		CHECK(rt_span_is_zero(&s));
		memset(&s, 0x77, sizeof(s));
		CHECK_EQ(fp_ring_reserve_dequeue(r, 0, LIBFP_RING_BULK, &s), 0);
		CHECK(rt_span_is_zero(&s));
		CHECK_EQ(fp_ring_reserve_enqueue(r, 100, 0, &s), 5);
		rt_span_fill(&s, 8, 3, 5);
		CHECK_EQ(fp_ring_commit_enqueue(r, &s, 5), 5);
		CHECK_EQ(fp_ring_reserve_enqueue(r, 1, 0, &s), 0);
		CHECK_EQ(fp_ring_reserve_dequeue(r, 100, 0, &s), 8);
		CHECK_EQ(rt_span_right(&s, 8, 0, 8), 8);
		CHECK_EQ(fp_ring_commit_dequeue(r, &s, 8), 8);
		CHECK_EQ(fp_ring_reserve_dequeue(r, 1, 0, &s), 0);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

/* ---- partial commits ---- */

static void an_st_producer_commits_any_k(void)
{
	for (int i = 0; i < 2; i++)
		for (uint32_t k = 0; k <= 5; k++) {
			fp_ring *r = rt_ring(5, 8, &rt_modes[i], 0);
			uint64_t v = 0;

			fpt_where("%s k %u", rt_modes[i].name, k);
			for (int round = 0; round < 20; round++) {
				put_span(r, 5, k, v);
				CHECK_EQ(fp_ring_count(r), k);
				CHECK_EQ(fp_ring_free_count(r), 5 - k);
				if (k < 5)
					put_span(r, 5 - k, 5 - k,
						 v + k); /* right behind */
				get_all(r, 5, v);
				v += 5;
			}
			CHECK_EQ(rt_stats(r).void_pending, 0);
			CHECK_EQ(fp_ring_destroy(r), 0);
		}
}

static void an_st_consumer_takes_any_k(void)
{
	for (int i = 0; i < 4; i += 2)
		for (uint32_t k = 0; k <= 5; k++) {
			fp_ring *r = rt_ring(5, 8, &rt_modes[i], 0);
			fp_ring_span s;

			fpt_where("%s k %u", rt_modes[i].name, k);
			for (uint64_t v = 0; v < 60; v += 5) {
				put_span(r, 5, 5, v);
				CHECK_EQ(fp_ring_reserve_dequeue(r, 5, 0, &s), 5);
				CHECK_EQ(rt_span_right(&s, 8, v, 5), 5);
				CHECK_EQ(fp_ring_commit_dequeue(r, &s, k), k);
				CHECK_EQ(fp_ring_count(r), 5 - k);
				if (k < 5) /* the rest is still first in line */
					get_all(r, 5 - k, v + k);
			}
			CHECK_EQ(fp_ring_destroy(r), 0);
		}
}

static void an_mt_producer_leaves_void_slots_that_consumers_skip(void)
{
	for (int i = 2; i < 4; i++)
		for (uint32_t n = 1; n <= 6; n++)
			for (uint32_t k = 0; k <= n; k++) {
				fp_ring *r = rt_ring(6, 8, &rt_modes[i], 0);
				uint64_t v = 0, got = 0, e;

				fpt_where("%s n %u k %u", rt_modes[i].name, n, k);
				for (int round = 0; round < 10; round++) {
					put_span(r, n, k, v);
					CHECK_EQ(fp_ring_count(r), n);
					CHECK_EQ(rt_stats(r).void_pending, n - k);
					CHECK_EQ(rt_stats(r).unpublished, 0);
					v += k;
					for (; got < v; got++) {
						CHECK_EQ(fp_ring_dequeue_u64(r, &e), 1);
						CHECK_EQ(e, rt_u64(got));
					}
					CHECK_EQ(fp_ring_dequeue_u64(r, &e), 0);
					CHECK_EQ(fp_ring_count(r), 0);
					CHECK_EQ(fp_ring_free_count(r), 6);
				}
				CHECK_EQ(rt_stats(r).voided, (uint64_t)10 * (n - k));
				CHECK_EQ(rt_stats(r).enqueued, v);
				CHECK_EQ(rt_stats(r).dequeued, v);
				CHECK_EQ(fp_ring_destroy(r), 0);
			}
}

/* Void slots between elements, met by each kind of dequeue. */
static void void_slots_do_not_hide_what_is_behind_them(void)
{
	for (int i = 2; i < 4; i++)
		for (uint32_t start = 0; start < 12; start++)
			for (int how = 0; how < 4; how++) {
				fp_ring *r = rt_ring(12, 8, &rt_modes[i], 0);
				uint64_t buf[12];

				fpt_where("%s start %u how %d", rt_modes[i].name, start,
					  how);
				if (start) { /* put the wrap everywhere */
					put_span(r, start, start, 0);
					get_all(r, start, 0);
				}
				put_span(r, 2, 0, 0);
				put_span(r, 4, 2, 0);
				put_span(r, 3, 1, 2);
				put_span(r, 2, 2, 3);
				put_span(r, 1, 0, 0);
				CHECK_EQ(fp_ring_is_full(r), 1);
				if (how == 0) {
					CHECK_EQ(fp_ring_dequeue_bulk(r, buf, 5, NULL),
						 5);
					CHECK_EQ(rt_right(buf, 8, 0, 5), 5);
				} else if (how == 1) {
					CHECK_EQ(fp_ring_dequeue_bulk(r, buf, 6, NULL),
						 0);
					CHECK_EQ(fp_ring_dequeue_bulk(r, buf, 3, NULL),
						 3);
					CHECK_EQ(rt_right(buf, 8, 0, 3), 3);
					CHECK_EQ(fp_ring_dequeue_bulk(r, buf, 2, NULL),
						 2);
					CHECK_EQ(rt_right(buf, 8, 3, 2), 2);
				} else if (how == 2) {
					uint32_t got = 0;

					while (got < 5) {
						int32_t k = fp_ring_dequeue_burst(
							r, buf + got, 12 - got, NULL);

						CHECK(k > 0);
						got += (uint32_t)k;
					}
					CHECK_EQ(rt_right(buf, 8, 0, 5), 5);
				} else {
					get_all(r, 5, 0);
				}
				CHECK_EQ(fp_ring_dequeue_burst(r, buf, 12, NULL), 0);
				CHECK_EQ(fp_ring_count(r), 0);
				put_span(r, 12, 12, 0); /* all of it is usable again */
				get_all(r, 12, 0);
				CHECK_EQ(fp_ring_destroy(r), 0);
			}
}

/* n are there, but a span is contiguous: neither "empty" nor the end. */
static void void_slots_divide_a_span_bulk(void)
{
	for (int i = 2; i < 4; i++)
		for (int closed = 0; closed < 2; closed++) {
			fp_ring *r = rt_ring(8, 8, &rt_modes[i], 0);
			fp_ring_span s;

			fpt_where("%s closed %d", rt_modes[i].name, closed);
			put_span(r, 3, 2, 0);
			put_span(r, 2, 2, 2);
			if (closed)
				CHECK_EQ(fp_ring_close(r), 0);
			memset(&s, 0x77, sizeof(s));
			CHECK_EQ(fp_ring_reserve_dequeue(r, 3, LIBFP_RING_BULK, &s),
				 -EAGAIN);
			CHECK_EQ(s.n1, 0x77777777);
			CHECK_EQ(fp_ring_reserve_dequeue(r, 5, LIBFP_RING_BULK, &s),
				 closed ? -EPIPE : 0);
			CHECK_EQ(fp_ring_reserve_dequeue(r, 3, 0, &s), 2);
			CHECK_EQ(rt_span_right(&s, 8, 0, 2), 2);
			CHECK_EQ(fp_ring_commit_dequeue(r, &s, 2), 2);
			get_all(r, 2, 2);
			CHECK_EQ(fp_ring_destroy(r), 0);
		}
}

static void void_slots_survive_the_wrap_of_generations(void)
{
	for (int i = 2; i < 4; i++)
		for (uint32_t cap = 1; cap <= 5; cap++) {
			fp_ring *r = rt_ring(cap, 8, &rt_modes[i], 0);
			uint64_t v = 0, e;

			fpi_ring_start_at(r, 60);
			for (int round = 0; round < 200; round++) {
				uint32_t n = 1 + (uint32_t)round % cap;
				uint32_t k = (uint32_t)round / 3 % (n + 1);

				fpt_where("%s capacity %u round %d", rt_modes[i].name,
					  cap, round);
				put_span(r, n, k, v);
				for (uint32_t j = 0; j < k; j++) {
					CHECK_EQ(fp_ring_dequeue_u64(r, &e), 1);
					CHECK_EQ(e, rt_u64(v++));
				}
				CHECK_EQ(fp_ring_dequeue_u64(r, &e), 0);
			}
			CHECK_EQ(fp_ring_destroy(r), 0);
		}
}

static void an_mt_consumer_takes_all_or_keeps_the_span(void)
{
	for (int i = 1; i < 4; i += 2) {
		fp_ring *r = rt_ring(6, 8, &rt_modes[i], 0);
		fp_ring_span s, copy;

		fpt_where("%s", rt_modes[i].name);
		put_span(r, 4, 4, 0);
		CHECK_EQ(fp_ring_reserve_dequeue(r, 4, 0, &s), 4);
		copy = s;
		for (uint32_t k = 0; k < 4; k++)
			CHECK_EQ(fp_ring_commit_dequeue(r, &s, k), -EINVAL);
		CHECK_EQ(fp_ring_commit_dequeue(r, &s, 5), -EINVAL);
		CHECK(!memcmp(&s, &copy, sizeof(s)));
		CHECK_EQ(fp_ring_commit_dequeue(r, &s, 4), 4);
		CHECK_EQ(fp_ring_count(r), 0);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

/* ---- misuse ---- */

static void a_span_is_committed_once(void)
{
	RT_EACH_MODE(m)
	for (uint32_t k = 0; k <= 3; k++)
		for (uint32_t flags = 0; flags <= LIBFP_CHECKED; flags += 2) {
			fp_ring *r = rt_ring(6, 8, m, flags);
			fp_ring_span s, again;
			int taken = m->consumer == LIBFP_ST ? (int)k : 3;

			fpt_where("%s k %u flags %u", m->name, k, flags);
			CHECK_EQ(fp_ring_reserve_enqueue(r, 3, 0, &s), 3);
			again = s;
			rt_span_fill(&s, 8, 0, 3);
			CHECK_EQ(fp_ring_commit_enqueue(r, &s, k), k);
			CHECK_EQ(fp_ring_commit_enqueue(r, &s, k), -EINVAL);
			CHECK_EQ(fp_ring_commit_enqueue(r, &s, 0), -EINVAL);
			CHECK_EQ(fp_ring_commit_enqueue(r, &again, k), -EINVAL);
			CHECK_EQ(fp_ring_commit_enqueue(r, &again, 3), -EINVAL);
			CHECK_EQ(fp_ring_commit_enqueue(r, &again, 0), -EINVAL);
			CHECK_EQ(rt_stats(r).enqueued, k);
			CHECK_EQ(fp_ring_reset(r), 0);
			CHECK_EQ(fp_ring_commit_enqueue(r, &again, 3), -EINVAL);

			put_span(r, 3, 3, 0);
			CHECK_EQ(fp_ring_reserve_dequeue(r, 3, 0, &s), 3);
			again = s;
			CHECK_EQ(fp_ring_commit_dequeue(r, &s, (uint32_t)taken), taken);
			CHECK_EQ(fp_ring_commit_dequeue(r, &s, 0), -EINVAL);
			CHECK_EQ(fp_ring_commit_dequeue(r, &again, 3), -EINVAL);
			CHECK_EQ(fp_ring_commit_dequeue(r, &again, 0), -EINVAL);
			CHECK_EQ(fp_ring_count(r), 3 - taken);
			CHECK_EQ(fp_ring_destroy(r), 0);
		}
}

static void a_span_cannot_grow(void)
{
	RT_EACH_MODE(m)
	{
		fp_ring *r = rt_ring(8, 8, m, 0);
		fp_ring_span s, copy;

		fpt_where("%s", m->name);
		CHECK_EQ(fp_ring_reserve_enqueue(r, 3, 0, &s), 3);
		copy = s;
		CHECK_EQ(fp_ring_commit_enqueue(r, &s, 4), -EINVAL);
		CHECK_EQ(fp_ring_commit_enqueue(r, &s, UINT32_MAX), -EINVAL);
		CHECK_EQ(fp_ring_commit_enqueue(r, &s, 0x80000000), -EINVAL);
		CHECK(!memcmp(&s, &copy, sizeof(s)));
		rt_span_fill(&s, 8, 0, 3);
		CHECK_EQ(fp_ring_commit_enqueue(r, &s, 3), 3);
		CHECK_EQ(fp_ring_reserve_dequeue(r, 3, 0, &s), 3);
		CHECK_EQ(fp_ring_commit_dequeue(r, &s, 4), -EINVAL);
		CHECK_EQ(rt_span_right(&s, 8, 0, 3), 3);
		CHECK_EQ(fp_ring_commit_dequeue(r, &s, 3), 3);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

/* Misuse must not leave the ring with a span that can never be committed. */
static void an_overrun_span_is_given_up(void)
{
	RT_EACH_MODE(m)
	{
		fp_ring *r = rt_ring(8, 8, m, 0);
		fp_ring_span s;
		uint64_t e;

		fpt_where("%s", m->name);
		if (m->producer == LIBFP_ST) {
			CHECK_EQ(fp_ring_reserve_enqueue(r, 2, 0, &s), 2);
			CHECK_EQ(fp_ring_enqueue_u64(r, 1), 1);
			CHECK_EQ(fp_ring_commit_enqueue(r, &s, 2), -EINVAL);
			CHECK_EQ(fp_ring_reserve_enqueue(r, 2, 0, &s), 2);
			CHECK_EQ(fp_ring_commit_enqueue(r, &s, 2), 2);
		} else {
			for (int i = 0; i < 3; i++)
				CHECK_EQ(fp_ring_enqueue_u64(r, 1), 1);
		}
		if (m->consumer == LIBFP_ST) {
			CHECK_EQ(fp_ring_reserve_dequeue(r, 2, 0, &s), 2);
			CHECK_EQ(fp_ring_dequeue_u64(r, &e), 1);
			CHECK_EQ(fp_ring_commit_dequeue(r, &s, 0), -EINVAL);
		}
		CHECK_EQ(fp_ring_reset(r), 0);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

static void a_span_belongs_to_its_side(void)
{
	RT_EACH_MODE(m)
	{
		fp_ring *r = rt_ring(8, 8, m, 0);
		fp_ring_span in, out, zero = { 0 };

		fpt_where("%s", m->name);
		CHECK_EQ(fp_ring_commit_enqueue(r, &zero, 0), -EINVAL);
		CHECK_EQ(fp_ring_commit_dequeue(r, &zero, 0), -EINVAL);
		put_span(r, 2, 2, 0);
		CHECK_EQ(fp_ring_reserve_dequeue(r, 2, 0, &out), 2);
		CHECK_EQ(fp_ring_commit_enqueue(r, &out, 2), -EINVAL);
		CHECK_EQ(fp_ring_reserve_enqueue(r, 2, 0, &in), 2);
		CHECK_EQ(fp_ring_commit_dequeue(r, &in, 2), -EINVAL);
		CHECK_EQ(fp_ring_commit_enqueue(r, &in, 2), 2);
		CHECK_EQ(fp_ring_commit_dequeue(r, &out, 2), 2);
		CHECK_EQ(fp_ring_count(r), 2);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

static void a_span_belongs_to_its_ring(void)
{
	RT_EACH_MODE(m)
	{
		fp_ring *a = rt_ring(8, 8, m, 0), *b = rt_ring(8, 8, m, 0);
		fp_ring_span s, forged;

		fpt_where("%s", m->name);
		CHECK_EQ(fp_ring_reserve_enqueue(a, 3, 0, &s), 3);
		CHECK_EQ(fp_ring_commit_enqueue(b, &s, 3), -EINVAL);
		CHECK_EQ(fp_ring_count(b), 0);
		forged = s;
		forged.token ^= 0xffffull << 20;
		CHECK_EQ(fp_ring_commit_enqueue(a, &forged, 3), -EINVAL);
		forged = s;
		forged.n1 = 9;
		CHECK_EQ(fp_ring_commit_enqueue(a, &forged, 9), -EINVAL);
		rt_span_fill(&s, 8, 0, 3);
		CHECK_EQ(fp_ring_commit_enqueue(a, &s, 3), 3);
		CHECK_EQ(fp_ring_reserve_dequeue(a, 3, 0, &s), 3);
		CHECK_EQ(fp_ring_commit_dequeue(b, &s, 3), -EINVAL);
		CHECK_EQ(fp_ring_commit_dequeue(a, &s, 3), 3);
		CHECK_EQ(fp_ring_destroy(a), 0);
		CHECK_EQ(fp_ring_destroy(b), 0);
	}
}

static void an_st_side_has_one_span_an_mt_side_many(void)
{
	RT_EACH_MODE(m)
	{
		fp_ring *r = rt_ring(9, 8, m, 0);
		fp_ring_span a, b, c;
		int pst = m->producer == LIBFP_ST, cst = m->consumer == LIBFP_ST;

		fpt_where("%s", m->name);
		CHECK_EQ(fp_ring_reserve_enqueue(r, 3, 0, &a), 3);
		if (pst) {
			CHECK_EQ(fp_ring_reserve_enqueue(r, 3, 0, &b), -EINVAL);
			rt_span_fill(&a, 8, 0, 3);
			CHECK_EQ(fp_ring_commit_enqueue(r, &a, 3), 3);
			put_span(r, 6, 6, 3);
		} else {
			CHECK_EQ(fp_ring_reserve_enqueue(r, 3, 0, &b), 3);
			CHECK_EQ(fp_ring_reserve_enqueue(r, 9, 0, &c), 3);
			CHECK(a.ptr1 != b.ptr1 && b.ptr1 != c.ptr1);
			rt_span_fill(&c, 8, 6, 3);
			CHECK_EQ(fp_ring_commit_enqueue(r, &c, 3), 3);
			rt_span_fill(&a, 8, 0, 3);
			CHECK_EQ(fp_ring_commit_enqueue(r, &a, 3), 3);
			CHECK_EQ(rt_stats(r).unpublished, 3);
			rt_span_fill(&b, 8, 3, 3);
			CHECK_EQ(fp_ring_commit_enqueue(r, &b, 3), 3);
		}
		CHECK_EQ(fp_ring_reserve_dequeue(r, 4, 0, &a), 4);
		CHECK_EQ(rt_span_right(&a, 8, 0, 4), 4);
		if (cst) {
			CHECK_EQ(fp_ring_reserve_dequeue(r, 4, 0, &b), -EINVAL);
			CHECK_EQ(fp_ring_commit_dequeue(r, &a, 4), 4);
			get_all(r, 5, 4);
		} else {
			CHECK_EQ(fp_ring_reserve_dequeue(r, 9, 0, &b), 5);
			CHECK_EQ(rt_span_right(&b, 8, 4, 5), 5);
			CHECK_EQ(fp_ring_commit_dequeue(r, &b, 5), 5);
			CHECK_EQ(fp_ring_commit_dequeue(r, &a, 4), 4);
		}
		CHECK_EQ(fp_ring_count(r), 0);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

static void open_spans_keep_destroy_and_reset_away(void)
{
	RT_EACH_MODE(m)
	{
		fp_ring *r = rt_ring(4, 8, m, 0);
		fp_ring_span s;
		uint64_t e;

		fpt_where("%s", m->name);
		CHECK_EQ(fp_ring_reserve_enqueue(r, 2, 0, &s), 2);
		CHECK_EQ(fp_ring_destroy(r), -EBUSY);
		CHECK_EQ(fp_ring_reset(r), -EBUSY);
		rt_span_fill(&s, 8, 0, 2);
		CHECK_EQ(fp_ring_commit_enqueue(r, &s, 2), 2);
		CHECK_EQ(fp_ring_reserve_dequeue(r, 1, 0, &s), 1);
		CHECK_EQ(fp_ring_destroy(r), -EBUSY);
		CHECK_EQ(fp_ring_reset(r), -EBUSY);
		CHECK_EQ(rt_span_right(&s, 8, 0, 1), 1);
		CHECK_EQ(fp_ring_commit_dequeue(r, &s, 1), 1);
		CHECK_EQ(fp_ring_dequeue_u64(r, &e), 1);
		CHECK_EQ(e, rt_u64(1));
		CHECK_EQ(fp_ring_reset(r), 0);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

/* ---- another thread commits ---- */

struct handover {
	fp_ring *r;
	fp_ring_span in, out;
};

static void *commit_enqueue(void *arg)
{
	struct handover *h = arg;

	CHECK_EQ(fp_ring_commit_enqueue(h->r, &h->in, 3), 3);
	return NULL;
}

static void *commit_dequeue(void *arg)
{
	struct handover *h = arg;

	CHECK_EQ(rt_span_right(&h->out, 8, 0, 3), 3);
	CHECK_EQ(fp_ring_commit_dequeue(h->r, &h->out, 3), 3);
	return NULL;
}

static void another_thread_may_commit(void)
{
	RT_EACH_MODE(m)
	for (uint32_t flags = 0; flags < 4; flags++) {
		struct handover h = { .r = rt_ring(4, 8, m, flags) };
		pthread_t t;

		fpt_where("%s flags %u", m->name, flags);
		CHECK_EQ(fp_ring_reserve_enqueue(h.r, 3, 0, &h.in), 3);
		rt_span_fill(&h.in, 8, 0, 3);
		CHECK_EQ(pthread_create(&t, NULL, commit_enqueue, &h), 0);
		pthread_join(t, NULL);
		CHECK_EQ(fp_ring_reserve_dequeue(h.r, 3, 0, &h.out), 3);
		CHECK_EQ(pthread_create(&t, NULL, commit_dequeue, &h), 0);
		pthread_join(t, NULL);
		CHECK_EQ(fp_ring_count(h.r), 0);
		CHECK_EQ(fp_ring_destroy(h.r), 0);
	}
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(whole_spans_carry_every_size_and_length),
		FPT_CASE(a_span_across_the_wrap_has_two_pieces),
		FPT_CASE(a_span_that_does_not_wrap_has_no_second_piece),
		FPT_CASE(spans_take_what_fits_and_bulk_all_or_none),
		FPT_CASE(an_st_producer_commits_any_k),
		FPT_CASE(an_st_consumer_takes_any_k),
		FPT_CASE(an_mt_producer_leaves_void_slots_that_consumers_skip),
		FPT_CASE(void_slots_do_not_hide_what_is_behind_them),
		FPT_CASE(void_slots_divide_a_span_bulk),
		FPT_CASE(void_slots_survive_the_wrap_of_generations),
		FPT_CASE(an_mt_consumer_takes_all_or_keeps_the_span),
		FPT_CASE(a_span_is_committed_once),
		FPT_CASE(a_span_cannot_grow),
		FPT_CASE(an_overrun_span_is_given_up),
		FPT_CASE(a_span_belongs_to_its_side),
		FPT_CASE(a_span_belongs_to_its_ring),
		FPT_CASE(an_st_side_has_one_span_an_mt_side_many),
		FPT_CASE(open_spans_keep_destroy_and_reset_away),
		FPT_CASE(another_thread_may_commit),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
