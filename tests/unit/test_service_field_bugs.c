/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bugs that services had in the field: each case is a row of the list (its id in the
 * comment) under this library's semantics, with the peer's own test cases. Several have
 * further cases in the files named here.
 *
 * Rows that cannot occur:
 *   S-09 (ids out of range), S-21 (32-bit attributes): there are handles and 64-bit
 *        fields only; NULL is tested in test_service_options.c, widths by abi.*.
 *   S-14 (the role of a removed core): a core is an object, not a role of a thread; what
 *        is left of the row is that a lent thread is the caller's again, tested here.
 *   S-18 (reset of all): there is no such call; S-13 and L-13 have what it did.
 *   S-22 (a test that read too early): stop is synchronous, tested with S-01.
 *   S-11, L-12 (holes in the ids): no ids; tested as a hole in the list.
 *   L-14, second half (invalid id on two setters): see S-09.
 *   L-16 and other L rows above 15, L-01 to L-09: other parts.
 */
#include "service_test.h"

/* ---- S-01, S-02, S-19, S-22: active ---- */

static void inactive_after_its_core_stopped(void) /* S-01, S-22 */
{
	struct st_counter k = { 0 };
	fp_service *s = st_make(&k, NULL, 0);
	fp_service_core *c = st_running(NULL);

	st_on(s, c);
	for (int i = 0; i < 20; i++) {
		st_await_calls(&k, 1);
		CHECK_EQ(fp_service_core_stop(c, ST_LONG), 0);
		CHECK_EQ(fp_service_is_active(s), 0); /* at once: it has waited */
		CHECK_EQ(st_stats(s).calls, k.calls);
		CHECK_EQ(fp_service_core_start(c), 0);
	}
	st_end(s);
	st_end_core(c);
}

static void active_until_the_function_returns(void) /* S-02 */
{
	struct st_counter k = { .hold = 1 };
	fp_service *s = st_make(&k, NULL, 0);
	fp_service_core *c = st_running(NULL);

	st_on(s, c);
	st_await_held(&k);
	CHECK_EQ(fp_service_core_stop(c, 0), -ETIMEDOUT);
	for (int i = 0; i < 1000; i++)
		CHECK_EQ(fp_service_is_active(s), 1);
	CHECK_EQ(fp_service_stop(s, 0), -ETIMEDOUT);
	for (int i = 0; i < 1000; i++)
		CHECK_EQ(fp_service_is_active(s), 1);
	st_hold(&k, 0);
	while (fp_service_is_active(s))
		sched_yield();
	CHECK_EQ(st_get(&k.inside), 0);
	st_end(s);
	st_end_core(c);
}

static void active_on_the_third_core_only(void) /* S-19 */
{
	struct st_counter k = { .hold = 1 };
	fp_service *s = st_make(&k, NULL, 0);
	fp_service_core *c[3];

	for (int i = 0; i < 3; i++)
		c[i] = st_running(NULL);
	st_on(s, c[2]);
	st_await_held(&k);
	CHECK_EQ(fp_service_is_active(s), 1);
	st_hold(&k, 0);
	CHECK_EQ(fp_service_stop(s, ST_LONG), 0);
	CHECK_EQ(fp_service_is_active(s), 0);
	st_end(s);
	for (int i = 0; i < 3; i++)
		st_end_core(c[i]);
}

/* ---- S-03, S-05, S-06, S-07: who is inside, and counted ---- */

static void remapped_while_inside_it_does_not_run_twice(void) /* S-03 */
{
	struct st_counter k = { 0 };
	fp_service *s = st_make(&k, NULL, 0);
	fp_service_core *c[2] = { st_running(NULL), st_running(NULL) };

	st_on(s, c[0]);
	for (int i = 0; i < 50; i++) {
		int from = i % 2, to = !from;

		st_hold(&k, 1);
		st_await_held(&k);
		CHECK_EQ(fp_service_map(s, c[to]), 0);
		CHECK_EQ(fp_service_unmap(s, c[from], 0), -ETIMEDOUT);
		while (!st_map_stats(s, c[to]).busy)
			sched_yield();
		st_hold(&k, 0);
		while (!st_map_stats(s, c[to]).calls)
			sched_yield();
	}
	CHECK_EQ(fp_service_stop(s, ST_LONG), 0);
	CHECK_EQ(k.overlaps, 0);
	CHECK_EQ(st_stats(s).calls, k.calls);
	st_end(s);
	st_end_core(c[0]);
	st_end_core(c[1]);
}

static void two_cores_lose_no_count(void) /* S-05; S-06 is test_service_counts.c */
{
	struct st_counter k = { 0 };
	fp_service *s = st_make(&k, NULL, LIBFP_SERVICE_MT_SAFE);
	fp_service_core *c[2] = { st_running(NULL), st_running(NULL) };

	CHECK_EQ(fp_service_map(s, c[0]) + fp_service_map(s, c[1]), 0);
	CHECK_EQ(fp_service_start(s), 0);
	while (st_map_stats(s, c[0]).calls < 5000 || st_map_stats(s, c[1]).calls < 5000)
		sched_yield();
	CHECK_EQ(fp_service_stop(s, ST_LONG), 0);
	CHECK_EQ(st_stats(s).calls, k.calls);
	CHECK_EQ(st_map_stats(s, c[0]).calls + st_map_stats(s, c[1]).calls, k.calls);
	st_end(s);
	st_end_core(c[0]);
	st_end_core(c[1]);
}

static int run_it_once(void *s)
{
	return fp_service_run_once(s, 0, NULL);
}

static void of_two_threads_one_gets_busy(void) /* S-07 */
{
	struct st_counter k = { .hold = 1 };
	fp_service *s = st_make(&k, NULL, 0);
	fp_service_core *c = st_running(NULL);
	struct st_call call;

	CHECK_EQ(fp_service_start(s), 0);
	st_begin(&call, run_it_once, s);
	st_await_held(&k);
	CHECK_EQ(fp_service_run_once(s, 0, NULL), -EBUSY);
	CHECK_EQ(fp_service_map(s, c), 0);
	while (!st_map_stats(s, c).busy)
		sched_yield();
	CHECK_EQ(st_map_stats(s, c).calls, 0);
	st_hold(&k, 0);
	CHECK_EQ(st_result(&call), 0);
	while (!st_map_stats(s, c).calls)
		sched_yield();
	CHECK_EQ(k.overlaps, 0);
	st_end(s);
	st_end_core(c);
}

/* ---- S-10, S-11, S-13, S-14, S-15: mapping ---- */

static void numbers_40_and_63_of_64_run(void) /* S-10 */
{
	static struct st_counter k[64];
	fp_service *s[64];
	fp_service_core *c = st_running(NULL);

	memset(k, 0, sizeof(k));
	for (int i = 0; i < 64; i++)
		s[i] = st_make(&k[i], NULL, 0);
	st_on(s[40], c);
	st_on(s[63], c);
	st_await_calls(&k[40], 2);
	st_await_calls(&k[63], 2);
	for (int i = 0; i < 64; i++)
		st_end(s[i]);
	CHECK_EQ(k[39].calls + k[62].calls + k[8].calls + k[31].calls, 0);
	st_end_core(c);
}

static void a_hole_in_the_list_hides_nobody(void) /* S-11, L-12 */
{
	struct st_counter k[3] = { { 0 }, { 0 }, { 0 } };
	fp_service *s[3], *list[3], *found;
	fp_service_core *c = st_core(NULL);

	for (int i = 0; i < 3; i++)
		s[i] = st_make(&k[i], (const char *[]){ "a", "b", "c" }[i], 0);
	st_end(s[0]);
	CHECK_EQ(fp_service_list(list, 3), 2);
	CHECK(list[0] == s[1] && list[1] == s[2]);
	CHECK_EQ(fp_service_unref(s[1]) + fp_service_unref(s[2]), 0);
	CHECK_EQ(fp_service_lookup("a", &found), -ENOENT);
	CHECK_EQ(fp_service_lookup("c", &found), 0);
	CHECK_EQ(fp_service_unref(found), 0);
	CHECK_EQ(fp_service_start_defaults(&c, 1), 2);
	st_await_calls(&k[1], 2);
	st_await_calls(&k[2], 2);
	CHECK_EQ(st_stats(s[2]).calls > 0, 1);
	CHECK_EQ(k[0].calls, 0);
	st_end(s[1]);
	st_end(s[2]);
	st_end_core(c);
}

/* Of several cores and services some are mapped already, one is shut. */
static void defaults_leave_what_is_mapped(void) /* L-12 */
{
	struct st_counter k[4] = { { 0 }, { 0 }, { 0 }, { 0 } };
	fp_service *s[4];
	fp_service_core *c[2] = { st_core(NULL), st_running(NULL) };

	for (int i = 0; i < 4; i++)
		s[i] = st_make(&k[i], NULL, i == 3 ? LIBFP_SERVICE_NOT_READY : 0);
	CHECK_EQ(fp_service_map(s[1], c[1]), 0);
	CHECK_EQ(fp_service_start_defaults(c, 2), 3);
	CHECK_EQ(fp_service_is_mapped(s[0], c[0]), 1);
	CHECK_EQ(fp_service_is_mapped(s[1], c[0]), 0);
	CHECK_EQ(fp_service_is_mapped(s[2], c[1]), 1);
	CHECK_EQ(fp_service_is_mapped(s[3], c[0]), 1);
	for (int i = 0; i < 3; i++)
		st_await_calls(&k[i], 2);
	CHECK_EQ(k[3].calls, 0); /* the component's gate is not the application's */
	CHECK_EQ(st_stats(s[3]).flags, LIBFP_SERVICE_IS_STARTED);
	CHECK_EQ(fp_service_start_defaults(c, 2), 0);
	for (int i = 0; i < 4; i++)
		st_end(s[i]);
	st_end_core(c[0]);
	st_end_core(c[1]);
}

static void a_core_starts_right_after_it_stopped(void) /* S-13, S-14 */
{
	struct st_counter k = { 0 };
	fp_service *s = st_make(&k, NULL, 0);
	fp_service_core *c = st_core(NULL);
	struct st_loan loan;

	st_on(s, c);
	for (int i = 0; i < 20; i++) {
		CHECK_EQ(fp_service_core_start(c), 0);
		CHECK_EQ(fp_service_core_stop(c, ST_LONG), 0);
		/* The same core on a lent thread, which is the caller's afterwards. */
		st_lend(&loan, c, LIBFP_FOREVER);
		st_await_calls(&k, 1);
		CHECK_EQ(fp_service_core_stop(c, ST_LONG), 0);
		CHECK_EQ(st_returned(&loan), 0);
		/* Another core may have its place at once. */
		CHECK_EQ(fp_service_core_destroy(c), 0);
		c = st_core(NULL);
		CHECK_EQ(fp_service_map(s, c), 0);
	}
	st_end(s);
	st_end_core(c);
}

static void mapped_twice_is_mapped_once(void) /* S-15 */
{
	struct st_counter k = { 0 };
	fp_service *s = st_make(&k, NULL, 0);
	fp_service_core *c = st_core(NULL);

	CHECK_EQ(fp_service_start(s), 0);
	CHECK_EQ(fp_service_map(s, c) + fp_service_map(s, c), 0);
	CHECK_EQ(st_stats(s).cores, 1);
	CHECK_EQ(st_core_stats(c).services, 1);
	CHECK_EQ(fp_service_core_run(c, 0), -ETIMEDOUT);
	CHECK_EQ(k.calls, 1); /* once per loop */
	CHECK_EQ(fp_service_unmap(s, c, 0), 0);
	CHECK_EQ(st_stats(s).cores, 0);
	CHECK_EQ(fp_service_is_runnable(s), 0);
	CHECK_EQ(fp_service_core_run(c, 0), -ETIMEDOUT);
	CHECK_EQ(k.calls, 1);
	CHECK_EQ(fp_service_unmap(s, c, 0), 0);
	st_end(s);
	st_end_core(c);
}

/* ---- S-17: the end, with everything busy ---- */

static void everything_ends_while_services_are_busy(void) /* S-17 */
{
	struct st_counter k[4] = { { 0 }, { 0 }, { 0 }, { 0 } };
	fp_service *s[4];
	fp_service_core *c[2] = { st_core(NULL), st_core(NULL) };

	for (int i = 0; i < 4; i++)
		s[i] = st_make(&k[i], NULL, i % 2 ? LIBFP_SERVICE_MT_SAFE : 0);
	CHECK_EQ(fp_service_start_defaults(c, 2), 4);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(fp_service_map(s[i], c[0]) + fp_service_map(s[i], c[1]), 0);
	for (int i = 0; i < 4; i++)
		st_await_calls(&k[i], 2);
	for (int i = 0; i < 4; i++) {
		st_end(s[i]);
		memset(&k[i].calls, 0, sizeof(k[i].calls)); /* its memory may go */
	}
	for (int i = 0; i < 4; i++)
		CHECK(k[i].released == 1 && k[i].calls == 0);
	st_end_core(c[0]);
	st_end_core(c[1]);
}

/* ---- L-10 to L-15 ---- */

static void unmapped_from_a_running_core_it_is_inactive(void) /* L-10 */
{
	struct st_counter k = { 0 }, l = { 0 };
	fp_service *s = st_make(&k, NULL, 0), *other = st_make(&l, NULL, 0);
	fp_service_core *c = st_running(NULL);

	st_on(other, c);
	for (int i = 0; i < 50; i++) {
		st_on(s, c);
		st_await_calls(&k, 1);
		CHECK_EQ(fp_service_unmap(s, c, LIBFP_FOREVER), 0);
		CHECK_EQ(fp_service_is_active(s), 0);
		CHECK_EQ(fp_service_stop(s, LIBFP_FOREVER), 0);
	}
	st_end(s);
	st_end(other);
	st_end_core(c);
}

static void destroyed_while_it_runs(void) /* L-11 */
{
	struct st_counter k = { 0 }, l = { 0 };
	fp_service *s = st_make(&k, "slot", 0);
	fp_service_core *c = st_running(NULL);
	uint64_t calls;

	st_on(s, c);
	st_await_calls(&k, 3);
	CHECK_EQ(fp_service_destroy(s, 0, LIBFP_FOREVER), -EBUSY); /* mapped */
	st_await_calls(&k, 3);
	st_end(s);
	calls = k.calls;
	/* The next of its name has nothing of it. */
	s = st_make(&l, "slot", 0);
	CHECK_EQ(st_stats(s).calls, 0);
	CHECK_EQ(fp_service_is_mapped(s, c), 0);
	CHECK_EQ(fp_service_start(s), 0);
	st_await_loops(c, 3);
	CHECK(l.calls == 0 && k.calls == calls);
	st_end(s);
	st_end_core(c);
}

static void a_core_that_is_gone_is_mapped_no_more(void) /* L-13 */
{
	struct st_counter k = { 0 };
	fp_service *s = st_make(&k, NULL, 0);
	fp_service_core *c;

	CHECK_EQ(fp_service_start(s), 0);
	for (int i = 0; i < 10; i++) {
		c = st_core("core");
		CHECK_EQ(fp_service_is_mapped(s, c), 0);
		CHECK_EQ(st_core_stats(c).services, 0);
		CHECK_EQ(fp_service_map(s, c), 0);
		CHECK_EQ(fp_service_is_runnable(s), 1);
		CHECK_EQ(fp_service_core_destroy(c), 0);
		CHECK_EQ(fp_service_is_runnable(s), 0);
		CHECK_EQ(st_stats(s).cores, 0);
	}
	CHECK_EQ(fp_service_destroy(s, 0, 0), 0);
}

static void counts_of_threads_and_gone_cores_stay(void) /* L-14 */
{
	struct st_counter k = { 0 };
	fp_service_opts o = LIBFP_SERVICE_OPTS_INIT;
	fp_service *s;
	fp_service_core *c;
	fp_service_core_stats st;

	o.run = st_count;
	o.user = &k;
	o.cycles = LIBFP_SERVICE_CYCLES_EXACT;
	CHECK_EQ(fp_service_create(&o, &s), 0);
	CHECK_EQ(fp_service_start(s), 0);
	for (int i = 1; i <= 10; i++) {
		c = st_core(NULL);
		CHECK_EQ(fp_service_map(s, c), 0);
		CHECK_EQ(fp_service_core_run(c, 0), -ETIMEDOUT);
		CHECK_EQ(fp_service_run_once(s, 0, NULL), 0);
		/* A reset of a core: all its counters, none of the service. */
		CHECK(st_core_stats(c).loops > 0);
		CHECK_EQ(fp_service_core_reset_stats(c), 0);
		st = st_core_stats(c);
		CHECK_EQ(st.loops + st.idle_loops + st.busy_cycles + st.idle_cycles +
				 st.sleeps + st.naps + st.wakes + st.late_wakes,
			 0);
		CHECK_EQ(fp_service_core_destroy(c), 0);
		CHECK_EQ(st_stats(s).calls, 2 * i);
	}
	CHECK_EQ(k.calls, 20);
	CHECK(st_stats(s).cycles > 0);
	st_end(s);
}

#define MAPPERS 4
#define EACH 16

struct mapper {
	fp_service *s[EACH];
	struct st_counter k[EACH];
	fp_service_core *c;
	struct st_call call;
};

static int map_all(void *arg)
{
	struct mapper *m = arg;

	for (int i = 0; i < EACH; i++)
		st_on(m->s[i], m->c);
	return 0;
}

static void concurrent_maps_are_all_there(void) /* L-15 */
{
	static struct mapper m[MAPPERS];
	fp_service_core *c = st_running(NULL);

	memset(m, 0, sizeof(m));
	for (int i = 0; i < MAPPERS; i++)
		for (int j = 0; j < EACH; j++) {
			m[i].c = c;
			m[i].s[j] = st_make(&m[i].k[j], NULL, 0);
		}
	for (int i = 0; i < MAPPERS; i++)
		st_begin(&m[i].call, map_all, &m[i]);
	for (int i = 0; i < MAPPERS; i++)
		CHECK_EQ(st_result(&m[i].call), 0);
	CHECK_EQ(fp_service_core_services(c, NULL, 0), MAPPERS * EACH);
	for (int i = 0; i < MAPPERS; i++)
		for (int j = 0; j < EACH; j++) {
			while (!st_calls(&m[i].k[j]))
				sched_yield();
			st_end(m[i].s[j]);
		}
	st_end_core(c);
}

/* Stop the core first, then the component that waits for its service: A-14's order. */
static void a_stop_after_the_core_stopped_returns(void) /* A-14, L-10 */
{
	struct st_counter k = { 0 };
	fp_service *s = st_make(&k, NULL, 0);
	fp_service_core *c = st_running(NULL);

	st_on(s, c);
	st_await_calls(&k, 3);
	CHECK_EQ(fp_service_core_stop(c, LIBFP_FOREVER), 0);
	CHECK_EQ(fp_service_set_ready(s, 0, LIBFP_FOREVER), 0);
	CHECK_EQ(fp_service_unmap(s, c, LIBFP_FOREVER), 0);
	CHECK_EQ(fp_service_destroy(s, 0, LIBFP_FOREVER), 0);
	st_end_core(c);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(inactive_after_its_core_stopped),
		FPT_CASE(active_until_the_function_returns),
		FPT_CASE(active_on_the_third_core_only),
		FPT_CASE(remapped_while_inside_it_does_not_run_twice),
		FPT_CASE(two_cores_lose_no_count),
		FPT_CASE(of_two_threads_one_gets_busy),
		FPT_CASE(numbers_40_and_63_of_64_run),
		FPT_CASE(a_hole_in_the_list_hides_nobody),
		FPT_CASE(defaults_leave_what_is_mapped),
		FPT_CASE(a_core_starts_right_after_it_stopped),
		FPT_CASE(mapped_twice_is_mapped_once),
		FPT_CASE(everything_ends_while_services_are_busy),
		FPT_CASE(unmapped_from_a_running_core_it_is_inactive),
		FPT_CASE(destroyed_while_it_runs),
		FPT_CASE(a_core_that_is_gone_is_mapped_no_more),
		FPT_CASE(counts_of_threads_and_gone_cores_stay),
		FPT_CASE(concurrent_maps_are_all_there),
		FPT_CASE(a_stop_after_the_core_stopped_returns),
	};
	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
