/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * NULL handles, NULL tables, absurd counts and caches of other pools, for every
 * function of mempool.h: an error code, nothing written, no crash.
 */
#include "pool_test.h"

static int visit(void *object, uint32_t index, void *user)
{
	(void)object;
	(void)index;
	return ++*(int *)user;
}

static void every_function_accepts_a_null_pool(void)
{
	fp_mempool *own = pt_pool(20, 4, 0);
	fp_mempool_cache *c = pt_cache(own), *made = PT_UNTOUCHED;
	fp_mempool_stats stats = { .size = sizeof(stats) };
	void *object = PT_UNTOUCHED, **place = PT_UNTOUCHED;
	void *const *window = PT_UNTOUCHED;
	fp_mempool_leak leak = { .index = 99 };
	int visits = 0;

	CHECK_EQ(fp_mempool_destroy(NULL), 0);
	CHECK_EQ(fp_mempool_unref(NULL), -EINVAL);
	CHECK(fp_mempool_name(NULL) == NULL);
	CHECK(fp_mempool_get(NULL) == NULL);
	CHECK_EQ(fp_mempool_put(NULL, &visits), -EINVAL);
	CHECK_EQ(fp_mempool_put(NULL, NULL), -EINVAL);
	CHECK(fp_mempool_get_via_cache(NULL, c) == NULL);
	CHECK(fp_mempool_get_via_cache(NULL, NULL) == NULL);
	CHECK_EQ(fp_mempool_put_via_cache(NULL, c, &visits), -EINVAL);
	CHECK_EQ(fp_mempool_put_via_cache(NULL, NULL, NULL), -EINVAL);
	for (uint32_t n = 0; n < 2; n++) { /* n = 0 does not excuse the handle */
		CHECK_EQ(fp_mempool_get_bulk(NULL, &object, n), -EINVAL);
		CHECK_EQ(fp_mempool_put_bulk(NULL, &object, n), -EINVAL);
		CHECK_EQ(fp_mempool_get_reserve(NULL, n, &window), -EINVAL);
		CHECK_EQ(fp_mempool_put_reserve(NULL, n, &place), -EINVAL);
		CHECK_EQ(fp_mempool_get_commit(NULL, n), -EINVAL);
		CHECK_EQ(fp_mempool_put_commit(NULL, n), -EINVAL);
		CHECK_EQ(fp_mempool_get_bulk_via_cache(NULL, c, &object, n), -EINVAL);
		CHECK_EQ(fp_mempool_put_bulk_via_cache(NULL, c, &object, n), -EINVAL);
		CHECK_EQ(fp_mempool_get_reserve_via_cache(NULL, c, n, &window), -EINVAL);
		CHECK_EQ(fp_mempool_put_reserve_via_cache(NULL, c, n, &place), -EINVAL);
		CHECK_EQ(fp_mempool_get_commit_via_cache(NULL, c, n), -EINVAL);
		CHECK_EQ(fp_mempool_put_commit_via_cache(NULL, c, n), -EINVAL);
	}
	CHECK_EQ(fp_mempool_flush(NULL), -EINVAL);
	CHECK_EQ(fp_mempool_reclaim(NULL), -EINVAL);
	CHECK_EQ(fp_mempool_cache_create(NULL, &made), -EINVAL);
	CHECK_EQ(fp_mempool_cache_destroy(NULL), 0);
	CHECK_EQ(fp_mempool_cache_flush(NULL), -EINVAL);
	CHECK_EQ(fp_mempool_cache_count(NULL), -EINVAL);
	CHECK_EQ(fp_mempool_index(NULL, &visits), -EINVAL);
	CHECK(fp_mempool_object(NULL, 0) == NULL);
	CHECK_EQ(fp_mempool_contains(NULL, &visits), -EINVAL);
	CHECK(fp_mempool_base(NULL) == NULL);
	CHECK_EQ(fp_mempool_stride(NULL), -EINVAL);
	CHECK_EQ(fp_mempool_object_size(NULL), -EINVAL);
	CHECK_EQ(fp_mempool_capacity(NULL), -EINVAL);
	CHECK_EQ(fp_mempool_cache_size(NULL), -EINVAL);
	CHECK_EQ(fp_mempool_memory(NULL), -EINVAL);
	CHECK_EQ(fp_mempool_avail_count(NULL), -EINVAL);
	CHECK_EQ(fp_mempool_in_use_count(NULL), -EINVAL);
	CHECK_EQ(fp_mempool_is_full(NULL), -EINVAL);
	CHECK_EQ(fp_mempool_is_empty(NULL), -EINVAL);
	CHECK_EQ(fp_mempool_for_each(NULL, visit, &visits), -EINVAL);
	CHECK_EQ(fp_mempool_get_stats(NULL, &stats), -EINVAL);
	CHECK_EQ(fp_mempool_audit(NULL), -EINVAL);
	CHECK_EQ(fp_mempool_set_tag(NULL, &visits, 1), -EINVAL);
	CHECK_EQ(fp_mempool_leaks(NULL, &leak, 1), -EINVAL);
	CHECK_EQ(fp_mempool_leaks(NULL, NULL, 0), -EINVAL);

	CHECK(object == PT_UNTOUCHED && place == PT_UNTOUCHED && window == PT_UNTOUCHED);
	CHECK(made == PT_UNTOUCHED);
	CHECK_EQ(stats.size, sizeof(stats));
	CHECK_EQ(leak.index, 99);
	CHECK_EQ(visits, 0);
	CHECK_EQ(fp_mempool_cache_destroy(c), 0);
	pt_end(own);
}

static void null_tables_are_refused_if_something_would_move(void)
{
	PT_EACH_KIND(flags)
	{
		fp_mempool *p = pt_pool(20, 4, flags);
		fp_mempool_cache *c = pt_cache(p);
		void *t[4];

		pt_get(p, t, 4);
		for (int lap = 0; lap < 2; lap++) { /* from the depot, from the cache */
			CHECK_EQ(fp_mempool_put(p, NULL), -EINVAL);
			CHECK_EQ(fp_mempool_put_via_cache(p, c, NULL), -EINVAL);
			CHECK_EQ(fp_mempool_get_bulk(p, NULL, 1), -EINVAL);
			CHECK_EQ(fp_mempool_put_bulk(p, NULL, 1), -EINVAL);
			CHECK_EQ(fp_mempool_get_bulk_via_cache(p, c, NULL, 1), -EINVAL);
			CHECK_EQ(fp_mempool_put_bulk_via_cache(p, c, NULL, 1), -EINVAL);
			CHECK_EQ(fp_mempool_get_bulk(p, NULL, 0), 0);
			CHECK_EQ(fp_mempool_put_bulk(p, NULL, 0), 0);
			CHECK_EQ(fp_mempool_get_bulk_via_cache(p, c, NULL, 0), 0);
			CHECK_EQ(fp_mempool_put_bulk_via_cache(p, c, NULL, 0), 0);
			CHECK_EQ(fp_mempool_get_bulk(p, t, 0), 0);
			CHECK_EQ(fp_mempool_put_bulk(p, t, 0), 0);
			for (uint32_t n = 0; n < 2; n++) {
				CHECK_EQ(fp_mempool_get_reserve(p, n, NULL), -EINVAL);
				CHECK_EQ(fp_mempool_put_reserve(p, n, NULL), -EINVAL);
				CHECK_EQ(fp_mempool_get_reserve_via_cache(p, c, n, NULL),
					 -EINVAL);
				CHECK_EQ(fp_mempool_put_reserve_via_cache(p, c, n, NULL),
					 -EINVAL);
			}
			CHECK_EQ(fp_mempool_cache_create(p, NULL), -EINVAL);
			CHECK_EQ(fp_mempool_for_each(p, NULL, NULL), -EINVAL);
			CHECK_EQ(fp_mempool_get_stats(p, NULL), -EINVAL);
			if (flags & LIBFP_CHECKED) {
				CHECK_EQ(fp_mempool_leaks(p, NULL, 1), -EINVAL);
				CHECK_EQ(fp_mempool_leaks(p, NULL, 0), lap ? 1 : 4);
			} else {
				CHECK_EQ(fp_mempool_leaks(p, NULL, 0), -EOPNOTSUPP);
				CHECK_EQ(fp_mempool_set_tag(p, t[0], 1), -EOPNOTSUPP);
			}
			pt_at_rest(p, lap ? 1 : 4);
			if (!lap)
				pt_put(p, t, 3);
		}
		pt_put(p, t + 3, 1);
		CHECK_EQ(fp_mempool_cache_destroy(c), 0);
		pt_end(p);
	}
}

/* What could never succeed is an error, not "none at the moment". L-05 */
static void absurd_counts_are_refused(void)
{
	static const uint32_t counts[] = { 21,	       0x7fffffff,     0x80000000,
					   0x80000001, UINT32_MAX - 3, UINT32_MAX };

	PT_EACH_KIND(flags)
	{
		fp_mempool *p = pt_pool(20, 4, flags);
		fp_mempool_cache *c = pt_cache(p);
		void *t[20], **place = PT_UNTOUCHED;
		void *const *window = PT_UNTOUCHED;

		for (int lap = 0; lap < 2; lap++) {
			for (size_t i = 0; i < FPT_LEN(counts); i++) {
				uint32_t n = counts[i];

				t[0] = PT_UNTOUCHED;
				CHECK_EQ(fp_mempool_get_bulk(p, t, n), -EINVAL);
				CHECK_EQ(fp_mempool_put_bulk(p, t, n), -EINVAL);
				CHECK_EQ(fp_mempool_get_bulk_via_cache(p, c, t, n),
					 -EINVAL);
				CHECK_EQ(fp_mempool_put_bulk_via_cache(p, c, t, n),
					 -EINVAL);
				CHECK(t[0] == PT_UNTOUCHED);
				CHECK_EQ(fp_mempool_get_commit(p, n), -EINVAL);
				CHECK_EQ(fp_mempool_put_commit(p, n), -EINVAL);
				CHECK_EQ(fp_mempool_get_commit_via_cache(p, c, n),
					 -EINVAL);
				CHECK_EQ(fp_mempool_put_commit_via_cache(p, c, n),
					 -EINVAL);
				if (n <= INT32_MAX)
					continue;
				CHECK_EQ(fp_mempool_get_reserve(p, n, &window), -EINVAL);
				CHECK_EQ(fp_mempool_put_reserve(p, n, &place), -EINVAL);
				CHECK_EQ(fp_mempool_get_reserve_via_cache(p, c, n,
									  &window),
					 -EINVAL);
				CHECK_EQ(
					fp_mempool_put_reserve_via_cache(p, c, n, &place),
					-EINVAL);
			}
			CHECK(window == PT_UNTOUCHED && place == PT_UNTOUCHED);
			pt_at_rest(p, 0);
			/* The same again with caches that hold some. */
			pt_get(p, t, 6);
			pt_put(p, t, 3);
			CHECK_EQ(fp_mempool_put_bulk_via_cache(p, c, t + 3, 3), 3);
		}
		CHECK_EQ(fp_mempool_cache_destroy(c), 0);
		pt_end(p);
	}
}

static void caches_of_other_pools_are_refused(void)
{
	PT_EACH_KIND(flags)
	{
		fp_mempool *p = pt_pool(20, 4, flags), *q = pt_pool(20, 4, flags);
		fp_mempool_cache *wrong[2] = { NULL, pt_cache(q) };
		void *t[4], *object, **place = PT_UNTOUCHED;
		void *const *window = PT_UNTOUCHED;

		CHECK_EQ(fp_mempool_get_bulk_via_cache(q, wrong[1], t, 4), 4);
		CHECK_EQ(fp_mempool_put_bulk_via_cache(q, wrong[1], t, 2), 2);
		object = fp_mempool_get(p);
		for (int i = 0; i < 2; i++) {
			fp_mempool_cache *c = wrong[i];

			CHECK(fp_mempool_get_via_cache(p, c) == NULL);
			CHECK_EQ(fp_mempool_put_via_cache(p, c, object), -EINVAL);
			CHECK_EQ(fp_mempool_get_bulk_via_cache(p, c, t, 1), -EINVAL);
			CHECK_EQ(fp_mempool_put_bulk_via_cache(p, c, &object, 1),
				 -EINVAL);
			for (uint32_t n = 0; n < 2; n++) {
				CHECK_EQ(fp_mempool_get_reserve_via_cache(p, c, n,
									  &window),
					 -EINVAL);
				CHECK_EQ(
					fp_mempool_put_reserve_via_cache(p, c, n, &place),
					-EINVAL);
				CHECK_EQ(fp_mempool_get_commit_via_cache(p, c, n),
					 -EINVAL);
				CHECK_EQ(fp_mempool_put_commit_via_cache(p, c, n),
					 -EINVAL);
			}
		}
		CHECK(window == PT_UNTOUCHED && place == PT_UNTOUCHED);
		CHECK_EQ(fp_mempool_put(p, object), 0);
		CHECK_EQ(fp_mempool_put_bulk_via_cache(q, wrong[1], t + 2, 2), 2);
		CHECK_EQ(fp_mempool_cache_count(wrong[1]), 4);
		CHECK_EQ(fp_mempool_cache_destroy(wrong[1]), 0);
		pt_end(p);
		pt_end(q);
	}
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(every_function_accepts_a_null_pool),
		FPT_CASE(null_tables_are_refused_if_something_would_move),
		FPT_CASE(absurd_counts_are_refused),
		FPT_CASE(caches_of_other_pools_are_refused),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
