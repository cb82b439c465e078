/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Wheels when memory is not to be had: each allocation of each call fails in turn, with
 * -ENOMEM, nothing changed and nothing leaked, and the same call works when there is
 * memory again. And what never asks for any.
 */
#include <sys/resource.h>

#include "child.h"
#include "service_test.h"
#include "timer_test.h"

#define MAX_TIMERS 100

static void heap_is_empty(const struct fpt_heap *heap)
{
	CHECK_EQ(heap->live, 0);
	CHECK_EQ(heap->live_bytes, 0);
	CHECK_EQ(heap->bad, 0);
}

static fp_timer_wheel_opts opts_on(const fp_allocator *a, uint32_t flags)
{
	fp_timer_wheel_opts o = tt_opts(10, MAX_TIMERS);

	o.flags |= flags;
	o.allocator = a;
	return o;
}

/* It works, in memory that was not zero. */
static void works(fp_timer_wheel *w)
{
	uint64_t id = tt_armed(w, 1, 20), users = tt_stats(w).timers;
	uint64_t period = tt_timer(w, 2);

	CHECK_EQ(fp_timer_arm_periodic(w, period, 21, 5, LIBFP_TIMER_CATCH_UP), 0);
	CHECK_EQ(tt_poll(w, 26), 3);
	TT_FIRED(1, 2, 2);
	CHECK_EQ(fp_timer_destroy(w, id), 0);
	CHECK_EQ(fp_timer_destroy(w, period), 1);
	CHECK_EQ(tt_poll(w, 1000), 0);
	CHECK_EQ(tt_stats(w).timers, users - 1);
}

/* ---- create ---- */

static void create_fails_cleanly_at_every_allocation(void)
{
	static const uint32_t flags[] = { 0, LIBFP_STATS, LIBFP_WHEEL_WAIT,
					  LIBFP_MEM_PREFAULT | LIBFP_MEM_HUGE,
					  LIBFP_WHEEL_WAIT | LIBFP_STATS };

	for (size_t i = 0; i < FPT_LEN(flags); i++)
		for (int64_t at = 0, done = 0; !done; at++) {
			struct fpt_heap heap = { .fail_at = at };
			fp_allocator a = fpt_heap_allocator(&heap);
			fp_timer_wheel_opts o = opts_on(&a, flags[i]);
			fp_timer_wheel *w = TT_UNTOUCHED, *found;
			int rc;

			fpt_where("flags %#x allocation %" PRId64, flags[i], at);
			CHECK(at < 10);
			o.name = "may fail";
			fpt_log_begin();
			rc = fp_timer_wheel_create(&o, &w);
			CHECK_EQ(fpt_log.lines, rc != 0);
			fpt_log_end();
			if (rc == 0) {
				done = 1;
				CHECK(at >= 1);
				works(w);
				tt_end(w);
			} else {
				CHECK_EQ(rc, -ENOMEM);
				CHECK(w == TT_UNTOUCHED);
			}
			CHECK_EQ(fp_timer_wheel_lookup("may fail", &found), -ENOENT);
			heap_is_empty(&heap);
		}
}

/* A name that is taken is found out after the memory was. */
static void a_late_refusal_gives_everything_back(void)
{
	struct fpt_heap heap = { .fail_at = -1 };
	fp_allocator a = fpt_heap_allocator(&heap);
	fp_timer_wheel_opts o = opts_on(&a, LIBFP_WHEEL_WAIT);
	fp_timer_wheel *w, *again = TT_UNTOUCHED;
	int64_t live;

	o.name = "taken";
	w = tt_create(&o);
	live = heap.live;
	for (int i = 0; i < 10; i++) {
		CHECK_EQ(fp_timer_wheel_create(&o, &again), -EEXIST);
		CHECK_EQ(heap.live, live);
	}
	CHECK(again == TT_UNTOUCHED);
	works(w);
	tt_end(w);
	heap_is_empty(&heap);
}

/* ---- a wheel that exists ---- */

static void the_service_fails_cleanly_at_every_allocation(void)
{
	for (int64_t at = 0, done = 0; !done; at++) {
		struct fpt_heap heap = { .fail_at = -1 };
		fp_allocator a = fpt_heap_allocator(&heap);
		fp_timer_wheel_opts o = opts_on(&a, LIBFP_WHEEL_WAIT);
		fp_timer_wheel *w = tt_create(&o);
		fp_service *s = ST_UNTOUCHED, *same;
		int64_t live = heap.live;
		int rc;

		fpt_where("allocation %" PRId64, at);
		CHECK(at < 10);
		heap.fail_at = (int64_t)heap.allocs + at;
		fpt_log_begin();
		rc = fp_timer_wheel_service(w, &s);
		fpt_log_end();
		heap.fail_at = -1;
		if (rc) {
			CHECK_EQ(rc, -ENOMEM);
			CHECK(s == ST_UNTOUCHED);
			CHECK_EQ(heap.live, live);
			CHECK_EQ(fp_service_list(NULL, 0), 0);
			/* It is a wheel as before: who polls may sleep. */
			CHECK_EQ(fp_timer_wheel_wait(w, 0), -ETIMEDOUT);
			works(w);
		} else {
			done = 1;
			CHECK(at >= 1);
		}
		CHECK_EQ(fp_timer_wheel_service(w, &s), 0);
		CHECK_EQ(fp_timer_wheel_service(w, &same), 0);
		CHECK(s == same);
		CHECK_EQ(fp_service_start(s) + fp_service_run_once(s, 0, NULL), 0);
		tt_end(w);
		CHECK_EQ(fp_service_list(NULL, 0), 0);
		heap_is_empty(&heap);
	}
}

/* From create on, a wheel asks for no memory, whatever is done with it. */
static void nothing_else_allocates(void)
{
	struct fpt_heap heap = { .fail_at = -1 };
	fp_allocator a = fpt_heap_allocator(&heap);
	fp_timer_wheel_opts o = opts_on(&a, LIBFP_WHEEL_WAIT | LIBFP_STATS);
	fp_timer_wheel *w = tt_create(&o);
	uint64_t ids[MAX_TIMERS + 1], seed = fpt_seed(), now = 10, one = TT_NO_TICK;
	fp_timer_wheel_stats before;

	heap.fail_at = (int64_t)heap.allocs;
	for (int lap = 0; lap < 20; lap++) {
		CHECK_EQ(fp_timer_create_bulk(w, NULL, NULL, ids, MAX_TIMERS + 1),
			 MAX_TIMERS);
		/* A create that fails changes nothing. */
		before = tt_stats(w);
		CHECK_EQ(fp_timer_create(w, NULL, NULL, &one), -ENOMEM);
		CHECK_EQ(fp_timer_create_bulk(w, NULL, NULL, &one, 1), 0);
		CHECK(one == TT_NO_TICK);
		CHECK_EQ(tt_stats(w).timers, before.timers);
		CHECK_EQ(tt_stats(w).memory_used, before.memory_used);
		for (int i = 0; i < 5000; i++) {
			uint64_t r = fpt_random(&seed), id = ids[r % MAX_TIMERS];
			uint64_t tick = now + (r >> 20 & 0xffffff) % (1u << r % 24);

			if (r >> 62 == 0)
				CHECK(fp_timer_cancel(w, id) >= 0);
			else
				CHECK(fp_timer_arm(w, id, tick) >= 0);
			if (r >> 60 == 15)
				CHECK(tt_poll(w, now += tick % 1000) >= 0);
		}
		CHECK_EQ(fp_timer_destroy_bulk(w, ids, MAX_TIMERS, NULL), MAX_TIMERS);
		tt_poll(w, now);
	}
	CHECK_EQ(heap.allocs, heap.fail_at);
	CHECK(tt_stats(w).memory_used <= tt_stats(w).memory);
	CHECK(tt_stats(w).memory <= heap.live_bytes);
	tt_end(w);
	heap_is_empty(&heap);
}

/* ---- the library's own memory ---- */

static void little_space(void *unused)
{
	struct rlimit space = { 256u << 20, 256u << 20 };
	fp_timer_wheel_opts o = tt_opts(0, 0);
	fp_timer_wheel *w = TT_UNTOUCHED;

	(void)unused;
	CHECK_EQ(setrlimit(RLIMIT_AS, &space), 0);
	o.capacity = LIBFP_WHEEL_TIMERS_MAX;
	for (int i = 0; i < 100; i++) {
		CHECK_EQ(fp_timer_wheel_create(&o, &w), -ENOMEM);
		CHECK(w == TT_UNTOUCHED);
	}
	/* What there was then is still there: 30 wheels of some MiB, one after another. */
	o.capacity = 30000;
	for (int i = 0; i < 100; i++)
		tt_end(tt_create(&o));
}

static void more_timers_than_there_is_address_space_for(void)
{
#if defined(FPT_EMULATED) || defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
	printf("  not in this build: it needs more address space itself\n");
	(void)little_space;
#else
	fpt_in_child(little_space, NULL);
#endif
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(create_fails_cleanly_at_every_allocation),
		FPT_CASE(a_late_refusal_gives_everything_back),
		FPT_CASE(the_service_fails_cleanly_at_every_allocation),
		FPT_CASE(nothing_else_allocates),
		FPT_CASE(more_timers_than_there_is_address_space_for),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
