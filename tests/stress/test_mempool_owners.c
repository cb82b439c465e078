/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many threads on one pool, with every kind of call: no object has two owners, none is
 * lost, whatever the pool's size and its caches'. Threads that stay, threads that come
 * and go all the time, more threads than cores, explicit caches among them; flush and
 * reclaim beside all of it.
 */
#include "pool_traffic.h"

#define THREADS_MAX 16

struct job {
	struct pt_user user;
	uint64_t steps;
	pthread_t thread;
};

static void *be_a_user(void *arg)
{
	struct job *j = arg;

	for (uint64_t i = 0; i < j->steps; i++)
		pt_step(&j->user);
	pt_finish(&j->user);
	return NULL;
}

/* Every third user has an explicit cache. */
static void traffic(uint32_t count, uint32_t cache, uint32_t flags, int threads,
		    uint64_t steps, uint64_t *seed)
{
	static struct job jobs[THREADS_MAX];
	fp_mempool *p = pt_traffic_pool(count, cache, flags);
	fp_mempool_cache *c[THREADS_MAX] = { NULL };
	uint64_t got = 0;

	fpt_where("count %u cache %u flags %#x threads %d", count, cache, flags, threads);
	for (int i = 0; i < threads; i++) {
		if (i % 3 == 2)
			c[i] = pt_cache(p);
		pt_user_init(&jobs[i].user, p, c[i], (uint32_t)i + 1, fpt_random(seed),
			     PT_HELD);
		if (jobs[i].user.may_hold > count)
			jobs[i].user.may_hold = count;
		jobs[i].steps = steps;
	}
	for (int i = 0; i < threads; i++)
		CHECK_EQ(pthread_create(&jobs[i].thread, NULL, be_a_user, &jobs[i]), 0);
	for (int i = 0; i < threads; i++)
		pthread_join(jobs[i].thread, NULL);
	for (int i = 0; i < threads; i++) {
		got += jobs[i].user.got;
		CHECK_EQ(fp_mempool_cache_destroy(c[i]), 0);
	}
	CHECK(got > 0);
	if (flags & LIBFP_STATS)
		CHECK_EQ(pt_stats(p).objects_got, got);
	/* Whatever the joined threads kept is in the depot by now. */
	CHECK_EQ(pt_stats(p).in_depot, count);
	pt_all_back(p);
	CHECK_EQ(fp_mempool_destroy(p), 0);
}

static void with_shapes(int threads, uint64_t steps)
{
	static const struct {
		uint32_t count, cache;
	} shapes[] = { { 1, 1 },    { 3, 2 },	{ 20, 0 },    { 100, 5 },
		       { 300, 33 }, { 700, 8 }, { 1000, 64 }, { 4000, 512 } };
	static const uint32_t flags[] = { 0, LIBFP_STATS, LIBFP_POOL_NO_CACHE,
					  LIBFP_CHECKED };
	uint64_t seed = fpt_seed();

	for (size_t s = 0; s < FPT_LEN(shapes); s++) {
		/* An ordinary pool always; another kind in turn. */
		size_t turn = 1 + (size_t)(fpt_random(&seed) >> 33) % 3;

		traffic(shapes[s].count, shapes[s].cache, 0, threads, steps, &seed);
		traffic(shapes[s].count, shapes[s].cache, flags[turn], threads, steps,
			&seed);
	}
}

static void two_threads(void)
{
	with_shapes(2, fpt_scale(12000, 2000000));
}

static void four_threads(void)
{
	with_shapes(4, fpt_scale(6000, 1000000));
}

static void more_threads_than_cores(void)
{
	with_shapes(THREADS_MAX, fpt_scale(1300, 200000));
}

/* ---- threads that come and go all the time ---- */

struct spawner {
	fp_mempool *p;
	uint32_t first_id;
	uint64_t lives, seed;
	pthread_t thread;
};

/* Starts threads one after the other, two of them alive at a time. */
static void *spawn(void *arg)
{
	struct spawner *s = arg;
	struct job jobs[2];

	for (uint64_t i = 0; i < s->lives; i++) {
		struct job *j = &jobs[i % 2];

		if (i >= 2)
			pthread_join(j->thread, NULL);
		pt_user_init(&j->user, s->p, NULL, s->first_id + i % 2,
			     fpt_random(&s->seed), 20);
		j->steps = 1 + (fpt_random(&s->seed) >> 33) % 30;
		CHECK_EQ(pthread_create(&j->thread, NULL, be_a_user, j), 0);
	}
	for (uint64_t i = s->lives < 2 ? s->lives : 2; i > 0; i--)
		pthread_join(jobs[(s->lives - i) % 2].thread, NULL);
	return NULL;
}

static void threads_that_come_and_go(void)
{
	static const struct {
		uint32_t count, cache, flags, max_threads;
	} shapes[] = { { 30, 3, 0, 0 },
		       { 200, 16, 0, 0 },
		       { 200, 16, LIBFP_STATS, 3 },
		       { 200, 0, LIBFP_CHECKED, 0 },
		       { 1000, 64, 0, 2 } };
	uint64_t seed = fpt_seed();

	for (size_t i = 0; i < FPT_LEN(shapes); i++) {
		fp_mempool_opts o =
			pt_opts(shapes[i].count, shapes[i].cache, shapes[i].flags);
		struct spawner s[2];
		struct job stays;
		fp_mempool *p;

		fpt_where("shape %zu", i);
		o.constructor = pt_blank;
		o.max_threads = shapes[i].max_threads;
		p = pt_create(&o);
		for (int k = 0; k < 2; k++) {
			s[k] = (struct spawner){ .p = p,
						 .first_id = 100 + 10 * (uint32_t)k,
						 .lives = fpt_scale(300, 30000),
						 .seed = fpt_random(&seed) | 1 };
			CHECK_EQ(pthread_create(&s[k].thread, NULL, spawn, &s[k]), 0);
		}
		pt_user_init(&stays.user, p, NULL, 1, fpt_random(&seed), 10);
		stays.steps = fpt_scale(3000, 1000000);
		be_a_user(&stays);
		for (int k = 0; k < 2; k++)
			pthread_join(s[k].thread, NULL);
		CHECK(pt_stats(p).thread_caches <= 1);
		CHECK_EQ(pt_stats(p).in_other_caches, 0);
		pt_all_back(p);
		CHECK_EQ(fp_mempool_destroy(p), 0);
	}
}

/* ---- more threads than slots ---- */

static void more_threads_than_slots(void)
{
	enum { N = LIBFP_POOL_THREADS_MAX + 20 };
	static struct job jobs[N];
	fp_mempool *p = pt_traffic_pool(4000, 8, 0);
	uint64_t seed = fpt_seed();

	for (int i = 0; i < N; i++) {
		pt_user_init(&jobs[i].user, p, NULL, (uint32_t)i + 1, fpt_random(&seed),
			     8);
		jobs[i].steps = fpt_scale(100, 10000);
		CHECK_EQ(pthread_create(&jobs[i].thread, NULL, be_a_user, &jobs[i]), 0);
	}
	for (int i = 0; i < N; i++)
		pthread_join(jobs[i].thread, NULL);
	pt_all_back(p);
	CHECK_EQ(fp_mempool_destroy(p), 0);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(two_threads),
		FPT_CASE(four_threads),
		FPT_CASE(more_threads_than_cores),
		FPT_CASE(threads_that_come_and_go),
		FPT_CASE(more_threads_than_slots),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
