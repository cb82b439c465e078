/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * get and put: all or nothing, the most recent first, cached ones before those of the
 * depot, and refused only if cache and depot together have too few. Small pools are
 * gone through in full: every count, every cache size, every division of the objects.
 */
#include "mempool/mempool_internal.h"
#include "pool_test.h"

#define SMALL 9	   /* objects of the pools that are gone through in full */
#define COPIED 100 /* pointers of the longest copy */

/* ---- the copies behind get and put ---- */

static void copies_of_any_number_of_pointers(void)
{
	for (int avx2 = 0; avx2 <= fpi_cpu_avx2(); avx2++)
		for (uint32_t n = 0; n <= COPIED; n++) {
			void *from[COPIED], *to[COPIED + 2];

			fpt_where("avx2 %d n %u", avx2, n);
			for (uint32_t i = 0; i < n; i++)
				from[i] = &from[i];
			memset(to, 0, sizeof(to));
			fpi_take_objects_for(avx2)(to + 1, from + n, n);
			CHECK(!to[0] && !to[n + 1]);
			pt_reversed(to + 1, from, n);
			memset(to, 0, sizeof(to));
			fpi_put_objects_for(avx2)(to + 1, from, n);
			CHECK(!to[0] && !to[n + 1]);
			CHECK(!n || !memcmp(to + 1, from, n * sizeof(*from)));
			if (n == 0 || n > FPI_POOL_FEW)
				continue;
			memset(to, 0, sizeof(to));
			fpi_take_few(to + 1, from + n, n);
			CHECK(!to[0] && !to[n + 1]);
			pt_reversed(to + 1, from, n);
		}
}

static void the_last_put_is_the_first_got(void)
{
	PT_EACH_KIND(flags)
	{
		fp_mempool *p = pt_pool(400, 200, flags);
		void *t[200], *out[202];

		pt_get(p, t, 200);
		for (uint32_t n = 1; n <= 200; n++) {
			pt_put(p, t, n);
			memset(out, 0, sizeof(out));
			pt_get(p, out + 1, n);
			CHECK(!out[0] && !out[n + 1]);
			pt_reversed(out + 1, t, n);
			memcpy(t, out + 1, n * sizeof(*t));
		}
		for (int i = 0; i < 100; i++)
			CHECK_EQ(fp_mempool_put(p, t[i]), 0);
		for (int i = 100; i-- > 0;)
			CHECK(fp_mempool_get(p) == t[i]);
		pt_put(p, t, 200);
		pt_end(p);
	}
}

/* Put one by one or at once, got one by one or at once: the order is the same. */
static void single_and_bulk_calls_agree(void)
{
	for (uint32_t cache = 1; cache <= 20; cache++) {
		fp_mempool *p = pt_pool(40, cache, 0);
		void *t[20], *out[20];

		pt_get(p, t, cache);
		for (int way = 0; way < 4; way++) {
			fpt_where("cache %u way %d", cache, way);
			if (way & 1)
				pt_put(p, t, cache);
			else
				for (uint32_t i = 0; i < cache; i++)
					CHECK_EQ(fp_mempool_put(p, t[i]), 0);
			if (way & 2)
				pt_get(p, out, cache);
			else
				for (uint32_t i = 0; i < cache; i++)
					out[i] = fp_mempool_get(p);
			pt_different(p, out, cache);
			/* What went through the depot in between has no order. */
			for (uint32_t i = 0; i < (cache + 1) / 2; i++)
				CHECK(out[i] == t[cache - 1 - i]);
			memcpy(t, out, cache * sizeof(*t));
		}
		pt_put(p, t, cache);
		pt_end(p);
	}
}

/* ---- every division of a small pool ---- */

struct division {
	uint32_t count, cache; /* of the pool */
	uint32_t depot;	       /* objects put and flushed */
	uint32_t put;	       /* then put */
	uint32_t want;	       /* then got */
	uint32_t flags;
	int handle; /* through an explicit cache */
};

static int32_t get_some(fp_mempool *p, fp_mempool_cache *c, void **t, uint32_t n)
{
	return c ? fp_mempool_get_bulk_via_cache(p, c, t, n) :
		   fp_mempool_get_bulk(p, t, n);
}

static int32_t put_some(fp_mempool *p, fp_mempool_cache *c, void *const *t, uint32_t n)
{
	return c ? fp_mempool_put_bulk_via_cache(p, c, t, n) :
		   fp_mempool_put_bulk(p, t, n);
}

static int64_t cached_now(fp_mempool *p, fp_mempool_cache *c)
{
	return c ? fp_mempool_cache_count(c) : (int64_t)pt_stats(p).in_own_cache;
}

static void divide(fp_mempool *p, fp_mempool_cache *c, const struct division *d)
{
	void *t[SMALL], *out[SMALL] = { 0 };
	uint32_t there = d->depot + d->put, left;
	int64_t cached;

	fpt_where("count %u cache %u depot %u put %u get %u flags %#x handle %d",
		  d->count, d->cache, d->depot, d->put, d->want, d->flags, d->handle);
	CHECK_EQ(get_some(p, c, t, d->count), d->count);
	pt_different(p, t, d->count);
	CHECK_EQ(put_some(p, c, t, d->depot), d->depot);
	CHECK((c ? fp_mempool_cache_flush(c) : fp_mempool_flush(p)) <= (int64_t)d->depot);
	CHECK_EQ(cached_now(p, c), 0);
	CHECK_EQ(put_some(p, c, t + d->depot, d->put), d->put);
	cached = cached_now(p, c);
	CHECK(cached <= (int64_t)d->cache);
	CHECK(cached <= (int64_t)d->put);
	if (d->put <= d->cache) /* it fits: nothing goes to the depot. M-03 */
		CHECK_EQ(cached, d->put);
	CHECK_EQ(get_some(p, c, out, d->want), d->want <= there ? d->want : 0);
	left = there;
	if (d->want <= there) {
		left -= d->want;
		pt_different(p, out, d->want);
		for (uint32_t i = 0; i < d->want && (int64_t)i < cached; i++)
			CHECK(out[i] == t[there - 1 - i]);
	} else {
		for (uint32_t i = 0; i < SMALL; i++)
			CHECK(out[i] == NULL);
		CHECK_EQ(cached_now(p, c), cached);
	}
	pt_at_rest(p, d->count - left);
	/* All of it can still be had, and no more. */
	if (left < d->count)
		CHECK_EQ(get_some(p, c, t, left + 1), 0);
	CHECK_EQ(get_some(p, c, t, left), left);
	pt_at_rest(p, d->count);
	for (uint64_t i = 0; i < d->count; i++)
		t[i] = fp_mempool_object(p, i);
	CHECK_EQ(put_some(p, c, t, d->count), d->count);
}

/*
 * All of them in release builds and in proof; elsewhere a sample whose steps have no
 * divisor in common with the loops.
 */
static void a_get_fails_only_if_cache_and_depot_have_too_few(void)
{
	uint32_t step = FPT_SAMPLE ? 13 : (uint32_t)fpt_scale(3, 1), turn = 0;
	struct division d;

	for (d.count = 1; d.count <= SMALL; d.count++)
		for (d.cache = 1; d.cache <= d.count; d.cache++)
			for (int kind = 0; kind < 4; kind++) {
				fp_mempool_cache *c = NULL;
				fp_mempool *p;

				d.flags = kind / 2 ? LIBFP_CHECKED | LIBFP_STATS : 0;
				d.handle = kind % 2;
				p = pt_pool(d.count, d.cache, d.flags);
				if (d.handle)
					c = pt_cache(p);
				for (d.depot = 0; d.depot <= d.count; d.depot++)
					for (d.put = 0; d.put <= d.count - d.depot;
					     d.put++)
						for (d.want = 0; d.want <= d.count;
						     d.want++)
							if (turn++ % step == 0)
								divide(p, c, &d);
				CHECK_EQ(fp_mempool_cache_destroy(c), 0);
				pt_end(p);
			}
}

/* The same of a pool with all eight shards, whose objects lie in all of them. */
static void a_get_collects_from_all_shards(void)
{
	enum { N = 640 };

	for (uint32_t cached = 0; cached <= 10; cached += 5)
		for (uint32_t left = 0; left < 640; left += 37) {
			fp_mempool *p = pt_pool(N, 10, 0);
			static void *held[N], *out[N];
			uint32_t want = left + cached;

			fpt_where("cached %u left %u", cached, left);
			CHECK_EQ(p->shards, FPI_POOL_SHARDS);
			pt_get(p, held, N - left);
			CHECK_EQ(fp_mempool_flush(p) >= 0, 1);
			pt_put(p, held, cached);
			CHECK_EQ(fp_mempool_get_bulk(p, out, want + 1), 0);
			CHECK_EQ(pt_stats(p).in_own_cache, cached);
			pt_get(p, out, want);
			for (uint32_t i = 0; i < cached; i++)
				CHECK(out[i] == held[cached - 1 - i]);
			memcpy(out + want, held + cached, (N - want) * sizeof(*held));
			pt_different(p, out, N);
			pt_at_rest(p, N);
			pt_put(p, out, N);
			pt_end(p);
		}
}

/* ---- objects that wander while they are counted ---- */

static struct {
	fp_mempool *p;
	int counted; /* shards */
	void *in[7], *out[7];
} wander;

/*
 * When two shards have been counted: 7 objects come to them, and then the 7 of the last
 * shard go. The depot never has fewer than before.
 */
static void let_them_wander(const char *step)
{
	if (strcmp(step, "POOL_SHARD_COUNTED") || ++wander.counted != 2)
		return;
	fpi_depot_put(wander.p, 0, wander.in, 4);
	fpi_depot_put(wander.p, 1, wander.in + 4, 3);
	pt_get(wander.p, wander.out, 7);
}

static void what_wanders_while_it_is_counted_is_not_missed(void)
{
	enum { N = 640 };
	static void *t[N];

	wander.p = pt_pool(N, 10, LIBFP_POOL_NO_CACHE);
	wander.counted = 0;
	CHECK_EQ(wander.p->shards, FPI_POOL_SHARDS);
	pt_get(wander.p, t, N);
	fpi_depot_put(wander.p, 6, t, 6);
	fpi_depot_put(wander.p, 7, t + 6, 7);
	memcpy(wander.in, t + 13, sizeof(wander.in));
	fpi_test_step = let_them_wander;
	pt_get(wander.p, t, 13);
	fpi_test_step = NULL;
	CHECK(wander.counted >= FPI_POOL_SHARDS);
	memcpy(t + 13, wander.out, sizeof(wander.out));
	pt_different(wander.p, t, N);
	/* Nothing has moved since: the count alone says that there is nothing. */
	wander.counted = 2;
	CHECK(fp_mempool_get(wander.p) == NULL);
	pt_at_rest(wander.p, N);
	pt_put(wander.p, t, N);
	pt_end(wander.p);
}

/* ---- edges ---- */

static void all_objects_and_one_more(void)
{
	static const uint32_t counts[] = { 1, 2, 3, 7, 8, 9, 63, 64, 65, 1000, 4096 };

	for (size_t i = 0; i < FPT_LEN(counts); i++) {
		uint32_t n = counts[i];
		uint32_t caches[] = { 0, 1, n / 2 | 1, n };

		for (size_t k = 0; k < FPT_LEN(caches); k++) {
			fp_mempool_opts o = pt_opts(n, caches[k], 0);
			static void *t[4097];
			fp_mempool *p;

			fpt_where("count %u cache %u", n, caches[k]);
			o.object_size = 1;
			p = pt_create(&o);
			for (int lap = 0; lap < 3; lap++) {
				CHECK_EQ(fp_mempool_get_bulk(p, t, n + 1), -EINVAL);
				pt_get(p, t, n);
				pt_different(p, t, n);
				CHECK(fp_mempool_get(p) == NULL);
				CHECK_EQ(fp_mempool_get_bulk(p, t, 1), 0);
				pt_at_rest(p, n);
				pt_put(p, t, n);
				for (uint32_t j = 0; j < n; j++)
					CHECK((t[j] = fp_mempool_get(p)) != NULL);
				CHECK(fp_mempool_get(p) == NULL);
				pt_different(p, t, n);
				for (uint32_t j = 0; j < n; j++)
					CHECK_EQ(fp_mempool_put(p, t[j]), 0);
				pt_at_rest(p, 0);
			}
			pt_end(p);
		}
	}
}

/* ---- two threads in turn ---- */

struct passed {
	fp_mempool *p;
	void *t[64];
	uint32_t n;
};

static void *exhaust(void *arg)
{
	struct passed *a = arg;

	a->n = 0;
	while ((a->t[a->n] = fp_mempool_get(a->p)))
		a->n++;
	return NULL;
}

static void *refill(void *arg)
{
	struct passed *a = arg;

	pt_put(a->p, a->t, a->n);
	CHECK(pt_stats(a->p).in_own_cache <= (uint64_t)fp_mempool_cache_size(a->p));
	return NULL;
}

static void one_thread_exhausts_another_refills(void)
{
	for (uint32_t cache = 0; cache <= 63; cache += 9) {
		struct passed a = { .p = pt_pool(63, cache, 0) };

		fpt_where("cache %u", cache);
		for (int lap = 0; lap < 5; lap++) {
			pt_on_thread(exhaust, &a);
			CHECK_EQ(a.n, 63);
			pt_different(a.p, a.t, 63);
			CHECK(fp_mempool_get(a.p) == NULL);
			pt_on_thread(refill, &a);
			pt_at_rest(a.p, 0);
			exhaust(&a);
			CHECK_EQ(a.n, 63);
			refill(&a);
			CHECK(fp_mempool_flush(a.p) > 0);
			CHECK_EQ(pt_stats(a.p).in_depot, 63);
		}
		pt_end(a.p);
	}
}

static void *write_and_put(void *arg)
{
	struct passed *a = arg;

	for (uint32_t i = 0; i < a->n; i++)
		memset(a->t[i], (int)i + 1, 16);
	return refill(arg);
}

/* The pool never touches an object; neither does a put of it elsewhere. */
static void contents_stay_from_put_to_get(void)
{
	for (uint32_t cache = 0; cache <= 63; cache += 7) {
		struct passed a = { .p = pt_pool(63, cache, 0) };

		exhaust(&a);
		pt_on_thread(write_and_put, &a);
		exhaust(&a);
		CHECK_EQ(a.n, 63);
		for (int i = 0; i < 63; i++) {
			const unsigned char *b = a.t[i];

			for (int k = 0; k < 16; k++)
				CHECK(b[k] == b[0] && b[0]);
		}
		refill(&a);
		pt_end(a.p);
	}
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(copies_of_any_number_of_pointers),
		FPT_CASE(the_last_put_is_the_first_got),
		FPT_CASE(single_and_bulk_calls_agree),
		FPT_CASE(a_get_fails_only_if_cache_and_depot_have_too_few),
		FPT_CASE(a_get_collects_from_all_shards),
		FPT_CASE(what_wanders_while_it_is_counted_is_not_missed),
		FPT_CASE(all_objects_and_one_more),
		FPT_CASE(one_thread_exhausts_another_refills),
		FPT_CASE(contents_stay_from_put_to_get),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
