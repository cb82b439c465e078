/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a callback may do to its own timer, to others that are due in the same poll, and to
 * the wheel it runs on. Rule T3 decides most of it: what is armed for the tick being fired,
 * or earlier, waits for the next poll; what is armed for later and is due fires in this
 * one.
 */
#include "timer_test.h"

/* What the callback of the timer with tag 1 does, once; others are only noted. */
static void (*script)(fp_timer_wheel *w, const fp_timer_record *r);
static uint64_t other; /* id of a timer that the script works on */

static void act(fp_timer_wheel *w, const fp_timer_record *r, void *user)
{
	void (*now)(fp_timer_wheel * w, const fp_timer_record *r) = script;

	tt_note(w, r, user);
	script = NULL;
	if (now)
		now(w, r);
}

/* A wheel at tick 0, timer 1 with the script is armed for 10. */
static uint64_t begin(fp_timer_wheel **w,
		      void (*fn)(fp_timer_wheel *w, const fp_timer_record *r))
{
	uint64_t id;

	*w = tt_wheel(0, 100);
	script = fn;
	id = tt_timer_fn(*w, act, 1);
	CHECK_EQ(fp_timer_arm(*w, id, 10), 0);
	return id;
}

/* ---- re-arm ---- */

static uint64_t rearm_tick;

static void rearm_own(fp_timer_wheel *w, const fp_timer_record *r)
{
	CHECK_EQ(fp_timer_is_pending(w, r->id), 0);
	CHECK_EQ(fp_timer_arm(w, r->id, rearm_tick), 0);
	CHECK_EQ(fp_timer_is_pending(w, r->id), 1);
	CHECK_EQ(tt_remaining(w, r->id, 0), rearm_tick);
}

static void own_timer_armed_again(void)
{
	/* Expiry, polled at 20: whether it fires in the same poll. */
	static const struct {
		uint64_t tick;
		int at_once;
	} table[] = { { 0, 0 },	 { 9, 0 },  { 10, 0 }, { 11, 1 },
		      { 19, 1 }, { 20, 1 }, { 21, 0 }, { 1000000, 0 } };

	for (size_t i = 0; i < FPT_LEN(table); i++) {
		uint64_t tick = table[i].tick, next = tick > 20 ? tick : 20;
		fp_timer_wheel *w;
		uint64_t id = begin(&w, rearm_own);

		fpt_where("armed for %" PRIu64, tick);
		rearm_tick = tick;
		CHECK_EQ(tt_poll(w, 20), 1 + table[i].at_once);
		CHECK_EQ(fp_timer_is_pending(w, id), !table[i].at_once);
		if (!table[i].at_once)
			tt_pending(w, 1, tick);
		if (next > 20)
			CHECK_EQ(tt_poll(w, next - 1), 0);
		CHECK_EQ(tt_poll(w, next), !table[i].at_once);
		tt_record_is(1, id, 1, tick, 0, 0);
		TT_FIRED(1, 1);
		tt_end(w);
	}
}

/* One that always arms itself for now keeps no poll from its end. */
static void arm_for_now(fp_timer_wheel *w, const fp_timer_record *r, void *user)
{
	tt_note(w, r, user);
	CHECK_EQ(fp_timer_arm(w, r->id, r->expiry_tick), 0);
}

static void a_timer_that_never_ends(void)
{
	fp_timer_wheel *w = tt_wheel(0, 10);
	uint64_t id = tt_timer_fn(w, arm_for_now, 1), tick;

	CHECK_EQ(fp_timer_arm(w, id, 10), 0);
	for (int i = 0; i < 100; i++) {
		CHECK_EQ(tt_poll(w, 10 + (uint64_t)i / 2), 1);
		CHECK_EQ(fp_timer_wheel_next_expiry(w, &tick), 1);
		CHECK(tick <= 10);
	}
	CHECK_EQ(tt_fired_count, 100);
	tt_forget();
	tt_end(w);
}

static void every_tick(fp_timer_wheel *w, const fp_timer_record *r, void *user)
{
	tt_note(w, r, user);
	CHECK_EQ(fp_timer_arm(w, r->id, r->expiry_tick + 1), 0);
}

/* One that always arms itself for the next tick fires for each that is over. */
static void a_timer_of_every_tick(void)
{
	fp_timer_wheel *w = tt_wheel(0, 10);
	uint64_t id = tt_timer_fn(w, every_tick, 1);

	CHECK_EQ(fp_timer_arm(w, id, 10), 0);
	CHECK_EQ(tt_poll(w, 1009), 1000);
	for (uint32_t i = 0; i < 1000; i++)
		CHECK_EQ(tt_fired[i].expiry_tick, 10 + i);
	tt_forget();
	CHECK_EQ(fp_timer_wheel_poll(w, 5000, 20), 20);
	tt_is_armed(w, id, 1030);
	tt_forget();
	tt_end(w);
}

/* ---- others, due in the same poll or not ---- */

static void arm_other(fp_timer_wheel *w, const fp_timer_record *r)
{
	int was = fp_timer_is_pending(w, other);

	(void)r;
	CHECK_EQ(fp_timer_arm(w, other, rearm_tick), was);
}

static void other_timers_armed(void)
{
	static const uint64_t from[] = { 0, 10, 11, 15, 20, 21, 5000 };
	static const uint64_t to[] = { 0, 9, 10, 11, 12, 15, 20, 21, 100000 };

	for (size_t i = 0; i < FPT_LEN(from); i++)
		for (size_t k = 0; k < FPT_LEN(to); k++) {
			int at_once = to[k] > 10 && to[k] <= 20;
			uint64_t last = to[k] > 20 ? to[k] : 20;
			fp_timer_wheel *w;

			fpt_where("from %" PRIu64 " to %" PRIu64, from[i], to[k]);
			begin(&w, arm_other);
			rearm_tick = to[k];
			other = tt_timer(w, 2);
			if (from[i]) /* else it is not armed */
				CHECK_EQ(fp_timer_arm(w, other, from[i]), 0);
			tt_armed(w, 3, 12);
			CHECK_EQ(tt_poll(w, 20), 2 + at_once);
			if (at_once)
				tt_record_is(to[k] < 12 ? 1 : 2, other, 2, to[k], 0, 0);
			if (!at_once)
				TT_FIRED(1, 3);
			else if (to[k] < 12)
				TT_FIRED(1, 2, 3);
			else
				TT_FIRED(1, 3, 2);
			CHECK_EQ(fp_timer_is_pending(w, other), !at_once);
			CHECK_EQ(tt_poll(w, last), !at_once);
			CHECK_EQ(tt_poll(w, UINT64_MAX), 0); /* once in all */
			tt_forget();
			tt_end(w);
		}
}

/* What waits for the next poll fires there in order of expiry, ties as armed. */
static void arm_many_for_the_past(fp_timer_wheel *w, const fp_timer_record *r)
{
	(void)r;
	tt_armed(w, 10, 10);
	tt_armed(w, 11, 3);
	tt_armed(w, 12, 10);
	tt_armed(w, 13, 0);
	tt_armed(w, 14, 3);
	tt_armed(w, 15, 16);
	tt_armed(w, 16, 13);
}

static void what_waits_comes_in_order(void)
{
	fp_timer_wheel *w;

	begin(&w, arm_many_for_the_past);
	tt_armed(w, 2, 10);
	tt_armed(w, 3, 14);
	CHECK_EQ(tt_poll(w, 15), 4);
	TT_FIRED(1, 2, 16, 3);
	tt_armed(w, 4, 5); /* also for the past, but after the callback */
	tt_armed(w, 5, 3);
	CHECK_EQ(tt_poll(w, 16), 8);
	TT_FIRED(13, 11, 14, 5, 4, 10, 12, 15);
	tt_end(w);
}

/* What waits can be moved, touched and cancelled before that. */
static uint64_t waiting[6];

static void change_what_waits(fp_timer_wheel *w, const fp_timer_record *r)
{
	(void)r;
	for (uint64_t i = 0; i < 6; i++)
		waiting[i] = tt_armed(w, 10 + i, 5);
	CHECK_EQ(fp_timer_arm(w, waiting[0], 12), 1);	/* due in this poll after all */
	CHECK_EQ(fp_timer_touch(w, waiting[1], 13), 1); /* goes on waiting */
	CHECK_EQ(fp_timer_cancel(w, waiting[2]), 1);
	CHECK_EQ(fp_timer_destroy(w, waiting[3]), 1);
	CHECK_EQ(fp_timer_arm(w, waiting[4], 30), 1);
}

static void what_waits_can_be_changed(void)
{
	fp_timer_wheel *w;

	begin(&w, change_what_waits);
	CHECK_EQ(tt_poll(w, 20), 2);
	TT_FIRED(1, 10);
	CHECK_EQ(tt_poll(w, 20), 2);
	TT_FIRED(15, 11);
	CHECK_EQ(tt_poll(w, 29), 0);
	CHECK_EQ(tt_poll(w, 30), 1);
	TT_FIRED(14);
	tt_end(w);
}

static uint64_t others[50];

static void stop_others(fp_timer_wheel *w, const fp_timer_record *r)
{
	(void)r;
	CHECK_EQ(fp_timer_cancel(w, others[0]), 1);
	CHECK_EQ(fp_timer_cancel_sync(w, others[1], LIBFP_FOREVER), 1);
	CHECK_EQ(fp_timer_destroy(w, others[2]), 1);
	CHECK_EQ(fp_timer_cancel(w, others[3]), 1);
	CHECK_EQ(fp_timer_arm(w, others[3], 11), 0);
	CHECK_EQ(fp_timer_destroy(w, others[4]), 1);
	others[4] = tt_armed(w, 77, 10); /* perhaps in the same place */
	CHECK_EQ(fp_timer_touch(w, others[5], 12), 1);
	CHECK_EQ(fp_timer_touch(w, others[6], 1000), 1);
}

/* Whether they are due in the same tick, a later tick, or not due. */
static void others_cancelled_destroyed_and_touched(void)
{
	for (uint64_t tick = 10; tick < 13; tick++) {
		fp_timer_wheel *w;

		fpt_where("tick %" PRIu64, tick);
		begin(&w, stop_others);
		for (uint64_t i = 0; i < 7; i++)
			others[i] = tt_armed(w, 100 + i, tick);
		CHECK_EQ(tt_poll(w, 12), 3);
		TT_FIRED(1, 103, 105);
		CHECK_EQ(tt_poll(w, 12), 1);
		TT_FIRED(77);
		CHECK_EQ(tt_poll(w, 2000), 1);
		TT_FIRED(106);
		tt_end(w);
	}
}

static void cancel_all_of_it(fp_timer_wheel *w, const fp_timer_record *r)
{
	(void)r;
	tt_armed(w, 20, 11);
	tt_armed(w, 21, 10); /* waits for the next poll */
	CHECK_EQ(fp_timer_wheel_cancel_all(w), 12);
	tt_armed(w, 22, 12);
}

static void all_cancelled_in_a_callback(void)
{
	fp_timer_wheel *w;

	begin(&w, cancel_all_of_it);
	for (uint64_t i = 0; i < 10; i++)
		tt_armed(w, 2 + i, i < 5 ? 10 : 7 + 3 * i);
	CHECK_EQ(tt_poll(w, 15), 2);
	TT_FIRED(1, 22);
	CHECK_EQ(tt_poll(w, 1000), 0);
	tt_end(w);
}

/* T-01, T-03: one callback arms 49 others, again and again, while they are due too. */
static int rounds;

static void rearm_the_others(fp_timer_wheel *w, const fp_timer_record *r, void *user)
{
	tt_note(w, r, user);
	for (int i = 0; i < 50; i++)
		if (others[i] != r->id)
			CHECK(fp_timer_arm(w, others[i],
					   r->expiry_tick + (uint64_t)(i % 5)) >= 0);
	if (--rounds > 0)
		CHECK(fp_timer_arm(w, r->id, r->expiry_tick + 2) >= 0);
}

static void fifty_timers_one_of_which_arms_the_others(void)
{
	for (int place = 0; place < 50; place += 7) {
		fp_timer_wheel *w = tt_wheel(0, 50);
		uint32_t before = 0;

		fpt_where("the %d-th", place);
		rounds = 20;
		for (int i = 0; i < 50; i++) {
			others[i] = i == place ? tt_timer_fn(w, rearm_the_others, 50) :
						 tt_timer(w, (uint64_t)i);
			CHECK_EQ(fp_timer_arm(w, others[i], 10), 0);
		}
		for (uint64_t now = 10; now < 100; now += 3) {
			CHECK(tt_poll(w, now) <= 500);
			for (uint32_t i = before; i < tt_fired_count; i++)
				CHECK(tt_fired[i].expiry_tick <= now);
			for (uint32_t i = before + 1; i < tt_fired_count; i++)
				CHECK(tt_fired[i - 1].expiry_tick <=
				      tt_fired[i].expiry_tick);
			before = tt_fired_count;
		}
		CHECK_EQ(rounds, 0);
		CHECK_EQ(fp_timer_wheel_count(w), 0);
		CHECK_EQ(tt_poll(w, UINT64_MAX), 0);
		tt_forget();
		tt_end(w);
	}
}

/* ---- its own timer, and the wheel ---- */

static void own_cancel(fp_timer_wheel *w, const fp_timer_record *r)
{
	CHECK_EQ(fp_timer_cancel(w, r->id), -EINPROGRESS);
	CHECK_EQ(fp_timer_cancel_sync(w, r->id, 0), -EDEADLK);
	CHECK_EQ(fp_timer_cancel_sync(w, r->id, LIBFP_FOREVER), -EDEADLK);
	CHECK_EQ(fp_timer_touch(w, r->id, 50), 0);
	CHECK_EQ(fp_timer_arm(w, r->id, 11), 0);
	CHECK_EQ(fp_timer_cancel_sync(w, r->id, LIBFP_FOREVER), -EDEADLK);
	CHECK_EQ(fp_timer_is_pending(w, r->id), 1); /* nothing changed */
	CHECK_EQ(fp_timer_arm(w, r->id, 12), 1);
	CHECK_EQ(fp_timer_touch(w, r->id, 13), 1);
	CHECK_EQ(fp_timer_cancel(w, r->id), -EINPROGRESS);
	CHECK_EQ(fp_timer_is_pending(w, r->id), 0);
}

static void own_timer_cancelled(void)
{
	fp_timer_wheel *w;
	uint64_t id = begin(&w, own_cancel);

	CHECK_EQ(tt_poll(w, 100), 1);
	TT_FIRED(1);
	tt_is_idle(w, id);
	CHECK_EQ(fp_timer_cancel(w, id), 0); /* it does not run any more */
	CHECK_EQ(fp_timer_cancel_sync(w, id, LIBFP_FOREVER), 0);
	CHECK_EQ(tt_poll(w, 200), 0);
	tt_end(w);
}

static void own_destroy(fp_timer_wheel *w, const fp_timer_record *r)
{
	int32_t result = 77;

	CHECK_EQ(fp_timer_arm(w, r->id, rearm_tick), 0);
	CHECK_EQ(fp_timer_destroy(w, r->id), -EINPROGRESS);
	CHECK_EQ(fp_timer_destroy(w, r->id), -ESTALE);
	CHECK_EQ(fp_timer_cancel(w, r->id), -ESTALE);
	CHECK_EQ(fp_timer_arm(w, r->id, 20), -ESTALE);
	CHECK_EQ(fp_timer_touch(w, r->id, 20), -ESTALE);
	CHECK_EQ(fp_timer_is_pending(w, r->id), -ESTALE);
	CHECK_EQ(fp_timer_cancel_sync(w, r->id, LIBFP_FOREVER), -EDEADLK);
	other = tt_armed(w, 2, 11); /* perhaps in its place */
	CHECK(other != r->id);
	CHECK_EQ(fp_timer_cancel(w, other), 1); /* it does not run */
	CHECK_EQ(fp_timer_arm(w, other, 12), 0);
	CHECK_EQ(fp_timer_destroy_bulk(w, &r->id, 1, &result), 0);
	CHECK_EQ(result, -ESTALE);
}

static void own_timer_destroyed(void)
{
	static const uint64_t ticks[] = { 5, 10, 11, 13, 100000 };

	for (size_t i = 0; i < FPT_LEN(ticks); i++) {
		fp_timer_wheel *w;
		uint64_t id = begin(&w, own_destroy);

		rearm_tick = ticks[i];
		CHECK_EQ(tt_poll(w, 15), 2);
		TT_FIRED(1, 2);
		CHECK_EQ(fp_timer_cancel_sync(w, id, LIBFP_FOREVER), -ESTALE);
		CHECK_EQ(fp_timer_destroy(w, other), 0);
		CHECK_EQ(tt_poll(w, 200000), 0);
		CHECK_EQ(tt_stats(w).timers, 0);
		tt_end(w);
	}
}

static void own_destroy_in_bulk(fp_timer_wheel *w, const fp_timer_record *r)
{
	uint64_t ids[] = { other, r->id, r->id };
	uint64_t ticks[] = { 12, 13, 14 };
	int32_t results[3];

	CHECK_EQ(fp_timer_cancel_bulk(w, ids, 3, results), 1);
	CHECK(results[0] == 1 && results[1] == -EINPROGRESS);
	CHECK_EQ(results[2], -EINPROGRESS);
	CHECK_EQ(fp_timer_arm_bulk(w, ids, ticks, 3, results), 3);
	CHECK(results[0] == 0 && results[1] == 0 && results[2] == 1);
	CHECK_EQ(fp_timer_touch_bulk(w, ids, ticks, 3, results), 3);
	CHECK_EQ(fp_timer_destroy_bulk(w, ids, 3, results), 2);
	CHECK(results[0] == 1 && results[1] == -EINPROGRESS && results[2] == -ESTALE);
}

static void own_timer_in_bulk_calls(void)
{
	fp_timer_wheel *w;
	uint64_t id = begin(&w, own_destroy_in_bulk);

	other = tt_armed(w, 2, 10);
	CHECK_EQ(tt_poll(w, 100), 1);
	TT_FIRED(1);
	CHECK_EQ(fp_timer_is_pending(w, id), -ESTALE);
	CHECK_EQ(fp_timer_is_pending(w, other), -ESTALE);
	tt_end(w);
}

static fp_timer_wheel *second; /* another wheel */

static void poll_inside(fp_timer_wheel *w, const fp_timer_record *r)
{
	fp_timer_wheel *both[] = { second, w };
	fp_timer_record record = { .user = 99 };

	(void)r;
	CHECK_EQ(fp_timer_wheel_poll(w, 50, TT_ALL), -EBUSY);
	CHECK_EQ(fp_timer_wheel_poll_burst(w, 50, &record, 1), -EBUSY);
	CHECK_EQ(fp_timer_wheel_poll_many(&w, 1, 50, TT_ALL), -EBUSY);
	CHECK_EQ(fp_timer_wheel_poll_many(both, 2, 50, TT_ALL), -EBUSY);
	CHECK_EQ(fp_timer_wheel_destroy(w), -EBUSY);
	CHECK_EQ(record.user, 99);
	CHECK_EQ(tt_fired_count, 1); /* the second wheel has not fired either */
	CHECK_EQ(tt_poll(second, 7), 1);
	tt_armed(w, 4, 12);
}

/* Calls that a callback must not make are refused; everything goes on. */
static void polls_and_destroy_inside(void)
{
	fp_timer_wheel *w;

	begin(&w, poll_inside);
	second = tt_wheel(0, 10);
	tt_armed(second, 3, 7);
	tt_armed(w, 2, 11);
	CHECK_EQ(tt_poll(w, 20), 3);
	TT_FIRED(1, 3, 2, 4);
	tt_end(second);
	tt_end(w);
}

/* Two wheels whose callbacks arm timers of each other. */
static void arm_on_second(fp_timer_wheel *w, const fp_timer_record *r)
{
	(void)w;
	CHECK_EQ(fp_timer_arm(second, other, r->expiry_tick), 0);
	CHECK_EQ(tt_poll(second, r->expiry_tick), 1); /* no callback of that one runs */
	CHECK_EQ(fp_timer_arm(second, other, 3), 0);
	CHECK_EQ(fp_timer_wheel_destroy(second), 0);
}

static void the_other_wheel_is_not_polled(void)
{
	fp_timer_wheel *w;

	begin(&w, arm_on_second);
	second = tt_wheel(0, 10);
	other = tt_timer(second, 9);
	CHECK_EQ(tt_poll(w, 20), 1);
	TT_FIRED(1, 9);
	tt_end(w);
}

static int look(const fp_timer_info *info, void *user)
{
	*(uint64_t *)user += info->flags & LIBFP_TIMER_IS_ARMED ? info->expiry_tick : 0;
	return 0;
}

static void ask_the_wheel(fp_timer_wheel *w, const fp_timer_record *r)
{
	uint64_t tick = TT_NO_TICK, sum = 0;

	CHECK_EQ(fp_timer_wheel_count(w), 2);
	CHECK_EQ(fp_timer_wheel_next_expiry(w, &tick), 1);
	CHECK(tick <= 12);
	CHECK_EQ(fp_timer_wheel_for_each(w, look, &sum), 0);
	CHECK_EQ(sum, 12 + 1000);
	CHECK_EQ(fp_timer_wheel_reset_stats(w), 0);
	CHECK_EQ(r->expiry_tick, 10);
}

static void a_callback_may_look_at_the_wheel(void)
{
	fp_timer_wheel *w;

	begin(&w, ask_the_wheel);
	tt_armed(w, 2, 12);
	tt_armed(w, 3, 1000);
	CHECK_EQ(tt_poll(w, 15), 2);
	TT_FIRED(1, 2);
	tt_end(w);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(own_timer_armed_again),
		FPT_CASE(a_timer_that_never_ends),
		FPT_CASE(a_timer_of_every_tick),
		FPT_CASE(other_timers_armed),
		FPT_CASE(what_waits_comes_in_order),
		FPT_CASE(what_waits_can_be_changed),
		FPT_CASE(others_cancelled_destroyed_and_touched),
		FPT_CASE(all_cancelled_in_a_callback),
		FPT_CASE(fifty_timers_one_of_which_arms_the_others),
		FPT_CASE(own_timer_cancelled),
		FPT_CASE(own_timer_destroyed),
		FPT_CASE(own_timer_in_bulk_calls),
		FPT_CASE(polls_and_destroy_inside),
		FPT_CASE(the_other_wheel_is_not_polled),
		FPT_CASE(a_callback_may_look_at_the_wheel),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
