/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Close, peek and reset, one thread: what each call answers before and after.
 */
#include "ring_test.h"

static void fill(fp_ring *r, uint64_t first, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		CHECK_EQ(fp_ring_enqueue_u64(r, rt_u64(first + i)), 1);
}

static void expect_drained(fp_ring *r)
{
	uint64_t buf[4] = { 9, 9, 9, 9 };
	uint32_t after = 77;
	fp_ring_span s, before;

	memset(&s, 0x55, sizeof(s));
	before = s;
	CHECK_EQ(fp_ring_dequeue(r, buf), -EPIPE);
	CHECK_EQ(fp_ring_dequeue_u64(r, buf), -EPIPE);
	CHECK_EQ(fp_ring_dequeue_burst(r, buf, 4, &after), -EPIPE);
	CHECK_EQ(fp_ring_dequeue_bulk(r, buf, 1, &after), -EPIPE);
	CHECK_EQ(fp_ring_reserve_dequeue(r, 1, 0, &s), -EPIPE);
	CHECK_EQ(fp_ring_reserve_dequeue(r, 1, LIBFP_RING_BULK, &s), -EPIPE);
	if (fp_ring_consumer_sync(r) == LIBFP_ST)
		CHECK_EQ(fp_ring_peek(r, buf, 4), -EPIPE);
	CHECK_EQ(after, 77);
	CHECK_EQ(buf[0], 9);
	CHECK(!memcmp(&s, &before, sizeof(s)));
}

static void expect_closed_to_producers(fp_ring *r)
{
	uint64_t buf[4] = { 1, 2, 3, 4 };
	int64_t count = fp_ring_count(r);
	uint32_t after = 77;
	fp_ring_span s, before;

	memset(&s, 0x55, sizeof(s));
	before = s;
	CHECK_EQ(fp_ring_is_closed(r), 1);
	CHECK_EQ(fp_ring_enqueue(r, buf), -EPIPE);
	CHECK_EQ(fp_ring_enqueue_u64(r, 1), -EPIPE);
	CHECK_EQ(fp_ring_enqueue_burst(r, buf, 4, &after), -EPIPE);
	CHECK_EQ(fp_ring_enqueue_bulk(r, buf, 1, &after), -EPIPE);
	CHECK_EQ(fp_ring_reserve_enqueue(r, 1, 0, &s), -EPIPE);
	CHECK_EQ(fp_ring_reserve_enqueue(r, 1, LIBFP_RING_BULK, &s), -EPIPE);
	CHECK_EQ(after, 77);
	CHECK(!memcmp(&s, &before, sizeof(s)));
	CHECK_EQ(fp_ring_count(r), count);
}

static void close_refuses_producers_and_drains_consumers(void)
{
	static const uint32_t caps[] = { 4, 5, 64, 1000 };

	RT_EACH_MODE(m)
	for (size_t c = 0; c < FPT_LEN(caps); c++)
		for (uint32_t flags = 0; flags < 4; flags++)
			for (uint32_t inside = 0; inside <= 4; inside++) {
				fp_ring *r = rt_ring(caps[c], 8, m, flags);
				uint64_t v;

				fpt_where("%s capacity %u flags %u inside %u", m->name,
					  caps[c], flags, inside);
				CHECK_EQ(fp_ring_is_closed(r), 0);
				fill(r, 0, inside);
				CHECK_EQ(fp_ring_close(r), 0);
				expect_closed_to_producers(r);
				CHECK_EQ(fp_ring_count(r), inside);
				CHECK_EQ(fp_ring_is_full(r), inside == caps[c]);
				for (uint32_t i = 0; i < inside; i++) {
					CHECK_EQ(fp_ring_dequeue_u64(r, &v), 1);
					CHECK_EQ(v, rt_u64(i));
					expect_closed_to_producers(r);
				}
				expect_drained(r);
				CHECK_EQ(fp_ring_close(r), 0); /* again: nothing */
				expect_closed_to_producers(r);
				expect_drained(r);
				CHECK_EQ(fp_ring_destroy(r), 0);
			}
}

static void close_works_at_every_index_and_lap(void)
{
	RT_EACH_MODE(m)
	for (uint32_t cap = 1; cap <= 5; cap++)
		for (uint32_t moved = 0; moved < 2 * cap; moved++)
			for (uint64_t lap = 62; lap < 65; lap++) {
				fp_ring *r = rt_ring(cap, 8, m, 0);
				uint64_t v;

				fpt_where("%s capacity %u moved %u lap %" PRIu64, m->name,
					  cap, moved, lap);
				fpi_ring_start_at(r, lap);
				for (uint32_t i = 0; i < moved; i++) {
					fill(r, i, 1);
					CHECK_EQ(fp_ring_dequeue_u64(r, &v), 1);
				}
				fill(r, 100, cap);
				CHECK_EQ(fp_ring_close(r), 0);
				CHECK_EQ(fp_ring_enqueue_u64(r, 5), -EPIPE);
				CHECK_EQ(fp_ring_count(r), cap);
				for (uint32_t i = 0; i < cap; i++) {
					CHECK_EQ(fp_ring_dequeue_u64(r, &v), 1);
					CHECK_EQ(v, rt_u64(100 + i));
				}
				CHECK_EQ(fp_ring_dequeue_u64(r, &v), -EPIPE);
				CHECK_EQ(fp_ring_enqueue_u64(r, 5), -EPIPE);
				CHECK_EQ(fp_ring_destroy(r), 0);
			}
}

static void bulk_after_close_takes_all_or_ends(void)
{
	RT_EACH_MODE(m)
	for (uint32_t inside = 1; inside <= 7; inside++) {
		fp_ring *r = rt_ring(8, 8, m, 0);
		uint64_t buf[9] = { 0 };
		fp_ring_span s;
		uint32_t after = 77;

		fpt_where("%s inside %u", m->name, inside);
		fill(r, 0, inside);
		CHECK_EQ(fp_ring_dequeue_bulk(r, buf, inside + 1, &after), 0);
		CHECK_EQ(fp_ring_close(r), 0);
		after = 77;
		CHECK_EQ(fp_ring_dequeue_bulk(r, buf, inside + 1, &after), -EPIPE);
		CHECK_EQ(fp_ring_reserve_dequeue(r, inside + 1, LIBFP_RING_BULK, &s),
			 -EPIPE);
		CHECK_EQ(after, 77);
		CHECK_EQ(buf[0], 0);
		CHECK_EQ(fp_ring_dequeue_bulk(r, buf, 9, NULL), -EINVAL);
		CHECK_EQ(fp_ring_count(r), inside); /* nothing was taken */
		if (inside % 2) {
			CHECK_EQ(fp_ring_dequeue_burst(r, buf, 9, &after), inside);
			CHECK_EQ(after, 0);
		} else {
			CHECK_EQ(fp_ring_dequeue_bulk(r, buf, inside, &after), inside);
		}
		CHECK_EQ(rt_right(buf, 8, 0, inside), inside);
		expect_drained(r);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

static void zero_elements_on_a_closed_ring_are_no_operation(void)
{
	RT_EACH_MODE(m)
	{
		fp_ring *r = rt_ring(2, 8, m, 0);
		fp_ring_span s;
		uint64_t e = 3;

		fpt_where("%s", m->name);
		CHECK_EQ(fp_ring_close(r), 0);
		CHECK_EQ(fp_ring_enqueue_burst(r, &e, 0, NULL), 0);
		CHECK_EQ(fp_ring_enqueue_bulk(r, &e, 0, NULL), 0);
		CHECK_EQ(fp_ring_dequeue_burst(r, &e, 0, NULL), 0);
		CHECK_EQ(fp_ring_dequeue_bulk(r, &e, 0, NULL), 0);
		CHECK_EQ(fp_ring_reserve_enqueue(r, 0, 0, &s), 0);
		CHECK_EQ(fp_ring_reserve_dequeue(r, 0, 0, &s), 0);
		if (m->consumer == LIBFP_ST)
			CHECK_EQ(fp_ring_peek(r, &e, 0), 0);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

static void an_mt_span_reserved_before_close_is_delivered(void)
{
	for (int i = 2; i < 4; i++)
		for (uint32_t k = 0; k <= 3; k++) {
			fp_ring *r = rt_ring(8, 8, &rt_modes[i], 0);
			uint64_t buf[8];
			fp_ring_span s;

			fpt_where("%s k %u", rt_modes[i].name, k);
			fill(r, 0, 2);
			CHECK_EQ(fp_ring_reserve_enqueue(r, 3, 0, &s), 3);
			CHECK_EQ(fp_ring_close(r), 0);
			expect_closed_to_producers(r);
			CHECK_EQ(fp_ring_dequeue_burst(r, buf, 8, NULL), 2);
			/* claimed, not published: neither elements nor the end */
			CHECK_EQ(fp_ring_dequeue_burst(r, buf, 8, NULL), 0);
			CHECK_EQ(fp_ring_dequeue_bulk(r, buf, 8, NULL), 0);
			CHECK_EQ(fp_ring_dequeue_u64(r, buf), 0);
			CHECK_EQ(fp_ring_reserve_dequeue(r, 1, 0, &(fp_ring_span){ 0 }),
				 0);
			rt_span_fill(&s, 8, 2, 3);
			CHECK_EQ(fp_ring_commit_enqueue(r, &s, k), k);
			if (k) {
				CHECK_EQ(fp_ring_dequeue_burst(r, buf, 8, NULL), k);
				CHECK_EQ(rt_right(buf, 8, 2, k), k);
			}
			expect_drained(r);
			CHECK_EQ(fp_ring_destroy(r), 0);
		}
}

/* Fewer than asked for, then a hole: 0 as long as more could come. */
static void bulk_waits_for_claimed_slots_before_it_ends(void)
{
	for (int i = 2; i < 4; i++) {
		fp_ring *r = rt_ring(8, 8, &rt_modes[i], 0);
		uint64_t buf[8];
		fp_ring_span s;

		fpt_where("%s", rt_modes[i].name);
		fill(r, 0, 2);
		CHECK_EQ(fp_ring_reserve_enqueue(r, 3, 0, &s), 3);
		CHECK_EQ(fp_ring_close(r), 0);
		CHECK_EQ(fp_ring_dequeue_bulk(r, buf, 5, NULL), 0);
		CHECK_EQ(fp_ring_dequeue_bulk(r, buf, 6, NULL), 0);
		rt_span_fill(&s, 8, 2, 2);
		CHECK_EQ(fp_ring_commit_enqueue(r, &s, 2), 2); /* one void at the end */
		CHECK_EQ(fp_ring_dequeue_bulk(r, buf, 5, NULL), -EPIPE);
		CHECK_EQ(fp_ring_count(r), 5);
		CHECK_EQ(fp_ring_dequeue_bulk(r, buf, 4, NULL), 4);
		CHECK_EQ(rt_right(buf, 8, 0, 4), 4);
		expect_drained(r);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

static void an_st_span_reserved_before_close_is_given_up(void)
{
	for (int i = 0; i < 2; i++)
		for (uint32_t k = 0; k <= 2; k++) {
			fp_ring *r = rt_ring(8, 8, &rt_modes[i], 0);
			uint64_t buf[8];
			fp_ring_span s, copy;

			fpt_where("%s k %u", rt_modes[i].name, k);
			fill(r, 0, 2);
			CHECK_EQ(fp_ring_reserve_enqueue(r, 2, 0, &s), 2);
			copy = s;
			rt_span_fill(&s, 8, 9, 2);
			CHECK_EQ(fp_ring_close(r), 0);
			CHECK_EQ(fp_ring_destroy(r), -EBUSY);
			CHECK_EQ(fp_ring_commit_enqueue(r, &s, k), -EPIPE);
			CHECK_EQ(fp_ring_commit_enqueue(r, &copy, k), -EINVAL);
			CHECK_EQ(fp_ring_dequeue_burst(r, buf, 8, NULL), 2);
			CHECK_EQ(rt_right(buf, 8, 0, 2), 2);
			expect_drained(r);
			CHECK_EQ(fp_ring_destroy(r), 0);
		}
}

static void a_consumer_span_open_at_close_is_still_taken(void)
{
	RT_EACH_MODE(m)
	{
		fp_ring *r = rt_ring(8, 8, m, 0);
		fp_ring_span s;

		fpt_where("%s", m->name);
		fill(r, 0, 3);
		CHECK_EQ(fp_ring_reserve_dequeue(r, 3, 0, &s), 3);
		CHECK_EQ(fp_ring_close(r), 0);
		CHECK_EQ(rt_span_right(&s, 8, 0, 3), 3);
		CHECK_EQ(fp_ring_commit_dequeue(r, &s, 3), 3);
		expect_drained(r);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

/* ---- peek ---- */

static void peek_copies_and_leaves(void)
{
	static const uint32_t sizes[] = { 4, 8, 12, 64 };

	for (int i = 0; i < 4; i += 2)
		for (size_t s = 0; s < FPT_LEN(sizes); s++)
			for (uint32_t start = 0; start < 5; start++) {
				uint32_t size = sizes[s];
				fp_ring *r = rt_ring(5, size, &rt_modes[i], 0);
				struct rt_table t = rt_table_new((size_t)size * 8, 4);

				fpt_where("%s element %u start %u", rt_modes[i].name,
					  size, start);
				for (uint32_t k = 0; k < start; k++) {
					rt_fill(t.at, size, k, 1);
					CHECK_EQ(fp_ring_enqueue(r, t.at), 1);
					CHECK_EQ(fp_ring_dequeue(r, t.at), 1);
				}
				rt_table_wipe(&t);
				CHECK_EQ(fp_ring_peek(r, t.at, 3), 0);
				CHECK(rt_table_clean(&t, 0));
				rt_fill(t.at, size, 50, 4);
				CHECK_EQ(fp_ring_enqueue_bulk(r, t.at, 4, NULL), 4);
				for (uint32_t n = 0; n <= 8; n++) {
					uint32_t want = n < 4 ? n : 4;

					rt_table_wipe(&t);
					CHECK_EQ(fp_ring_peek(r, t.at, n), want);
					CHECK_EQ(rt_right(t.at, size, 50, want), want);
					CHECK(rt_table_clean(&t, (size_t)want * size));
					CHECK_EQ(fp_ring_count(r), 4);
				}
				CHECK_EQ(fp_ring_dequeue_bulk(r, t.at, 4, NULL), 4);
				CHECK_EQ(rt_right(t.at, size, 50, 4), 4);
				rt_table_free(&t);
				CHECK_EQ(fp_ring_destroy(r), 0);
			}
}

static void peek_needs_a_single_consumer(void)
{
	for (int i = 1; i < 4; i += 2) {
		fp_ring *r = rt_ring(4, 8, &rt_modes[i], 0);
		uint64_t v = 9;

		CHECK_EQ(fp_ring_peek(r, &v, 1), -EOPNOTSUPP);
		fill(r, 0, 2);
		CHECK_EQ(fp_ring_peek(r, &v, 1), -EOPNOTSUPP);
		CHECK_EQ(v, 9);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

static void peek_sees_past_void_slots_and_stops_at_holes(void)
{
	fp_ring *r = rt_ring(8, 8, &rt_modes[2], 0);
	fp_ring_span s, hole;
	uint64_t buf[8];

	CHECK_EQ(fp_ring_reserve_enqueue(r, 2, 0, &s), 2);
	CHECK_EQ(fp_ring_commit_enqueue(r, &s, 0), 0);
	fill(r, 0, 2);
	CHECK_EQ(fp_ring_reserve_enqueue(r, 1, 0, &hole), 1);
	fill(r, 3, 1);
	CHECK_EQ(fp_ring_peek(r, buf, 8), 2);
	CHECK_EQ(rt_right(buf, 8, 0, 2), 2);
	rt_span_fill(&hole, 8, 2, 1);
	CHECK_EQ(fp_ring_commit_enqueue(r, &hole, 1), 1);
	CHECK_EQ(fp_ring_peek(r, buf, 8), 4);
	CHECK_EQ(rt_right(buf, 8, 0, 4), 4);
	CHECK_EQ(fp_ring_close(r), 0);
	CHECK_EQ(fp_ring_peek(r, buf, 8), 4);
	CHECK_EQ(fp_ring_dequeue_burst(r, buf, 8, NULL), 4);
	expect_drained(r);
	CHECK_EQ(fp_ring_destroy(r), 0);
}

/* ---- reset ---- */

static void reset_empties_opens_and_zeroes(void)
{
	RT_EACH_MODE(m)
	for (uint32_t flags = 0; flags < 4; flags++)
		for (uint32_t inside = 0; inside <= 6; inside++) {
			fp_ring *r = rt_ring(6, 8, m, flags);
			fp_ring_stats s;
			uint64_t v;

			fpt_where("%s flags %u inside %u", m->name, flags, inside);
			for (int round = 0; round < 70; round++) {
				fill(r, 0, inside);
				if (inside)
					CHECK_EQ(fp_ring_dequeue_u64(r, &v), 1);
				CHECK_EQ(fp_ring_close(r), 0);
				CHECK_EQ(fp_ring_reset(r), 0);
				CHECK_EQ(fp_ring_is_closed(r), 0);
				CHECK_EQ(fp_ring_is_empty(r), 1);
				CHECK_EQ(fp_ring_dequeue_u64(r, &v), 0);
				CHECK_EQ(fp_ring_reset(r), 0);
				s = rt_stats(r);
				CHECK_EQ(s.enqueued, 0);
				CHECK_EQ(s.dequeued, 0);
				CHECK_EQ(s.refused_full, 0);
				CHECK_EQ(s.refused_empty, 0);
				CHECK_EQ(s.high_water, 0);
				CHECK_EQ(s.voided, 0);
				CHECK_EQ(s.count, 0);
			}
			fill(r, 0, 6);
			CHECK_EQ(fp_ring_enqueue_u64(r, 1), 0);
			CHECK_EQ(rt_stats(r).enqueued, 6);
			CHECK_EQ(fp_ring_destroy(r), 0);
		}
}

static void reset_forgets_void_slots(void)
{
	for (int i = 2; i < 4; i++) {
		fp_ring *r = rt_ring(6, 8, &rt_modes[i], 0);
		fp_ring_span s;

		CHECK_EQ(fp_ring_reserve_enqueue(r, 5, 0, &s), 5);
		CHECK_EQ(fp_ring_commit_enqueue(r, &s, 1), 1);
		CHECK_EQ(rt_stats(r).voided, 4);
		CHECK_EQ(fp_ring_reset(r), 0);
		CHECK_EQ(rt_stats(r).voided, 0);
		CHECK_EQ(rt_stats(r).void_pending, 0);
		fill(r, 0, 6);
		CHECK_EQ(rt_stats(r).enqueued, 6);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(close_refuses_producers_and_drains_consumers),
		FPT_CASE(close_works_at_every_index_and_lap),
		FPT_CASE(bulk_after_close_takes_all_or_ends),
		FPT_CASE(zero_elements_on_a_closed_ring_are_no_operation),
		FPT_CASE(an_mt_span_reserved_before_close_is_delivered),
		FPT_CASE(bulk_waits_for_claimed_slots_before_it_ends),
		FPT_CASE(an_st_span_reserved_before_close_is_given_up),
		FPT_CASE(a_consumer_span_open_at_close_is_still_taken),
		FPT_CASE(peek_copies_and_leaves),
		FPT_CASE(peek_needs_a_single_consumer),
		FPT_CASE(peek_sees_past_void_slots_and_stops_at_holes),
		FPT_CASE(reset_empties_opens_and_zeroes),
		FPT_CASE(reset_forgets_void_slots),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
