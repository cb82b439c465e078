/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Polls that stop early, polls for records, polls of several wheels, and very many timers
 * that are due at once: everything fires, in order, and nothing twice.
 */
#include "timer_test.h"

#define MANY 100000

static void max_0_1_and_n(void)
{
	fp_timer_wheel *w = tt_wheel(0, 20);
	uint64_t id[10];

	for (uint64_t i = 0; i < 10; i++)
		id[i] = tt_armed(w, i, 10 + i / 3);
	CHECK_EQ(fp_timer_wheel_poll(w, 100, 0), 0);
	TT_NONE_FIRED();
	CHECK_EQ(fp_timer_wheel_count(w), 10);
	CHECK_EQ(fp_timer_wheel_poll(w, 100, 1), 1);
	TT_FIRED(0);
	tt_is_idle(w, id[0]);
	tt_is_armed(w, id[1], 10);
	tt_pending(w, 9, 10);
	CHECK_EQ(fp_timer_wheel_poll(w, 100, 4), 4);
	TT_FIRED(1, 2, 3, 4);
	CHECK_EQ(fp_timer_wheel_poll(w, 100, 0), 0);
	CHECK_EQ(fp_timer_wheel_poll(w, 99, 3), 0); /* earlier than the last */
	CHECK_EQ(fp_timer_wheel_poll(w, 100, 5), 5);
	TT_FIRED(5, 6, 7, 8, 9);
	CHECK_EQ(fp_timer_wheel_poll(w, 100, 5), 0);
	tt_pending(w, 0, 0);
	tt_end(w);
}

/* Exactly as many as are due, one more, one fewer, from several ticks and one. */
static void max_around_what_is_due(void)
{
	for (uint32_t n = 1; n < 140; n += 1 + n / 10)
		for (uint32_t max = n - 1; max <= n + 1; max++)
			for (uint64_t width = 1; width < 2000; width *= 30) {
				fp_timer_wheel *w = tt_wheel(0, n);
				uint32_t first = max < n ? max : n;

				for (uint64_t i = 0; i < n; i++)
					tt_armed(w, i, 5 + i * 7919 % width);
				CHECK_EQ(fp_timer_wheel_poll(w, 5000, max), first);
				CHECK_EQ(fp_timer_wheel_count(w), n - first);
				CHECK_EQ(tt_poll(w, 5000), n - first);
				CHECK_EQ(tt_fired_count, n);
				for (uint32_t i = 1; i < n; i++)
					CHECK(tt_fired[i - 1].expiry_tick <
						      tt_fired[i].expiry_tick ||
					      tt_fired[i - 1].user < tt_fired[i].user);
				tt_forget();
				tt_end(w);
			}
}

static void records_in_small_arrays(void)
{
	for (uint32_t room = 1; room < 40; room += 3) {
		fp_timer_wheel *w = tt_wheel(0, 100);
		fp_timer_record r[40];
		uint64_t next = 0;
		int32_t n;

		for (uint64_t i = 0; i < 100; i++)
			tt_armed(w, i, 10 + i / 7);
		memset(r, 0x5a, sizeof(r));
		while ((n = fp_timer_wheel_poll_burst(w, 50, r, room)) > 0) {
			CHECK(n == (int32_t)room || next + (uint64_t)n == 100);
			for (int32_t i = 0; i < n; i++, next++) {
				CHECK_EQ(r[i].user, next);
				CHECK_EQ(r[i].expiry_tick, 10 + next / 7);
				CHECK_EQ(r[i].overruns, 0);
				CHECK_EQ(r[i].flags, 0);
			}
			/* Nothing is written behind what was filled. */
			for (uint32_t i = (uint32_t)n; i < 40 && next == (uint64_t)n; i++)
				CHECK(r[i].user == TT_NO_TICK);
		}
		CHECK_EQ(n, 0);
		CHECK_EQ(next, 100);
		TT_NONE_FIRED(); /* callbacks did not run */
		tt_end(w);
	}
}

/* One kind of poll goes on where the other one stopped. */
static void polls_of_all_kinds_in_turn(void)
{
	fp_timer_wheel *w = tt_wheel(0, 100);
	fp_timer_record r[3];

	for (uint64_t i = 0; i < 9; i++)
		tt_armed(w, i, 10);
	CHECK_EQ(fp_timer_wheel_poll_burst(w, 10, r, 2), 2);
	CHECK(r[0].user == 0 && r[1].user == 1);
	CHECK_EQ(fp_timer_wheel_poll(w, 10, 2), 2);
	TT_FIRED(2, 3);
	CHECK_EQ(fp_timer_wheel_poll_many(&w, 1, 10, 2), 2);
	TT_FIRED(4, 5);
	CHECK_EQ(fp_timer_wheel_poll_burst(w, 10, r, 1), 1);
	CHECK_EQ(r[0].user, 6);
	CHECK_EQ(tt_poll(w, 10), 2);
	TT_FIRED(7, 8);
	tt_end(w);
}

/* ---- what a poll has left ---- */

static void rest_is_rearmed(void)
{
	fp_timer_wheel *w = tt_wheel(0, 100);
	uint64_t id[12];

	for (uint64_t i = 0; i < 12; i++)
		id[i] = tt_armed(w, i, i < 6 ? 10 : 20);
	CHECK_EQ(fp_timer_wheel_poll(w, 30, 2), 2);
	TT_FIRED(0, 1);
	CHECK_EQ(fp_timer_arm(w, id[2], 10), 1); /* the same tick: to its end */
	CHECK_EQ(fp_timer_arm(w, id[3], 5), 1);	 /* earlier: to the front */
	CHECK_EQ(fp_timer_arm(w, id[4], 25), 1); /* later, due */
	CHECK_EQ(fp_timer_arm(w, id[5], 40), 1); /* later, not due */
	CHECK_EQ(fp_timer_arm(w, id[6], 10), 1);
	CHECK_EQ(fp_timer_arm(w, id[7], 20), 1);
	CHECK_EQ(fp_timer_touch(w, id[8], 21), 1);
	CHECK_EQ(fp_timer_touch(w, id[9], 15), 1); /* it is later already */
	CHECK_EQ(fp_timer_cancel(w, id[10]), 1);
	CHECK_EQ(fp_timer_arm(w, id[0], 7), 0); /* one that has run */
	CHECK_EQ(fp_timer_destroy(w, id[1]), 0);
	CHECK_EQ(fp_timer_wheel_poll(w, 30, 3), 3);
	TT_FIRED(3, 0, 2);
	CHECK_EQ(fp_timer_arm(w, id[3], 9), 0);
	CHECK_EQ(tt_poll(w, 30), 7);
	TT_FIRED(3, 6, 9, 11, 7, 8, 4);
	CHECK_EQ(tt_poll(w, 39), 0);
	CHECK_EQ(tt_poll(w, 40), 1);
	TT_FIRED(5);
	tt_end(w);
}

/* As before, for every place at which the poll may stop, among many. */
static void rest_of_many_is_rearmed(void)
{
	static uint64_t id[2000];

	for (uint32_t stop = 1; stop < 2000; stop += 211) {
		fp_timer_wheel *w = tt_wheel(0, 2000);
		uint64_t moved = 0;

		fpt_where("stopped after %u", stop);
		for (uint64_t i = 0; i < 2000; i++)
			id[i] = tt_armed(w, i, 100 + i / 500);
		CHECK_EQ(fp_timer_wheel_poll(w, 1000, stop), stop);
		for (uint64_t i = stop; i < 2000; i += 3, moved++)
			CHECK_EQ(fp_timer_arm(w, id[i],
					      i % 2 ? 100 + i / 500 : 50 + i % 200),
				 1);
		CHECK_EQ(tt_poll(w, 1000), 2000 - stop);
		CHECK_EQ(tt_fired_count, 2000);
		for (uint32_t i = stop + 1; i < 2000; i++) {
			const fp_timer_record *a = &tt_fired[i - 1], *b = a + 1;

			CHECK(a->expiry_tick <= b->expiry_tick);
			/* Those that were moved come after the others of their tick. */
			if (a->expiry_tick == b->expiry_tick) {
				int first = (a->user - stop) % 3 == 0;
				int second = (b->user - stop) % 3 == 0;

				CHECK(first < second ||
				      (first == second && a->user < b->user));
			}
		}
		tt_forget();
		CHECK_EQ(fp_timer_wheel_count(w), 0);
		tt_end(w);
	}
}

/* One that is moved to the end of its tick lets nobody else pass. */
static void rest_of_one_tick_is_rearmed(void)
{
	static uint64_t id[900];

	for (uint64_t n = 30; n <= 300; n += 90)
		for (uint64_t tick = 50; tick <= 150; tick += 100) {
			fp_timer_wheel *w = tt_wheel(100, 900);
			uint64_t moved = 20, expected = 10;

			fpt_where("%" PRIu64 " timers at %" PRIu64, n, tick);
			for (uint64_t i = 0; i < n; i++)
				id[i] = tt_armed(w, i, tick);
			CHECK_EQ(fp_timer_wheel_poll(w, 200, 10), 10);
			for (uint64_t i = n; i < 2 * n; i++)
				id[i] = tt_armed(w, i, tick);
			CHECK_EQ(fp_timer_arm(w, id[moved], tick), 1);
			CHECK_EQ(fp_timer_wheel_poll(w, 200, 5), 5);
			for (uint64_t i = 2 * n; i < 3 * n; i++)
				id[i] = tt_armed(w, i, tick);
			CHECK_EQ(tt_poll(w, 200), 3 * n - 15);
			CHECK_EQ(tt_fired_count, 3 * n);
			for (uint32_t i = 10; i < 3 * n; i++) {
				if (expected == moved)
					expected++;
				if (i == 2 * n - 1) {
					CHECK_EQ(tt_fired[i].user, moved);
					continue;
				}
				CHECK_EQ(tt_fired[i].user, expected);
				expected++;
			}
			tt_forget();
			tt_end(w);
		}
}

/* Timers that are soon due, and others that are over and were moved, in all numbers. */
static void moved_in_the_past_beside_others_that_are_near(void)
{
	static uint64_t id[200];

	for (uint64_t near = 60; near <= 94; near++)
		for (uint64_t past = 1; past <= 120; past += 17) {
			fp_timer_wheel *w = tt_wheel(0, 300);
			uint64_t due = 0;

			fpt_where("%" PRIu64 " near, %" PRIu64 " past", near, past);
			for (uint64_t i = 0; i < near; i++)
				tt_armed(w, i, 1024 + 2 * i);
			CHECK_EQ(tt_poll(w, 1024), 1);
			for (uint64_t i = 0; i < past; i++)
				id[i] = tt_armed(w, 1000 + i, 900);
			for (uint64_t i = 0; i < past; i++)
				CHECK_EQ(fp_timer_arm(w, id[i], 901 + i % 2), 1);
			CHECK_EQ(tt_poll(w, 1100), past + 38);
			for (uint32_t i = 1; i < tt_fired_count; i++) {
				const fp_timer_record *r = &tt_fired[i];

				if (i <= past)
					CHECK_EQ(r->expiry_tick,
						 due < (past + 1) / 2 ? 901 : 902);
				else
					CHECK_EQ(r->user, i - past);
				due++;
			}
			CHECK_EQ(tt_poll(w, 2000), near - 39);
			CHECK_EQ(tt_fired_count, near + past);
			for (uint32_t i = 2; i < tt_fired_count; i++)
				CHECK(tt_fired[i - 1].expiry_tick <
					      tt_fired[i].expiry_tick ||
				      tt_fired[i - 1].user < tt_fired[i].user);
			tt_forget();
			tt_end(w);
		}
}

/* ---- very many ---- */

static uint64_t many[MANY];
static uint64_t seen_next, seen_last;

static void count_in_order(fp_timer_wheel *w, const fp_timer_record *r, void *user)
{
	(void)w;
	(void)user;
	CHECK_EQ(r->user, seen_next);
	seen_next++;
}

static void a_hundred_thousand_in_one_tick(void)
{
	static const uint64_t ticks[] = { 100, 255, 70000, 20000000, 1ull << 40 };

	for (size_t t = 0; t < FPT_LEN(ticks); t++)
		for (uint32_t step = MANY; step > 1000; step /= 37) {
			fp_timer_wheel *w = tt_wheel(50, MANY);

			fpt_where("tick %" PRIu64 ", %u at a time", ticks[t], step);
			for (uint64_t i = 0; i < MANY; i++) {
				many[i] = tt_timer_fn(w, count_in_order, i);
				CHECK_EQ(fp_timer_arm(w, many[i], ticks[t]), 0);
			}
			CHECK_EQ(tt_poll(w, ticks[t] - 1), 0);
			seen_next = 0;
			while (seen_next < MANY)
				CHECK(fp_timer_wheel_poll(w, ticks[t], step) > 0);
			CHECK_EQ(tt_poll(w, ticks[t]), 0);
			CHECK_EQ(seen_next, MANY);
			tt_end(w);
		}
}

/* In the reverse of the order in which they were first armed. */
static void a_hundred_thousand_armed_twice(void)
{
	fp_timer_wheel *w = tt_wheel(0, MANY);

	for (uint64_t i = 0; i < MANY; i++) {
		many[i] = tt_timer_fn(w, count_in_order, MANY - 1 - i);
		CHECK_EQ(fp_timer_arm(w, many[i], 5000), 0);
	}
	for (uint64_t i = MANY; i-- > 0;)
		CHECK_EQ(fp_timer_arm(w, many[i], 5000), 1);
	seen_next = 0;
	CHECK_EQ(tt_poll(w, 4999), 0);
	CHECK_EQ(tt_poll(w, 5000), MANY);
	CHECK_EQ(seen_next, MANY);
	tt_end(w);
}

static void count_by_expiry(fp_timer_wheel *w, const fp_timer_record *r, void *user)
{
	(void)w;
	(void)user;
	CHECK(r->expiry_tick >= seen_last);
	seen_last = r->expiry_tick;
	seen_next++;
}

/* All armed for ticks that are over: they fire in the next poll, in order of expiry. */
static void a_hundred_thousand_for_the_past(void)
{
	uint64_t seed = fpt_seed();

	for (int range = 0; range < 32; range += 5) {
		fp_timer_wheel *w = tt_wheel(1ull << 33, MANY);

		CHECK_EQ(fp_timer_create_bulk(w, count_by_expiry, NULL, many, MANY),
			 MANY);
		for (uint64_t i = 0; i < MANY; i++)
			CHECK_EQ(fp_timer_arm(w, many[i],
					      fpt_random(&seed) >> (63 - range)),
				 0);
		for (uint64_t i = 0; i < MANY; i += 10)
			CHECK_EQ(fp_timer_cancel(w, many[i]), 1);
		seen_next = seen_last = 0;
		CHECK_EQ(tt_poll(w, (1ull << 33) - 1), 0);
		CHECK_EQ(fp_timer_wheel_poll(w, 1ull << 33, 1000), 1000);
		CHECK_EQ(tt_poll(w, 1ull << 33), MANY - MANY / 10 - 1000);
		CHECK_EQ(seen_next, MANY - MANY / 10);
		CHECK_EQ(fp_timer_wheel_count(w), 0);
		tt_end(w);
	}
}

/* Spread over short and long times, most of them cancelled or moved before they are due. */
static void a_hundred_thousand_that_move(void)
{
	uint64_t seed = fpt_seed(), left = 0;
	fp_timer_wheel *w = tt_wheel(0, MANY);

	CHECK_EQ(fp_timer_create_bulk(w, count_by_expiry, NULL, many, MANY), MANY);
	for (uint64_t i = 0; i < MANY; i++)
		CHECK_EQ(fp_timer_arm(w, many[i], 1 + (fpt_random(&seed) >> 34)), 0);
	for (uint64_t i = 0; i < MANY; i++) {
		if (i % 3 == 0) {
			CHECK_EQ(fp_timer_cancel(w, many[i]), 1);
			continue;
		}
		if (i % 3 == 1)
			CHECK_EQ(fp_timer_arm(w, many[i], 1 + (fpt_random(&seed) >> 40)),
				 1);
		left++;
	}
	CHECK_EQ(fp_timer_wheel_count(w), left);
	seen_next = seen_last = 0;
	for (uint64_t now = 0; seen_next < left; now += 1 + now / 50) {
		uint64_t before = seen_next, next;

		if (fp_timer_wheel_next_expiry(w, &next) == 1 && next > now)
			CHECK_EQ(tt_poll(w, now), 0);
		else
			CHECK_EQ(tt_poll(w, now), seen_next - before);
		CHECK(seen_last <= now);
		CHECK(now < 1ull << 31);
	}
	CHECK_EQ(fp_timer_wheel_count(w), 0);
	tt_end(w);
}

/* ---- several wheels ---- */

static void several_wheels_in_global_order(void)
{
	fp_timer_wheel *w[3];

	for (uint64_t i = 0; i < 3; i++)
		w[i] = tt_wheel(i, 20);
	tt_armed(w[2], 20, 10);
	tt_armed(w[0], 1, 10);
	tt_armed(w[1], 10, 10);
	tt_armed(w[0], 2, 10);
	tt_armed(w[1], 11, 8);
	tt_armed(w[2], 21, 9);
	tt_armed(w[2], 22, 30);
	tt_armed(w[0], 3, 12);
	tt_armed(w[1], 12, 1000000);
	CHECK_EQ(fp_timer_wheel_poll_many(w, 3, 7, TT_ALL), 0);
	CHECK_EQ(fp_timer_wheel_poll_many(w, 3, 20, 0), 0);
	CHECK_EQ(fp_timer_wheel_poll_many(w, 3, 20, 3), 3);
	TT_FIRED(11, 21, 1); /* in one tick in the order of the array */
	CHECK_EQ(fp_timer_wheel_poll_many(w, 3, 20, TT_ALL), 4);
	TT_FIRED(2, 10, 20, 3);
	CHECK_EQ(fp_timer_wheel_poll_many(w, 3, 20, TT_ALL), 0);
	tt_armed(w[0], 5, 50);
	CHECK_EQ(tt_poll(w[0], 100), 1);
	TT_FIRED(5);
	/* Time went back for one of them; the others fire. */
	tt_armed(w[0], 4, 25);
	CHECK_EQ(fp_timer_wheel_poll_many(w, 3, 40, TT_ALL), 1);
	TT_FIRED(22);
	CHECK_EQ(fp_timer_wheel_poll_many(w, 3, 100, TT_ALL), 1);
	TT_FIRED(4);
	for (int i = 0; i < 3; i++)
		tt_end(w[i]);
}

/* The order in which a sort would put them all. */
static void many_wheels_as_one(void)
{
	enum { WHEELS = 17, EACH = 100 };
	fp_timer_wheel *w[WHEELS];
	uint64_t seed = fpt_seed();
	int64_t fired = 0;

	for (int i = 0; i < WHEELS; i++) {
		w[i] = tt_wheel(0, EACH);
		for (uint64_t k = 0; k < EACH; k++)
			tt_armed(w[i], (uint64_t)i * 1000 + k,
				 1 + fpt_random(&seed) % 300 * (k % 5 ? 1 : 1000));
	}
	for (uint64_t now = 0; now <= 300000; now += 1 + now / 3) {
		uint32_t max = fpt_random(&seed) % 3 ? TT_ALL : 20;

		fired += fp_timer_wheel_poll_many(w, WHEELS, now, max);
		CHECK_EQ(fired, tt_fired_count);
	}
	fired += fp_timer_wheel_poll_many(w, WHEELS, 300000, TT_ALL);
	CHECK_EQ(fired, WHEELS * EACH);
	for (uint32_t i = 1; i < tt_fired_count; i++) {
		const fp_timer_record *a = &tt_fired[i - 1], *b = a + 1;

		CHECK(a->expiry_tick < b->expiry_tick ||
		      (a->expiry_tick == b->expiry_tick && a->user < b->user));
	}
	tt_forget();
	for (int i = 0; i < WHEELS; i++)
		tt_end(w[i]);
}

static void the_same_wheel_twice(void)
{
	fp_timer_wheel *a = tt_wheel(0, 10), *b = tt_wheel(0, 10);
	fp_timer_wheel *twice[] = { a, b, a }, *at_once[] = { b, b };

	tt_armed(a, 1, 5);
	tt_armed(b, 2, 5);
	CHECK_EQ(fp_timer_wheel_poll_many(twice, 3, 10, TT_ALL), -EBUSY);
	CHECK_EQ(fp_timer_wheel_poll_many(at_once, 2, 10, TT_ALL), -EBUSY);
	TT_NONE_FIRED();
	tt_pending(a, 1, 5);
	tt_pending(b, 1, 5);
	/* Neither is left as if a poll were in progress. */
	CHECK_EQ(fp_timer_wheel_poll_many(twice, 2, 10, TT_ALL), 2);
	TT_FIRED(1, 2);
	tt_end(a);
	tt_end(b);
}

static fp_timer_wheel *pair[2];
static uint64_t pair_id;

/* Arms on the other wheel, which is polled too. */
static void arm_across(fp_timer_wheel *w, const fp_timer_record *r, void *user)
{
	tt_note(w, r, user);
	CHECK_EQ(fp_timer_arm(pair[1], pair_id, r->expiry_tick + 5), 0);
}

static void callbacks_arm_across_wheels(void)
{
	uint64_t id;

	for (int i = 0; i < 2; i++)
		pair[i] = tt_wheel(0, 10);
	id = tt_timer_fn(pair[0], arm_across, 1);
	pair_id = tt_timer(pair[1], 2);
	CHECK_EQ(fp_timer_arm(pair[0], id, 10), 0);
	tt_armed(pair[0], 3, 14);
	tt_armed(pair[0], 4, 16);
	CHECK_EQ(fp_timer_wheel_poll_many(pair, 2, 20, TT_ALL), 4);
	TT_FIRED(1, 3, 2, 4);
	CHECK_EQ(fp_timer_arm(pair[0], id, 30), 0); /* not due any more in this poll */
	CHECK_EQ(fp_timer_wheel_poll_many(pair, 2, 34, TT_ALL), 1);
	CHECK_EQ(fp_timer_wheel_poll_many(pair, 2, 35, TT_ALL), 1);
	TT_FIRED(1, 2);
	for (int i = 0; i < 2; i++)
		tt_end(pair[i]);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(max_0_1_and_n),
		FPT_CASE(max_around_what_is_due),
		FPT_CASE(records_in_small_arrays),
		FPT_CASE(polls_of_all_kinds_in_turn),
		FPT_CASE(rest_is_rearmed),
		FPT_CASE(rest_of_many_is_rearmed),
		FPT_CASE(rest_of_one_tick_is_rearmed),
		FPT_CASE(moved_in_the_past_beside_others_that_are_near),
		FPT_CASE(a_hundred_thousand_in_one_tick),
		FPT_CASE(a_hundred_thousand_armed_twice),
		FPT_CASE(a_hundred_thousand_for_the_past),
		FPT_CASE(a_hundred_thousand_that_move),
		FPT_CASE(several_wheels_in_global_order),
		FPT_CASE(many_wheels_as_one),
		FPT_CASE(the_same_wheel_twice),
		FPT_CASE(callbacks_arm_across_wheels),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
