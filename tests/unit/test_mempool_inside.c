/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LIBFP_CHECKED: two threads inside what is one thread's at a time (a promised side, an
 * explicit cache), and destroy or audit while a thread is inside a call. The intruder
 * is refused, the log names both threads, and nothing is corrupted. Threads are held
 * inside a call by the steps of the test build, so nothing here depends on timing.
 */
#define _GNU_SOURCE /* gettid */
#include <unistd.h>

#include "hold.h"
#include "pool_test.h"

/* ---- a victim that is held inside one call, with a lock of the depot ---- */

enum what { GET, PUT, CACHE_GET, CACHE_PUT };

struct victim {
	fp_mempool *p;
	fp_mempool_cache *c;
	struct fpt_hold hold;
	enum what what;
	void *t[8];
	long tid;
	pthread_t thread;
};

static void *victim_main(void *arg)
{
	struct victim *v = arg;
	int32_t got = 0;

	v->tid = gettid();
	fpt_hold_me(&v->hold);
	switch (v->what) {
	case GET:
		got = fp_mempool_get_bulk(v->p, v->t, 8);
		break;
	case PUT:
		got = fp_mempool_put_bulk(v->p, v->t, 8);
		break;
	case CACHE_GET:
		got = fp_mempool_get_bulk_via_cache(v->p, v->c, v->t, 8);
		break;
	case CACHE_PUT:
		got = fp_mempool_put_bulk_via_cache(v->p, v->c, v->t, 8);
		break;
	}
	fpt_hold_done(&v->hold);
	CHECK_EQ(got, 8);
	return NULL;
}

static void victim_enter(struct victim *v, enum what what)
{
	v->what = what;
	fpt_hold_init(&v->hold, "POOL_SHARD_LOCKED");
	CHECK_EQ(pthread_create(&v->thread, NULL, victim_main, v), 0);
	CHECK_EQ(fpt_hold_reached(&v->hold), 1);
}

static void victim_leave(struct victim *v)
{
	fpt_hold_release(&v->hold);
	pthread_join(v->thread, NULL);
	fpt_hold_end(&v->hold);
}

/* One refusal: an error line with both thread ids. */
#define INTRUDES(call, code, other)                                  \
	do {                                                         \
		fpt_log_begin();                                     \
		CHECK_EQ(call, code);                                \
		CHECK_EQ(fpt_log.lines, 1);                          \
		CHECK_EQ(fpt_log.level, LIBFP_LOG_ERROR);            \
		CHECK(fpt_names_thread(fpt_log.last, gettid()));     \
		CHECK(fpt_names_thread(fpt_log.last, (other)->tid)); \
		fpt_log_end();                                       \
	} while (0)

static void two_threads_on_the_get_side(void)
{
	static const uint32_t flags[] = { LIBFP_POOL_ST_GET, PT_SINGLE };

	for (size_t i = 0; i < FPT_LEN(flags); i++) {
		struct victim v = { .p = pt_pool(40, 8, LIBFP_CHECKED | flags[i]) };
		void *t[4] = { PT_UNTOUCHED };
		void *const *window = PT_UNTOUCHED;
		uint64_t misuses;

		fpt_where("flags %#x", flags[i]);
		victim_enter(&v, GET);
		misuses = pt_stats(v.p).misuses;
		fpt_log_begin();
		CHECK(fp_mempool_get(v.p) == NULL);
		CHECK_EQ(fpt_log.lines, 1);
		fpt_log_end();
		INTRUDES(fp_mempool_get_bulk(v.p, t, 4), -EBUSY, &v);
		INTRUDES(fp_mempool_get_reserve(v.p, 2, &window), -EBUSY, &v);
		CHECK(t[0] == PT_UNTOUCHED && window == PT_UNTOUCHED);
		CHECK_EQ(pt_stats(v.p).misuses, misuses + 3);
		victim_leave(&v);
		pt_at_rest(v.p, 8);
		pt_get(v.p, t, 4);
		pt_put(v.p, t, 4);
		pt_put(v.p, v.t, 8);
		pt_end(v.p);
	}
}

static void two_threads_on_the_put_side(void)
{
	static const uint32_t flags[] = { LIBFP_POOL_ST_PUT, PT_SINGLE };

	for (size_t i = 0; i < FPT_LEN(flags); i++) {
		struct victim v = { .p = pt_pool(40, 4, LIBFP_CHECKED | flags[i]) };
		void *t[4], **place = PT_UNTOUCHED;

		fpt_where("flags %#x", flags[i]);
		pt_get(v.p, v.t, 8);
		pt_get(v.p, t, 4);
		victim_enter(&v, PUT);
		INTRUDES(fp_mempool_put(v.p, t[0]), -EBUSY, &v);
		INTRUDES(fp_mempool_put_bulk(v.p, t, 4), -EBUSY, &v);
		INTRUDES(fp_mempool_put_reserve(v.p, 2, &place), -EBUSY, &v);
		CHECK(place == PT_UNTOUCHED);
		victim_leave(&v);
		pt_at_rest(v.p, 4);
		pt_put(v.p, t, 4);
		pt_end(v.p);
	}
}

/* With both promises one thread at a time makes any call: a flush as well. */
static void a_flush_beside_a_call_of_a_single_pool(void)
{
	struct victim v = { .p = pt_pool(40, 8, LIBFP_CHECKED | PT_SINGLE) };

	victim_enter(&v, GET);
	INTRUDES(fp_mempool_flush(v.p), -EBUSY, &v);
	INTRUDES(fp_mempool_reclaim(v.p), -EBUSY, &v);
	victim_leave(&v);
	pt_put(v.p, v.t, 8);
	pt_end(v.p);
}

static void two_threads_on_one_cache(void)
{
	for (enum what what = CACHE_GET; what <= CACHE_PUT; what++) {
		struct victim v = { .p = pt_pool(40, 4, LIBFP_CHECKED) };
		void *t[4], **place = PT_UNTOUCHED;
		void *const *window = PT_UNTOUCHED;

		fpt_where("what %d", what);
		v.c = pt_cache(v.p);
		pt_get(v.p, t, 4);
		if (what == CACHE_PUT)
			pt_get(v.p, v.t, 8);
		victim_enter(&v, what);
		INTRUDES(fp_mempool_get_bulk_via_cache(v.p, v.c, t, 1), -EBUSY, &v);
		INTRUDES(fp_mempool_put_bulk_via_cache(v.p, v.c, t, 4), -EBUSY, &v);
		INTRUDES(fp_mempool_put_via_cache(v.p, v.c, t[0]), -EBUSY, &v);
		INTRUDES(fp_mempool_get_reserve_via_cache(v.p, v.c, 1, &window), -EBUSY,
			 &v);
		INTRUDES(fp_mempool_put_reserve_via_cache(v.p, v.c, 1, &place), -EBUSY,
			 &v);
		INTRUDES(fp_mempool_get_commit_via_cache(v.p, v.c, 0), -EBUSY, &v);
		INTRUDES(fp_mempool_put_commit_via_cache(v.p, v.c, 0), -EBUSY, &v);
		INTRUDES(fp_mempool_cache_flush(v.c), -EBUSY, &v);
		INTRUDES(fp_mempool_cache_destroy(v.c), -EBUSY, &v);
		CHECK(place == PT_UNTOUCHED && window == PT_UNTOUCHED);
		victim_leave(&v);
		pt_at_rest(v.p, what == CACHE_GET ? 12 : 4);
		pt_put(v.p, t, 4);
		if (what == CACHE_GET)
			pt_put(v.p, v.t, 8);
		CHECK_EQ(fp_mempool_cache_destroy(v.c), 0);
		pt_end(v.p);
	}
}

static void destroy_and_audit_while_a_thread_is_inside(void)
{
	for (enum what what = GET; what <= CACHE_PUT; what++) {
		struct victim v = { .p = pt_pool(40, 4, LIBFP_CHECKED) };

		v.c = pt_cache(v.p);
		if (what == PUT || what == CACHE_PUT)
			pt_get(v.p, v.t, 8);
		victim_enter(&v, what);
		INTRUDES(fp_mempool_destroy(v.p), -EBUSY, &v);
		INTRUDES(fp_mempool_audit(v.p), -EBUSY, &v);
		victim_leave(&v);
		if (what == GET || what == CACHE_GET)
			pt_put(v.p, v.t, 8);
		CHECK_EQ(fp_mempool_cache_destroy(v.c), 0);
		pt_end(v.p);
	}
}

/* Without the flag nobody looks, and different sides never meet. */
static void one_getter_beside_one_putter(void)
{
	struct victim v = { .p = pt_pool(40, 8, LIBFP_CHECKED | LIBFP_POOL_ST_GET) };
	void *t[4];

	pt_get(v.p, t, 4);
	victim_enter(&v, GET);
	fpt_log_begin();
	pt_put(v.p, t, 2); /* into the cache */
	CHECK_EQ(fpt_log.lines, 0);
	fpt_log_end();
	victim_leave(&v);
	pt_put(v.p, t + 2, 2);
	pt_put(v.p, v.t, 8);
	pt_end(v.p);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(two_threads_on_the_get_side),
		FPT_CASE(two_threads_on_the_put_side),
		FPT_CASE(a_flush_beside_a_call_of_a_single_pool),
		FPT_CASE(two_threads_on_one_cache),
		FPT_CASE(destroy_and_audit_while_a_thread_is_inside),
		FPT_CASE(one_getter_beside_one_putter),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
