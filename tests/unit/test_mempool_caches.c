/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Explicit caches: made, used, counted, flushed, destroyed once, and refused where
 * they do not belong.
 */
#include "pool_test.h"

static void a_cache_keeps_what_is_put_through_it(void)
{
	PT_EACH_KIND(flags)
	{
		fp_mempool *p = pt_pool(100, 10, flags);
		fp_mempool_cache *c = pt_cache(p);
		fp_mempool_stats s;
		void *t[10], *out[10];

		CHECK_EQ(fp_mempool_cache_count(c), 0);
		CHECK_EQ(fp_mempool_get_bulk_via_cache(p, c, t, 10), 10);
		CHECK_EQ(fp_mempool_cache_flush(c) >= 0, 1);
		for (int i = 0; i < 10; i++) {
			CHECK_EQ(fp_mempool_put_via_cache(p, c, t[i]), 0);
			CHECK_EQ(fp_mempool_cache_count(c), i + 1);
		}
		s = pt_stats(p);
		CHECK_EQ(s.explicit_caches, 1);
		CHECK_EQ(s.in_explicit_caches, 10);
		CHECK_EQ(s.in_own_cache, 0);
		CHECK_EQ(s.in_depot, 90);
		CHECK_EQ(s.available, 100);
		for (int i = 10; i-- > 0;)
			CHECK(fp_mempool_get_via_cache(p, c) == t[i]);
		CHECK_EQ(fp_mempool_put_bulk_via_cache(p, c, t, 10), 10);
		CHECK_EQ(fp_mempool_get_bulk_via_cache(p, c, out, 10), 10);
		pt_reversed(out, t, 10);
		CHECK_EQ(fp_mempool_put_bulk_via_cache(p, c, t, 7), 7);
		CHECK_EQ(fp_mempool_cache_flush(c), 7);
		CHECK_EQ(fp_mempool_cache_flush(c), 0);
		CHECK_EQ(fp_mempool_cache_count(c), 0);
		pt_at_rest(p, 3);
		CHECK_EQ(fp_mempool_put_bulk_via_cache(p, c, t + 7, 3), 3);
		CHECK_EQ(fp_mempool_cache_destroy(c), 0);
		CHECK_EQ(pt_stats(p).in_explicit_caches, 0);
		pt_end(p);
	}
}

/* Where the pool has no thread caches they hold one object at least. */
static void every_pool_has_them(void)
{
	for (uint32_t count = 1; count < 10; count++)
		for (uint32_t no = 0; no <= LIBFP_POOL_NO_CACHE;
		     no += LIBFP_POOL_NO_CACHE) {
			fp_mempool *p = pt_pool(count, 0, no);
			fp_mempool_cache *c = pt_cache(p);
			void *object = fp_mempool_get_via_cache(p, c);

			fpt_where("count %u flags %#x", count, no);
			CHECK(object != NULL);
			CHECK_EQ(fp_mempool_put_via_cache(p, c, object), 0);
			CHECK_EQ(fp_mempool_cache_count(c), 1);
			/* It keeps one from the others, until it gives it back. */
			CHECK_EQ(fp_mempool_avail_count(p), count);
			for (uint32_t i = 1; i < count; i++)
				CHECK(fp_mempool_get(p) != NULL);
			CHECK(fp_mempool_get(p) == NULL);
			CHECK_EQ(fp_mempool_cache_flush(c), 1);
			CHECK(fp_mempool_get(p) == object);
			for (uint32_t i = 0; i < count; i++)
				CHECK_EQ(fp_mempool_put(p, fp_mempool_object(p, i)), 0);
			CHECK_EQ(fp_mempool_cache_destroy(c), 0);
			pt_end(p);
		}
}

static void objects_pass_between_all_kinds_of_caches(void)
{
	PT_EACH_KIND(flags)
	{
		fp_mempool *p = pt_pool(50, 6, flags);
		fp_mempool_cache *c[3];
		void *t[50];

		for (int i = 0; i < 3; i++)
			c[i] = pt_cache(p);
		for (int lap = 0; lap < 40; lap++) {
			fp_mempool_cache *from = c[lap % 3], *to = c[lap / 3 % 3];

			CHECK_EQ(fp_mempool_get_bulk_via_cache(p, from, t, 20), 20);
			pt_get(p, t + 20, 9);
			pt_different(p, t, 29);
			pt_put(p, t, 9);
			CHECK_EQ(fp_mempool_put_bulk_via_cache(p, to, t + 9, 20), 20);
			for (int i = 0; i < 3; i++)
				CHECK(fp_mempool_cache_count(c[i]) <= 6);
			pt_at_rest(p, 0);
		}
		for (int i = 0; i < 3; i++)
			CHECK_EQ(fp_mempool_cache_destroy(c[i]), 0);
		pt_end(p);
	}
}

static void a_destroyed_cache_is_refused(void)
{
	PT_EACH_KIND(flags)
	{
		fp_mempool *p = pt_pool(50, 6, flags);
		fp_mempool_cache *c = pt_cache(p);
		void *t[6], **place = PT_UNTOUCHED;
		void *const *window = PT_UNTOUCHED;

		CHECK_EQ(fp_mempool_get_bulk_via_cache(p, c, t, 6), 6);
		CHECK_EQ(fp_mempool_put_bulk_via_cache(p, c, t, 3), 3);
		CHECK_EQ(fp_mempool_cache_destroy(c), 0);
		pt_at_rest(p, 3);
		CHECK_EQ(fp_mempool_cache_destroy(c), -EINVAL);
		CHECK_EQ(pt_stats(p).explicit_caches, 0);
		/* Nothing gets lost in it. */
		CHECK(fp_mempool_get_via_cache(p, c) == NULL);
		CHECK_EQ(fp_mempool_put_via_cache(p, c, t[3]), -EINVAL);
		CHECK_EQ(fp_mempool_get_bulk_via_cache(p, c, t, 1), -EINVAL);
		CHECK_EQ(fp_mempool_put_bulk_via_cache(p, c, t + 3, 3), -EINVAL);
		CHECK_EQ(fp_mempool_get_reserve_via_cache(p, c, 1, &window), -EINVAL);
		CHECK_EQ(fp_mempool_put_reserve_via_cache(p, c, 1, &place), -EINVAL);
		CHECK_EQ(fp_mempool_put_commit_via_cache(p, c, 0), -EINVAL);
		CHECK_EQ(fp_mempool_cache_flush(c), -EINVAL);
		pt_at_rest(p, 3);
		pt_put(p, t + 3, 3);
		pt_end(p);
	}
}

static void *use_the_pool(void *pool)
{
	void *object = fp_mempool_get(pool);

	CHECK(object != NULL);
	CHECK_EQ(fp_mempool_put(pool, object), 0);
	return NULL;
}

/* A thread's cache is not the caller's, although its memory once was. */
static void a_stale_cache_that_a_thread_uses_now_is_not_destroyed(void)
{
	fp_mempool *p = pt_pool(50, 6, 0);
	fp_mempool_cache *c = pt_cache(p);

	CHECK_EQ(fp_mempool_cache_destroy(c), 0);
	use_the_pool(p);
	CHECK_EQ(pt_stats(p).thread_caches, 1);
	CHECK_EQ(fp_mempool_cache_destroy(c), -EINVAL);
	CHECK_EQ(pt_stats(p).thread_caches, 1);
	CHECK_EQ(pt_stats(p).explicit_caches, 0);
	use_the_pool(p);
	pt_end(p);
}

static void caches_are_used_again(void)
{
	PT_EACH_KIND(flags)
	{
		struct fpt_heap heap = { .fail_at = -1 };
		fp_allocator a = fpt_heap_allocator(&heap);
		fp_mempool_opts o = pt_opts(50, 6, flags);
		fp_mempool *p;
		int64_t live, memory;

		o.allocator = &a;
		p = pt_create(&o);
		CHECK_EQ(fp_mempool_cache_destroy(pt_cache(p)), 0);
		pt_on_thread(use_the_pool, p);
		live = heap.live;
		memory = fp_mempool_memory(p);
		for (int i = 0; i < 100; i++) {
			if (i % 2)
				pt_on_thread(use_the_pool, p);
			else
				CHECK_EQ(fp_mempool_cache_destroy(pt_cache(p)), 0);
			CHECK_EQ(heap.live, live);
			CHECK_EQ(fp_mempool_memory(p), memory);
		}
		pt_end(p);
		CHECK_EQ(heap.live, 0);
		CHECK_EQ(heap.bad, 0);
	}
}

/* What the pool says of its memory is what it got. */
static void memory_is_counted(void)
{
	PT_EACH_KIND(flags)
	{
		struct fpt_heap heap = { .fail_at = -1 };
		fp_allocator a = fpt_heap_allocator(&heap);
		fp_mempool_opts o = pt_opts(500, 30, flags);
		fp_mempool_cache *c[5];
		fp_mempool *p;

		o.allocator = &a;
		p = pt_create(&o);
		CHECK_EQ(fp_mempool_memory(p), heap.live_bytes);
		for (int i = 0; i < 5; i++) {
			c[i] = pt_cache(p);
			CHECK_EQ(fp_mempool_memory(p), heap.live_bytes);
		}
		use_the_pool(p);
		CHECK_EQ(fp_mempool_memory(p), heap.live_bytes);
		for (int i = 0; i < 5; i++)
			CHECK_EQ(fp_mempool_cache_destroy(c[i]), 0);
		CHECK_EQ(fp_mempool_memory(p), heap.live_bytes);
		pt_end(p);
		CHECK_EQ(heap.live, 0);
	}
}

/* As goroutines do: the code moves from thread to thread, the cache with it. */
struct moving {
	fp_mempool *p;
	fp_mempool_cache *c;
	void *t[8];
	int have;
};

static void *move_on(void *arg)
{
	struct moving *m = arg;

	if (m->have)
		CHECK_EQ(fp_mempool_put_bulk_via_cache(m->p, m->c, m->t, 8), 8);
	else
		CHECK_EQ(fp_mempool_get_bulk_via_cache(m->p, m->c, m->t, 8), 8);
	m->have = !m->have;
	return NULL;
}

static void a_cache_moves_between_threads(void)
{
	for (uint32_t flags = 0; flags <= LIBFP_CHECKED; flags += LIBFP_CHECKED) {
		struct moving m = { .p = pt_pool(20, 5, flags) };

		m.c = pt_cache(m.p);
		for (int i = 0; i < 40; i++)
			pt_on_thread(move_on, &m);
		/* No thread has taken a cache of its own for that. */
		CHECK_EQ(pt_stats(m.p).thread_caches, 0);
		CHECK(fp_mempool_cache_count(m.c) > 0);
		CHECK_EQ(fp_mempool_cache_destroy(m.c), 0);
		pt_end(m.p);
	}
}

/* Explicit caches are not asked by reclaim. */
static void reclaim_leaves_them_alone(void)
{
	fp_mempool *p = pt_pool(20, 5, 0);
	fp_mempool_cache *c = pt_cache(p);
	void *t[5];

	pt_get(p, t, 5);
	CHECK_EQ(fp_mempool_put_bulk_via_cache(p, c, t, 5), 5);
	CHECK_EQ(fp_mempool_reclaim(p), 0);
	CHECK(fp_mempool_get_via_cache(p, c) == t[4]);
	CHECK_EQ(fp_mempool_cache_count(c), 4);
	CHECK_EQ(fp_mempool_put_via_cache(p, c, t[4]), 0);
	CHECK_EQ(fp_mempool_cache_destroy(c), 0);
	pt_end(p);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(a_cache_keeps_what_is_put_through_it),
		FPT_CASE(every_pool_has_them),
		FPT_CASE(objects_pass_between_all_kinds_of_caches),
		FPT_CASE(a_destroyed_cache_is_refused),
		FPT_CASE(a_stale_cache_that_a_thread_uses_now_is_not_destroyed),
		FPT_CASE(caches_are_used_again),
		FPT_CASE(memory_is_counted),
		FPT_CASE(a_cache_moves_between_threads),
		FPT_CASE(reclaim_leaves_them_alone),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
