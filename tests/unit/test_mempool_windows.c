/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Zero copy: what a window shows, what commit takes of it or puts, how large it is at
 * least, and which windows are refused. On thread caches and explicit ones alike.
 */
#include <semaphore.h>

#include "hold.h"
#include "pool_test.h"

/* The four calls through one door; c NULL: the calling thread's cache. */
static int32_t get_reserve(fp_mempool *p, fp_mempool_cache *c, uint32_t n,
			   void *const **window)
{
	return c ? fp_mempool_get_reserve_via_cache(p, c, n, window) :
		   fp_mempool_get_reserve(p, n, window);
}

static int32_t get_commit(fp_mempool *p, fp_mempool_cache *c, uint32_t k)
{
	return c ? fp_mempool_get_commit_via_cache(p, c, k) : fp_mempool_get_commit(p, k);
}

static int32_t put_reserve(fp_mempool *p, fp_mempool_cache *c, uint32_t n, void ***window)
{
	return c ? fp_mempool_put_reserve_via_cache(p, c, n, window) :
		   fp_mempool_put_reserve(p, n, window);
}

static int32_t put_commit(fp_mempool *p, fp_mempool_cache *c, uint32_t k)
{
	return c ? fp_mempool_put_commit_via_cache(p, c, k) : fp_mempool_put_commit(p, k);
}

static int32_t get_bulk(fp_mempool *p, fp_mempool_cache *c, void **t, uint32_t n)
{
	return c ? fp_mempool_get_bulk_via_cache(p, c, t, n) :
		   fp_mempool_get_bulk(p, t, n);
}

static int32_t put_bulk(fp_mempool *p, fp_mempool_cache *c, void *const *t, uint32_t n)
{
	return c ? fp_mempool_put_bulk_via_cache(p, c, t, n) :
		   fp_mempool_put_bulk(p, t, n);
}

/* Every kind of pool, on the thread's cache and on an explicit one. */
static void with_every_cache(uint32_t count, uint32_t cache_size,
			     void (*fn)(fp_mempool *, fp_mempool_cache *, uint32_t size))
{
	for (size_t kind = 0; kind < FPT_LEN(pt_kinds); kind++)
		for (int handle = 0; handle < 2; handle++) {
			fp_mempool *p = pt_pool(count, cache_size, pt_kinds[kind]);
			fp_mempool_cache *c = handle ? pt_cache(p) : NULL;

			fpt_where("count %u cache %u flags %#x handle %d", count,
				  cache_size, pt_kinds[kind], handle);
			fn(p, c, cache_size);
			CHECK_EQ(fp_mempool_cache_destroy(c), 0);
			pt_end(p);
		}
}

static void show_next_gets(fp_mempool *p, fp_mempool_cache *c, uint32_t size)
{
	uint32_t half = (size + 1) / 2;
	void *t[64], *out[64], *const *window;

	CHECK_EQ(get_bulk(p, c, t, size), size);
	for (uint32_t n = 1; n <= half; n++)
		for (uint32_t k = 0; k <= n; k++) {
			CHECK_EQ(put_bulk(p, c, t, size), size);
			CHECK_EQ(get_reserve(p, c, n, &window), n);
			/* Nothing is taken yet. */
			pt_at_rest(p, 0);
			for (uint32_t i = 0; i < n; i++)
				CHECK(window[i] == t[size - n + i]);
			memcpy(out, window, k * sizeof(*out));
			CHECK_EQ(get_commit(p, c, k), k);
			pt_at_rest(p, k);
			CHECK_EQ(get_commit(p, c, 0), -EINVAL); /* once */
			/* Those behind the first k are the next gets still. */
			CHECK_EQ(get_bulk(p, c, out + k, size - k), size - k);
			for (uint32_t i = 0; i < n - k; i++)
				CHECK(out[k + i] == t[size - 1 - i]);
			pt_different(p, out, size);
			memcpy(t, out, size * sizeof(*t));
		}
	CHECK_EQ(put_bulk(p, c, t, size), size);
}

static void a_get_window_shows_the_next_gets(void)
{
	static const uint32_t sizes[] = { 1, 2, 3, 5, 8, 9 };

	for (size_t i = 0; i < FPT_LEN(sizes); i++) {
		with_every_cache(40, sizes[i], show_next_gets);
		with_every_cache(sizes[i], sizes[i], show_next_gets);
	}
}

static void fill_windows(fp_mempool *p, fp_mempool_cache *c, uint32_t size)
{
	uint32_t half = size / 2 ? size / 2 : 1;
	void *t[64], *out[64], **window;

	for (uint32_t n = 1; n <= half; n++)
		for (uint32_t k = 0; k <= n; k++)
			for (uint32_t cached = 0; cached + k <= size; cached++) {
				CHECK_EQ(get_bulk(p, c, t, size), size);
				CHECK_EQ(put_bulk(p, c, t, cached), cached);
				CHECK_EQ(put_reserve(p, c, n, &window), n);
				pt_at_rest(p, size - cached);
				memcpy(window, t + cached, k * sizeof(*window));
				CHECK_EQ(put_commit(p, c, k), k);
				CHECK_EQ(put_commit(p, c, 0), -EINVAL); /* once */
				pt_at_rest(p, size - cached - k);
				/* The last place is the most recent. */
				CHECK_EQ(get_bulk(p, c, out, k), k);
				pt_reversed(out, t + cached, k);
				CHECK_EQ(put_bulk(p, c, out, k), k);
				CHECK_EQ(
					put_bulk(p, c, t + cached + k, size - cached - k),
					size - cached - k);
			}
}

static void a_put_window_takes_what_is_written_to_it(void)
{
	static const uint32_t sizes[] = { 1, 2, 3, 5, 8, 9 };

	for (size_t i = 0; i < FPT_LEN(sizes); i++) {
		with_every_cache(40, sizes[i], fill_windows);
		with_every_cache(sizes[i], sizes[i], fill_windows);
	}
}

/* Half a cache whenever that many are there, wherever; else what there is, or fewer. */
static void ask_for_halves(fp_mempool *p, fp_mempool_cache *c, uint32_t size)
{
	uint32_t half = (size + 1) / 2, all = (uint32_t)fp_mempool_capacity(p);
	void *t[64], *const *window;

	CHECK_EQ(get_bulk(p, c, t, all), all);
	for (uint32_t depot = 0; depot <= half; depot++)
		for (uint32_t cached = 0; cached <= size; cached++)
			for (uint32_t n = 0; n <= size + 1; n++) {
				uint32_t there = depot + cached;
				int32_t got;

				if (there > all)
					continue;
				window = PT_UNTOUCHED;
				CHECK_EQ(put_bulk(p, c, t, depot), depot);
				if (c)
					fp_mempool_cache_flush(c);
				else
					fp_mempool_flush(p);
				CHECK_EQ(put_bulk(p, c, t + depot, cached), cached);
				got = get_reserve(p, c, n, &window);
				CHECK(got >= 0 && got <= (int32_t)n);
				CHECK(got <= (int32_t)there);
				if (n <= half && n <= there)
					CHECK_EQ(got, n);
				if (n && there)
					CHECK(got > 0);
				if (got)
					pt_different(p, window, (uint32_t)got);
				else
					CHECK(window == PT_UNTOUCHED);
				/* Those of the cache are among them, from the hot end. */
				for (int32_t i = 0; i < got && i < (int32_t)cached; i++)
					CHECK(window[got - 1 - i] ==
					      t[there - 1 - (uint32_t)i]);
				CHECK_EQ(get_commit(p, c, (uint32_t)got), got);
				pt_at_rest(p, all - there + (uint32_t)got);
				CHECK_EQ(get_bulk(p, c, t + got, there - (uint32_t)got),
					 there - (uint32_t)got);
				for (uint64_t i = 0; i < all; i++)
					t[i] = fp_mempool_object(p, i);
			}
	CHECK_EQ(put_bulk(p, c, t, all), all);
}

static void a_get_window_is_half_a_cache_if_that_many_are_there(void)
{
	static const uint32_t sizes[] = { 1, 2, 3, 4, 7 };

	for (size_t i = 0; i < FPT_LEN(sizes); i++) {
		with_every_cache(sizes[i], sizes[i], ask_for_halves);
		with_every_cache(16, sizes[i], ask_for_halves);
		if (FPT_SAMPLE)
			break;
	}
}

/* Whatever the cache holds and has just done, half of it is given. */
static void ask_for_places(fp_mempool *p, fp_mempool_cache *c, uint32_t size)
{
	uint32_t half = size / 2 ? size / 2 : 1, have = 0;
	uint64_t seed = 12345 + size;
	void *t[64], **window;
	void *const *shown = NULL;

	for (int lap = 0; lap < 300; lap++) {
		uint32_t n = 1 + (uint32_t)(fpt_random(&seed) >> 40) % (size + 2);
		int32_t got;

		switch (fpt_random(&seed) >> 62) {
		case 0:
			got = get_reserve(p, c, n, &shown);
			CHECK(got >= 0);
			got = got ? (int32_t)(fpt_random(&seed) >> 40) % got : 0;
			memcpy(t + have, shown, (size_t)got * sizeof(*t));
			CHECK_EQ(get_commit(p, c, (uint32_t)got), got);
			have += (uint32_t)got;
			break;
		case 1:
			got = get_bulk(p, c, t + have, n);
			have += got > 0 ? (uint32_t)got : 0;
			break;
		default:
			got = put_reserve(p, c, n, &window);
			CHECK(got >= 1 && got <= (int32_t)n);
			CHECK(got >= (int32_t)(n < half ? n : half));
			if (got > (int32_t)have)
				got = (int32_t)have;
			have -= (uint32_t)got;
			memcpy(window, t + have, (size_t)got * sizeof(*t));
			CHECK_EQ(put_commit(p, c, (uint32_t)got), got);
		}
		pt_at_rest(p, have);
	}
	CHECK_EQ(put_bulk(p, c, t, have), have);
}

static void a_put_window_is_always_half_a_cache(void)
{
	static const uint32_t sizes[] = { 1, 2, 3, 4, 7, 8, 20 };

	for (size_t i = 0; i < FPT_LEN(sizes); i++) {
		with_every_cache(sizes[i], sizes[i], ask_for_places);
		with_every_cache(40, sizes[i], ask_for_places);
	}
}

/* ---- windows that are refused ---- */

static void go_stale(fp_mempool *p, fp_mempool_cache *c, uint32_t size)
{
	void *t[64], **place;
	void *const *window;

	(void)size;
	CHECK_EQ(get_commit(p, c, 0), -EINVAL); /* none was ever opened */
	CHECK_EQ(put_commit(p, c, 0), -EINVAL);
	CHECK_EQ(get_bulk(p, c, t, 8), 8);
	CHECK_EQ(put_bulk(p, c, t, 6), 6);

	CHECK_EQ(get_reserve(p, c, 3, &window), 3);
	CHECK_EQ(get_commit(p, c, 4), -EINVAL); /* larger than it is, */
	CHECK_EQ(get_commit(p, c, UINT32_MAX), -EINVAL);
	CHECK_EQ(put_commit(p, c, 1), -EINVAL); /* of the other way, */
	pt_at_rest(p, 2);
	CHECK_EQ(get_commit(p, c, 0), 0); /* which has changed nothing */

	CHECK_EQ(get_reserve(p, c, 3, &window), 3);
	CHECK_EQ(put_bulk(p, c, t + 6, 1), 1); /* a put since, */
	CHECK_EQ(get_commit(p, c, 3), -EINVAL);
	CHECK_EQ(get_reserve(p, c, 3, &window), 3);
	CHECK_EQ(get_bulk(p, c, t + 6, 1), 1); /* a get, */
	CHECK_EQ(get_commit(p, c, 3), -EINVAL);
	CHECK_EQ(get_reserve(p, c, 3, &window), 3);
	CHECK((c ? fp_mempool_cache_flush(c) : fp_mempool_flush(p)) >= 5);
	CHECK_EQ(get_commit(p, c, 3), -EINVAL); /* a flush, */
	CHECK_EQ(get_commit(p, c, 0), -EINVAL);
	CHECK_EQ(get_reserve(p, c, 3, &window), 3);
	CHECK_EQ(put_reserve(p, c, 2, &place), 2); /* another reserve */
	CHECK_EQ(get_commit(p, c, 3), -EINVAL);
	CHECK_EQ(put_commit(p, c, 3), -EINVAL);
	CHECK_EQ(put_bulk(p, c, t + 6, 1), 1);
	CHECK_EQ(put_commit(p, c, 1), -EINVAL);
	pt_at_rest(p, 1);
	CHECK_EQ(put_bulk(p, c, t + 7, 1), 1);
}

/* Another magazine, or an empty one, with as many objects as before. */
static void go_stale_elsewhere(fp_mempool *p, fp_mempool_cache *c, uint32_t size)
{
	void *t[64], **place;
	void *const *window;

	CHECK_EQ(size, 10); /* in two magazines of 5 */
	CHECK_EQ(get_bulk(p, c, t, 10), 10);
	CHECK((c ? fp_mempool_cache_flush(c) : fp_mempool_flush(p)) >= 0);
	CHECK_EQ(put_reserve(p, c, 2, &place), 2);
	CHECK_EQ(c ? fp_mempool_cache_flush(c) : fp_mempool_flush(p), 0);
	CHECK_EQ(put_commit(p, c, 1), -EINVAL);

	CHECK_EQ(put_bulk(p, c, t, 2), 2); /* 2, then 5 and 2 */
	CHECK_EQ(put_reserve(p, c, 1, &place), 1);
	CHECK_EQ(put_bulk(p, c, t + 2, 5), 5);
	CHECK_EQ(put_commit(p, c, 1), -EINVAL);

	CHECK_EQ(get_reserve(p, c, 2, &window), 2); /* 5 and 2, then 2 */
	CHECK_EQ(get_bulk(p, c, t + 2, 5), 5);
	CHECK_EQ(get_commit(p, c, 2), -EINVAL);
	pt_at_rest(p, 8);
	CHECK_EQ(put_bulk(p, c, t + 2, 8), 8);
}

static void stale_windows_are_refused(void)
{
	with_every_cache(40, 10, go_stale_elsewhere);
	with_every_cache(40, 10, go_stale);
	with_every_cache(10, 10, go_stale);
}

/* As many got as put since: CHECKED sees it still; elsewhere the pool stays whole. */
static void go_stale_unseen(fp_mempool *p, fp_mempool_cache *c, uint32_t size)
{
	int checked = fp_mempool_leaks(p, NULL, 0) >= 0;
	void *t[64], **place;
	void *const *window;

	for (uint32_t n = 1; n <= size; n++) {
		int32_t got;

		CHECK_EQ(get_reserve(p, c, 2, &window), 2);
		CHECK_EQ(get_bulk(p, c, t, n), n);
		CHECK_EQ(put_bulk(p, c, t, n), n);
		got = get_commit(p, c, 2);
		CHECK(got == -EINVAL || (!checked && got == 2));
		if (got == 2) /* in place, they are those that were shown */
			CHECK_EQ(put_bulk(p, c, window, 2), 2);
		CHECK_EQ(put_reserve(p, c, 1, &place), 1);
		CHECK_EQ(get_bulk(p, c, t, n), n);
		CHECK_EQ(put_bulk(p, c, t, n), n);
		got = put_commit(p, c, 0);
		CHECK(got == -EINVAL || (!checked && got == 0));
		pt_at_rest(p, 0);
	}
}

static void stale_windows_whose_count_is_the_same(void)
{
	with_every_cache(40, 4, go_stale_unseen);
}

static void pools_without_a_cache_say_so(void)
{
	fp_mempool *pools[] = { pt_pool(7, 0, 0), pt_pool(40, 8, LIBFP_POOL_NO_CACHE),
				pt_pool(40, 8, LIBFP_POOL_NO_CACHE | LIBFP_CHECKED),
				pt_pool(7, 0, PT_SINGLE) };

	for (size_t i = 0; i < FPT_LEN(pools); i++) {
		void **place = PT_UNTOUCHED;
		void *const *window = PT_UNTOUCHED;

		for (uint32_t n = 0; n < 3; n++) {
			CHECK_EQ(fp_mempool_get_reserve(pools[i], n, &window),
				 -EOPNOTSUPP);
			CHECK_EQ(fp_mempool_put_reserve(pools[i], n, &place),
				 -EOPNOTSUPP);
			CHECK_EQ(fp_mempool_get_commit(pools[i], n), -EINVAL);
			CHECK_EQ(fp_mempool_put_commit(pools[i], n), -EINVAL);
		}
		CHECK(window == PT_UNTOUCHED && place == PT_UNTOUCHED);
		pt_end(pools[i]);
	}
}

/* A commit needs a window, so it makes no cache. */
static void a_commit_makes_no_cache(void)
{
	for (uint32_t flags = 0; flags <= LIBFP_STATS; flags += LIBFP_STATS) {
		fp_mempool *p = pt_pool(40, 8, flags);

		CHECK_EQ(fp_mempool_get_commit(p, 0), -EINVAL);
		CHECK_EQ(fp_mempool_put_commit(p, 1), -EINVAL);
		CHECK_EQ(pt_stats(p).thread_caches, 0);
		pt_end(p);
	}
}

/* ---- a thread is asked to give back between reserve and commit ---- */

struct asked {
	fp_mempool *p;
	sem_t opened, go;
	int way; /* 0: get, 1: put */
};

static void *open_and_wait(void *arg)
{
	struct asked *a = arg;
	void *t[6], **place;
	void *const *window;

	pt_get(a->p, t, 6);
	pt_put(a->p, t, 4);
	if (a->way) {
		CHECK_EQ(fp_mempool_put_reserve(a->p, 2, &place), 2);
		memcpy(place, t + 4, 2 * sizeof(*place));
	} else {
		CHECK_EQ(fp_mempool_get_reserve(a->p, 2, &window), 2);
	}
	sem_post(&a->opened);
	fpt_sem_wait(&a->go);
	/* The window was valid until this call, and is; the next one gives back. */
	if (a->way) {
		CHECK_EQ(fp_mempool_put_commit(a->p, 2), 2);
		CHECK_EQ(fp_mempool_in_use_count(a->p), 0);
	} else {
		CHECK(window[0] == t[2] && window[1] == t[3]);
		CHECK_EQ(fp_mempool_get_commit(a->p, 2), 2);
		CHECK_EQ(fp_mempool_in_use_count(a->p), 4);
		pt_put(a->p, t + 2, 4);
	}
	CHECK(pt_stats(a->p).in_own_cache > 0);
	CHECK_EQ(fp_mempool_get_bulk(a->p, t, 1), 1);
	CHECK(pt_stats(a->p).in_own_cache < 4); /* what one exchange brings */
	pt_put(a->p, t, 1);
	return NULL;
}

static void reclaim_does_not_close_an_open_window(void)
{
	PT_EACH_KIND(flags)
	for (int way = 0; way < 2; way++) {
		struct asked a = { .way = way };
		pthread_t thread;

		if ((flags & PT_SINGLE) == PT_SINGLE)
			continue; /* one cache, one thread at a time */
		a.p = pt_pool(40, 8, flags);
		sem_init(&a.opened, 0, 0);
		sem_init(&a.go, 0, 0);
		CHECK_EQ(pthread_create(&thread, NULL, open_and_wait, &a), 0);
		fpt_sem_wait(&a.opened);
		CHECK(fp_mempool_reclaim(a.p) >= 4);
		sem_post(&a.go);
		pthread_join(thread, NULL);
		sem_destroy(&a.opened);
		sem_destroy(&a.go);
		pt_end(a.p);
	}
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(a_get_window_shows_the_next_gets),
		FPT_CASE(a_put_window_takes_what_is_written_to_it),
		FPT_CASE(a_get_window_is_half_a_cache_if_that_many_are_there),
		FPT_CASE(a_put_window_is_always_half_a_cache),
		FPT_CASE(stale_windows_are_refused),
		FPT_CASE(stale_windows_whose_count_is_the_same),
		FPT_CASE(pools_without_a_cache_say_so),
		FPT_CASE(a_commit_makes_no_cache),
		FPT_CASE(reclaim_does_not_close_an_open_window),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
