/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every function of timers says and does when it is used as the header shows: all
 * results of arm, touch, cancel and destroy, what a timer and a wheel tell of themselves,
 * and the counters. The bulk forms are in test_timer_bulk.c.
 */
#include "timer_test.h"

static void a_timer_fires_once_at_its_tick(void)
{
	fp_timer_wheel *w = tt_wheel(1000, 10);
	uint64_t id = tt_timer(w, 42);

	tt_is_idle(w, id);
	tt_pending(w, 0, 0);
	CHECK_EQ(fp_timer_arm(w, id, 1010), 0);
	tt_is_armed(w, id, 1010);
	tt_pending(w, 1, 1010);
	for (uint64_t now = 1000; now < 1010; now++)
		CHECK_EQ(tt_poll(w, now), 0);
	TT_NONE_FIRED();
	tt_is_armed(w, id, 1010);
	CHECK_EQ(tt_poll(w, 1010), 1);
	tt_record_is(0, id, 42, 1010, 0, 0);
	TT_FIRED(42);
	tt_is_idle(w, id);
	tt_pending(w, 0, 0);
	CHECK_EQ(tt_poll(w, 1010), 0);
	CHECK_EQ(tt_poll(w, UINT64_MAX), 0);
	TT_NONE_FIRED();
	tt_end(w);
}

static void a_timer_without_callback_counts_as_fired(void)
{
	fp_timer_wheel *w = tt_wheel(0, 10);
	uint64_t id = tt_timer_fn(w, NULL, 5);
	fp_timer_record r;

	CHECK_EQ(fp_timer_arm(w, id, 3), 0);
	CHECK_EQ(tt_poll(w, 3), 1);
	tt_is_idle(w, id);
	CHECK_EQ(fp_timer_arm(w, id, 4), 0);
	CHECK_EQ(fp_timer_wheel_poll_burst(w, 9, &r, 1), 1);
	CHECK(r.id == id);
	CHECK_EQ(r.user, 5);
	CHECK_EQ(r.expiry_tick, 4);
	CHECK_EQ(r.overruns, 0);
	CHECK_EQ(r.flags, 0);
	tt_is_idle(w, id);
	CHECK_EQ(fp_timer_cancel(w, id), 0); /* a filled record has run */
	CHECK_EQ(tt_stats(w).fired, 2);
	tt_end(w);
}

static void arm_and_arm_again(void)
{
	fp_timer_wheel *w = tt_wheel(0, 10);
	uint64_t id = tt_timer(w, 1);

	CHECK_EQ(fp_timer_arm(w, id, 100), 0);
	CHECK_EQ(fp_timer_arm(w, id, 200), 1); /* later */
	tt_is_armed(w, id, 200);
	CHECK_EQ(tt_poll(w, 199), 0);
	CHECK_EQ(fp_timer_arm(w, id, 1u << 30), 1);
	CHECK_EQ(fp_timer_arm(w, id, 201), 1); /* earlier */
	CHECK_EQ(fp_timer_arm(w, id, 201), 1); /* where it is */
	tt_is_armed(w, id, 201);
	tt_pending(w, 1, 201);
	CHECK_EQ(tt_poll(w, 200), 0);
	CHECK_EQ(tt_poll(w, 201), 1);
	tt_record_is(0, id, 1, 201, 0, 0);
	TT_FIRED(1);
	CHECK_EQ(fp_timer_arm(w, id, 202), 0); /* it has run: armed anew */
	CHECK_EQ(tt_poll(w, 1u << 30), 1);
	TT_FIRED(1);
	CHECK_EQ(tt_poll(w, 1u << 31), 0);
	TT_NONE_FIRED();
	tt_end(w);
}

static void cancel_and_its_answers(void)
{
	fp_timer_wheel *w = tt_wheel(0, 10);
	uint64_t id = tt_timer(w, 1);

	for (int sync = 0; sync < 2; sync++) {
		uint64_t now = sync ? 1000 : 0;

#define CANCEL() (sync ? fp_timer_cancel_sync(w, id, 0) : fp_timer_cancel(w, id))
		CHECK_EQ(CANCEL(), 0); /* never armed, or has run */
		CHECK_EQ(fp_timer_arm(w, id, now + 10), 0);
		CHECK_EQ(CANCEL(), 1);
		tt_is_idle(w, id);
		tt_pending(w, 0, 0);
		CHECK_EQ(CANCEL(), 0);
		CHECK_EQ(tt_poll(w, now + 20), 0);
		CHECK_EQ(fp_timer_arm(w, id, now + 30), 0);
		CHECK_EQ(CANCEL(), 1);
		CHECK_EQ(fp_timer_arm(w, id, now + 25), 0); /* before the old one */
		CHECK_EQ(tt_poll(w, now + 24), 0);
		CHECK_EQ(tt_poll(w, now + 25), 1);
		CHECK_EQ(CANCEL(), 0);
		CHECK_EQ(fp_timer_arm(w, id, now + 40), 0);
		CHECK_EQ(CANCEL(), 1);
		CHECK_EQ(fp_timer_arm(w, id, now + 50), 0); /* after it */
		CHECK_EQ(tt_poll(w, now + 49), 0);
		CHECK_EQ(tt_poll(w, now + 60), 1);
		tt_record_is(1, id, 1, now + 50, 0, 0);
		TT_FIRED(1, 1);
		/* Due, but no poll has come. */
		CHECK_EQ(fp_timer_arm(w, id, now + 1), 0);
		CHECK_EQ(CANCEL(), 1);
		CHECK_EQ(tt_poll(w, now + 61), 0);
#undef CANCEL
	}
	CHECK_EQ(fp_timer_cancel_sync(w, id, LIBFP_FOREVER), 0);
	TT_NONE_FIRED();
	tt_end(w);
}

static void destroy_and_its_answers(void)
{
	fp_timer_wheel *w = tt_wheel(0, 10);
	uint64_t id = tt_timer(w, 1);

	CHECK_EQ(fp_timer_destroy(w, id), 0);
	CHECK_EQ(fp_timer_destroy(w, id), -ESTALE);
	id = tt_armed(w, 2, 10);
	CHECK_EQ(fp_timer_destroy(w, id), 1);
	CHECK_EQ(fp_timer_destroy(w, id), -ESTALE);
	CHECK_EQ(tt_poll(w, 20), 0);
	id = tt_armed(w, 3, 21);
	CHECK_EQ(tt_poll(w, 21), 1);
	CHECK_EQ(fp_timer_destroy(w, id), 0); /* has run */
	TT_FIRED(3);
	id = tt_armed(w, 4, 30);
	CHECK_EQ(fp_timer_cancel(w, id), 1);
	CHECK_EQ(fp_timer_destroy(w, id), 0);
	CHECK_EQ(tt_poll(w, 100), 0);
	CHECK_EQ(tt_stats(w).timers, 0);
	tt_pending(w, 0, 0);
	tt_end(w);
}

static void touch_moves_to_later_only(void)
{
	fp_timer_wheel *w = tt_wheel(0, 10);
	uint64_t id = tt_timer(w, 1), other = tt_armed(w, 2, 60);

	CHECK_EQ(fp_timer_touch(w, id, 50), 0); /* not armed, and stays so */
	tt_is_idle(w, id);
	CHECK_EQ(fp_timer_arm(w, id, 50), 0);
	CHECK_EQ(fp_timer_touch(w, id, 40), 1);
	tt_is_armed(w, id, 50);
	CHECK_EQ(fp_timer_touch(w, id, 50), 1);
	CHECK_EQ(fp_timer_touch(w, id, 0), 1);
	tt_is_armed(w, id, 50);
	CHECK_EQ(fp_timer_touch(w, id, 70), 1);
	tt_is_armed(w, id, 70);
	CHECK_EQ(tt_poll(w, 69), 1);
	TT_FIRED(2);
	CHECK_EQ(fp_timer_touch(w, other, 90), 0); /* has run */
	CHECK_EQ(fp_timer_touch(w, id, UINT64_MAX), 1);
	CHECK_EQ(tt_poll(w, UINT64_MAX - 1), 0);
	CHECK_EQ(fp_timer_arm(w, id, 71), 1);
	CHECK_EQ(tt_poll(w, UINT64_MAX - 1), 1);
	TT_FIRED(1);
	CHECK_EQ(fp_timer_arm(w, id, UINT64_MAX), 0);
	CHECK_EQ(fp_timer_cancel(w, id), 1);
	CHECK_EQ(fp_timer_touch(w, id, UINT64_MAX), 0); /* a sign of life of the dead */
	tt_is_idle(w, id);
	CHECK_EQ(tt_poll(w, UINT64_MAX), 0);
	tt_end(w);
}

static void touched_a_thousand_times(void)
{
	fp_timer_wheel *w = tt_wheel(0, 10);
	uint64_t id = tt_armed(w, 1, 100);

	for (uint64_t now = 0; now < 50000; now += 7) {
		CHECK_EQ(fp_timer_touch(w, id, now + 100), 1);
		CHECK_EQ(tt_poll(w, now), 0);
	}
	TT_NONE_FIRED();
	CHECK_EQ(tt_poll(w, 50093), 0);
	CHECK_EQ(tt_poll(w, 50094), 1);
	tt_record_is(0, id, 1, 50094, 0, 0);
	TT_FIRED(1);
	tt_end(w);
}

/* Until there is no answer that is later than the truth. */
static void next_expiry_is_a_bound(void)
{
	fp_timer_wheel *w = tt_wheel(0, 100);
	uint64_t seed = 7, ids[50], tick = TT_NO_TICK, now = 0;
	int fired = 0;

	CHECK_EQ(fp_timer_wheel_next_expiry(w, &tick), 0);
	CHECK(tick == TT_NO_TICK);
	for (uint64_t i = 0; i < 50; i++)
		ids[i] = tt_armed(w, i, 1 + (fpt_random(&seed) >> (i + 10)));
	CHECK_EQ(tt_poll(w, 0), 0);
	while (fp_timer_wheel_count(w)) {
		uint64_t first = UINT64_MAX;

		for (int i = 0; i < 50; i++)
			if (fp_timer_is_pending(w, ids[i]) == 1) {
				uint64_t left = tt_remaining(w, ids[i], 0);

				first = left < first ? left : first;
			}
		tt_pending(w, 50 - fired, first);
		CHECK_EQ(fp_timer_wheel_next_expiry(w, &tick), 1);
		CHECK(tick > now); /* all that was due has fired: sleeping makes sense */
		now = tick;
		fired += (int)tt_poll(w, now - 1);
		fired += (int)tt_poll(w, now);
		CHECK_EQ(fired, tt_fired_count);
	}
	CHECK_EQ(fired, 50);
	for (int i = 1; i < 50; i++)
		CHECK(tt_fired[i - 1].expiry_tick <= tt_fired[i].expiry_tick);
	tt_forget();
	CHECK_EQ(fp_timer_wheel_next_expiry(w, &tick), 0);
	tt_end(w);
}

static void remaining_ticks(void)
{
	fp_timer_wheel *w = tt_wheel(100, 10);
	uint64_t id = tt_armed(w, 1, 1000);

	CHECK_EQ(tt_remaining(w, id, 0), 1000);
	CHECK_EQ(tt_remaining(w, id, 999), 1);
	CHECK_EQ(tt_remaining(w, id, 1000), 0);
	CHECK_EQ(tt_remaining(w, id, 1001), 0);
	CHECK_EQ(tt_remaining(w, id, UINT64_MAX), 0);
	CHECK_EQ(fp_timer_arm(w, id, UINT64_MAX), 1);
	CHECK(tt_remaining(w, id, 0) == UINT64_MAX);
	CHECK_EQ(tt_remaining(w, id, UINT64_MAX), 0);
	CHECK_EQ(fp_timer_arm(w, id, 0), 1);
	CHECK_EQ(tt_remaining(w, id, 0), 0);
	CHECK_EQ(tt_poll(w, 100), 1);
	tt_record_is(0, id, 1, 0, 0, 0); /* what it was armed for */
	TT_FIRED(1);
	tt_is_idle(w, id);
	tt_end(w);
}

/* ---- all timers of a wheel ---- */

static void cancel_all_and_arm_again(void)
{
	fp_timer_wheel *w = tt_wheel(0, 100);
	uint64_t ids[100];

	CHECK_EQ(fp_timer_wheel_cancel_all(w), 0);
	for (uint64_t i = 0; i < 100; i++)
		ids[i] = tt_armed(w, i, 10 + (i * i * i << i % 40));
	CHECK_EQ(fp_timer_cancel(w, ids[50]), 1);
	CHECK_EQ(fp_timer_wheel_cancel_all(w), 99);
	CHECK_EQ(fp_timer_wheel_cancel_all(w), 0);
	tt_pending(w, 0, 0);
	CHECK_EQ(tt_stats(w).timers, 100); /* they exist */
	CHECK_EQ(fp_timer_arm(w, ids[3], 5), 0);
	CHECK_EQ(tt_poll(w, UINT64_MAX - 1), 1);
	TT_FIRED(3);
	tt_end(w);
}

struct seen {
	fp_timer_info info[10];
	uint32_t n, stop_after;
};

static int see(const fp_timer_info *info, void *user)
{
	struct seen *s = user;

	CHECK(s->n < 10);
	s->info[s->n++] = *info;
	return s->n == s->stop_after ? -77 : 0;
}

static const fp_timer_info *info_of(const struct seen *s, uint64_t id)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (s->info[i].id == id)
			return &s->info[i];
	CHECK(!"shown");
	return NULL;
}

static int destroy_what_is_shown(const fp_timer_info *info, void *user)
{
	CHECK(fp_timer_destroy(user, info->id) >= 0);
	return 0;
}

static void for_each_shows_every_timer(void)
{
	fp_timer_wheel *w = tt_wheel(0, 10);
	uint64_t idle = tt_timer(w, 1), once = tt_armed(w, 2, 20), often = tt_timer(w, 3);
	uint64_t gone = tt_armed(w, 4, 5);
	struct seen s = { .n = 0 };

	CHECK_EQ(fp_timer_arm_periodic(w, often, 30, 7, LIBFP_TIMER_CATCH_UP), 0);
	CHECK_EQ(fp_timer_destroy(w, gone), 1);
	CHECK_EQ(fp_timer_wheel_for_each(w, see, &s), 0);
	CHECK_EQ(s.n, 3);
	CHECK_EQ(info_of(&s, idle)->flags, 0);
	CHECK_EQ(info_of(&s, idle)->user, 1);
	CHECK_EQ(info_of(&s, once)->flags, LIBFP_TIMER_IS_ARMED);
	CHECK_EQ(info_of(&s, once)->user, 2);
	CHECK_EQ(info_of(&s, once)->expiry_tick, 20);
	CHECK_EQ(info_of(&s, often)->flags,
		 LIBFP_TIMER_IS_ARMED | LIBFP_TIMER_IS_PERIODIC);
	CHECK_EQ(info_of(&s, often)->user, 3);
	CHECK_EQ(info_of(&s, often)->expiry_tick, 30);
	CHECK_EQ(info_of(&s, often)->period_ticks, 7);
	CHECK_EQ(info_of(&s, often)->policy, LIBFP_TIMER_CATCH_UP);
	s = (struct seen){ .stop_after = 2 };
	CHECK_EQ(fp_timer_wheel_for_each(w, see, &s), -77);
	CHECK_EQ(s.n, 2);
	CHECK_EQ(fp_timer_wheel_for_each(w, destroy_what_is_shown, w), 0);
	s = (struct seen){ .n = 0 };
	CHECK_EQ(fp_timer_wheel_for_each(w, see, &s), 0);
	CHECK_EQ(s.n, 0);
	CHECK_EQ(tt_poll(w, 100), 0);
	tt_end(w);
}

/* ---- counters ---- */

static void statistics(uint32_t flags)
{
	fp_timer_wheel_opts opts = tt_opts(0, 100);
	uint64_t counted = flags & LIBFP_STATS ? 1 : 0, ids[10], polls;
	fp_timer_wheel_stats s;
	fp_timer_wheel *w;

	opts.flags |= flags;
	w = tt_create(&opts);
	for (uint64_t i = 0; i < 10; i++)
		ids[i] = tt_armed(w, i, 100 + i);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(fp_timer_arm(w, ids[i], 200), 1);
	CHECK_EQ(fp_timer_cancel(w, ids[9]), 1);
	CHECK_EQ(fp_timer_cancel(w, ids[9]), 0);
	CHECK_EQ(fp_timer_destroy(w, ids[8]), 1);
	CHECK_EQ(fp_timer_arm_periodic(w, ids[9], 110, 10, LIBFP_TIMER_SKIP), 0);
	CHECK_EQ(tt_poll(w, 50), 0);
	CHECK_EQ(tt_poll(w, 145), 6); /* 3 ... 7 and the periodic one */
	s = tt_stats(w);
	CHECK_EQ(s.flags, counted ? LIBFP_WHEEL_STATS_COUNTED : 0);
	CHECK(s.timers == 9 || s.timers == 10); /* the destroyed one may count */
	CHECK_EQ(s.max_timers, 100);
	CHECK_EQ(s.arms, counted * 11);
	CHECK_EQ(s.rearms, counted * 3);
	CHECK_EQ(s.cancelled, counted * 2);
	CHECK_EQ(s.fired, 6);
	CHECK_EQ(s.expired, 5);
	CHECK_EQ(s.overruns, 3);
	CHECK_EQ(s.late_max, 145 - 103);
	CHECK(s.polls >= 1);
	CHECK(s.memory >= s.memory_used && s.memory_used >= 640);
	CHECK_EQ(fp_timer_wheel_cancel_all(w), 4);
	CHECK_EQ(tt_stats(w).cancelled, counted * 6);
	CHECK_EQ(tt_poll(w, 1000), 0);
	polls = tt_stats(w).polls;
	for (uint64_t now = 1001; now < 1100; now++)
		CHECK_EQ(tt_poll(w, now), 0);
	CHECK_EQ(tt_stats(w).polls, polls); /* they had nothing to do */

	CHECK_EQ(fp_timer_wheel_reset_stats(w), 0);
	s = tt_stats(w);
	CHECK_EQ(s.flags, counted ? LIBFP_WHEEL_STATS_COUNTED : 0);
	CHECK_EQ(s.arms + s.rearms + s.cancelled + s.fired + s.expired + s.overruns +
			 s.late_max + s.polls + s.entries_moved + s.entries_moved_max,
		 0);
	CHECK_EQ(s.timers, 9);
	CHECK_EQ(s.max_timers, 100);
	CHECK(s.memory >= 6400);
	CHECK_EQ(fp_timer_arm(w, ids[0], 2000), 0);
	CHECK_EQ(tt_poll(w, 2003), 1);
	s = tt_stats(w);
	CHECK_EQ(s.arms, counted);
	CHECK_EQ(s.fired, 1);
	CHECK_EQ(s.late_max, 3);
	tt_forget();
	tt_end(w);
}

static void statistics_with_and_without_counters(void)
{
	statistics(0);
	statistics(LIBFP_STATS);
}

/* A caller of an older or a newer header gets as much as both know. */
static void statistics_of_other_sizes(void)
{
	fp_timer_wheel *w = tt_wheel(0, 10);
	struct {
		fp_timer_wheel_stats s;
		uint64_t more[4];
	} u;

	for (uint32_t size = 8; size <= sizeof(u); size += 8) {
		uint32_t filled =
			size < sizeof(fp_timer_wheel_stats) ? size : sizeof(u.s);

		memset(&u, 0x5a, sizeof(u));
		u.s.size = size;
		CHECK_EQ(fp_timer_wheel_get_stats(w, &u.s), 0);
		CHECK_EQ(u.s.size, filled);
		for (size_t i = filled; i < sizeof(u); i++)
			CHECK_EQ(((unsigned char *)&u)[i], 0x5a);
		if (size >= 24)
			CHECK_EQ(u.s.max_timers, 10);
	}
	tt_end(w);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(a_timer_fires_once_at_its_tick),
		FPT_CASE(a_timer_without_callback_counts_as_fired),
		FPT_CASE(arm_and_arm_again),
		FPT_CASE(cancel_and_its_answers),
		FPT_CASE(destroy_and_its_answers),
		FPT_CASE(touch_moves_to_later_only),
		FPT_CASE(touched_a_thousand_times),
		FPT_CASE(next_expiry_is_a_bound),
		FPT_CASE(remaining_ticks),
		FPT_CASE(cancel_all_and_arm_again),
		FPT_CASE(for_each_shows_every_timer),
		FPT_CASE(statistics_with_and_without_counters),
		FPT_CASE(statistics_of_other_sizes),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
