/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads with roles: some get and others put (a pipeline), with and without the
 * promises of single-threaded sides; threads that hold as much as they are entitled to
 * and must never be refused, with caches and without.
 */
#include <libfp/ring.h>

#include "pool_traffic.h"

#define SIDE_MAX 4

/* ---- get here, put there: M-10 ---- */

struct line {
	fp_mempool *p;
	fp_ring *r; /* indexes of objects, on their way from getters to putters */
	uint64_t each;
	int getting; /* atomic: getters at work */
	int handles; /* with explicit caches */
};

struct side {
	struct line *line;
	struct pt_user user;
	uint64_t passed;
	pthread_t thread;
};

static void *get_and_send(void *arg)
{
	struct side *s = arg;
	struct pt_user *u = &s->user;

	if (s->line->handles)
		u->c = pt_cache(u->p);
	while (s->passed < s->line->each) {
		if (!pt_some_get(u, 1 + pt_below(u, 20)))
			sched_yield();
		while (u->have) {
			void *object = u->held[u->have - 1];
			int64_t index = fp_mempool_index(u->p, object);

			pt_let_go(u, 1);
			while (fp_ring_enqueue_u64(s->line->r, (uint64_t)index) != 1)
				sched_yield();
			s->passed++;
		}
		if (pt_below(u, 100) == 0)
			CHECK(fp_mempool_reclaim(u->p) >= 0);
	}
	CHECK_EQ(fp_mempool_cache_destroy(u->c), 0);
	if (__atomic_sub_fetch(&s->line->getting, 1, __ATOMIC_ACQ_REL) == 0)
		CHECK_EQ(fp_ring_close(s->line->r), 0);
	return NULL;
}

static void *receive_and_put(void *arg)
{
	struct side *s = arg;
	struct pt_user *u = &s->user;
	uint64_t index;
	int32_t got = 1;

	if (s->line->handles)
		u->c = pt_cache(u->p);
	do {
		uint32_t want = 1 + pt_below(u, 20);

		while (u->have < want &&
		       (got = fp_ring_dequeue_u64(s->line->r, &index)) == 1) {
			pt_take(u, fp_mempool_object(u->p, index));
			s->passed++;
		}
		pt_finish(u);
		if (!got)
			sched_yield();
	} while (got != -EPIPE);
	CHECK_EQ(fp_mempool_cache_destroy(u->c), 0);
	return NULL;
}

static void pipeline(int getters, int putters, uint32_t count, uint32_t cache,
		     uint32_t flags, int handles, uint64_t *seed)
{
	fp_ring_opts o = LIBFP_RING_OPTS_INIT;
	struct line line = { .getting = getters, .handles = handles };
	struct side sides[2 * SIDE_MAX];
	uint64_t sent = 0, received = 0;

	fpt_where("%d get %d put count %u cache %u flags %#x handles %d", getters,
		  putters, count, cache, flags, handles);
	line.p = pt_traffic_pool(count, cache, flags);
	line.each = fpt_scale(2000, 3000000) / (uint64_t)getters;
	o.capacity = count;
	CHECK_EQ(fp_ring_create(&o, &line.r), 0);
	for (int i = 0; i < getters + putters; i++) {
		struct side *s = &sides[i];

		memset(s, 0, sizeof(*s));
		s->line = &line;
		pt_user_init(&s->user, line.p, NULL, (uint32_t)i + 1, fpt_random(seed),
			     PT_HELD);
		CHECK_EQ(pthread_create(&s->thread, NULL,
					i < getters ? get_and_send : receive_and_put, s),
			 0);
	}
	for (int i = 0; i < getters + putters; i++) {
		pthread_join(sides[i].thread, NULL);
		*(i < getters ? &sent : &received) += sides[i].passed;
	}
	CHECK(sent >= line.each * (uint64_t)getters);
	CHECK_EQ(received, sent);
	CHECK_EQ(fp_ring_destroy(line.r), 0);
	CHECK_EQ(pt_stats(line.p).in_depot, count);
	pt_all_back(line.p);
	CHECK_EQ(fp_mempool_destroy(line.p), 0);
}

static void pipelines(int getters, int putters, uint32_t flags)
{
	static const struct {
		uint32_t count, cache;
	} shapes[] = { { 64, 4 }, { 500, 32 }, { 500, 7 }, { 4000, 256 } };
	uint64_t seed = fpt_seed();

	for (size_t i = 0; i < FPT_LEN(shapes); i++)
		for (int handles = 0; handles < 2; handles++)
			pipeline(getters, putters, shapes[i].count, shapes[i].cache,
				 flags | (i % 2 ? LIBFP_CHECKED : 0), handles, &seed);
}

static void one_gets_one_puts(void)
{
	pipelines(1, 1, 0);
}

static void one_gets_one_puts_as_promised(void)
{
	pipelines(1, 1, LIBFP_POOL_ST_GET);
	pipelines(1, 1, LIBFP_POOL_ST_PUT);
}

static void one_gets_many_put(void)
{
	pipelines(1, 3, LIBFP_POOL_ST_GET);
}

static void many_get_one_puts(void)
{
	pipelines(3, 1, LIBFP_POOL_ST_PUT);
}

static void many_get_many_put(void)
{
	pipelines(SIDE_MAX, SIDE_MAX, 0);
	pipelines(2, 2, LIBFP_POOL_NO_CACHE);
}

/* ---- one thread at a time, another each time ---- */

struct relay {
	struct pt_user user;
	pthread_mutex_t lock;
	uint64_t steps;
};

static void *run_with_the_baton(void *arg)
{
	struct relay *r = arg;

	for (uint64_t i = 0; i < r->steps; i++) {
		pthread_mutex_lock(&r->lock);
		pt_step(&r->user);
		pthread_mutex_unlock(&r->lock);
	}
	return NULL;
}

static void a_single_pool_passed_from_thread_to_thread(void)
{
	uint64_t seed = fpt_seed();

	for (uint32_t flags = 0; flags <= LIBFP_CHECKED; flags += LIBFP_CHECKED)
		for (uint32_t cache = 0; cache <= 40; cache += 8) {
			struct relay r = { .steps = fpt_scale(800, 600000) };
			pthread_t t[3];

			fpt_where("flags %#x cache %u", flags, cache);
			pthread_mutex_init(&r.lock, NULL);
			pt_user_init(&r.user,
				     pt_traffic_pool(300, cache, flags | PT_SINGLE), NULL,
				     1, fpt_random(&seed), PT_HELD);
			for (int i = 0; i < 3; i++)
				CHECK_EQ(pthread_create(&t[i], NULL, run_with_the_baton,
							&r),
					 0);
			for (int i = 0; i < 3; i++)
				pthread_join(t[i], NULL);
			pt_finish(&r.user);
			pt_all_back(r.user.p);
			CHECK_EQ(fp_mempool_destroy(r.user.p), 0);
		}
}

/* ---- nobody is refused what he is entitled to ---- */

struct entitled {
	struct pt_user user;
	uint64_t steps;
	pthread_t thread;
};

/*
 * Bulk gets of what is still missing. A refusal would be a false one: there is always
 * enough, wherever it wanders meanwhile.
 */
static void *take_what_is_due(void *arg)
{
	struct entitled *e = arg;
	struct pt_user *u = &e->user;
	void *t[PT_HELD];

	for (uint64_t i = 0; i < e->steps; i++) {
		uint32_t n = u->may_hold - u->have;

		if (n > 1 && pt_below(u, 2))
			n = 1 + pt_below(u, n);
		if (n) {
			CHECK_EQ(fp_mempool_get_bulk(u->p, t, n), n);
			for (uint32_t k = 0; k < n; k++)
				pt_take(u, t[k]);
		}
		pt_some_put(u, 1 + pt_below(u, u->have));
		if (pt_below(u, 200) == 0)
			CHECK(fp_mempool_reclaim(u->p) >= 0);
	}
	pt_finish(u);
	return NULL;
}

static void nobody_is_refused(int threads, uint32_t hold, uint32_t cache, uint32_t flags,
			      uint64_t *seed)
{
	struct entitled e[8];
	uint32_t keeps = flags & LIBFP_POOL_NO_CACHE ? 0 : cache;
	uint32_t count = (uint32_t)threads * (hold + keeps);
	fp_mempool *p = pt_traffic_pool(count, cache, flags);

	fpt_where("threads %d hold %u cache %u flags %#x", threads, hold, cache, flags);
	for (int i = 0; i < threads; i++) {
		pt_user_init(&e[i].user, p, NULL, (uint32_t)i + 1, fpt_random(seed),
			     hold);
		e[i].steps = fpt_scale(800, 200000);
		CHECK_EQ(pthread_create(&e[i].thread, NULL, take_what_is_due, &e[i]), 0);
	}
	for (int i = 0; i < threads; i++)
		pthread_join(e[i].thread, NULL);
	pt_all_back(p);
	CHECK_EQ(fp_mempool_destroy(p), 0);
}

static void nobody_is_refused_what_is_there(void)
{
	static const struct {
		uint32_t hold, cache;
	} shapes[] = { { 1, 1 }, { 3, 2 }, { 10, 3 }, { 40, 8 }, { 64, 33 } };
	uint64_t seed = fpt_seed();

	for (size_t i = 0; i < FPT_LEN(shapes); i++)
		for (int threads = 2; threads <= 8; threads *= 2) {
			nobody_is_refused(threads, shapes[i].hold, shapes[i].cache, 0,
					  &seed);
			nobody_is_refused(threads, shapes[i].hold, shapes[i].cache,
					  LIBFP_CHECKED, &seed);
			/* The depot alone, in magazines of one: all shards. */
			nobody_is_refused(threads, shapes[i].hold, 1, LIBFP_POOL_NO_CACHE,
					  &seed);
		}
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(one_gets_one_puts),
		FPT_CASE(one_gets_one_puts_as_promised),
		FPT_CASE(one_gets_many_put),
		FPT_CASE(many_get_one_puts),
		FPT_CASE(many_get_many_put),
		FPT_CASE(a_single_pool_passed_from_thread_to_thread),
		FPT_CASE(nobody_is_refused_what_is_there),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
