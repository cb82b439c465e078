/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Time: never early (T1) over all 64 bits, from whatever tick a wheel starts at; a `now`
 * that stands still, leaps and goes back; nanoseconds and ticks.
 */
#include <time.h>

#include "timer_test.h"

static uint64_t later(uint64_t tick, uint64_t span)
{
	return span > UINT64_MAX - tick ? UINT64_MAX : tick + span;
}

/* Starts to begin at: ends of the range, powers of two, and random ones. */
#define STARTS 40

static uint64_t starts[STARTS];

static void make_starts(void)
{
	static const uint64_t fixed[] = { 0,
					  1,
					  255,
					  256,
					  257,
					  0xffff,
					  0x10000,
					  0xffffffffull,
					  0x100000000ull,
					  (1ull << 63) - 1,
					  1ull << 63,
					  UINT64_MAX - 1000000,
					  UINT64_MAX - 256,
					  UINT64_MAX - 1,
					  UINT64_MAX };
	uint64_t seed = fpt_seed();

	memcpy(starts, fixed, sizeof(fixed));
	for (uint64_t i = FPT_LEN(fixed); i < STARTS; i++)
		starts[i] = fpt_random(&seed) >> (i * 7 % 60);
}

/* One timer, polled a tick before and at its expiry. */
static void not_early(fp_timer_wheel *w, uint64_t id, uint64_t now, uint64_t expiry)
{
	fpt_where("expiry %" PRIu64 " at %" PRIu64, expiry, now);
	CHECK_EQ(fp_timer_arm(w, id, expiry), 0);
	if (expiry > now) {
		CHECK_EQ(tt_poll(w, now), 0);
		CHECK_EQ(tt_poll(w, expiry - 1), 0);
		tt_is_armed(w, id, expiry);
	}
	CHECK_EQ(tt_poll(w, expiry > now ? expiry : now), 1);
	tt_record_is(0, id, 1, expiry, 0, 0);
	TT_FIRED(1);
}

static void never_early_at_every_power_of_two(void)
{
	make_starts();
	for (int s = 0; s < STARTS; s++)
		for (int bit = 0; bit < 64; bit++)
			for (int64_t d = -1; d <= 1; d++) {
				uint64_t span = (1ull << bit) + (uint64_t)d;
				fp_timer_wheel *w = tt_wheel(starts[s], 4);
				uint64_t id = tt_timer(w, 1);

				not_early(w, id, starts[s], later(starts[s], span));
				if (starts[s] < (1ull << bit) - 1) {
					tt_end(w);
					w = tt_wheel(starts[s], 4);
					id = tt_timer(w, 1);
					not_early(w, id, starts[s], span);
				}
				tt_end(w);
			}
}

/* All of them at once: in order, each at its tick. T-17 */
static void all_powers_of_two_in_one_wheel(void)
{
	make_starts();
	for (int s = 0; s < STARTS; s++) {
		uint64_t ticks[64 * 3 + 1], start = starts[s], now = start, first;
		fp_timer_wheel *w = tt_wheel(start, 200);
		uint32_t n = 0, fired = 0;

		fpt_where("start %" PRIu64, start);
		for (int bit = 0; bit < 64; bit++)
			for (int64_t d = -1; d <= 1; d++)
				ticks[n++] = later(start, (1ull << bit) + (uint64_t)d);
		ticks[n++] = UINT64_MAX;
		for (uint32_t i = 0; i < n; i++)
			tt_armed(w, i, ticks[n - 1 - i]);
		for (int more = 1; more;) { /* no answer: it may be the last tick */
			first = UINT64_MAX;
			more = fp_timer_wheel_next_expiry(w, &first);
			CHECK(!more || !fired || first > now); /* it is all fired */
			now = first > now ? first : now;
			if (now > start)
				CHECK_EQ(tt_poll(w, now - 1), 0);
			CHECK_EQ(tt_fired_count, fired);
			CHECK(tt_poll(w, now) >= 0);
			for (; fired < tt_fired_count; fired++)
				CHECK_EQ(tt_fired[fired].expiry_tick, now);
		}
		CHECK_EQ(fired, n);
		for (uint32_t i = 1; i < n; i++)
			CHECK(tt_fired[i - 1].expiry_tick <= tt_fired[i].expiry_tick);
		tt_forget();
		tt_end(w);
	}
}

static void the_last_tick_there_is(void)
{
	fp_timer_wheel *w = tt_wheel(0, 4);
	uint64_t id = tt_timer(w, 1);

	not_early(w, id, 0, UINT64_MAX);
	CHECK_EQ(fp_timer_arm(w, id, UINT64_MAX), 0); /* again, when it is over */
	CHECK_EQ(tt_poll(w, UINT64_MAX), 1);
	TT_FIRED(1);
	CHECK_EQ(fp_timer_arm(w, id, 0), 0);
	CHECK_EQ(tt_poll(w, UINT64_MAX - 1), 0); /* time went back */
	CHECK_EQ(tt_poll(w, UINT64_MAX), 1);
	TT_FIRED(1);
	tt_end(w);
}

/* One timer again and again, while the wheel turns through all its levels. */
static void never_early_in_a_wheel_that_turns(void)
{
	uint64_t seed = fpt_seed();

	for (int s = 0; s < 12; s++) {
		uint64_t now = fpt_random(&seed) >> (s * 5);
		fp_timer_wheel *w = tt_wheel(now, 4);
		uint64_t id = tt_timer(w, 1);

		for (int i = 0; i < 4000; i++) {
			uint64_t expiry = later(now, fpt_random(&seed) >> (20 + i % 44));

			not_early(w, id, now, expiry);
			now = expiry;
		}
		tt_end(w);
	}
}

/* ---- now ---- */

static void now_stands_still_leaps_and_goes_back(void)
{
	fp_timer_wheel *w = tt_wheel(1000, 10);
	uint64_t a = tt_armed(w, 1, 1500), b = tt_armed(w, 2, 1u << 30);

	CHECK_EQ(tt_poll(w, 1000), 0);
	CHECK_EQ(tt_poll(w, 1000), 0);
	CHECK_EQ(tt_poll(w, 1001), 0);
	CHECK_EQ(tt_poll(w, 0), 0);
	CHECK_EQ(tt_poll(w, 1499), 0);
	CHECK_EQ(fp_timer_arm(w, a, 1200), 1); /* for the past */
	CHECK_EQ(tt_poll(w, 1300), 0);	       /* earlier than the last poll */
	tt_is_armed(w, a, 1200);
	CHECK_EQ(tt_poll(w, 1498), 0);
	CHECK_EQ(tt_poll(w, 1499), 1);
	TT_FIRED(1);
	CHECK_EQ(tt_poll(w, 1ull << 50), 1);
	TT_FIRED(2);
	CHECK_EQ(fp_timer_arm(w, a, 5), 0);
	CHECK_EQ(fp_timer_arm(w, b, (1ull << 50) + 1), 0);
	for (uint64_t back = 1; back < 1ull << 50; back *= 2) {
		fp_timer_record r;

		CHECK_EQ(tt_poll(w, (1ull << 50) - back), 0);
		CHECK_EQ(fp_timer_wheel_poll_burst(w, (1ull << 50) - back, &r, 1), 0);
		CHECK_EQ(fp_timer_wheel_poll_many(&w, 1, (1ull << 50) - back, 9), 0);
	}
	CHECK_EQ(fp_timer_wheel_count(w), 2);
	CHECK_EQ(tt_poll(w, 1ull << 50), 1);
	TT_FIRED(1);
	CHECK_EQ(tt_poll(w, (1ull << 50) + 1), 1);
	TT_FIRED(2);
	tt_end(w);
}

/* A poll that had nothing to do did not move time: what is armed then is not early. */
static void an_idle_poll_moves_nothing(void)
{
	fp_timer_wheel *w = tt_wheel(0, 10);
	uint64_t tick;

	tt_armed(w, 9, 1u << 20);
	CHECK_EQ(fp_timer_wheel_next_expiry(w, &tick), 1);
	CHECK(tick > 500);
	CHECK_EQ(tt_poll(w, 500), 0);
	tt_armed(w, 1, 400);
	CHECK_EQ(tt_poll(w, 399), 0);
	CHECK_EQ(tt_poll(w, 450), 1);
	TT_FIRED(1);
	tt_armed(w, 2, 300);
	CHECK_EQ(tt_poll(w, 449), 0); /* that one had */
	CHECK_EQ(tt_poll(w, 450), 1);
	TT_FIRED(2);
	tt_end(w);
}

static void a_wheel_starts_where_it_is_told(void)
{
	make_starts();
	for (int s = 0; s < STARTS; s++) {
		uint64_t start = starts[s];
		fp_timer_wheel *w = tt_wheel(start, 10);

		fpt_where("start %" PRIu64, start);
		tt_armed(w, 1, start / 2);
		tt_armed(w, 2, start);
		if (start) {
			CHECK_EQ(tt_poll(w, start - 1), 0);
			CHECK_EQ(tt_poll(w, 0), 0);
			CHECK_EQ(tt_poll(w, start / 2), 0);
		}
		CHECK_EQ(tt_poll(w, start), 2);
		TT_FIRED(1, 2);
		tt_end(w);
	}
}

/* ---- nanoseconds ---- */

static const uint64_t tick_lengths[] = {
	1,	    2,		7,	    1000,
	1000000,    1000000000, 1ull << 40, 999999999999937u,
	1ull << 62, INT64_MAX,	1ull << 63, UINT64_MAX - 1,
	UINT64_MAX
};

static fp_timer_wheel *wheel_of(uint64_t tick_ns)
{
	fp_timer_wheel_opts o = tt_opts(0, 10);

	o.tick_ns = tick_ns;
	return tt_create(&o);
}

static uint64_t ticks_of(const fp_timer_wheel *w, uint64_t ns)
{
	uint64_t ticks = TT_NO_TICK;

	CHECK_EQ(fp_timer_wheel_ticks_from_ns(w, ns, &ticks), 0);
	return ticks;
}

/* T-15: rounded up, exact, without overflow. */
static void ticks_from_nanoseconds(void)
{
	static const uint64_t s = 1000000000u;
	const uint64_t spans[] = { 0,
				   1,
				   2,
				   6,
				   7,
				   8,
				   999,
				   1000,
				   1001,
				   s - 1,
				   s,
				   s + 1,
				   3600 * s,
				   86400 * s,
				   86400 * s * 365,
				   1ull << 62,
				   INT64_MAX,
				   1ull << 63,
				   UINT64_MAX - 1,
				   UINT64_MAX };

	for (size_t t = 0; t < FPT_LEN(tick_lengths); t++) {
		uint64_t ns = tick_lengths[t];
		fp_timer_wheel *w = wheel_of(ns);

		CHECK_EQ(fp_timer_wheel_tick_ns(w),
			 ns > INT64_MAX ? INT64_MAX : (int64_t)ns);
		for (size_t i = 0; i < FPT_LEN(spans); i++) {
			uint64_t want = spans[i] / ns + (spans[i] % ns != 0);

			fpt_where("%" PRIu64 " ns in ticks of %" PRIu64, spans[i], ns);
			CHECK_EQ(ticks_of(w, spans[i]), want);
		}
		CHECK_EQ(ticks_of(w, ns), 1);
		CHECK_EQ(ticks_of(w, ns - 1), ns > 1);
		tt_end(w);
	}
	{
		fp_timer_wheel *w = wheel_of(0);

		CHECK_EQ(fp_timer_wheel_tick_ns(w), 1000);
		CHECK_EQ(ticks_of(w, 1001), 2);
		CHECK_EQ(ticks_of(w, s), 1000000);
		CHECK_EQ(ticks_of(w, 3600 * s), 3600000000u);
		CHECK_EQ(ticks_of(w, 86400 * s), 86400000000u);
		CHECK_EQ(ticks_of(w, UINT64_MAX), UINT64_MAX / 1000 + 1);
		tt_end(w);
	}
}

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The clock's tick, rounded down, is between those read before and after. */
static void now_is_the_monotonic_clock(void)
{
	for (size_t t = 0; t < FPT_LEN(tick_lengths); t++) {
		fp_timer_wheel *w = wheel_of(tick_lengths[t]);
		uint64_t before = clock_ns() / tick_lengths[t], tick = TT_NO_TICK;

		fpt_where("ticks of %" PRIu64 " ns", tick_lengths[t]);
		CHECK_EQ(fp_timer_wheel_now(w, &tick), 0);
		CHECK(tick >= before);
		CHECK(tick <= clock_ns() / tick_lengths[t]);
		tt_end(w);
	}
}

/* Without LIBFP_WHEEL_START_AT the time before the first poll is the clock's. */
static void a_wheel_starts_now(void)
{
	static const uint64_t lengths[] = { 1, 1000, 7 };

	for (size_t t = 0; t < FPT_LEN(lengths); t++) {
		fp_timer_wheel_opts o = LIBFP_TIMER_WHEEL_OPTS_INIT;
		uint64_t before = clock_ns() / lengths[t], after = TT_NO_TICK;
		fp_timer_wheel *w;

		o.tick_ns = lengths[t];
		w = tt_create(&o);
		CHECK_EQ(fp_timer_wheel_now(w, &after), 0);
		tt_armed(w, 1, 1);
		CHECK(before > 1);
		CHECK_EQ(tt_poll(w, before - 1), 0);
		CHECK_EQ(tt_poll(w, after), 1);
		TT_FIRED(1);
		tt_end(w);
	}
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(never_early_at_every_power_of_two),
		FPT_CASE(all_powers_of_two_in_one_wheel),
		FPT_CASE(the_last_tick_there_is),
		FPT_CASE(never_early_in_a_wheel_that_turns),
		FPT_CASE(now_stands_still_leaps_and_goes_back),
		FPT_CASE(an_idle_poll_moves_nothing),
		FPT_CASE(a_wheel_starts_where_it_is_told),
		FPT_CASE(ticks_from_nanoseconds),
		FPT_CASE(now_is_the_monotonic_clock),
		FPT_CASE(a_wheel_starts_now),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
