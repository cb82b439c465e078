/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random calls of every kind against a model: a set of objects in the user's hands and,
 * for each cache, the stack of what was put into it last. After every call the counts
 * agree with the model; every so often the pool is audited. One thread; explicit caches
 * stand for the others.
 */
#include "pool_test.h"

#define OBJECTS 200
#define CACHES 3 /* 0: the thread's */

struct model {
	fp_mempool *p;
	fp_mempool_cache *c[CACHES];
	uint32_t count, cache_size;
	int thread_cache; /* the pool has some */
	uint64_t seed;
	/* in the user's hands */
	void *held[OBJECTS];
	uint32_t have;
	/* put through each cache and not got through it; the newest last */
	void *stack[CACHES][OBJECTS];
	uint32_t depth[CACHES];
};

static uint32_t below(struct model *m, uint32_t n)
{
	return n ? (uint32_t)((fpt_random(&m->seed) >> 32) % n) : 0;
}

static int64_t cached(struct model *m, int i)
{
	return i ? fp_mempool_cache_count(m->c[i]) : (int64_t)pt_stats(m->p).in_own_cache;
}

/* Objects that a get through cache i can have. */
static uint64_t reachable(struct model *m, int i)
{
	fp_mempool_stats s = pt_stats(m->p);

	return s.in_depot + (uint64_t)cached(m, i);
}

/* n objects came out of cache i, the first one the most recent. */
static void model_got(struct model *m, int i, void *const *t, uint32_t n, int64_t before)
{
	for (uint32_t k = 0; k < n; k++) {
		if ((int64_t)k < before && k < m->depth[i])
			CHECK(t[k] == m->stack[i][m->depth[i] - 1 - k]);
		for (uint32_t h = 0; h < m->have; h++)
			CHECK(m->held[h] != t[k]);
		CHECK(fp_mempool_index(m->p, t[k]) >= 0);
		m->held[m->have++] = t[k];
	}
	m->depth[i] -= n < m->depth[i] ? n : m->depth[i];
	/* Those that went to the depot may come back through any cache. */
	if (n > before)
		m->depth[i] = 0;
}

static void model_put(struct model *m, int i, uint32_t n)
{
	if (m->depth[i] + n > OBJECTS)
		m->depth[i] = 0;
	for (uint32_t k = 0; k < n; k++)
		m->stack[i][m->depth[i]++] = m->held[m->have - n + k];
	m->have -= n;
}

static void do_get(struct model *m, int i)
{
	uint32_t n = below(m, m->count + 2) / (1 + below(m, 8));
	int64_t before = cached(m, i);
	uint64_t there = reachable(m, i);
	void *t[OBJECTS + 2];
	int32_t got;

	if (n == 1 && below(m, 2)) {
		t[0] = i ? fp_mempool_get_via_cache(m->p, m->c[i]) : fp_mempool_get(m->p);
		got = t[0] != NULL;
	} else {
		got = i ? fp_mempool_get_bulk_via_cache(m->p, m->c[i], t, n) :
			  fp_mempool_get_bulk(m->p, t, n);
	}
	if (n > m->count)
		CHECK_EQ(got, -EINVAL);
	else
		CHECK_EQ(got, n <= there ? n : 0);
	if (got > 0)
		model_got(m, i, t, n, before);
}

static void do_put(struct model *m, int i)
{
	uint32_t n = below(m, m->have + 1) / (1 + below(m, 4));
	void *const *t = m->held + m->have - n;

	if (n == 1 && below(m, 2))
		CHECK_EQ(i ? fp_mempool_put_via_cache(m->p, m->c[i], *t) :
			     fp_mempool_put(m->p, *t),
			 0);
	else
		CHECK_EQ(i ? fp_mempool_put_bulk_via_cache(m->p, m->c[i], t, n) :
			     fp_mempool_put_bulk(m->p, t, n),
			 n);
	model_put(m, i, n);
	CHECK(cached(m, i) <= (int64_t)m->cache_size);
}

static void do_get_window(struct model *m, int i)
{
	uint32_t n = below(m, m->cache_size + 2), k;
	int64_t before = cached(m, i);
	void *const *window = NULL;
	void *t[OBJECTS];
	int32_t shown = i ? fp_mempool_get_reserve_via_cache(m->p, m->c[i], n, &window) :
			    fp_mempool_get_reserve(m->p, n, &window);

	if (!i && !m->thread_cache) {
		CHECK_EQ(shown, -EOPNOTSUPP);
		return;
	}
	CHECK(shown >= 0 && shown <= (int32_t)n);
	k = below(m, (uint32_t)shown + 1);
	/* The window's first k, which are not the hottest. */
	for (uint32_t j = 0; j < (uint32_t)shown; j++)
		t[j] = window[shown - 1 - (int32_t)j];
	for (uint32_t j = 0; j < (uint32_t)shown && (int64_t)j < before; j++)
		if (j < m->depth[i])
			CHECK(t[j] == m->stack[i][m->depth[i] - 1 - j]);
	CHECK_EQ(i ? fp_mempool_get_commit_via_cache(m->p, m->c[i], k) :
		     fp_mempool_get_commit(m->p, k),
		 k);
	for (uint32_t j = (uint32_t)shown - k; j < (uint32_t)shown; j++)
		m->held[m->have++] = t[j];
	/* What stays is on top now. */
	m->depth[i] = 0;
	for (uint32_t j = (uint32_t)shown - k; j-- > 0;)
		m->stack[i][m->depth[i]++] = t[j];
}

static void do_put_window(struct model *m, int i)
{
	uint32_t n = below(m, m->cache_size + 2), k;
	void **window = NULL;
	int32_t shown = i ? fp_mempool_put_reserve_via_cache(m->p, m->c[i], n, &window) :
			    fp_mempool_put_reserve(m->p, n, &window);

	if (!i && !m->thread_cache) {
		CHECK_EQ(shown, -EOPNOTSUPP);
		return;
	}
	CHECK(shown >= (n != 0) && shown <= (int32_t)n);
	k = below(m, (m->have < (uint32_t)shown ? m->have : (uint32_t)shown) + 1);
	if (k)
		memcpy(window, m->held + m->have - k, k * sizeof(*window));
	CHECK_EQ(i ? fp_mempool_put_commit_via_cache(m->p, m->c[i], k) :
		     fp_mempool_put_commit(m->p, k),
		 k);
	model_put(m, i, k);
}

static void do_flush(struct model *m, int i)
{
	int64_t before = cached(m, i);

	if (!i && below(m, 2))
		CHECK_EQ(fp_mempool_reclaim(m->p), 0);
	else
		CHECK_EQ(i ? fp_mempool_cache_flush(m->c[i]) : fp_mempool_flush(m->p),
			 before);
	CHECK_EQ(cached(m, i), 0);
	m->depth[i] = 0;
}

static void do_renew(struct model *m, int i)
{
	if (!i)
		return;
	CHECK_EQ(fp_mempool_cache_destroy(m->c[i]), 0);
	m->c[i] = pt_cache(m->p);
	CHECK_EQ(fp_mempool_cache_count(m->c[i]), 0);
	m->depth[i] = 0;
}

static void run(struct model *m, uint32_t calls)
{
	for (uint32_t step = 0; step < calls; step++) {
		int i = (int)below(m, CACHES);

		switch (below(m, 16)) {
		case 0:
			do_flush(m, i);
			break;
		case 1:
			do_renew(m, i);
			break;
		case 2:
		case 3:
			do_get_window(m, i);
			break;
		case 4:
		case 5:
			do_put_window(m, i);
			break;
		case 6:
		case 7:
		case 8:
		case 9:
		case 10:
			do_put(m, i);
			break;
		default:
			do_get(m, i);
		}
		CHECK_EQ(fp_mempool_in_use_count(m->p), m->have);
		if (step % 16 == 0)
			pt_at_rest(m->p, m->have);
	}
}

static void random_calls_agree_with_the_model(void)
{
	uint32_t runs = (uint32_t)fpt_scale(FPT_SAMPLE ? 150 : 1500, 200000);
	uint64_t seed = fpt_seed();

	for (uint32_t r = 0; r < runs; r++) {
		static struct model m;
		fp_mempool_opts o = pt_opts(1, 0, 0);

		memset(&m, 0, sizeof(m));
		m.seed = fpt_random(&seed) | 1;
		m.count = 1 + below(&m, below(&m, 2) ? 12 : OBJECTS);
		o.count = m.count;
		o.cache_size = below(&m, m.count + 1) / (1 + below(&m, 6));
		o.flags = pt_kinds[below(&m, FPT_LEN(pt_kinds))];
		if (below(&m, 8) == 0)
			o.flags |= LIBFP_POOL_NO_CACHE;
		o.object_size = 1 + below(&m, 40);
		fpt_where("run %u count %u cache %u flags %#x size %u", r, o.count,
			  o.cache_size, o.flags, o.object_size);
		m.p = pt_create(&o);
		m.thread_cache = fp_mempool_cache_size(m.p) > 0;
		m.cache_size = o.cache_size ? o.cache_size : m.count / 8;
		if (!m.cache_size)
			m.cache_size = 1;
		for (int i = 1; i < CACHES; i++)
			m.c[i] = pt_cache(m.p);
		run(&m, 80);
		pt_put(m.p, m.held, m.have);
		for (int i = 1; i < CACHES; i++)
			CHECK_EQ(fp_mempool_cache_destroy(m.c[i]), 0);
		pt_end(m.p);
	}
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(random_calls_agree_with_the_model),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
