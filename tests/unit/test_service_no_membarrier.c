/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cores where the kernel has no membarrier, and where it refuses one that it had promised:
 * stops and wakes work the same, with an exchange per call, shorter sleeps, or by waking
 * the cores.
 */
#include "service_test.h"

extern int fpi_test_no_membarrier; /* src/base/membarrier.c: 1: there is none */

static void all_kinds_of_calls(uint32_t cycles)
{
	struct st_counter k = { .returns = -EIO }, l = { .returns = -EAGAIN };
	fp_service_opts o = LIBFP_SERVICE_OPTS_INIT;
	fp_service *s, *t = st_make(&l, NULL, LIBFP_SERVICE_WAKEABLE);
	fp_service_core *c[2] = { st_running(NULL), st_running(NULL) };
	struct st_loan loan;
	uint64_t calls;

	o.run = st_count;
	o.user = &k;
	o.cycles = cycles;
	CHECK_EQ(fp_service_create(&o, &s), 0);
	st_on(t, c[0]);
	for (int i = 0; i < 30; i++) {
		st_on(s, c[i % 2]);
		st_await_calls(&k, 3);
		if (i % 3 == 0)
			CHECK_EQ(fp_service_map(s, c[!(i % 2)]), 0);
		if (i % 5 == 0) {
			CHECK_EQ(fp_service_stop(s, LIBFP_FOREVER), 0);
			CHECK_EQ(st_stats(s).calls, k.calls);
			CHECK_EQ(st_stats(s).errors, k.calls);
			CHECK_EQ(fp_service_start(s), 0);
		}
		CHECK_EQ(fp_service_unmap(s, c[0], LIBFP_FOREVER), 0);
		CHECK_EQ(fp_service_unmap(s, c[1], LIBFP_FOREVER), 0);
		CHECK_EQ(fp_service_is_active(s), 0);
		CHECK_EQ(st_stats(s).calls, k.calls);
	}
	CHECK_EQ(k.overlaps, 0);
	/* Asleep: a stop without a wake, and a signal. */
	st_await_asleep(c[0]);
	calls = st_calls(&l);
	CHECK(fp_wakeup_signal(fp_service_wakeup(t)) >= 0);
	while (st_calls(&l) == calls)
		sched_yield();
	CHECK_EQ(fp_service_stop(t, LIBFP_FOREVER), 0);
	CHECK_EQ(fp_service_core_stop(c[0], LIBFP_FOREVER), 0);
	/* With a time-out, on a lent thread. */
	st_on(s, c[0]);
	CHECK_EQ(fp_service_core_run(c[0], ST_MS), -ETIMEDOUT);
	st_lend(&loan, c[0], LIBFP_FOREVER);
	st_await_calls(&k, 3);
	CHECK_EQ(fp_service_core_stop(c[0], LIBFP_FOREVER), 0);
	CHECK_EQ(st_returned(&loan), 0);
	st_end(s);
	st_end(t);
	st_end_core(c[0]);
	st_end_core(c[1]);
}

static void without_membarrier(void)
{
	for (uint32_t cycles = 0; cycles <= LIBFP_SERVICE_CYCLES_EXACT; cycles++) {
		fpt_where("cycles %u", cycles);
		fpi_test_no_membarrier = 1;
		all_kinds_of_calls(cycles);
		fpi_test_no_membarrier = 0;
	}
}

/* A sleep is short then, since no barrier orders it with a signal. */
static void without_membarrier_sleeps_are_short(void)
{
	struct st_counter k = { .returns = -EAGAIN };
	fp_service *s;
	fp_service_core *c;

	fpi_test_no_membarrier = 1;
	s = st_make(&k, NULL, LIBFP_SERVICE_WAKEABLE);
	c = st_sleeper();
	st_on(s, c);
	st_await_calls(&k, 10); /* nobody signals */
	CHECK(st_core_stats(c).sleeps > 0);
	st_end(s);
	st_end_core(c);
	fpi_test_no_membarrier = 0;
}

/* Made with membarrier, which is refused when a stop wants it. */
static void a_membarrier_that_is_refused_later(void)
{
	struct st_counter k = { .returns = -EAGAIN };
	fp_service *s = st_make(&k, NULL, LIBFP_SERVICE_WAKEABLE);
	fp_service_core *c = st_sleeper();

	st_on(s, c);
	for (int i = 0; i < 10; i++) {
		st_await_asleep(c);
		__atomic_store_n(&fpi_test_no_membarrier, 1, __ATOMIC_RELAXED);
		CHECK_EQ(fp_service_stop(s, LIBFP_FOREVER), 0);
		CHECK_EQ(st_stats(s).calls, k.calls);
		__atomic_store_n(&fpi_test_no_membarrier, 0, __ATOMIC_RELAXED);
		CHECK_EQ(fp_service_start(s), 0);
	}
	st_end(s);
	st_end_core(c);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(without_membarrier),
		FPT_CASE(without_membarrier_sleeps_are_short),
		FPT_CASE(a_membarrier_that_is_refused_later),
	};
	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
