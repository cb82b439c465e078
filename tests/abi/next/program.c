/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program of today: what a user of rings does, and nothing that is new. It has to run
 * with a later library as it is, not built again.
 */
#include <errno.h>

#include <libfp.h>

#include "check.h"

#define CAPACITY 6

static fp_ring *make(uint32_t producer, uint32_t consumer)
{
	fp_ring_opts opts = LIBFP_RING_OPTS_INIT;
	fp_ring *ring = NULL;

	opts.name = "of a program";
	opts.capacity = CAPACITY;
	opts.producer = producer;
	opts.consumer = consumer;
	opts.flags = LIBFP_STATS;
	CHECK_EQ(fp_ring_create(&opts, &ring), 0);
	CHECK_EQ(fp_ring_capacity(ring), CAPACITY);
	return ring;
}

static void elements_pass_in_order_until_the_end(fp_ring *ring)
{
	const uint64_t in[] = { 1, 2, 3, 4, 5, 6, 7 };
	uint64_t out[8];
	uint32_t left = 0;
	fp_ring *found = NULL;

	CHECK_EQ(fp_ring_enqueue_burst(ring, in, 7, &left), CAPACITY);
	CHECK_EQ(left, 0);
	CHECK_EQ(fp_ring_dequeue_bulk(ring, out, 4, &left), 4);
	CHECK_EQ(left, 2);
	CHECK(!memcmp(in, out, 4 * sizeof(out[0])));
	CHECK_EQ(fp_ring_lookup("of a program", &found), 0);
	CHECK(found == ring);
	CHECK_EQ(fp_ring_destroy(ring), -EBUSY);
	CHECK_EQ(fp_ring_unref(found), 0);
	CHECK_EQ(fp_ring_enqueue_u64(ring, 7), 1);
	CHECK_EQ(fp_ring_close(ring), 0);
	CHECK_EQ(fp_ring_enqueue_u64(ring, 8), -EPIPE);
	CHECK_EQ(fp_ring_dequeue_burst(ring, out, 8, NULL), 3);
	CHECK_EQ(out[2], 7);
	CHECK_EQ(fp_ring_dequeue_burst(ring, out, 8, NULL), -EPIPE);
}

static void spans_lend_slots(fp_ring *ring)
{
	fp_ring_span span;
	uint64_t value = 0;

	CHECK_EQ(fp_ring_reset(ring), 0);
	CHECK_EQ(fp_ring_reserve_enqueue(ring, 3, LIBFP_RING_BULK, &span), 3);
	CHECK_EQ(span.n1 + span.n2, 3);
	for (uint32_t i = 0; i < 3; i++)
		((uint64_t *)(i < span.n1 ? span.ptr1 :
					    span.ptr2))[i < span.n1 ? i : i - span.n1] =
			10 + i;
	CHECK_EQ(fp_ring_commit_enqueue(ring, &span, 3), 3);
	CHECK_EQ(fp_ring_reserve_dequeue(ring, 2, 0, &span), 2);
	CHECK_EQ(*(uint64_t *)span.ptr1, 10);
	CHECK_EQ(fp_ring_commit_dequeue(ring, &span, 2), 2);
	CHECK_EQ(fp_ring_dequeue_u64(ring, &value), 1);
	CHECK_EQ(value, 12);
}

static void statistics_fill_what_the_caller_knows(fp_ring *ring)
{
	fp_ring_stats stats = { .size = sizeof(stats) };

	CHECK_EQ(fp_ring_get_stats(ring, &stats), 0);
	CHECK_EQ(stats.size, sizeof(stats));
	CHECK_EQ(stats.enqueued, 3);
	CHECK_EQ(stats.dequeued, 3);
	CHECK_EQ(stats.high_water, 3);
}

static void life(void)
{
	for (uint32_t side = 0; side < 4; side++) {
		fp_ring *ring = make(side & 1, side >> 1);

		fpt_where("producer %u, consumer %u", side & 1, side >> 1);
		elements_pass_in_order_until_the_end(ring);
		spans_lend_slots(ring);
		statistics_fill_what_the_caller_knows(ring);
		CHECK_EQ(fp_ring_destroy(ring), 0);
	}
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(life),
	};

	CHECK(fp_features() & LIBFP_FEATURE_RING);
	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
