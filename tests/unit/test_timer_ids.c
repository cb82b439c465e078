/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ids that are nobody's: of destroyed timers, also when their place was taken again many
 * times, of other wheels, 0 and garbage. Every function refuses them with -ESTALE, and
 * nothing changes.
 */
#include "timer_test.h"

extern uint32_t fpi_test_generation_bits; /* src/timer/timer_pool.c */

/* Refused by every function that takes an id. */
static void stale(fp_timer_wheel *w, uint64_t id)
{
	uint64_t tick = TT_NO_TICK, soon = 1;
	int32_t results[4] = { 77, 77, 77, 77 };

	CHECK_EQ(fp_timer_is_pending(w, id), -ESTALE);
	CHECK_EQ(fp_timer_remaining(w, id, 0, &tick), -ESTALE);
	CHECK(tick == TT_NO_TICK);
	CHECK_EQ(fp_timer_arm(w, id, 1), -ESTALE);
	for (uint32_t policy = 0; policy < 3; policy++)
		CHECK_EQ(fp_timer_arm_periodic(w, id, 1, 1, policy), -ESTALE);
	CHECK_EQ(fp_timer_touch(w, id, UINT64_MAX), -ESTALE);
	CHECK_EQ(fp_timer_cancel(w, id), -ESTALE);
	CHECK_EQ(fp_timer_cancel_sync(w, id, 0), -ESTALE);
	CHECK_EQ(fp_timer_cancel_sync(w, id, LIBFP_FOREVER), -ESTALE);
	CHECK_EQ(fp_timer_destroy(w, id), -ESTALE);
	CHECK_EQ(fp_timer_arm_bulk(w, &id, &soon, 1, &results[0]), 0);
	CHECK_EQ(fp_timer_touch_bulk(w, &id, &soon, 1, &results[1]), 0);
	CHECK_EQ(fp_timer_cancel_bulk(w, &id, 1, &results[2]), 0);
	CHECK_EQ(fp_timer_destroy_bulk(w, &id, 1, &results[3]), 0);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(results[i], -ESTALE);
}

/* A wheel with one timer of each kind, which must stay as they are. */
struct witness {
	fp_timer_wheel *w;
	uint64_t idle, once, often;
};

static struct witness witness_make(uint32_t max_timers)
{
	struct witness x = { .w = tt_wheel(0, max_timers) };

	x.idle = tt_timer(x.w, 1);
	x.once = tt_armed(x.w, 2, 10);
	x.often = tt_timer(x.w, 3);
	CHECK_EQ(fp_timer_arm_periodic(x.w, x.often, 20, 10, LIBFP_TIMER_CATCH_UP), 0);
	return x;
}

static void witness_end(struct witness *x)
{
	tt_is_idle(x->w, x->idle);
	tt_is_armed(x->w, x->once, 10);
	tt_is_armed(x->w, x->often, 20);
	CHECK_EQ(fp_timer_wheel_count(x->w), 2);
	CHECK_EQ(tt_poll(x->w, 9), 0);
	CHECK_EQ(tt_poll(x->w, 39), 3);
	TT_FIRED(2, 3, 3);
	tt_end(x->w);
}

static void id_0_and_the_like(void)
{
	static const uint64_t ids[] = { 0,	    1,		2,	    UINT32_MAX,
					1ull << 32, UINT64_MAX, 1ull << 63, INT64_MAX };
	struct witness x = witness_make(100);

	for (size_t i = 0; i < FPT_LEN(ids); i++)
		stale(x.w, ids[i]);
	witness_end(&x);
}

/* Also of a wheel that has no timer yet. */
static void garbage(void)
{
	struct witness x = witness_make(100);
	fp_timer_wheel *empty = tt_wheel(0, 1);
	uint64_t seed = fpt_seed();

	for (int i = 0; i < 30000; i++) {
		uint64_t id = fpt_random(&seed) >> i % 64;

		if (id == x.idle || id == x.once || id == x.often)
			continue;
		stale(x.w, id);
		stale(empty, id);
	}
	tt_end(empty);
	witness_end(&x);
}

/* One bit or one step beside an id. */
static void near_misses(void)
{
	static const uint32_t sizes[] = { 3, 4, 5, 100, 65536, 1000000 };

	for (size_t s = 0; s < FPT_LEN(sizes); s++) {
		struct witness x = witness_make(sizes[s]);
		const uint64_t ids[] = { x.idle, x.once, x.often };

		for (size_t k = 0; k < 3; k++)
			for (int64_t d = -200; d <= 200; d++) {
				uint64_t id = d < -136 ? ids[k] ^ 1ull << (d + 200) :
							 ids[k] + (uint64_t)d;

				if (id == ids[0] || id == ids[1] || id == ids[2])
					continue;
				fpt_where("%u timers, id %zu, step %d", sizes[s], k,
					  (int)d);
				stale(x.w, id);
			}
		witness_end(&x);
	}
}

static void ids_of_another_wheel(void)
{
	static uint64_t own[100], others[100];
	fp_timer_wheel *wheels[20];
	struct witness x = witness_make(103);

	CHECK_EQ(fp_timer_create_bulk(x.w, tt_note, NULL, own, 100), 100);
	for (int i = 0; i < 20; i++) {
		wheels[i] = tt_wheel(0, 103);
		CHECK_EQ(fp_timer_create_bulk(wheels[i], tt_note, NULL, others, 100),
			 100);
		for (int k = 0; k < 100; k++) {
			stale(x.w, others[k]);
			stale(wheels[i], own[k]);
			CHECK_EQ(fp_timer_arm(wheels[i], others[k], 5), 0);
		}
		stale(wheels[i], x.once);
		CHECK_EQ(fp_timer_wheel_count(wheels[i]), 100);
	}
	CHECK_EQ(fp_timer_destroy_bulk(x.w, own, 100, NULL), 100);
	for (int i = 0; i < 20; i++)
		tt_end(wheels[i]);
	for (int k = 0; k < 100; k++)
		stale(x.w, others[k]);
	witness_end(&x);
}

/* However the timer ended: never armed, armed, cancelled, fired, periodic. */
static void destroyed_in_every_state(void)
{
	for (int state = 0; state < 6; state++) {
		struct witness x = witness_make(100);
		uint64_t id = tt_timer(x.w, 9), seen[20];

		fpt_where("state %d", state);
		if (state == 1 || state == 2 || state == 3)
			CHECK_EQ(fp_timer_arm(x.w, id, state == 3 ? 3 : 50), 0);
		if (state == 2)
			CHECK_EQ(fp_timer_cancel(x.w, id), 1);
		if (state == 3)
			CHECK_EQ(tt_poll(x.w, 3), 1);
		if (state == 4)
			CHECK_EQ(fp_timer_arm_periodic(x.w, id, 5, 5, 0), 0);
		if (state == 5) { /* armed for later than its place in the wheel */
			CHECK_EQ(fp_timer_arm(x.w, id, 5), 0);
			CHECK_EQ(fp_timer_touch(x.w, id, 500), 1);
		}
		tt_forget();
		CHECK_EQ(fp_timer_destroy(x.w, id),
			 state % 2 || state == 4 ? state != 3 : 0);
		stale(x.w, id);
		for (int i = 0; i < 20; i++) { /* its place is taken again */
			seen[i] = tt_timer(x.w, 8);
			stale(x.w, id);
			CHECK_EQ(fp_timer_arm(x.w, seen[i], 7), 0);
			stale(x.w, id);
			CHECK_EQ(fp_timer_destroy(x.w, seen[i]), 1);
			for (int k = 0; k <= i; k++)
				stale(x.w, seen[k]);
		}
		witness_end(&x);
	}
}

static int by_value(const void *a, const void *b)
{
	uint64_t x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return x < y ? -1 : x > y;
}

/* No id comes twice in the life of a wheel, and none is 0. */
static void ids_are_never_given_again(void)
{
	enum { LAPS = 50000 };
	static uint64_t all[4 * LAPS];
	fp_timer_wheel *w = tt_wheel(0, 4);
	uint64_t now = 0;

	for (int lap = 0; lap < LAPS; lap++) {
		uint64_t *ids = all + (size_t)lap * 4;

		CHECK_EQ(fp_timer_create_bulk(w, NULL, NULL, ids, 4), 4);
		for (int i = 0; i < 4; i++) {
			CHECK(ids[i] != 0);
			if (lap % 4 == i)
				CHECK_EQ(fp_timer_arm(w, ids[i], now + 1), 0);
		}
		if (lap % 3 == 0)
			CHECK_EQ(tt_poll(w, ++now), 1);
		CHECK_EQ(fp_timer_destroy_bulk(w, ids, 4, NULL), 4);
		CHECK_EQ(tt_poll(w, ++now), 0);
	}
	for (int i = 0; i < 4 * LAPS; i++)
		CHECK_EQ(fp_timer_is_pending(w, all[i]), -ESTALE);
	qsort(all, 4 * LAPS, sizeof(*all), by_value);
	for (int i = 1; i < 4 * LAPS; i++)
		CHECK(all[i] != all[i - 1]);
	tt_end(w);
}

/*
 * A record whose generations are used up is not used again: somebody may hold its first id.
 * With two bits there are three of them, as 0 is none.
 */
static void a_record_is_retired(void)
{
	enum { RECORDS = 2, LIVES = 3 };
	uint64_t ids[RECORDS * LIVES], id;
	fp_timer_wheel *w;

	fpi_test_generation_bits = 2;
	w = tt_wheel(0, RECORDS);
	for (int i = 0; i < RECORDS * LIVES; i++) {
		CHECK_EQ(fp_timer_create(w, NULL, NULL, &ids[i]), 0);
		CHECK(ids[i] != 0);
		for (int j = 0; j < i; j++)
			CHECK(ids[i] != ids[j]);
		CHECK_EQ(fp_timer_destroy(w, ids[i]), 0);
	}
	CHECK_EQ(fp_timer_create(w, NULL, NULL, &id), -ENOMEM);
	for (int i = 0; i < RECORDS * LIVES; i++)
		CHECK_EQ(fp_timer_arm(w, ids[i], 1), -ESTALE);
	CHECK_EQ(tt_stats(w).timers, 0);
	tt_end(w);
	fpi_test_generation_bits = 0;
}

/* One place, taken again and again: the first id and the last ones stay stale. */
static void an_old_id_of_a_busy_place(void)
{
	fp_timer_wheel *w = tt_wheel(0, 1);
	uint64_t first = tt_timer(w, 1), id;

	CHECK_EQ(fp_timer_destroy(w, first), 0);
	for (int lap = 0; lap < 200000; lap++) {
		id = tt_timer(w, 2);
		CHECK(id != first);
		CHECK_EQ(fp_timer_cancel(w, first), -ESTALE);
		if (lap % 1000 == 0) {
			CHECK_EQ(fp_timer_arm(w, id, (uint64_t)lap), 0);
			stale(w, first);
			tt_is_armed(w, id, (uint64_t)lap);
			CHECK_EQ(tt_poll(w, (uint64_t)lap), 1);
			TT_FIRED(2);
		}
		CHECK_EQ(fp_timer_destroy(w, id), 0);
	}
	stale(w, first);
	tt_end(w);
}

/* Between good ones of a bulk call they are the only ones that are refused. */
static void many_bad_ids_in_bulk(void)
{
	static uint64_t ids[300], ticks[300];
	static int32_t results[300];
	fp_timer_wheel *w = tt_wheel(0, 300);
	uint64_t seed = 99, expected = 0;

	CHECK_EQ(fp_timer_create_bulk(w, tt_note, NULL, ids, 300), 300);
	for (int i = 0; i < 300; i++) {
		ticks[i] = 10;
		switch (fpt_random(&seed) % 4) {
		case 0:
			CHECK_EQ(fp_timer_destroy(w, ids[i]), 0);
			break;
		case 1:
			CHECK_EQ(fp_timer_destroy(w, ids[i]), 0);
			ids[i] = fpt_random(&seed);
			break;
		default:
			expected++;
		}
	}
	CHECK_EQ(fp_timer_arm_bulk(w, ids, ticks, 300, results), expected);
	CHECK_EQ(fp_timer_wheel_count(w), expected);
	for (int i = 0; i < 300; i++)
		CHECK_EQ(results[i] == -ESTALE, fp_timer_is_pending(w, ids[i]) < 0);
	CHECK_EQ(fp_timer_touch_bulk(w, ids, ticks, 300, results), expected);
	CHECK_EQ(fp_timer_cancel_bulk(w, ids, 300, results), expected);
	CHECK_EQ(fp_timer_destroy_bulk(w, ids, 300, results), expected);
	CHECK_EQ(tt_stats(w).timers, 0);
	tt_end(w);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(id_0_and_the_like),
		FPT_CASE(garbage),
		FPT_CASE(near_misses),
		FPT_CASE(ids_of_another_wheel),
		FPT_CASE(destroyed_in_every_state),
		FPT_CASE(ids_are_never_given_again),
		FPT_CASE(a_record_is_retired),
		FPT_CASE(an_old_id_of_a_busy_place),
		FPT_CASE(many_bad_ids_in_bulk),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
