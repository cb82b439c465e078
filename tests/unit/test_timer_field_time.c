/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Faults that timers have had in the field with time and with delivery: see
 * test_timer_field_bugs.c, which has the other rows of the list.
 */
#include <pthread.h>

#include <libfp/service.h>

#include "timer_test.h"

static void *destroy_it(void *arg)
{
	struct tt_call *c = arg;

	c->rc = fp_timer_destroy(c->w, c->id);
	return NULL;
}

/* ---- T-06: periods ---- */

static void late_polls_do_not_shift_the_phase(void) /* T-06 */
{
	for (uint32_t policy = 0; policy < 3; policy++) {
		fp_timer_wheel *w = tt_wheel(0, 4);
		uint64_t id = tt_timer(w, 7), now = 0, due = 0, seed = 12345;

		fpt_where("policy %u", policy);
		CHECK_EQ(fp_timer_arm_periodic(w, id, 100, 100, policy), 0);
		for (int i = 0; i < 1000; i++) {
			now += 1 +
			       fpt_random(&seed) % 400; /* up to 3 periods are missed */
			tt_poll(w, now);
			for (uint32_t k = 0; k < tt_fired_count; k++) {
				CHECK_EQ(tt_fired[k].expiry_tick % 100, 0);
				due += 1;
				if (policy != LIBFP_TIMER_CATCH_UP)
					due += tt_fired[k].overruns;
			}
			/* Every period was delivered or counted, whatever the lag. */
			CHECK_EQ(due, now / 100);
			tt_is_armed(w, id, (now / 100 + 1) * 100);
			tt_forget();
		}
		tt_end(w);
	}
}

/* ---- T-14, T-15, T-17: time ---- */

static void nothing_due_is_seen_at_once(void) /* T-14 */
{
	fp_timer_wheel *w = tt_wheel(0, 1000);
	uint64_t polls;

	for (uint64_t i = 0; i < 1000; i++)
		tt_armed(w, i, 1000000 + i);
	CHECK_EQ(tt_poll(w, 1), 0);
	polls = tt_stats(w).polls;
	/* What has nothing to do does not count as a poll: it ends at the first look. */
	for (uint64_t now = 2; now < 100000; now += 7)
		CHECK_EQ(tt_poll(w, now), 0);
	CHECK_EQ(tt_stats(w).polls, polls);
	tt_end(w);
}

static void long_times_are_converted_exactly(void) /* T-15 */
{
	static const uint64_t lengths[] = { 1,	      3,	  1000,		 1000000,
					    1u << 31, 1000000000, UINT64_MAX / 2 };
	static const uint64_t s = 1000000000;
	const uint64_t times[] = {
		0,	   1,	     999,	s - 1,		 s,
		s + 1,	   3600 * s, 86400 * s, 366 * 86400 * s, UINT64_MAX - 1,
		UINT64_MAX
	};

	for (size_t i = 0; i < FPT_LEN(lengths); i++)
		for (size_t k = 0; k < FPT_LEN(times); k++) {
			fp_timer_wheel_opts o = tt_opts(12345, 4);
			fp_timer_wheel *w;
			uint64_t ticks, exp, lo, hi;

			fpt_where("%" PRIu64 " ns in ticks of %" PRIu64, times[k],
				  lengths[i]);
			o.tick_ns = lengths[i];
			w = tt_create(&o);
			CHECK_EQ(fp_timer_wheel_ticks_from_ns(w, times[k], &ticks), 0);
			/* The least number of ticks that is not too short. */
			CHECK(!__builtin_mul_overflow(ticks - (ticks > 0), lengths[i],
						      &lo));
			CHECK(times[k] == 0 ? ticks == 0 : lo < times[k]);
			if (!__builtin_mul_overflow(ticks, lengths[i], &hi))
				CHECK(hi >= times[k]);
			exp = ticks > UINT64_MAX - 12345 ? UINT64_MAX : 12345 + ticks;
			tt_armed(w, 1, exp);
			if (exp > 12345)
				CHECK_EQ(tt_poll(w, exp - 1), 0);
			CHECK_EQ(tt_poll(w, exp), 1);
			TT_FIRED(1);
			tt_end(w);
		}
}

static void beyond_the_wheel_it_is_not_early(void) /* T-17 */
{
	static const uint64_t starts[] = { 0, 255, 256, 65535, (1ull << 40) - 3 };

	for (size_t k = 0; k < FPT_LEN(starts); k++)
		for (uint32_t bits = 8; bits < 62; bits++)
			for (uint64_t i = 0; i < 3; i++) {
				uint64_t exp = starts[k] + 3 * (1ull << bits) - 1 + i;
				fp_timer_wheel *w = tt_wheel(starts[k], 4);

				fpt_where("from %" PRIu64 " to %" PRIu64, starts[k], exp);
				tt_armed(w, 1, exp);
				for (uint64_t left = (exp - starts[k]) / 2; left;
				     left /= 2)
					CHECK_EQ(tt_poll(w, exp - left), 0);
				CHECK_EQ(tt_poll(w, exp), 1);
				TT_FIRED(1);
				tt_end(w);
			}
}

/* ---- T-22: every way to poll ---- */

enum way { POLL, POLL_ONE, BURST, MANY, SERVICE, WAYS };

/* Polls until nothing is due; time is that of the clock for the service. */
static void poll_by(enum way way, fp_timer_wheel *w, uint64_t now)
{
	fp_timer_record r[3];
	fp_service *s;
	int64_t n;

	do {
		n = 0;
		switch (way) {
		case POLL:
			CHECK(tt_poll(w, now) >= 0);
			break;
		case POLL_ONE:
			n = fp_timer_wheel_poll(w, now, 1);
			break;
		case BURST:
			n = fp_timer_wheel_poll_burst(w, now, r, 3);
			for (int64_t i = 0; i < n; i++)
				tt_keep(&r[i]);
			break;
		case MANY:
			CHECK(fp_timer_wheel_poll_many(&w, 1, now, TT_ALL) >= 0);
			break;
		default:
			CHECK_EQ(fp_timer_wheel_service(w, &s), 0);
			CHECK_EQ(fp_service_start(s), 0);
			CHECK_EQ(fp_service_run_once(s, 0, NULL), 0);
		}
		CHECK(n >= 0);
	} while (n);
}

static void every_way_to_poll_fires_the_same(void) /* T-22 */
{
	for (enum way way = POLL; way < WAYS; way++) {
		fp_timer_wheel *w;
		uint64_t id[10];

		fpt_where("way %d", (int)way);
		w = tt_wheel(0, 16);
		for (uint64_t i = 0; i < 10; i++)
			id[i] = tt_armed(w, i, 10 - i);
		CHECK_EQ(fp_timer_arm(w, id[0], 3), 1); /* after 7, which was first */
		CHECK_EQ(fp_timer_cancel(w, id[5]), 1);
		CHECK_EQ(fp_timer_touch(w, id[9], 6), 1);
		CHECK_EQ(tt_by_another(tt_arm_it, w, id[8], 20), 1);
		CHECK_EQ(fp_timer_arm_periodic(w, id[1], 4, 50, LIBFP_TIMER_COALESCE), 1);
		/* The past is in the past of every clock. */
		poll_by(way, w, 49);
		TT_FIRED(7, 0, 6, 1, 4, 9, 3, 2, 8);
		CHECK_EQ(fp_timer_wheel_count(w), 1);
		tt_end(w);
	}
}

/* ---- who takes them is slow ---- */

static void what_did_not_fit_comes_in_the_same_tick(void) /* */
{
	for (int burst = 0; burst < 2; burst++) {
		fp_timer_wheel *w = tt_wheel(0, 128);
		fp_timer_record r[32];

		fpt_where("burst %d", burst);
		for (uint64_t i = 0; i < 100; i++)
			tt_armed(w, i, 5);
		for (int n = 100; n > 0; n -= 32) {
			int64_t got = burst ? fp_timer_wheel_poll_burst(w, 5, r, 32) :
					      fp_timer_wheel_poll(w, 5, 32);

			CHECK_EQ(got, n < 32 ? n : 32);
			for (int64_t i = 0; burst && i < got; i++)
				tt_keep(&r[i]);
			CHECK_EQ(tt_fired_count, 100 - n + got);
			CHECK_EQ(tt_fired[tt_fired_count - 1].user, tt_fired_count - 1);
		}
		CHECK_EQ(tt_poll(w, 5), 0);
		tt_forget();
		tt_end(w);
	}
}

static void a_full_wheel_goes_on_when_there_is_room(void) /* */
{
	enum { N = 33 };
	fp_timer_wheel *w = tt_wheel(0, N);
	uint64_t ids[N + 1], now = 0;
	fp_timer_record r[N];

	for (int lap = 0; lap < 20; lap++) {
		uint64_t one;

		for (int i = 0; i < N; i++)
			ids[i] = tt_timer(w, (uint64_t)i);
		CHECK_EQ(fp_timer_create(w, tt_note, NULL, &one), -ENOMEM);
		CHECK_EQ(fp_timer_create_bulk(w, tt_note, NULL, ids + N, 1), 0);
		now += 10;
		for (int i = 0; i < N; i++)
			CHECK_EQ(lap % 2 ? tt_by_another(tt_arm_it, w, ids[i], now) :
					   fp_timer_arm(w, ids[i], now),
				 0);
		/* Nobody takes any for a while, then one at a time. */
		for (int i = 0; i < 10; i++)
			CHECK_EQ(fp_timer_wheel_poll_burst(w, now, r, 0), 0);
		for (uint64_t i = 0, seen = 0; i < N; i++, seen |= 1ull << r[0].user) {
			CHECK_EQ(fp_timer_wheel_poll_burst(w, now, r, 1), 1);
			/* One thread arms in order, several in no stated one. */
			CHECK(lap % 2 ? !(seen >> r[0].user & 1) : r[0].user == i);
		}
		CHECK_EQ(fp_timer_wheel_poll_burst(w, now, r, N), 0);
		/* Full of timers that are destroyed, until a poll comes by. */
		for (int i = 0; i < N; i++)
			CHECK_EQ(tt_by_another(tt_arm_it, w, ids[i], now + 5), 0);
		for (int i = 0; i < N; i++)
			CHECK_EQ(tt_by_another(destroy_it, w, ids[i], 0), 1);
		CHECK_EQ(fp_timer_create(w, tt_note, NULL, &one), -ENOMEM);
		CHECK_EQ(tt_poll(w, now + 5), 0);
		CHECK_EQ(tt_stats(w).timers, 0);
	}
	TT_NONE_FIRED();
	tt_end(w);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(late_polls_do_not_shift_the_phase),
		FPT_CASE(nothing_due_is_seen_at_once),
		FPT_CASE(long_times_are_converted_exactly),
		FPT_CASE(beyond_the_wheel_it_is_not_early),
		FPT_CASE(every_way_to_poll_fires_the_same),
		FPT_CASE(what_did_not_fit_comes_in_the_same_tick),
		FPT_CASE(a_full_wheel_goes_on_when_there_is_room),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
