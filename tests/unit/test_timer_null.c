/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * NULL handles, NULL arguments and absurd counts, for every function of timer.h: an error
 * code, nothing written, nothing armed or cancelled, no crash.
 */
#include "timer_test.h"

#define N 4

static int visit(const fp_timer_info *info, void *user)
{
	(void)info;
	return ++*(int *)user;
}

static void every_function_accepts_a_null_wheel(void)
{
	fp_timer_wheel *own = tt_wheel(0, 10), *found = TT_UNTOUCHED;
	fp_timer_wheel *with_null[] = { own, NULL };
	fp_timer_wheel_stats stats = { .size = sizeof(stats) };
	uint64_t id = tt_armed(own, 1, 5), tick = TT_NO_TICK, made = TT_NO_TICK;
	uint64_t ticks[N] = { 1, 2, 3, 4 }, ids[N] = { id, id, id, id };
	fp_timer_record record = { .user = 99 };
	fp_service *service = TT_UNTOUCHED;
	int32_t results[N] = { 77, 77, 77, 77 };
	int visits = 0;

	CHECK_EQ(fp_timer_wheel_destroy(NULL), 0);
	CHECK_EQ(fp_timer_wheel_lookup(NULL, &found), -EINVAL);
	CHECK_EQ(fp_timer_wheel_unref(NULL), -EINVAL);
	CHECK(fp_timer_wheel_name(NULL) == NULL);
	CHECK_EQ(fp_timer_wheel_now(NULL, &tick), -EINVAL);
	CHECK_EQ(fp_timer_wheel_ticks_from_ns(NULL, 1, &tick), -EINVAL);
	CHECK_EQ(fp_timer_wheel_tick_ns(NULL), -EINVAL);
	CHECK_EQ(fp_timer_wheel_next_expiry(NULL, &tick), -EINVAL);
	CHECK_EQ(fp_timer_wheel_count(NULL), -EINVAL);
	CHECK_EQ(fp_timer_wheel_cancel_all(NULL), -EINVAL);
	CHECK_EQ(fp_timer_wheel_for_each(NULL, visit, &visits), -EINVAL);
	CHECK_EQ(fp_timer_wheel_get_stats(NULL, &stats), -EINVAL);
	CHECK_EQ(fp_timer_wheel_reset_stats(NULL), -EINVAL);
	CHECK_EQ(fp_timer_wheel_set_wakeup(NULL, NULL), -EINVAL);
	CHECK_EQ(fp_timer_wheel_wait(NULL, 0), -EINVAL);
	CHECK_EQ(fp_timer_wheel_wait(NULL, LIBFP_FOREVER), -EINVAL);
	CHECK_EQ(fp_timer_wheel_interrupt(NULL), -EINVAL);
	CHECK_EQ(fp_timer_wheel_service(NULL, &service), -EINVAL);
	CHECK_EQ(fp_timer_create(NULL, tt_note, NULL, &made), -EINVAL);
	CHECK_EQ(fp_timer_destroy(NULL, id), -EINVAL);
	CHECK_EQ(fp_timer_arm(NULL, id, 7), -EINVAL);
	CHECK_EQ(fp_timer_arm_periodic(NULL, id, 7, 1, LIBFP_TIMER_SKIP), -EINVAL);
	CHECK_EQ(fp_timer_touch(NULL, id, 7), -EINVAL);
	CHECK_EQ(fp_timer_cancel(NULL, id), -EINVAL);
	CHECK_EQ(fp_timer_cancel_sync(NULL, id, 0), -EINVAL);
	CHECK_EQ(fp_timer_cancel_sync(NULL, id, LIBFP_FOREVER), -EINVAL);
	CHECK_EQ(fp_timer_is_pending(NULL, id), -EINVAL);
	CHECK_EQ(fp_timer_remaining(NULL, id, 0, &tick), -EINVAL);
	CHECK_EQ(fp_timer_destroy(NULL, 0), -EINVAL);
	CHECK_EQ(fp_timer_is_pending(NULL, 0), -EINVAL);
	for (uint32_t n = 0; n < 3; n++) { /* n = 0 does not excuse the handle */
		CHECK_EQ(fp_timer_wheel_poll(NULL, 10, n), -EINVAL);
		CHECK_EQ(fp_timer_wheel_poll_burst(NULL, 10, &record, n), -EINVAL);
		CHECK_EQ(fp_timer_wheel_poll_burst(NULL, 10, NULL, n), -EINVAL);
		CHECK_EQ(fp_timer_create_bulk(NULL, NULL, NULL, &made, n), -EINVAL);
		CHECK_EQ(fp_timer_destroy_bulk(NULL, ids, n, results), -EINVAL);
		CHECK_EQ(fp_timer_arm_bulk(NULL, ids, ticks, n, results), -EINVAL);
		CHECK_EQ(fp_timer_touch_bulk(NULL, ids, ticks, n, results), -EINVAL);
		CHECK_EQ(fp_timer_cancel_bulk(NULL, ids, n, results), -EINVAL);
		CHECK_EQ(fp_timer_cancel_bulk(NULL, ids, n, NULL), -EINVAL);
	}
	CHECK_EQ(fp_timer_wheel_poll(NULL, 10, TT_ALL), -EINVAL);
	/* One that is there does not fire when another one is not. */
	CHECK_EQ(fp_timer_wheel_poll_many(with_null, 2, 10, TT_ALL), -EINVAL);
	CHECK_EQ(fp_timer_wheel_poll_many(with_null + 1, 1, 10, TT_ALL), -EINVAL);
	CHECK_EQ(fp_timer_wheel_poll_many(with_null, 2, 10, 0), -EINVAL);

	CHECK(found == TT_UNTOUCHED && service == TT_UNTOUCHED);
	CHECK(tick == TT_NO_TICK && made == TT_NO_TICK);
	CHECK_EQ(stats.size, sizeof(stats));
	CHECK_EQ(record.user, 99);
	for (int i = 0; i < N; i++)
		CHECK_EQ(results[i], 77);
	CHECK_EQ(visits, 0);
	TT_NONE_FIRED();
	tt_is_armed(own, id, 5);
	CHECK_EQ(tt_poll(own, 5), 1); /* the polls above were none */
	TT_FIRED(1);
	tt_end(own);
}

static void null_arguments(void)
{
	fp_timer_wheel *w = tt_wheel(0, 10);
	fp_timer_wheel_stats stats = { .size = 7 };
	uint64_t id = tt_armed(w, 1, 5), ids[N] = { id, id, id, id };
	uint64_t ticks[N] = { 1, 2, 3, 4 };
	int32_t results[N] = { 77, 77, 77, 77 };

	CHECK_EQ(fp_timer_wheel_now(w, NULL), -EINVAL);
	CHECK_EQ(fp_timer_wheel_ticks_from_ns(w, 1, NULL), -EINVAL);
	CHECK_EQ(fp_timer_wheel_next_expiry(w, NULL), -EINVAL);
	CHECK_EQ(fp_timer_wheel_for_each(w, NULL, NULL), -EINVAL);
	CHECK_EQ(fp_timer_wheel_get_stats(w, NULL), -EINVAL);
	CHECK_EQ(fp_timer_wheel_get_stats(w, &stats), -EINVAL);
	CHECK_EQ(stats.size, 7);
	CHECK_EQ(fp_timer_wheel_service(w, NULL), -EINVAL);
	CHECK_EQ(fp_timer_create(w, tt_note, NULL, NULL), -EINVAL);
	CHECK_EQ(fp_timer_remaining(w, id, 0, NULL), -EINVAL);
	for (uint32_t n = 1; n <= N; n++) {
		CHECK_EQ(fp_timer_wheel_poll_burst(w, 10, NULL, n), -EINVAL);
		CHECK_EQ(fp_timer_wheel_poll_many(NULL, n, 10, TT_ALL), -EINVAL);
		CHECK_EQ(fp_timer_create_bulk(w, NULL, NULL, NULL, n), -EINVAL);
		CHECK_EQ(fp_timer_destroy_bulk(w, NULL, n, results), -EINVAL);
		CHECK_EQ(fp_timer_arm_bulk(w, NULL, ticks, n, results), -EINVAL);
		CHECK_EQ(fp_timer_arm_bulk(w, ids, NULL, n, results), -EINVAL);
		CHECK_EQ(fp_timer_touch_bulk(w, NULL, ticks, n, results), -EINVAL);
		CHECK_EQ(fp_timer_touch_bulk(w, ids, NULL, n, results), -EINVAL);
		CHECK_EQ(fp_timer_cancel_bulk(w, NULL, n, results), -EINVAL);
	}
	for (int i = 0; i < N; i++)
		CHECK_EQ(results[i], 77);
	CHECK_EQ(tt_stats(w).timers, 1);
	TT_NONE_FIRED();
	tt_is_armed(w, id, 5);
	CHECK_EQ(tt_poll(w, 5), 1);
	TT_FIRED(1);
	tt_end(w);
}

/* n = 0 does nothing, with or without arrays. */
static void nothing_to_do(void)
{
	fp_timer_wheel *w = tt_wheel(0, 10);
	uint64_t id = tt_armed(w, 1, 5), tick = 9;
	fp_timer_record record = { .user = 99 };
	int32_t result = 77;

	for (int with = 0; with < 2; with++) {
		uint64_t *ids = with ? &id : NULL, *ticks = with ? &tick : NULL;
		int32_t *results = with ? &result : NULL;
		uint64_t made = TT_NO_TICK;

		CHECK_EQ(fp_timer_create_bulk(w, NULL, NULL, with ? &made : NULL, 0), 0);
		CHECK_EQ(fp_timer_destroy_bulk(w, ids, 0, results), 0);
		CHECK_EQ(fp_timer_arm_bulk(w, ids, ticks, 0, results), 0);
		CHECK_EQ(fp_timer_touch_bulk(w, ids, ticks, 0, results), 0);
		CHECK_EQ(fp_timer_cancel_bulk(w, ids, 0, results), 0);
		CHECK_EQ(fp_timer_wheel_poll_burst(w, 3, with ? &record : NULL, 0), 0);
		CHECK_EQ(fp_timer_wheel_poll_many(with ? &w : NULL, 0, 3, TT_ALL), 0);
		CHECK(made == TT_NO_TICK);
	}
	CHECK_EQ(result, 77);
	CHECK_EQ(record.user, 99);
	CHECK_EQ(tt_stats(w).timers, 1);
	tt_is_armed(w, id, 5);
	CHECK_EQ(fp_timer_wheel_poll_burst(w, 5, NULL, 0), 0); /* due, and no room */
	CHECK_EQ(fp_timer_wheel_poll_burst(w, 5, &record, 1), 1);
	CHECK_EQ(record.user, 1);
	tt_end(w);
}

/* What could never succeed is an error, and no array is looked at. */
static void absurd_counts(void)
{
	static const uint32_t counts[] = { 0x80000000, 0x80000001, UINT32_MAX - 1,
					   UINT32_MAX };
	fp_timer_wheel *w = tt_wheel(0, 10);
	uint64_t id = tt_armed(w, 1, 5), tick = 9, made = TT_NO_TICK;
	fp_timer_record record = { .user = 99 };
	int32_t result = 77;

	for (size_t i = 0; i < FPT_LEN(counts); i++) {
		uint32_t n = counts[i];

		CHECK_EQ(fp_timer_create_bulk(w, NULL, NULL, &made, n), -EINVAL);
		CHECK_EQ(fp_timer_destroy_bulk(w, &id, n, &result), -EINVAL);
		CHECK_EQ(fp_timer_arm_bulk(w, &id, &tick, n, &result), -EINVAL);
		CHECK_EQ(fp_timer_touch_bulk(w, &id, &tick, n, &result), -EINVAL);
		CHECK_EQ(fp_timer_cancel_bulk(w, &id, n, &result), -EINVAL);
		CHECK_EQ(fp_timer_wheel_poll_burst(w, 10, &record, n), -EINVAL);
	}
	CHECK(made == TT_NO_TICK);
	CHECK_EQ(result, 77);
	CHECK_EQ(record.user, 99);
	CHECK_EQ(tt_stats(w).timers, 1);
	tt_is_armed(w, id, 5);
	CHECK_EQ(tt_poll(w, 5), 1);
	TT_FIRED(1);
	tt_end(w);
}

static void bad_periods_and_policies(void)
{
	static const uint32_t policies[] = { 3, 4, 0x100, 0x80000000, UINT32_MAX };
	fp_timer_wheel *w = tt_wheel(0, 10);
	uint64_t idle = tt_timer(w, 1), once = tt_armed(w, 2, 5), often = tt_timer(w, 3);

	CHECK_EQ(fp_timer_arm_periodic(w, often, 6, 2, LIBFP_TIMER_COALESCE), 0);
	for (size_t i = 0; i < FPT_LEN(policies); i++) {
		CHECK_EQ(fp_timer_arm_periodic(w, idle, 3, 1, policies[i]), -EOPNOTSUPP);
		CHECK_EQ(fp_timer_arm_periodic(w, once, 3, 1, policies[i]), -EOPNOTSUPP);
		CHECK_EQ(fp_timer_arm_periodic(w, often, 3, 1, policies[i]), -EOPNOTSUPP);
	}
	for (uint32_t policy = 0; policy < 3; policy++) {
		CHECK_EQ(fp_timer_arm_periodic(w, idle, 3, 0, policy), -EINVAL);
		CHECK_EQ(fp_timer_arm_periodic(w, once, 3, 0, policy), -EINVAL);
		CHECK_EQ(fp_timer_arm_periodic(w, often, 3, 0, policy), -EINVAL);
	}
	tt_is_idle(w, idle);
	tt_is_armed(w, once, 5);
	tt_is_armed(w, often, 6);
	CHECK_EQ(tt_poll(w, 9), 2);
	tt_record_is(0, once, 2, 5, 0, 0);
	tt_record_is(1, often, 3, 6, 1, LIBFP_TIMER_IS_PERIODIC);
	TT_FIRED(2, 3);
	tt_end(w);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(every_function_accepts_a_null_wheel),
		FPT_CASE(null_arguments),
		FPT_CASE(nothing_to_do),
		FPT_CASE(absurd_counts),
		FPT_CASE(bad_periods_and_policies),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
