/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The worker of examples/pipeline between two rings: what comes out, that it
 * stays in order, how it ends, and that nothing is lost when it is stopped.
 */
#include <errno.h>
#include <sched.h>

#include "check.h"
#include "stages.h"

static fp_ring *ring(uint32_t capacity, uint32_t elem_size, uint32_t producer,
		     uint32_t consumer)
{
	fp_ring_opts opts = LIBFP_RING_OPTS_INIT;
	fp_ring *r = NULL;

	opts.capacity = capacity;
	opts.elem_size = elem_size;
	opts.producer = producer;
	opts.consumer = consumer;
	CHECK_EQ(fp_ring_create(&opts, &r), 0);
	return r;
}

static uint64_t expected(uint32_t kind, uint64_t x)
{
	if (kind == STAGE_COPY)
		return x;
	if (kind == STAGE_INVERT)
		return UINT64_MAX - x;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* Pushes n numbers through a stage and checks each. */
static void carry_all(uint32_t kind, uint32_t side, uint64_t n)
{
	fp_ring *in = ring(1000, 8, side, LIBFP_ST), *out = ring(777, 8, LIBFP_ST, side);
	uint64_t put = 0, taken = 0, carried = 0, burst[64];
	stage *s = NULL;
	int32_t got;

	fpt_where("kind %u, outer sides %u", kind, side);
	CHECK_EQ(stage_start(in, out, kind, &s), 0);
	for (;;) {
		uint32_t k = 0;

		for (; k < FPT_LEN(burst) && put + k < n; k++)
			burst[k] = put + k;
		if (k) {
			got = fp_ring_enqueue_burst(in, burst, k, NULL);
			CHECK(got >= 0);
			put += (uint32_t)got;
			if (put == n)
				CHECK_EQ(fp_ring_close(in), 0);
		}
		got = fp_ring_dequeue_burst(out, burst, FPT_LEN(burst), NULL);
		if (got == -EPIPE)
			break;
		CHECK(got >= 0);
		for (int32_t i = 0; i < got; i++, taken++)
			if (burst[i] != expected(kind, taken))
				CHECK_EQ(burst[i], expected(kind, taken));
		if (got == 0)
			sched_yield();
	}
	CHECK_EQ(taken, n);
	CHECK_EQ(stage_stop(s, &carried), 0);
	CHECK_EQ(carried, n);
	CHECK_EQ(fp_ring_destroy(in), 0);
	CHECK_EQ(fp_ring_destroy(out), 0);
}

static void every_kind_carries_all_in_order(void)
{
	for (uint32_t kind = STAGE_COPY; kind <= STAGE_MIX; kind++)
		carry_all(kind, LIBFP_ST, fpt_scale(200000, 10000000));
}

static void outer_sides_may_be_mt(void)
{
	carry_all(STAGE_MIX, LIBFP_MT, fpt_scale(200000, 10000000));
}

static void an_empty_stream_ends(void)
{
	fp_ring *in = ring(4, 8, LIBFP_ST, LIBFP_ST),
		*out = ring(4, 8, LIBFP_ST, LIBFP_ST);
	uint64_t carried = 1;
	stage *s = NULL;

	CHECK_EQ(fp_ring_close(in), 0);
	CHECK_EQ(stage_start(in, out, STAGE_COPY, &s), 0);
	while (!fp_ring_is_closed(out))
		sched_yield();
	CHECK_EQ(stage_stop(s, &carried), 0);
	CHECK_EQ(carried, 0);
	CHECK_EQ(fp_ring_destroy(in), 0);
	CHECK_EQ(fp_ring_destroy(out), 0);
}

static void stop_loses_nothing(void)
{
	fp_ring *in = ring(100, 8, LIBFP_ST, LIBFP_ST),
		*out = ring(10, 8, LIBFP_ST, LIBFP_ST);
	uint64_t carried = 0, elem;
	stage *s = NULL;

	for (uint64_t i = 0; i < 100; i++)
		CHECK_EQ(fp_ring_enqueue_u64(in, i), 1);
	CHECK_EQ(stage_start(in, out, STAGE_COPY, &s), 0);
	while (!fp_ring_is_full(out))
		sched_yield();
	CHECK_EQ(stage_stop(s, &carried), 0);
	CHECK_EQ(carried, 10);
	CHECK_EQ(fp_ring_is_closed(out), 0);
	for (uint64_t i = 0; i < 100; i++) {
		CHECK_EQ(fp_ring_dequeue_u64(i < 10 ? out : in, &elem), 1);
		CHECK_EQ(elem, i);
	}
	CHECK_EQ(fp_ring_destroy(in), 0);
	CHECK_EQ(fp_ring_destroy(out), 0);
}

static void a_closed_outlet_is_an_error_and_loses_nothing(void)
{
	fp_ring *in = ring(4, 8, LIBFP_ST, LIBFP_ST),
		*out = ring(4, 8, LIBFP_ST, LIBFP_ST);
	fp_ring_stats stats = { .size = sizeof(stats) };
	uint64_t carried = 1;
	stage *s = NULL;

	CHECK_EQ(fp_ring_enqueue_u64(in, 7), 1);
	CHECK_EQ(fp_ring_close(out), 0);
	/* Stopped before it has looked, a stage has met no error: try until it has. */
	for (int status = 0; status == 0;) {
		CHECK_EQ(stage_start(in, out, STAGE_COPY, &s), 0);
		sched_yield();
		status = stage_stop(s, &carried);
		CHECK(status == 0 || status == -EPIPE);
		CHECK_EQ(carried, 0);
	}
	CHECK_EQ(fp_ring_count(in), 1);
	CHECK_EQ(fp_ring_get_stats(in, &stats), 0);
	CHECK_EQ(stats.dequeued, 0);
	CHECK_EQ(fp_ring_destroy(in), 0);
	CHECK_EQ(fp_ring_destroy(out), 0);
}

static void wrong_rings_are_refused(void)
{
	fp_ring *st = ring(4, 8, LIBFP_ST, LIBFP_ST),
		*other = ring(4, 8, LIBFP_ST, LIBFP_ST);
	fp_ring *small = ring(4, 4, LIBFP_ST, LIBFP_ST),
		*mt = ring(4, 8, LIBFP_MT, LIBFP_MT);
	stage *untouched = (stage *)&st, *s = untouched;

	CHECK_EQ(stage_start(NULL, st, STAGE_COPY, &s), -EINVAL);
	CHECK_EQ(stage_start(st, NULL, STAGE_COPY, &s), -EINVAL);
	CHECK_EQ(stage_start(st, other, STAGE_COPY, NULL), -EINVAL);
	CHECK_EQ(stage_start(st, st, STAGE_COPY, &s), -EINVAL);
	CHECK_EQ(stage_start(small, st, STAGE_COPY, &s), -EINVAL);
	CHECK_EQ(stage_start(st, small, STAGE_COPY, &s), -EINVAL);
	CHECK_EQ(stage_start(mt, st, STAGE_COPY, &s), -EINVAL);
	CHECK_EQ(stage_start(st, mt, STAGE_COPY, &s), -EINVAL);
	CHECK_EQ(stage_start(st, other, STAGE_MIX + 1, &s), -EOPNOTSUPP);
	CHECK(s == untouched);
	CHECK_EQ(stage_stop(NULL, NULL), 0);
	CHECK_EQ(fp_ring_destroy(st), 0);
	CHECK_EQ(fp_ring_destroy(other), 0);
	CHECK_EQ(fp_ring_destroy(small), 0);
	CHECK_EQ(fp_ring_destroy(mt), 0);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(every_kind_carries_all_in_order),
		FPT_CASE(outer_sides_may_be_mt),
		FPT_CASE(an_empty_stream_ends),
		FPT_CASE(stop_loses_nothing),
		FPT_CASE(a_closed_outlet_is_an_error_and_loses_nothing),
		FPT_CASE(wrong_rings_are_refused),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
