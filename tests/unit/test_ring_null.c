/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * NULL handles, NULL tables and absurd counts, for every function of ring.h:
 * an error code, nothing written, no crash.
 */
#include "ring_test.h"

static void every_function_accepts_a_null_ring(void)
{
	fp_ring_span span, zero = { 0 };
	fp_ring_stats stats = { .size = sizeof(stats) };
	uint64_t elem = 7;
	uint32_t after = 99;

	memset(&span, 0, sizeof(span));
	CHECK_EQ(fp_ring_destroy(NULL), 0);
	CHECK_EQ(fp_ring_unref(NULL), -EINVAL);
	CHECK_EQ(fp_ring_reset(NULL), -EINVAL);
	CHECK_EQ(fp_ring_close(NULL), -EINVAL);
	for (uint32_t n = 0; n < 2; n++) { /* n = 0 does not excuse the handle */
		CHECK_EQ(fp_ring_enqueue_bulk(NULL, &elem, n, &after), -EINVAL);
		CHECK_EQ(fp_ring_enqueue_burst(NULL, &elem, n, &after), -EINVAL);
		CHECK_EQ(fp_ring_dequeue_bulk(NULL, &elem, n, &after), -EINVAL);
		CHECK_EQ(fp_ring_dequeue_burst(NULL, &elem, n, &after), -EINVAL);
		CHECK_EQ(fp_ring_peek(NULL, &elem, n), -EINVAL);
		CHECK_EQ(fp_ring_reserve_enqueue(NULL, n, 0, &span), -EINVAL);
		CHECK_EQ(fp_ring_reserve_dequeue(NULL, n, 0, &span), -EINVAL);
		CHECK_EQ(fp_ring_commit_enqueue(NULL, &span, n), -EINVAL);
		CHECK_EQ(fp_ring_commit_dequeue(NULL, &span, n), -EINVAL);
	}
	CHECK_EQ(fp_ring_enqueue(NULL, &elem), -EINVAL);
	CHECK_EQ(fp_ring_enqueue_u64(NULL, 1), -EINVAL);
	CHECK_EQ(fp_ring_dequeue(NULL, &elem), -EINVAL);
	CHECK_EQ(fp_ring_dequeue_u64(NULL, &elem), -EINVAL);
	CHECK_EQ(fp_ring_count(NULL), -EINVAL);
	CHECK_EQ(fp_ring_free_count(NULL), -EINVAL);
	CHECK_EQ(fp_ring_capacity(NULL), -EINVAL);
	CHECK_EQ(fp_ring_elem_size(NULL), -EINVAL);
	CHECK_EQ(fp_ring_producer_sync(NULL), -EINVAL);
	CHECK_EQ(fp_ring_consumer_sync(NULL), -EINVAL);
	CHECK_EQ(fp_ring_is_full(NULL), -EINVAL);
	CHECK_EQ(fp_ring_is_empty(NULL), -EINVAL);
	CHECK_EQ(fp_ring_is_closed(NULL), -EINVAL);
	CHECK(fp_ring_name(NULL) == NULL);
	CHECK_EQ(fp_ring_get_stats(NULL, &stats), -EINVAL);
	CHECK_EQ(stats.size, sizeof(stats));
	CHECK_EQ(elem, 7);
	CHECK_EQ(after, 99);
	CHECK(!memcmp(&span, &zero, sizeof(span)));
}

static void null_tables_are_refused_if_something_would_move(void)
{
	uint32_t after = 99;

	RT_EACH_MODE(m)
	for (uint32_t elem_size = 8; elem_size <= 16; elem_size += 8) {
		fp_ring *r = rt_ring(4, elem_size, m, 0);
		unsigned char elem[16] = { 1 };
		fp_ring_span span;

		fpt_where("%s element %u", m->name, elem_size);
		CHECK_EQ(fp_ring_enqueue(r, elem), 1);
		CHECK_EQ(fp_ring_enqueue(r, NULL), -EINVAL);
		CHECK_EQ(fp_ring_dequeue(r, NULL), -EINVAL);
		if (elem_size == 8)
			CHECK_EQ(fp_ring_dequeue_u64(r, NULL), -EINVAL);
		CHECK_EQ(fp_ring_enqueue_bulk(r, NULL, 1, &after), -EINVAL);
		CHECK_EQ(fp_ring_enqueue_burst(r, NULL, 2, &after), -EINVAL);
		CHECK_EQ(fp_ring_dequeue_bulk(r, NULL, 1, &after), -EINVAL);
		CHECK_EQ(fp_ring_dequeue_burst(r, NULL, 2, &after), -EINVAL);
		CHECK_EQ(after, 99);
		if (m->consumer == LIBFP_ST)
			CHECK_EQ(fp_ring_peek(r, NULL, 1), -EINVAL);
		CHECK_EQ(fp_ring_enqueue_bulk(r, NULL, 0, NULL), 0);
		CHECK_EQ(fp_ring_enqueue_burst(r, NULL, 0, NULL), 0);
		CHECK_EQ(fp_ring_dequeue_bulk(r, NULL, 0, NULL), 0);
		CHECK_EQ(fp_ring_dequeue_burst(r, NULL, 0, NULL), 0);
		if (m->consumer == LIBFP_ST)
			CHECK_EQ(fp_ring_peek(r, NULL, 0), 0);
		CHECK_EQ(fp_ring_reserve_enqueue(r, 1, 0, NULL), -EINVAL);
		CHECK_EQ(fp_ring_reserve_dequeue(r, 1, 0, NULL), -EINVAL);
		CHECK_EQ(fp_ring_commit_enqueue(r, NULL, 0), -EINVAL);
		CHECK_EQ(fp_ring_commit_dequeue(r, NULL, 0), -EINVAL);
		CHECK_EQ(fp_ring_reserve_enqueue(r, 0, 0, &span), 0);
		CHECK(rt_span_is_zero(&span));
		CHECK_EQ(fp_ring_get_stats(r, NULL), -EINVAL);
		CHECK_EQ(fp_ring_count(r), 1);
		CHECK_EQ(fp_ring_dequeue(r, elem), 1);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

static void counts_above_int32_max_are_refused(void)
{
	static const uint32_t counts[] = { 0x80000000, 0x80000001, UINT32_MAX };

	RT_EACH_MODE(m)
	{
		fp_ring *r = rt_ring(4, 8, m, 0);
		uint64_t elems[4] = { 1, 2, 3, 4 };
		fp_ring_span span;
		uint32_t after = 99;

		fpt_where("%s", m->name);
		memset(&span, 0x33, sizeof(span));
		for (size_t i = 0; i < FPT_LEN(counts); i++) {
			uint32_t n = counts[i];

			CHECK_EQ(fp_ring_enqueue_burst(r, elems, n, &after), -EINVAL);
			CHECK_EQ(fp_ring_enqueue_bulk(r, elems, n, &after), -EINVAL);
			CHECK_EQ(fp_ring_dequeue_burst(r, elems, n, &after), -EINVAL);
			CHECK_EQ(fp_ring_dequeue_bulk(r, elems, n, &after), -EINVAL);
			CHECK_EQ(fp_ring_reserve_enqueue(r, n, 0, &span), -EINVAL);
			CHECK_EQ(fp_ring_reserve_dequeue(r, n, 0, &span), -EINVAL);
			if (m->consumer == LIBFP_ST)
				CHECK_EQ(fp_ring_peek(r, elems, n), -EINVAL);
		}
		CHECK_EQ(after, 99);
		CHECK_EQ(span.n1, 0x33333333); /* a failure leaves it alone */
		CHECK_EQ(fp_ring_count(r), 0);
		CHECK_EQ(elems[0], 1);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

static void u64_calls_want_8_byte_elements(void)
{
	static const uint32_t sizes[] = { 4, 12, 16, 4096 };

	RT_EACH_MODE(m)
	for (size_t i = 0; i < FPT_LEN(sizes); i++) {
		static unsigned char elem[4096];
		fp_ring *r = rt_ring(2, sizes[i], m, 0);
		uint64_t v = 55;

		fpt_where("%s element %u", m->name, sizes[i]);
		CHECK_EQ(fp_ring_enqueue_u64(r, 1), -EINVAL);
		CHECK_EQ(fp_ring_count(r), 0);
		CHECK_EQ(fp_ring_enqueue(r, elem), 1);
		CHECK_EQ(fp_ring_dequeue_u64(r, &v), -EINVAL);
		CHECK_EQ(v, 55);
		CHECK_EQ(fp_ring_count(r), 1);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(every_function_accepts_a_null_ring),
		FPT_CASE(null_tables_are_refused_if_something_would_move),
		FPT_CASE(counts_above_int32_max_are_refused),
		FPT_CASE(u64_calls_want_8_byte_elements),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
