/* SPDX-License-Identifier: BSD-2-Clause */
/* When a refused call looks a second time: once a position, and while it pays. */
#define _GNU_SOURCE 1
#include "ring_test.h"
#include "ring/ring_internal.h"

/* Refusals at new positions until one lingers, at most `limit`. */
static int refusals_until_linger(struct fpi_ring_side *s, uint64_t *at, int limit)
{
	for (int i = 1; i <= limit; i++)
		if (fpi_ring_linger(s, ++*at))
			return i;
	return 0;
}

static void only_the_first_refusal_at_a_position_lingers(void)
{
	struct fpi_ring_side s = { 0 };

	CHECK_EQ(fpi_ring_linger(&s, 5), 1);
	CHECK_EQ(fpi_ring_linger(&s, 5), 0);
	CHECK_EQ(fpi_ring_linger(&s, 5), 0);
	CHECK_EQ(fpi_ring_linger(&s, 6), 1);
}

static void useless_looks_are_passed_over_ever_longer(void)
{
	struct fpi_ring_side s = { 0 };
	uint64_t at = 0;
	int pass = 0;

	for (int i = 0; i < 14; i++) {
		CHECK_EQ(refusals_until_linger(&s, &at, 2000), pass + 1);
		fpi_ring_lingered(&s, 0);
		pass = pass < 512 ? 2 * pass + 1 : 1023;
	}
}

static void a_look_worth_it_ends_the_passing_over(void)
{
	struct fpi_ring_side s = { 0 };
	uint64_t at = 0;

	for (int i = 0; i < 5; i++) {
		CHECK(refusals_until_linger(&s, &at, 2000) > 0);
		fpi_ring_lingered(&s, 0);
	}
	CHECK(refusals_until_linger(&s, &at, 2000) > 1);
	fpi_ring_lingered(&s, 1);
	for (int i = 0; i < 10; i++) {
		CHECK_EQ(refusals_until_linger(&s, &at, 1), 1);
		fpi_ring_lingered(&s, 1);
	}
}

/* A thread that drains what it put in itself must come to pay nothing. */
static void a_ring_drained_by_its_own_producer_stops_lingering(uint32_t sync)
{
	fp_ring_opts o = LIBFP_RING_OPTS_INIT;
	uint64_t v = 0;
	fp_ring *r;

	o.capacity = 64;
	o.producer = o.consumer = sync;
	CHECK_EQ(fp_ring_create(&o, &r), 0);
	for (int i = 0; i < 3000; i++) {
		CHECK_EQ(fp_ring_enqueue_u64(r, 7), 1);
		CHECK_EQ(fp_ring_dequeue_u64(r, &v), 1);
		CHECK_EQ(fp_ring_dequeue_u64(r, &v), 0);
	}
	CHECK_EQ(FPI_LOAD(&r->cons->linger_pass, FPI_RELAXED), 1023);
	CHECK_EQ(fp_ring_destroy(r), 0);
}

static void draining_alone_stops_lingering(void)
{
	a_ring_drained_by_its_own_producer_stops_lingering(LIBFP_ST);
	a_ring_drained_by_its_own_producer_stops_lingering(LIBFP_MT);
}

static void a_batch_is_8_to_32(void)
{
	static const uint64_t worth[][2] = { { 1, 8 },	 { 8, 8 },   { 9, 9 },
					     { 32, 32 }, { 33, 32 }, { INT32_MAX, 32 } };

	for (unsigned i = 0; i < FPT_LEN(worth); i++)
		CHECK_EQ(fpi_ring_worth(worth[i][0]), worth[i][1]);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(only_the_first_refusal_at_a_position_lingers),
		FPT_CASE(useless_looks_are_passed_over_ever_longer),
		FPT_CASE(a_look_worth_it_ends_the_passing_over),
		FPT_CASE(draining_alone_stops_lingering),
		FPT_CASE(a_batch_is_8_to_32),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
