/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Periodic timers: what each policy makes of periods that no poll came for in time, that
 * they do not drift, where they end, and what can be done to one inside its callback.
 */
#include "timer_test.h"

static uint64_t every(fp_timer_wheel *w, uint64_t tag, uint64_t first, uint64_t period,
		      uint32_t policy)
{
	uint64_t id = tt_timer(w, tag);

	CHECK_EQ(fp_timer_arm_periodic(w, id, first, period, policy), 0);
	return id;
}

/* The i-th kept record is of this expiry. */
static void fired_at(uint32_t i, uint64_t id, uint64_t expiry_tick, uint32_t overruns)
{
	tt_record_is(i, id, tt_fired[i].user, expiry_tick, overruns,
		     LIBFP_TIMER_IS_PERIODIC);
}

static void polled_in_time_all_policies_are_one(void)
{
	for (uint32_t policy = 0; policy < 3; policy++) {
		fp_timer_wheel *w = tt_wheel(0, 10);
		uint64_t id = every(w, 1, 100, 10, policy);

		fpt_where("policy %u", policy);
		for (uint64_t now = 0; now <= 1000; now++)
			CHECK_EQ(tt_poll(w, now), now >= 100 && now % 10 == 0);
		CHECK_EQ(tt_fired_count, 91);
		for (uint32_t i = 0; i < 91; i++)
			fired_at(i, id, 100 + i * 10, 0);
		tt_forget();
		tt_is_armed(w, id, 1010);
		CHECK_EQ(tt_stats(w).overruns, 0);
		CHECK_EQ(tt_stats(w).fired, 91);
		CHECK_EQ(tt_stats(w).expired, 0); /* it is still armed */
		CHECK_EQ(fp_timer_cancel(w, id), 1);
		CHECK_EQ(tt_poll(w, 5000), 0);
		tt_end(w);
	}
}

/* T-06: late polls shift nothing. */
static void no_drift_however_late(void)
{
	for (uint32_t policy = 0; policy < 3; policy++) {
		fp_timer_wheel *w = tt_wheel(7, 10);
		uint64_t id = every(w, 1, 1000, 33, policy), now = 7, seed = 5;
		uint64_t periods = 0;

		fpt_where("policy %u", policy);
		for (int i = 0; i < 5000; i++) {
			uint64_t due;

			now += fpt_random(&seed) % 120;
			CHECK(tt_poll(w, now) >= 0);
			for (uint32_t k = 0; k < tt_fired_count; k++) {
				CHECK_EQ((tt_fired[k].expiry_tick - 1000) % 33, 0);
				CHECK(tt_fired[k].expiry_tick <= now);
				periods += policy == LIBFP_TIMER_CATCH_UP ?
						   1 :
						   1 + tt_fired[k].overruns;
			}
			tt_forget();
			due = now < 1000 ? 0 : (now - 1000) / 33 + 1;
			CHECK_EQ(periods, due); /* none lost, none twice */
			tt_is_armed(w, id, 1000 + due * 33);
		}
		tt_end(w);
	}
}

static void skip_fires_for_the_last_one(void)
{
	fp_timer_wheel *w = tt_wheel(0, 10);
	uint64_t id = every(w, 1, 10, 10, LIBFP_TIMER_SKIP);

	CHECK_EQ(tt_poll(w, 10), 1);
	CHECK_EQ(tt_poll(w, 59), 1);
	CHECK_EQ(tt_poll(w, 59), 0);
	CHECK_EQ(tt_poll(w, 60), 1);
	CHECK_EQ(tt_poll(w, 80), 1);
	fired_at(0, id, 10, 0);
	fired_at(1, id, 50, 3);
	fired_at(2, id, 60, 0);
	fired_at(3, id, 80, 1);
	tt_is_armed(w, id, 90);
	CHECK_EQ(tt_stats(w).overruns, 4);
	TT_FIRED(1, 1, 1, 1);
	tt_end(w);
}

static void coalesce_fires_for_the_first_one(void)
{
	fp_timer_wheel *w = tt_wheel(0, 10);
	uint64_t id = every(w, 1, 10, 10, LIBFP_TIMER_COALESCE);

	CHECK_EQ(tt_poll(w, 10), 1);
	CHECK_EQ(tt_poll(w, 59), 1);
	CHECK_EQ(tt_poll(w, 59), 0);
	CHECK_EQ(tt_poll(w, 60), 1);
	CHECK_EQ(tt_poll(w, 80), 1);
	fired_at(0, id, 10, 0);
	fired_at(1, id, 20, 3);
	fired_at(2, id, 60, 0);
	fired_at(3, id, 70, 1);
	tt_is_armed(w, id, 90);
	CHECK_EQ(tt_stats(w).overruns, 4);
	TT_FIRED(1, 1, 1, 1);
	tt_end(w);
}

static void catch_up_fires_for_each(void)
{
	fp_timer_wheel *w = tt_wheel(0, 10);
	uint64_t id = every(w, 1, 10, 10, LIBFP_TIMER_CATCH_UP);

	CHECK_EQ(tt_poll(w, 59), 5);
	for (uint32_t i = 0; i < 5; i++)
		fired_at(i, id, 10 + i * 10, 4 - i);
	TT_FIRED(1, 1, 1, 1, 1);
	/* Piece by piece: what is left waits, and grows. */
	CHECK_EQ(fp_timer_wheel_poll(w, 99, 1), 1);
	fired_at(0, id, 60, 3);
	CHECK_EQ(fp_timer_wheel_poll(w, 119, 2), 2);
	fired_at(1, id, 70, 4);
	fired_at(2, id, 80, 3);
	CHECK_EQ(fp_timer_wheel_poll(w, 119, 9), 3);
	fired_at(5, id, 110, 0);
	tt_is_armed(w, id, 120);
	CHECK_EQ(tt_stats(w).overruns, 0); /* all were delivered */
	TT_FIRED(1, 1, 1, 1, 1, 1);
	tt_end(w);
}

/* Each at its tick among the others; in one tick by order of arming. */
static void order_among_other_timers(void)
{
	fp_timer_wheel *w = tt_wheel(0, 20);
	uint64_t skip, first, catch_up;

	tt_armed(w, 101, 30);
	tt_armed(w, 102, 40);
	skip = every(w, 1, 10, 10, LIBFP_TIMER_SKIP);
	first = every(w, 2, 10, 10, LIBFP_TIMER_COALESCE);
	catch_up = every(w, 3, 10, 10, LIBFP_TIMER_CATCH_UP);
	tt_armed(w, 103, 10);
	tt_armed(w, 104, 15);
	tt_armed(w, 105, 40);
	tt_armed(w, 106, 44);
	tt_armed(w, 107, 46); /* not due */
	CHECK_EQ(tt_poll(w, 45), 12);
	fired_at(0, first, 10, 3);
	fired_at(1, catch_up, 10, 3);
	fired_at(4, catch_up, 20, 2);
	fired_at(9, catch_up, 40, 0);
	fired_at(8, skip, 40, 3);
	TT_FIRED(2, 3, 103, 104, 3, 101, 3, 102, 1, 3, 105, 106);
	CHECK_EQ(tt_poll(w, 50), 4);
	TT_FIRED(107, 1, 2, 3);
	tt_end(w);
}

static void period_1(void)
{
	fp_timer_wheel *w = tt_wheel(0, 10);
	uint64_t catch_up = every(w, 3, 0, 1, LIBFP_TIMER_CATCH_UP);
	uint64_t skip = every(w, 1, 0, 1, LIBFP_TIMER_SKIP);
	uint64_t first = every(w, 2, 0, 1, LIBFP_TIMER_COALESCE);

	CHECK_EQ(tt_poll(w, 0), 3);
	TT_FIRED(3, 1, 2);
	CHECK_EQ(tt_poll(w, 1), 3);
	TT_FIRED(3, 1, 2);
	CHECK_EQ(tt_poll(w, 1001), 1002);
	fired_at(0, catch_up, 2, 999);
	fired_at(1, first, 2, 999);
	fired_at(2, catch_up, 3, 998);
	fired_at(1000, catch_up, 1001, 0);
	fired_at(1001, skip, 1001, 999);
	tt_forget();
	tt_is_armed(w, skip, 1002);
	tt_is_armed(w, first, 1002);
	tt_is_armed(w, catch_up, 1002);
	tt_end(w);
}

/* More periods than the record's count can say; the wheel's counter says all. */
static void huge_stalls(void)
{
	static const uint64_t jumps[] = { UINT32_MAX - 1ull, UINT32_MAX,
					  UINT32_MAX + 1ull, 1ull << 40, 1ull << 62 };

	for (size_t i = 0; i < FPT_LEN(jumps); i++) {
		fp_timer_wheel *w = tt_wheel(0, 10);
		uint64_t skip = every(w, 1, 0, 1, LIBFP_TIMER_SKIP), n = jumps[i];
		uint64_t first = every(w, 2, 0, 1, LIBFP_TIMER_COALESCE);
		uint64_t catch_up = every(w, 3, 0, 1, LIBFP_TIMER_CATCH_UP);
		uint32_t told = n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;

		fpt_where("%" PRIu64 " ticks", n);
		CHECK_EQ(fp_timer_wheel_poll(w, n, 3), 3);
		fired_at(0, first, 0, told);
		fired_at(1, catch_up, 0, told);
		fired_at(2, catch_up, 1,
			 n - 1 > UINT32_MAX ? UINT32_MAX : (uint32_t)n - 1);
		TT_FIRED(2, 3, 3);
		tt_is_armed(w, first, n + 1);
		tt_is_armed(w, catch_up, 2);
		CHECK_EQ(fp_timer_cancel(w, catch_up), 1);
		CHECK_EQ(tt_poll(w, n), 1);
		fired_at(0, skip, n, told);
		TT_FIRED(1);
		tt_is_armed(w, skip, n + 1);
		CHECK_EQ(tt_stats(w).overruns, 2 * n);
		CHECK_EQ(tt_poll(w, n + 1), 2);
		TT_FIRED(1, 2);
		tt_end(w);
	}
}

/* The last expiry that there can be, and none after it. */
static void beyond_the_end_of_time(void)
{
	for (uint32_t policy = 0; policy < 3; policy++) {
		const uint64_t end = UINT64_MAX;
		fp_timer_wheel *w = tt_wheel(0, 10);
		uint64_t id = every(w, 1, end - 10, 10, policy);

		fpt_where("policy %u", policy);
		CHECK_EQ(tt_poll(w, end - 11), 0);
		CHECK_EQ(tt_poll(w, end - 1), 1);
		fired_at(0, id, end - 10, 0);
		TT_FIRED(1);
		tt_is_armed(w, id, end);
		CHECK_EQ(tt_poll(w, end), 1);
		fired_at(0, id, end, 0);
		TT_FIRED(1);
		tt_is_idle(w, id);
		CHECK_EQ(tt_poll(w, end), 0);
		CHECK_EQ(tt_stats(w).expired, 1);

		/* One period too long by a tick, and by as much as can be. */
		CHECK_EQ(fp_timer_arm_periodic(w, id, end - 10, 11, policy), 0);
		CHECK_EQ(tt_poll(w, end), 1);
		TT_FIRED(1);
		tt_is_idle(w, id);
		CHECK_EQ(fp_timer_arm_periodic(w, id, 5, end, policy), 0);
		CHECK_EQ(tt_poll(w, end), 1);
		fired_at(0, id, 5, 0);
		TT_FIRED(1);
		tt_is_idle(w, id);

		/* Several due at the end. */
		CHECK_EQ(fp_timer_arm_periodic(w, id, end - 35, 10, policy), 0);
		CHECK_EQ(tt_poll(w, end), policy == LIBFP_TIMER_CATCH_UP ? 4 : 1);
		fired_at(0, id, policy == LIBFP_TIMER_SKIP ? end - 5 : end - 35, 3);
		tt_forget();
		tt_is_idle(w, id);
		CHECK_EQ(fp_timer_wheel_count(w), 0);
		tt_end(w);
	}
}

static void long_periods(void)
{
	fp_timer_wheel *w = tt_wheel(0, 10);
	uint64_t half = every(w, 1, 1, 1ull << 63, LIBFP_TIMER_CATCH_UP);
	uint64_t most = every(w, 2, 0, UINT64_MAX, LIBFP_TIMER_COALESCE);

	CHECK_EQ(tt_poll(w, 1), 2);
	CHECK_EQ(tt_poll(w, 1ull << 63), 0);
	CHECK_EQ(tt_poll(w, (1ull << 63) + 1), 1);
	CHECK_EQ(tt_poll(w, UINT64_MAX - 1), 0);
	CHECK_EQ(tt_poll(w, UINT64_MAX), 1);
	fired_at(0, most, 0, 0);
	fired_at(1, half, 1, 0);
	fired_at(2, half, (1ull << 63) + 1, 0);
	fired_at(3, most, UINT64_MAX, 0);
	TT_FIRED(2, 1, 1, 2);
	tt_is_idle(w, half);
	tt_is_idle(w, most);
	tt_end(w);
}

/* First due before the first poll: as if no poll had come in time. */
static void armed_for_the_past(void)
{
	fp_timer_wheel *w = tt_wheel(1000, 10);
	uint64_t skip = every(w, 1, 100, 100, LIBFP_TIMER_SKIP);
	uint64_t first = every(w, 2, 100, 100, LIBFP_TIMER_COALESCE);
	uint64_t catch_up = every(w, 3, 800, 100, LIBFP_TIMER_CATCH_UP);

	CHECK_EQ(tt_poll(w, 1050), 5);
	fired_at(0, first, 100, 9);
	fired_at(1, catch_up, 800, 2);
	fired_at(2, catch_up, 900, 1);
	fired_at(3, skip, 1000, 9);
	fired_at(4, catch_up, 1000, 0);
	TT_FIRED(2, 3, 3, 1, 3);
	tt_end(w);
}

static void armed_otherwise_in_between(void)
{
	fp_timer_wheel *w = tt_wheel(0, 10);
	uint64_t id = every(w, 1, 10, 10, LIBFP_TIMER_CATCH_UP);

	CHECK_EQ(tt_poll(w, 15), 1);
	CHECK_EQ(fp_timer_arm_periodic(w, id, 17, 5, LIBFP_TIMER_SKIP), 1);
	CHECK_EQ(tt_poll(w, 28), 1);
	CHECK_EQ(fp_timer_arm_periodic(w, id, 30, 4, LIBFP_TIMER_COALESCE), 1);
	CHECK_EQ(tt_poll(w, 40), 1);
	fired_at(0, id, 10, 0);
	fired_at(1, id, 27, 2);
	fired_at(2, id, 30, 2);
	tt_forget();
	CHECK_EQ(fp_timer_arm(w, id, 50), 1); /* not periodic any more */
	CHECK_EQ(tt_poll(w, 500), 1);
	tt_record_is(0, id, 1, 50, 0, 0);
	tt_forget();
	tt_is_idle(w, id);
	CHECK_EQ(fp_timer_arm_periodic(w, id, 600, 10, LIBFP_TIMER_SKIP), 0);
	CHECK_EQ(fp_timer_cancel(w, id), 1);
	CHECK_EQ(fp_timer_arm(w, id, 600), 0);
	CHECK_EQ(tt_poll(w, 700), 1);
	tt_record_is(0, id, 1, 600, 0, 0);
	tt_forget();
	/* A touch moves the next expiry; the period stays. */
	CHECK_EQ(fp_timer_arm_periodic(w, id, 800, 10, LIBFP_TIMER_SKIP), 0);
	CHECK_EQ(fp_timer_touch(w, id, 803), 1);
	CHECK_EQ(tt_poll(w, 802), 0);
	CHECK_EQ(tt_poll(w, 803), 1);
	fired_at(0, id, 803, 0);
	TT_FIRED(1);
	tt_is_armed(w, id, 813);
	CHECK_EQ(fp_timer_destroy(w, id), 1);
	CHECK_EQ(tt_poll(w, 5000), 0);
	tt_end(w);
}

static void as_records(void)
{
	fp_timer_wheel *w = tt_wheel(0, 10);
	uint64_t id = every(w, 4, 10, 10, LIBFP_TIMER_CATCH_UP);
	fp_timer_record r[8];

	CHECK_EQ(fp_timer_wheel_poll_burst(w, 45, r, 3), 3);
	CHECK_EQ(fp_timer_wheel_poll_burst(w, 45, r + 3, 5), 1);
	for (uint32_t i = 0; i < 4; i++) {
		CHECK(r[i].id == id);
		CHECK_EQ(r[i].user, 4);
		CHECK_EQ(r[i].expiry_tick, 10 + i * 10);
		CHECK_EQ(r[i].overruns, 3 - i);
		CHECK_EQ(r[i].flags, LIBFP_TIMER_IS_PERIODIC);
	}
	TT_NONE_FIRED();
	CHECK_EQ(fp_timer_cancel(w, id), 1);
	tt_end(w);
}

/* ---- inside its own callback ---- */

static int laps; /* how often before it acts */

static void stop_in_callback(fp_timer_wheel *w, const fp_timer_record *r, void *user)
{
	tt_note(w, r, user);
	if (--laps)
		return;
	CHECK_EQ(fp_timer_is_pending(w, r->id), 1); /* for its next period */
	CHECK_EQ(fp_timer_cancel(w, r->id), -EINPROGRESS);
	CHECK_EQ(fp_timer_is_pending(w, r->id), 0);
	CHECK_EQ(fp_timer_cancel(w, r->id), -EINPROGRESS);
}

static void destroy_in_callback(fp_timer_wheel *w, const fp_timer_record *r, void *user)
{
	tt_note(w, r, user);
	if (--laps)
		return;
	CHECK_EQ(fp_timer_destroy(w, r->id), -EINPROGRESS);
	CHECK_EQ(fp_timer_is_pending(w, r->id), -ESTALE);
	CHECK_EQ(fp_timer_destroy(w, r->id), -ESTALE);
}

static void once_in_callback(fp_timer_wheel *w, const fp_timer_record *r, void *user)
{
	tt_note(w, r, user);
	if (--laps == 0)
		CHECK_EQ(fp_timer_arm(w, r->id, r->expiry_tick + 7), 1);
}

static void other_period_in_callback(fp_timer_wheel *w, const fp_timer_record *r,
				     void *user)
{
	tt_note(w, r, user);
	if (--laps == 0)
		CHECK_EQ(fp_timer_arm_periodic(w, r->id, r->expiry_tick + 3, 20,
					       LIBFP_TIMER_CATCH_UP),
			 1);
}

static void changed_inside_its_callback(void)
{
	static const fp_timer_fn acts[] = { stop_in_callback, destroy_in_callback,
					    once_in_callback, other_period_in_callback };
	/* Expiries of a CATCH_UP timer of period 10 from 10 on, polled at 75. */
	static const uint64_t want[][7] = { { 10, 20, 30 },
					    { 10, 20, 30 },
					    { 10, 20, 30, 37 },
					    { 10, 20, 30, 33, 53, 73 } };

	for (size_t a = 0; a < FPT_LEN(acts); a++)
		for (int burst = 0; burst < 2; burst++) {
			fp_timer_wheel *w = tt_wheel(0, 10);
			uint64_t id = tt_timer_fn(w, acts[a], 1);
			uint32_t n = 0;

			fpt_where("act %zu", a);
			laps = 3;
			CHECK_EQ(fp_timer_arm_periodic(w, id, 10, 10,
						       LIBFP_TIMER_CATCH_UP),
				 0);
			while (want[a][n])
				n++;
			if (burst) /* one at a time */
				for (uint32_t i = 0; i < n; i++)
					CHECK_EQ(fp_timer_wheel_poll(w, 75, 1), 1);
			CHECK_EQ(tt_poll(w, 75), burst ? 0 : n);
			CHECK_EQ(tt_fired_count, n);
			for (uint32_t i = 0; i < n; i++)
				CHECK_EQ(tt_fired[i].expiry_tick, want[a][i]);
			tt_forget();
			CHECK_EQ(fp_timer_is_pending(w, id), a == 1 ? -ESTALE : a == 3);
			CHECK_EQ(tt_poll(w, 92), 0);
			CHECK_EQ(tt_poll(w, 93), a == 3);
			tt_forget();
			tt_end(w);
		}
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(polled_in_time_all_policies_are_one),
		FPT_CASE(no_drift_however_late),
		FPT_CASE(skip_fires_for_the_last_one),
		FPT_CASE(coalesce_fires_for_the_first_one),
		FPT_CASE(catch_up_fires_for_each),
		FPT_CASE(order_among_other_timers),
		FPT_CASE(period_1),
		FPT_CASE(huge_stalls),
		FPT_CASE(beyond_the_end_of_time),
		FPT_CASE(long_periods),
		FPT_CASE(armed_for_the_past),
		FPT_CASE(armed_otherwise_in_between),
		FPT_CASE(as_records),
		FPT_CASE(changed_inside_its_callback),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
