/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters, and who may be inside at once: sums equal what the functions counted
 * themselves whenever nobody is inside, over cores, mappings, ends of cores and resets;
 * a serialised service is alone, a parallel one is not.
 */
#include "service_test.h"

/* ---- a service that returns a pattern and counts it ---- */

struct pattern {
	uint64_t calls, idle, errors; /* atomic */
};

/* 5 worked, 3 idle, 4 errors out of 12; some of these the library uses itself. */
static const int32_t results[] = {
	0,	   -EAGAIN,	  -EIO, 1,  INT32_MIN, -EAGAIN,
	INT32_MAX, INT32_MIN + 1, 0,	-1, -EAGAIN,   7,
};

static int32_t by_pattern(void *user)
{
	struct pattern *p = user;
	uint64_t n = __atomic_fetch_add(&p->calls, 1, __ATOMIC_RELEASE);
	int32_t rc = results[n % FPT_LEN(results)];

	if (rc == -EAGAIN)
		__atomic_add_fetch(&p->idle, 1, __ATOMIC_RELAXED);
	else if (rc < 0)
		__atomic_add_fetch(&p->errors, 1, __ATOMIC_RELAXED);
	return rc;
}

static void exact(fp_service *s, const struct pattern *p)
{
	fp_service_stats st = st_stats(s);

	CHECK_EQ(st.calls, p->calls);
	CHECK_EQ(st.idle, p->idle);
	CHECK_EQ(st.errors, p->errors);
}

static uint64_t sum_of_maps(fp_service *s, fp_service_core **c, int n)
{
	uint64_t calls = 0;

	for (int i = 0; i < n; i++)
		if (fp_service_is_mapped(s, c[i]) == 1)
			calls += st_map_stats(s, c[i]).calls;
	return calls;
}

#define CORES 3

static void counters_on_several_cores(uint32_t flags, uint32_t kind)
{
	fp_service_opts o = LIBFP_SERVICE_OPTS_INIT;
	fp_service_core *c[CORES];
	struct pattern p = { 0 };
	fp_service_stats st;
	uint64_t once = 0;
	fp_service *s;

	o.run = by_pattern;
	o.user = &p;
	o.flags = flags;
	o.cycles = kind;
	CHECK_EQ(fp_service_create(&o, &s), 0);
	for (int i = 0; i < CORES; i++) {
		c[i] = st_running(NULL);
		CHECK_EQ(fp_service_map(s, c[i]), 0);
	}
	CHECK_EQ(fp_service_start(s), 0);
	for (int i = 0; i < CORES; i++)
		while (st_map_stats(s, c[i]).calls < 30)
			sched_yield();
	while (once < 30)
		once += fp_service_run_once(s, 0, NULL) == 0;
	CHECK_EQ(fp_service_stop(s, ST_LONG), 0);
	exact(s, &p);
	CHECK_EQ(sum_of_maps(s, c, CORES) + once, p.calls);
	st = st_stats(s);
	CHECK_EQ(st.cores, CORES);
	CHECK((st.cycles > 0) == (kind != 0) && (st.cycle_hz > 0) == (kind != 0));
	CHECK((st.longest > 0) == (kind == LIBFP_SERVICE_CYCLES_EXACT));
	/* They survive an unmapping, a start and a stop, the end of a core. */
	CHECK_EQ(fp_service_unmap(s, c[0], ST_LONG), 0);
	exact(s, &p);
	CHECK_EQ(fp_service_start(s), 0);
	st_await_more(&p.calls, 30);
	CHECK_EQ(fp_service_core_stop(c[1], ST_LONG), 0);
	CHECK_EQ(fp_service_core_destroy(c[1]), 0);
	st_await_more(&p.calls, 30);
	CHECK_EQ(fp_service_unmap(s, c[2], ST_LONG), 0);
	exact(s, &p);
	/* A new mapping begins at 0, the sum goes on. */
	CHECK_EQ(fp_service_map(s, c[0]), 0);
	while (!st_map_stats(s, c[0]).calls)
		sched_yield();
	CHECK_EQ(fp_service_core_stop(c[0], ST_LONG), 0);
	CHECK(st_map_stats(s, c[0]).calls < p.calls);
	exact(s, &p);
	/* A reset: all, on all its cores. */
	CHECK_EQ(fp_service_reset_stats(s), 0);
	st = st_stats(s);
	CHECK_EQ(st.calls + st.idle + st.errors + st.busy + st.cycles + st.longest, 0);
	CHECK_EQ(st_map_stats(s, c[0]).calls + st_map_stats(s, c[0]).busy +
			 st_map_stats(s, c[0]).cycles,
		 0);
	memset(&p, 0, sizeof(p));
	CHECK_EQ(fp_service_core_start(c[0]), 0);
	st_await_more(&p.calls, 30);
	CHECK_EQ(fp_service_stop(s, ST_LONG), 0);
	exact(s, &p);
	CHECK_EQ(st_map_stats(s, c[0]).calls, p.calls);
	CHECK_EQ(st_map_stats(s, c[0]).idle, p.idle);
	CHECK_EQ(st_map_stats(s, c[0]).errors, p.errors);
	st_end(s);
	st_end_core(c[0]);
	st_end_core(c[2]);
}

static void sums_are_exact(void)
{
	for (uint32_t kind = 0; kind <= LIBFP_SERVICE_CYCLES_EXACT; kind++)
		for (int safe = 0; safe < 2; safe++) {
			fpt_where("cycles %u, %s", kind,
				  safe ? "parallel" : "serialised");
			counters_on_several_cores(safe ? LIBFP_SERVICE_MT_SAFE : 0, kind);
		}
}

/* Whatever it returns: not taken for what the library says to itself. */
static void results_of_all_kinds(void)
{
	for (int serial = 0; serial < 3; serial++) {
		struct pattern p = { 0 };
		fp_service *s = st_make_fn(by_pattern, &p, NULL,
					   serial == 2 ? LIBFP_SERVICE_MT_SAFE : 0);
		fp_service_core *c = st_core(NULL), *d = st_core(NULL);

		fpt_where("serial %d", serial);
		st_on(s, c);
		if (serial == 1) /* the second mapping makes it serial */
			CHECK_EQ(fp_service_map(s, d), 0);
		for (size_t i = 0; i < FPT_LEN(results); i++)
			CHECK_EQ(fp_service_core_run(c, 0), -ETIMEDOUT);
		CHECK(p.calls == 12 && p.idle == 3 && p.errors == 4);
		exact(s, &p);
		for (size_t i = 0; i < FPT_LEN(results); i++) {
			int32_t result = 99;

			CHECK_EQ(fp_service_run_once(s, 0, &result), 0);
			CHECK_EQ(result, results[i]);
		}
		exact(s, &p);
		CHECK_EQ(st_stats(s).busy, 0);
		CHECK_EQ(fp_service_core_run(c, 0), -ETIMEDOUT);
		exact(s, &p);
		CHECK_EQ(st_map_stats(s, c).calls, 13);
		CHECK_EQ(st_core_stats(c).loops, 13);
		CHECK_EQ(st_core_stats(c).idle_loops, 3);
		st_end(s);
		st_end_core(c);
		st_end_core(d);
	}
}

static void a_new_service_starts_from_nothing(void)
{
	struct st_counter k = { 0 };
	fp_service_core *c = st_running(NULL);

	for (int i = 0; i < 50; i++) {
		fp_service *s = st_make(&k, "again", 0);
		fp_service_stats st = st_stats(s);

		CHECK_EQ(st.calls + st.idle + st.errors + st.busy + st.cores, 0);
		CHECK_EQ(st.flags, LIBFP_SERVICE_IS_READY);
		CHECK_EQ(st.deadline_ns + st.inside_since_ns, 0);
		CHECK_EQ(fp_service_is_mapped(s, c), 0);
		CHECK_EQ(fp_service_is_runnable(s), 0);
		CHECK_EQ(fp_service_is_active(s), 0);
		CHECK_EQ(fp_service_set_deadline(s, 1), 0);
		st_on(s, c);
		CHECK_EQ(st_map_stats(s, c).errors, 0);
		st_await_calls(&k, 2);
		st_end(s);
	}
	CHECK_EQ(k.released, 50);
	st_end_core(c);
}

/* ---- one at a time, several at once ---- */

static void a_serialised_service_is_alone(void)
{
	struct st_counter k = { 0 }, l = { 0 };
	fp_service *s = st_make(&k, NULL, 0),
		   *other = st_make(&l, NULL, LIBFP_SERVICE_MT_SAFE);
	fp_service_core *c[CORES];
	fp_service_stats st;

	CHECK_EQ(fp_service_start(s) + fp_service_start(other), 0);
	for (int i = 0; i < CORES; i++) {
		c[i] = st_running(NULL);
		CHECK_EQ(fp_service_map(s, c[i]) + fp_service_map(other, c[i]), 0);
	}
	for (int round = 0; round < 20; round++) {
		uint64_t at[CORES];

		st_hold(&k, 1);
		st_await_held(&k);
		/* Who finds it busy goes on: all cores but one run the other service. */
		for (int i = 0; i < CORES; i++)
			at[i] = st_map_stats(other, c[i]).calls;
		for (int i = 0, on; i < CORES;) {
			for (i = 0, on = 0; i < CORES; i++)
				on += st_map_stats(other, c[i]).calls > at[i] + 2;
			if (on < CORES - 1)
				i = 0;
			sched_yield();
		}
		CHECK_EQ(fp_service_run_once(s, 0, NULL), -EBUSY);
		st_hold(&k, 0);
		st_await_calls(&k, 3);
	}
	CHECK_EQ(fp_service_stop(s, ST_LONG), 0);
	st = st_stats(s);
	CHECK_EQ(st.calls, k.calls);
	CHECK(st.busy > 0);
	CHECK_EQ(k.overlaps, 0);
	CHECK_EQ(st.idle + st.errors, 0);
	st_end(s);
	st_end(other);
	for (int i = 0; i < CORES; i++)
		st_end_core(c[i]);
}

static int run_it_once(void *s)
{
	return fp_service_run_once(s, 0, NULL);
}

static void a_parallel_service_overlaps(void)
{
	struct st_counter k = { .hold = 1 };
	fp_service *s = st_make(&k, NULL, LIBFP_SERVICE_MT_SAFE);
	fp_service_core *c[CORES];
	struct st_call calls[2];

	CHECK_EQ(fp_service_start(s), 0);
	for (int i = 0; i < CORES; i++) {
		c[i] = st_running(NULL);
		CHECK_EQ(fp_service_map(s, c[i]), 0);
	}
	st_begin(&calls[0], run_it_once, s);
	st_begin(&calls[1], run_it_once, s);
	while (st_get(&k.inside) < CORES + 2)
		sched_yield();
	CHECK_EQ(fp_service_is_active(s), 1);
	st_hold(&k, 0);
	CHECK_EQ(st_result(&calls[0]) + st_result(&calls[1]), 0);
	CHECK_EQ(fp_service_stop(s, ST_LONG), 0);
	CHECK_EQ(st_stats(s).calls, k.calls);
	CHECK_EQ(st_stats(s).busy, 0);
	st_end(s);
	for (int i = 0; i < CORES; i++)
		st_end_core(c[i]);
}

/* ---- run_once in all states ---- */

static void run_once_wants_both_gates_and_no_mapping(void)
{
	for (uint32_t flags = 0; flags <= LIBFP_SERVICE_MT_SAFE;
	     flags += LIBFP_SERVICE_MT_SAFE)
		for (int state = 0; state < 8; state++) {
			int ready = state & 1, started = state >> 1 & 1,
			    mapped = state >> 2;
			struct st_counter k = { .returns = 42 };
			fp_service *s =
				st_make(&k, NULL, flags | LIBFP_SERVICE_NOT_READY);
			fp_service_core *c = st_core(NULL);
			int32_t result = 7;

			fpt_where("flags %#x state %d", flags, state);
			CHECK_EQ(ready ? fp_service_set_ready(s, 1, 0) : 0, 0);
			CHECK_EQ(started ? fp_service_start(s) : 0, 0);
			CHECK_EQ(mapped ? fp_service_map(s, c) : 0, 0);
			CHECK_EQ(fp_service_is_runnable(s), ready && started && mapped);
			CHECK_EQ(fp_service_run_once(s, 0, &result),
				 ready && started ? 0 : -ESHUTDOWN);
			CHECK_EQ(result, ready && started ? 42 : 7);
			CHECK_EQ(fp_service_run_once(s, 1, &result), -EOPNOTSUPP);
			CHECK_EQ(fp_service_run_once(s, 1u << 31, NULL), -EOPNOTSUPP);
			CHECK_EQ(st_stats(s).calls, ready && started);
			CHECK_EQ(k.calls, ready && started);
			CHECK_EQ(fp_service_is_active(s), 0);
			st_end(s);
			st_end_core(c);
		}
}

/* The core keeps the service for itself until somebody else wants it. */
static void run_once_beside_the_only_core(void)
{
	struct st_counter k = { 0 };
	fp_service *s = st_make(&k, NULL, 0);
	fp_service_core *c = st_core(NULL);
	int busy = 0, ran = 0, rc;

	st_on(s, c);
	for (int i = 0; i < 10; i++)
		CHECK_EQ(fp_service_core_run(c, 0), -ETIMEDOUT);
	CHECK_EQ(fp_service_run_once(s, 0, NULL), 0); /* it is not running */
	CHECK_EQ(fp_service_core_start(c), 0);
	while (ran < 100) {
		rc = fp_service_run_once(s, 0, NULL);
		CHECK(rc == 0 || rc == -EBUSY);
		ran += rc == 0;
		busy += rc != 0;
		if (ran % 10 == 0) { /* and is the core's again */
			CHECK_EQ(fp_service_stop(s, ST_LONG), 0);
			CHECK_EQ(fp_service_start(s), 0);
		}
	}
	st_await_calls(&k, 3);
	CHECK_EQ(fp_service_stop(s, ST_LONG), 0);
	CHECK_EQ(st_stats(s).calls, k.calls);
	CHECK_EQ(k.overlaps, 0);
	printf("  %d times busy\n", busy);
	st_end(s);
	st_end_core(c);
}

/* ---- the watchdog ---- */

static void a_call_that_lasts_is_seen_from_outside(void)
{
	struct st_counter k = { .hold = 1 };
	fp_service *s = st_make(&k, NULL, 0);
	fp_service_core *c = st_running(NULL);
	uint64_t before, first;

	st_on(s, c);
	st_await_held(&k);
	before = st_now();
	CHECK_EQ(st_stats(s).inside_since_ns, 0);
	first = st_stats(s).inside_since_ns;
	CHECK(first >= before && first <= st_now());
	CHECK(st_stats(s).flags & LIBFP_SERVICE_IS_ACTIVE);
	for (int i = 0; i < 5; i++)
		CHECK_EQ(st_stats(s).inside_since_ns, first);
	/* Also while it is being stopped. */
	CHECK_EQ(fp_service_stop(s, 0), -ETIMEDOUT);
	CHECK_EQ(st_stats(s).inside_since_ns, first);
	st_hold(&k, 0);
	CHECK_EQ(fp_service_stop(s, ST_LONG), 0);
	CHECK_EQ(st_stats(s).inside_since_ns, 0);
	CHECK_EQ(st_stats(s).inside_since_ns, 0);
	CHECK(!(st_stats(s).flags & LIBFP_SERVICE_IS_ACTIVE));
	st_end(s);
	st_end_core(c);
}

static void a_run_once_that_lasts_is_seen_too(void)
{
	for (uint32_t flags = 0; flags <= LIBFP_SERVICE_MT_SAFE;
	     flags += LIBFP_SERVICE_MT_SAFE) {
		struct st_counter k = { .hold = 1 };
		fp_service *s = st_make(&k, NULL, flags);
		struct st_call call;

		CHECK_EQ(fp_service_start(s), 0);
		st_begin(&call, run_it_once, s);
		st_await_held(&k);
		CHECK_EQ(st_stats(s).inside_since_ns, 0);
		CHECK(st_stats(s).inside_since_ns > 0);
		st_hold(&k, 0);
		CHECK_EQ(st_result(&call), 0);
		CHECK_EQ(st_stats(s).inside_since_ns, 0);
		st_end(s);
	}
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(sums_are_exact),
		FPT_CASE(results_of_all_kinds),
		FPT_CASE(a_new_service_starts_from_nothing),
		FPT_CASE(a_serialised_service_is_alone),
		FPT_CASE(a_parallel_service_overlaps),
		FPT_CASE(run_once_wants_both_gates_and_no_mapping),
		FPT_CASE(run_once_beside_the_only_core),
		FPT_CASE(a_call_that_lasts_is_seen_from_outside),
		FPT_CASE(a_run_once_that_lasts_is_seen_too),
	};
	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
