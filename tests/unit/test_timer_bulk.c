/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bulk forms of arm, touch, cancel, destroy and create: one result for each id, with
 * bad ids among the good ones, ids that are there twice, and nobody asking for results.
 */
#include "timer_test.h"

#define N 6

/* Timers 1 2 3 are armed, 4 is not; a destroyed one and id 0 are among them. */
struct mixed {
	fp_timer_wheel *w;
	uint64_t ids[N];
	int32_t results[N];
};

static struct mixed mix(void)
{
	struct mixed m = { .w = tt_wheel(0, 10), .results = { 77, 77, 77, 77, 77, 77 } };

	m.ids[0] = tt_armed(m.w, 1, 10);
	m.ids[1] = tt_armed(m.w, 9, 10);
	CHECK_EQ(fp_timer_destroy(m.w, m.ids[1]), 1);
	m.ids[2] = tt_armed(m.w, 2, 20);
	m.ids[3] = 0;
	m.ids[4] = tt_timer(m.w, 4);
	m.ids[5] = tt_armed(m.w, 3, 30);
	return m;
}

static void results_are(const struct mixed *m, const int32_t *want)
{
	for (int i = 0; i < N; i++)
		CHECK_EQ(m->results[i], want[i]);
}

static void bulk_arm_among_bad_ids(void)
{
	static const int32_t want[] = { 1, -ESTALE, 1, -ESTALE, 0, 1 };
	static const uint64_t ticks[] = { 7, 7, 6, 7, 5, 7 };

	for (int with = 0; with < 2; with++) {
		struct mixed m = mix();

		CHECK_EQ(fp_timer_arm_bulk(m.w, m.ids, ticks, N, with ? m.results : NULL),
			 4);
		if (with)
			results_are(&m, want);
		CHECK_EQ(fp_timer_wheel_count(m.w), 4);
		CHECK_EQ(tt_poll(m.w, 100), 4);
		TT_FIRED(4, 2, 1, 3); /* those of tick 7 as in the array */
		tt_end(m.w);
	}
}

static void bulk_touch_among_bad_ids(void)
{
	static const int32_t want[] = { 1, -ESTALE, 1, -ESTALE, 0, 1 };
	static const uint64_t ticks[] = { 35, 99, 15, 99, 99, 30 };

	for (int with = 0; with < 2; with++) {
		struct mixed m = mix();

		CHECK_EQ(fp_timer_touch_bulk(m.w, m.ids, ticks, N,
					     with ? m.results : NULL),
			 3);
		if (with)
			results_are(&m, want);
		tt_is_armed(m.w, m.ids[0], 35);
		tt_is_armed(m.w, m.ids[2], 20);
		tt_is_idle(m.w, m.ids[4]);
		CHECK_EQ(tt_poll(m.w, 100), 3);
		TT_FIRED(2, 3, 1);
		tt_end(m.w);
	}
}

static void bulk_cancel_among_bad_ids(void)
{
	static const int32_t want[] = { 1, -ESTALE, 1, -ESTALE, 0, 1 };

	for (int with = 0; with < 2; with++) {
		struct mixed m = mix();

		CHECK_EQ(fp_timer_cancel_bulk(m.w, m.ids, N, with ? m.results : NULL), 3);
		if (with)
			results_are(&m, want);
		CHECK_EQ(fp_timer_wheel_count(m.w), 0);
		CHECK_EQ(fp_timer_cancel_bulk(m.w, m.ids, N, NULL), 0);
		CHECK_EQ(tt_poll(m.w, 100), 0);
		tt_end(m.w);
	}
}

static void bulk_destroy_among_bad_ids(void)
{
	static const int32_t want[] = { 1, -ESTALE, 1, -ESTALE, 0, 1 };

	for (int with = 0; with < 2; with++) {
		struct mixed m = mix();

		CHECK_EQ(fp_timer_destroy_bulk(m.w, m.ids, N, with ? m.results : NULL),
			 4);
		if (with)
			results_are(&m, want);
		CHECK_EQ(fp_timer_destroy_bulk(m.w, m.ids, N, m.results), 0);
		for (int i = 0; i < N; i++)
			CHECK_EQ(m.results[i], -ESTALE);
		CHECK_EQ(tt_poll(m.w, 100), 0);
		CHECK_EQ(tt_stats(m.w).timers, 0);
		tt_end(m.w);
	}
}

/* An id that is there twice is treated twice, in the order of the array. */
static void bulk_with_an_id_twice(void)
{
	fp_timer_wheel *w = tt_wheel(0, 10);
	uint64_t id = tt_timer(w, 1), ids[] = { id, id, id }, ticks[] = { 30, 10, 20 };
	int32_t results[3];

	CHECK_EQ(fp_timer_arm_bulk(w, ids, ticks, 3, results), 3);
	CHECK(results[0] == 0 && results[1] == 1 && results[2] == 1);
	tt_is_armed(w, id, 20);
	CHECK_EQ(fp_timer_touch_bulk(w, ids, ticks, 3, results), 3);
	tt_is_armed(w, id, 30);
	CHECK_EQ(fp_timer_cancel_bulk(w, ids, 3, results), 1);
	CHECK(results[0] == 1 && results[1] == 0 && results[2] == 0);
	CHECK_EQ(fp_timer_destroy_bulk(w, ids, 3, results), 1);
	CHECK(results[0] == 0 && results[1] == -ESTALE && results[2] == -ESTALE);
	tt_end(w);
}

/* Large bulk calls, in the order of the array; users one by one or none. */
static void bulk_of_many(void)
{
	static uint64_t ids[1000], ticks[1000];
	static void *users[1000];
	fp_timer_wheel *w = tt_wheel(0, 1500);

	for (uint64_t i = 0; i < 1000; i++) {
		users[i] = tt_user(i + 1);
		ticks[i] = 500 - i / 10 * 5;
	}
	CHECK_EQ(fp_timer_create_bulk(w, tt_note, users, ids, 1000), 1000);
	CHECK_EQ(fp_timer_arm_bulk(w, ids, ticks, 1000, NULL), 1000);
	CHECK_EQ(tt_poll(w, 500), 1000);
	for (uint32_t i = 0; i < 1000; i++)
		tt_record_is(i, ids[990 - i / 10 * 10 + i % 10],
			     991 - i / 10 * 10 + i % 10, 5 + i / 10 * 5, 0, 0);
	tt_forget();
	CHECK_EQ(fp_timer_destroy_bulk(w, ids, 1000, NULL), 1000);
	CHECK_EQ(fp_timer_create_bulk(w, tt_note, NULL, ids, 2), 2);
	CHECK_EQ(fp_timer_arm_bulk(w, ids, ticks, 2, NULL), 2);
	CHECK_EQ(tt_poll(w, 500), 2);
	TT_FIRED(0, 0);
	tt_end(w);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(bulk_arm_among_bad_ids),    FPT_CASE(bulk_touch_among_bad_ids),
		FPT_CASE(bulk_cancel_among_bad_ids), FPT_CASE(bulk_destroy_among_bad_ids),
		FPT_CASE(bulk_with_an_id_twice),     FPT_CASE(bulk_of_many),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
