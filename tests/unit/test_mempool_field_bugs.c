/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Faults that pools of this kind have had in the field, each as a test named after
 * what it proves. The ids are those of the list the project keeps.
 *
 * In other files:
 *   M-10 with traffic                 stress/test_mempool_roles.c
 *   M-15, M-33, M-34                  test_mempool_checked.c
 *   M-19                              fault/test_mempool_alloc.c
 *   M-22, M-30                        test_mempool_options.c
 *   M-35 past the exit hook           test_mempool_threads.c
 *   L-05                              test_mempool_null.c
 * Not applicable:
 *   M-11, M-13       no backends to choose from: the depot is the only one
 *   M-17, M-18, M-21 a pool is made whole, its memory is one block: nothing is
 *                    populated piece by piece
 *   M-23             no callbacks are kept beyond the call that they are given to
 */
#include <semaphore.h>
#include <stddef.h>

#include "hold.h"
#include "mempool/mempool_internal.h"
#include "pool_test.h"

static uint64_t exchanges(const fp_mempool *p)
{
	return pt_stats(p).depot_exchanges;
}

/*
 * M-01. Not after two misses in a row in one direction: such a thread is taken for one
 * that only gets or only puts, and exchanges all that a cache holds.
 */
static void after_a_miss_either_direction_hits(void)
{
	for (uint32_t cache = 4; cache <= 64; cache += 3)
		for (uint32_t burst = 1; burst <= (cache + 1) / 4; burst++) {
			fp_mempool *p = pt_pool(4000, cache, LIBFP_STATS);
			uint64_t seed = cache * 100 + burst, seen = 0;
			static void *t[4000];
			uint32_t have = 0;
			int missed = 0, last = -1; /* direction of the last miss */

			fpt_where("cache %u burst %u", cache, burst);
			for (int i = 0; i < 500; i++) {
				int get = fpt_random(&seed) >> 62 != 0 || have < burst;

				if (get && have + burst > 4000 - cache)
					break;
				if (get)
					pt_get(p, t + have, burst);
				else
					pt_put(p, t + have - burst, burst);
				have = get ? have + burst : have - burst;
				CHECK(!missed || exchanges(p) == seen);
				missed = 0;
				if (exchanges(p) != seen) {
					missed = get != last;
					last = get;
				}
				seen = exchanges(p);
				CHECK(pt_stats(p).in_own_cache <= cache);
			}
			CHECK(seen > 0);
			pt_put(p, t, have);
			pt_end(p);
		}
}

/* M-02 */
static void hot_objects_stay_and_cold_ones_go(void)
{
	for (uint32_t cache = 2; cache <= 33; cache++)
		for (uint32_t n = 1; n <= 3 * cache; n++) {
			fp_mempool *p = pt_pool(100, cache, 0);
			void *t[100], *out[100];
			uint64_t kept;

			fpt_where("cache %u put %u", cache, n);
			pt_get(p, t, n);
			fp_mempool_flush(p);
			for (uint32_t i = 0; i < n; i++)
				CHECK_EQ(fp_mempool_put(p, t[i]), 0);
			kept = pt_stats(p).in_own_cache;
			CHECK(kept == n || (n > cache && kept > 0));
			pt_get(p, out, (uint32_t)kept);
			for (uint64_t i = 0; i < kept; i++)
				CHECK(out[i] == t[n - 1 - i]);
			memcpy(t + n - kept, out, kept * sizeof(*t));
			pt_put(p, out, (uint32_t)kept);
			pt_end(p);
		}
}

/* M-03, M-05 */
static void exactly_a_cache_full_stays_in_the_cache(void)
{
	for (uint32_t cache = 1; cache <= 65; cache++)
		for (uint32_t step = 1; step <= cache; step += 1 + step / 2) {
			fp_mempool *p = pt_pool(200, cache, LIBFP_STATS);
			uint64_t before;
			void *t[65], *out[65];

			fpt_where("cache %u in steps of %u", cache, step);
			pt_get(p, t, cache);
			fp_mempool_flush(p);
			before = exchanges(p);
			for (uint32_t i = 0; i < cache; i += step)
				pt_put(p, t + i, step < cache - i ? step : cache - i);
			CHECK_EQ(pt_stats(p).in_own_cache, cache);
			pt_get(p, out, cache);
			pt_reversed(out, t, cache);
			CHECK_EQ(exchanges(p), before);
			pt_put(p, out, cache);
			pt_end(p);
		}
}

/* M-06, M-07 */
static void cache_and_depot_together_serve_a_get(void)
{
	for (int handle = 0; handle < 2; handle++) {
		fp_mempool *p = pt_pool(40, 20, 0);
		fp_mempool_cache *c = handle ? pt_cache(p) : NULL;
		void *t[40], *out[30];

		pt_get(p, t, 40);
		pt_put(p, t, 20);
		CHECK_EQ(fp_mempool_flush(p), 20);
		if (c)
			CHECK_EQ(fp_mempool_put_bulk_via_cache(p, c, t + 20, 20), 20);
		else
			pt_put(p, t + 20, 20);
		CHECK_EQ(pt_stats(p).in_depot, 20);
		CHECK_EQ(c ? fp_mempool_get_bulk_via_cache(p, c, out, 30) :
			     fp_mempool_get_bulk(p, out, 30),
			 30);
		pt_reversed(out, t + 20, 20);
		pt_different(p, out, 30);
		pt_put(p, out, 30);
		CHECK_EQ(fp_mempool_cache_destroy(c), 0);
		pt_end(p);
	}
}

/* M-09: memory that others have left their marks in. */
static void a_pool_in_dirty_memory_starts_clean(void)
{
	PT_EACH_KIND(flags)
	{
		struct fpt_heap heap = { .fail_at = -1 };
		fp_allocator a = fpt_heap_allocator(&heap);
		fp_mempool_opts o = pt_opts(60, 7, flags);

		o.allocator = &a;
		for (int i = 0; i < 5; i++) {
			fp_mempool *p = pt_create(&o);
			fp_mempool_cache *c = pt_cache(p);
			void *t[60];

			CHECK_EQ(pt_stats(p).in_depot, 60);
			CHECK_EQ(fp_mempool_cache_count(c), 0);
			pt_get(p, t, 30);
			fp_mempool_flush(p);
			CHECK_EQ(fp_mempool_get_bulk_via_cache(p, c, t + 30, 30), 30);
			pt_different(p, t, 60);
			pt_put(p, t, 60);
			CHECK_EQ(fp_mempool_cache_destroy(c), 0);
			pt_end(p);
			CHECK_EQ(heap.live, 0);
		}
	}
}

/* M-10: locks are left out only if both sides promise. */
static void only_both_promises_drop_the_locks(void)
{
	static const struct {
		uint32_t flags, single;
	} table[] = { { 0, 0 },
		      { LIBFP_POOL_ST_GET, 0 },
		      { LIBFP_POOL_ST_PUT, 0 },
		      { PT_SINGLE, 1 } };

	for (size_t i = 0; i < FPT_LEN(table); i++)
		for (uint32_t more = 0; more < 4; more++) {
			uint32_t flags = table[i].flags | (more & 1 ? LIBFP_CHECKED : 0) |
					 (more & 2 ? LIBFP_POOL_NO_CACHE : 0);
			fp_mempool *p = pt_pool(60, 7, flags);

			CHECK_EQ(p->single, table[i].single);
			pt_end(p);
		}
}

/* M-14 */
static void codes_are_negative_and_errno_is_left_alone(void)
{
	fp_mempool_opts o = pt_opts(0, 0, 0);
	fp_mempool *p = PT_UNTOUCHED;
	void *t[10];

	errno = 77;
	CHECK_EQ(fp_mempool_create(&o, &p), -EINVAL);
	CHECK_EQ(fp_mempool_lookup("none", &p), -ENOENT);
	o = pt_opts(INT32_MAX, 0, 0);
	o.object_size = UINT32_MAX;
	CHECK_EQ(fp_mempool_create(&o, &p), -ENOMEM);
	CHECK(p == PT_UNTOUCHED);
	o = pt_opts(8, 2, LIBFP_MEM_HUGE | LIBFP_MEM_NODE);
	o.numa_node = 1000;
	p = pt_create(&o);
	CHECK_EQ(fp_mempool_get_bulk(p, t, 9), -EINVAL);
	pt_get(p, t, 8);
	CHECK(fp_mempool_get(p) == NULL);
	CHECK_EQ(fp_mempool_destroy(p), -EBUSY);
	pt_put(p, t, 8);
	pt_end(p);
	CHECK_EQ(errno, 77);
}

static void *put_one(void *arg)
{
	fp_mempool *p = ((fp_mempool **)arg)[0];

	CHECK_EQ(fp_mempool_put(p, ((void **)arg)[1]), 0);
	return NULL;
}

static void *one_round(void *pool)
{
	void *object = fp_mempool_get(pool);

	CHECK(object != NULL);
	CHECK_EQ(fp_mempool_put(pool, object), 0);
	return NULL;
}

/* M-25, M-35: a thread that has no cache works, and counts. */
static void calls_without_a_cache_are_counted_once(void)
{
	fp_mempool_opts o = pt_opts(40, 8, LIBFP_STATS);
	fp_mempool_stats s;
	fp_mempool *p;
	void *first_put[2];

	o.max_threads = 1;
	p = pt_create(&o);
	one_round(p); /* this thread has the only one */
	for (uint64_t i = 1; i <= 50; i++) {
		pt_on_thread(one_round, p);
		s = pt_stats(p);
		CHECK_EQ(s.gets, i + 1);
		CHECK_EQ(s.puts, i + 1);
		CHECK_EQ(s.objects_got, i + 1);
		CHECK_EQ(s.objects_put, i + 1);
		CHECK_EQ(s.depot_exchanges, 2 * i + 1);
		CHECK_EQ(s.cache_hits, 1);
		CHECK_EQ(s.failures, 0);
	}
	/* A thread's very first call is a put. */
	first_put[0] = p;
	first_put[1] = fp_mempool_get(p);
	pt_on_thread(put_one, first_put);
	CHECK_EQ(pt_stats(p).puts, 52);
	pt_end(p);
}

/* M-26 */
static void empty_is_0_everywhere(void)
{
	PT_EACH_KIND(flags)
	for (uint32_t no = 0; no <= LIBFP_POOL_NO_CACHE; no += LIBFP_POOL_NO_CACHE) {
		fp_mempool *p = pt_pool(20, 5, flags | no);
		fp_mempool_cache *c = pt_cache(p);
		void *const *window = PT_UNTOUCHED;
		void *t[20], *more[2] = { PT_UNTOUCHED, PT_UNTOUCHED };

		pt_get(p, t, 20);
		CHECK(fp_mempool_get(p) == NULL);
		CHECK(fp_mempool_get_via_cache(p, c) == NULL);
		for (uint32_t n = 1; n < 3; n++) {
			CHECK_EQ(fp_mempool_get_bulk(p, more, n), 0);
			CHECK_EQ(fp_mempool_get_bulk_via_cache(p, c, more, n), 0);
			CHECK_EQ(fp_mempool_get_reserve_via_cache(p, c, n, &window), 0);
			if (!no)
				CHECK_EQ(fp_mempool_get_reserve(p, n, &window), 0);
		}
		CHECK(more[0] == PT_UNTOUCHED && more[1] == PT_UNTOUCHED);
		CHECK(window == PT_UNTOUCHED);
		pt_put(p, t, 20);
		CHECK_EQ(fp_mempool_cache_destroy(c), 0);
		pt_end(p);
	}
}

/* M-27: what one thread's cache takes from the others is known, and no more. */
struct hog {
	fp_mempool *p;
	void *object;
	sem_t has, go;
};

static void *get_one_and_stay(void *arg)
{
	struct hog *h = arg;

	h->object = fp_mempool_get(h->p);
	CHECK(h->object != NULL);
	sem_post(&h->has);
	fpt_sem_wait(&h->go);
	CHECK_EQ(fp_mempool_put(h->p, h->object), 0);
	return NULL;
}

static void a_second_thread_is_not_starved(void)
{
	for (uint32_t cache = 0; cache <= 31; cache++) {
		struct hog h = { .p = pt_pool(32, cache, 0) };
		int64_t keeps = fp_mempool_cache_size(h.p);
		uint32_t left = 32 - 1 - (uint32_t)keeps;
		void *t[32];
		pthread_t thread;

		fpt_where("cache %u", cache);
		CHECK_EQ(keeps, cache ? cache : 4);
		sem_init(&h.has, 0, 0);
		sem_init(&h.go, 0, 0);
		CHECK_EQ(pthread_create(&thread, NULL, get_one_and_stay, &h), 0);
		fpt_sem_wait(&h.has);
		pt_get(h.p, t, left);
		pt_put(h.p, t, left);
		sem_post(&h.go);
		pthread_join(thread, NULL);
		sem_destroy(&h.has);
		sem_destroy(&h.go);
		pt_end(h.p);
	}
}

/* M-29 */
static void a_refill_of_a_cache_that_is_not_empty_adds(void)
{
	for (uint32_t cache = 2; cache <= 32; cache++)
		for (uint32_t first = 1; first < cache; first++) {
			fp_mempool *p = pt_pool(64, cache, 0);
			void *t[64], *out[64];

			fpt_where("cache %u first %u", cache, first);
			pt_get(p, t, first);
			fp_mempool_flush(p);
			pt_put(p, t, first);
			pt_get(p, out, first + 1);
			pt_reversed(out, t, first);
			pt_at_rest(p, first + 1);
			pt_get(p, out + first + 1, 64 - first - 1);
			pt_different(p, out, 64);
			pt_put(p, out, 64);
			pt_end(p);
		}
}

/* M-31 */
static void *look_for_it(void *arg)
{
	fp_mempool *found = PT_UNTOUCHED;

	*(int *)arg = fp_mempool_lookup("half made", &found);
	CHECK(found == PT_UNTOUCHED);
	return NULL;
}

static int look_while_creating(void *object, uint32_t index, void *user)
{
	(void)object;
	if (index % 5 == 0) {
		pt_on_thread(look_for_it, user);
		CHECK_EQ(*(int *)user, -ENOENT);
	}
	return 0;
}

static void a_pool_is_found_once_it_is_complete(void)
{
	fp_mempool_opts o = pt_opts(20, 0, 0);
	fp_mempool *p, *found = NULL;
	int rc = 0;

	o.name = "half made";
	o.constructor = look_while_creating;
	o.user = &rc;
	p = pt_create(&o);
	CHECK_EQ(rc, -ENOENT);
	CHECK_EQ(fp_mempool_lookup("half made", &found), 0);
	CHECK(found == p);
	CHECK_EQ(fp_mempool_unref(p), 0);
	pt_end(p);
}

/* M-37: what threads write often lies on lines of their own. */
static void caches_share_no_line(void)
{
	fp_mempool *p = pt_pool(64, 1, LIBFP_STATS);
	fp_mempool_cache *c[8];

	for (int i = 0; i < 8; i++) {
		c[i] = pt_cache(p);
		CHECK_EQ((uintptr_t)c[i] % FPI_FALSE_SHARING, 0);
		for (int k = 0; k < i; k++) {
			intptr_t apart = (intptr_t)c[i] - (intptr_t)c[k];

			CHECK((apart < 0 ? -apart : apart) >= (intptr_t)sizeof(**c));
		}
	}
	CHECK_EQ(sizeof(struct fp_mempool_cache) % FPI_FALSE_SHARING, 0);
	CHECK_EQ(sizeof(struct fpi_shard) % FPI_FALSE_SHARING, 0);
	CHECK_EQ((uintptr_t)p->shard % FPI_FALSE_SHARING, 0);
	CHECK_EQ(offsetof(struct fp_mempool, lock) % FPI_FALSE_SHARING, 0);
	for (int i = 0; i < 8; i++)
		CHECK_EQ(fp_mempool_cache_destroy(c[i]), 0);
	pt_end(p);
}

/* L-06 */
static void a_get_that_fails_changes_nothing(void)
{
	for (uint32_t cached = 0; cached <= 8; cached++) {
		fp_mempool *p = pt_pool(20, 8, LIBFP_STATS);
		void *t[20], *out[20];

		fpt_where("cached %u", cached);
		pt_get(p, t, 20);
		pt_put(p, t, cached);
		memset(out, 0x66, sizeof(out));
		for (uint32_t n = cached + 1; n <= 20; n++)
			CHECK_EQ(fp_mempool_get_bulk(p, out, n), 0);
		for (size_t i = 0; i < sizeof(out); i++)
			CHECK_EQ(((unsigned char *)out)[i], 0x66);
		CHECK_EQ(pt_stats(p).in_own_cache, cached);
		CHECK_EQ(pt_stats(p).failures, 20 - cached);
		pt_get(p, out, cached);
		pt_reversed(out, t, cached);
		pt_put(p, t, 20);
		pt_end(p);
	}
}

/* L-07 */
static void an_odd_cache_overflows_without_loss(void)
{
	for (uint32_t cache = 1; cache <= 33; cache += 2)
		for (uint32_t more = 1; more <= cache + 1; more++) {
			fp_mempool *p = pt_pool(80, cache, 0);
			void *t[80];

			fpt_where("cache %u more %u", cache, more);
			pt_get(p, t, cache + more);
			fp_mempool_flush(p);
			pt_put(p, t, cache);
			CHECK_EQ(pt_stats(p).in_own_cache, cache);
			pt_put(p, t + cache, more);
			pt_at_rest(p, 0);
			pt_get(p, t, 80);
			pt_different(p, t, 80);
			pt_put(p, t, 80);
			pt_end(p);
		}
}

/* L-09: threads that had caches go on with another pool, or to their end. */
static void nothing_points_to_a_pool_that_is_gone(void)
{
	for (int i = 0; i < 20; i++) {
		fp_mempool *p = pt_pool(40, 8, pt_kinds[i % 4]);
		fp_mempool_cache *c = pt_cache(p);
		void *object = fp_mempool_get(p);

		CHECK_EQ(fp_mempool_destroy(p), -EBUSY);
		CHECK_EQ(fp_mempool_put(p, object), 0);
		CHECK_EQ(fp_mempool_destroy(p), -EBUSY);
		CHECK_EQ(fp_mempool_cache_destroy(c), 0);
		pt_end(p);
		p = pt_pool(40, 8, pt_kinds[(i + 1) % 4]);
		CHECK_EQ(pt_stats(p).thread_caches, 0);
		one_round(p);
		pt_end(p);
	}
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(after_a_miss_either_direction_hits),
		FPT_CASE(hot_objects_stay_and_cold_ones_go),
		FPT_CASE(exactly_a_cache_full_stays_in_the_cache),
		FPT_CASE(cache_and_depot_together_serve_a_get),
		FPT_CASE(a_pool_in_dirty_memory_starts_clean),
		FPT_CASE(only_both_promises_drop_the_locks),
		FPT_CASE(codes_are_negative_and_errno_is_left_alone),
		FPT_CASE(calls_without_a_cache_are_counted_once),
		FPT_CASE(empty_is_0_everywhere),
		FPT_CASE(a_second_thread_is_not_starved),
		FPT_CASE(a_refill_of_a_cache_that_is_not_empty_adds),
		FPT_CASE(a_pool_is_found_once_it_is_complete),
		FPT_CASE(caches_share_no_line),
		FPT_CASE(a_get_that_fails_changes_nothing),
		FPT_CASE(an_odd_cache_overflows_without_loss),
		FPT_CASE(nothing_points_to_a_pool_that_is_gone),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
