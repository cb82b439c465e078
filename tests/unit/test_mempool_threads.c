/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads and their caches: made at first use, given back by flush, reclaim and exit,
 * used again; threads without one, because there are too many of them or because they
 * are past their exit hook.
 */
#include <semaphore.h>

#include "hold.h"
#include "pool_test.h"

/* libc runs destructors in the order of the keys: before the library's, and after. */
static pthread_key_t early, late;

/* ---- a thread that does as it is told ---- */

enum order { GET, PUT, FLUSH, TOUCH, END };

struct worker {
	fp_mempool *p;
	sem_t told, done;
	enum order order;
	uint32_t n;
	int64_t result;
	void *t[64];
	uint32_t have;
	pthread_t thread;
};

static void *work(void *arg)
{
	struct worker *w = arg;

	for (;;) {
		fpt_sem_wait(&w->told);
		switch (w->order) {
		case GET:
			w->result = fp_mempool_get_bulk(w->p, w->t + w->have, w->n);
			w->have += w->result > 0 ? w->n : 0;
			break;
		case PUT:
			w->have -= w->n;
			w->result = fp_mempool_put_bulk(w->p, w->t + w->have, w->n);
			break;
		case FLUSH:
			w->result = fp_mempool_flush(w->p);
			break;
		case TOUCH: /* any call that takes and gives nothing */
			w->result = fp_mempool_get_bulk(w->p, w->t, 0);
			break;
		case END:
			return NULL;
		}
		sem_post(&w->done);
	}
}

static void hire(struct worker *w, fp_mempool *p)
{
	memset(w, 0, sizeof(*w));
	w->p = p;
	sem_init(&w->told, 0, 0);
	sem_init(&w->done, 0, 0);
	CHECK_EQ(pthread_create(&w->thread, NULL, work, w), 0);
}

static int64_t tell(struct worker *w, enum order order, uint32_t n)
{
	w->order = order;
	w->n = n;
	sem_post(&w->told);
	fpt_sem_wait(&w->done);
	return w->result;
}

static void dismiss(struct worker *w)
{
	w->order = END;
	sem_post(&w->told);
	CHECK_EQ(pthread_join(w->thread, NULL), 0);
	sem_destroy(&w->told);
	sem_destroy(&w->done);
}

static int has_threads(uint32_t flags)
{
	return (flags & PT_SINGLE) != PT_SINGLE;
}

/* ---- flush and reclaim ---- */

static void flush_gives_back_what_this_thread_keeps(void)
{
	PT_EACH_KIND(flags)
	{
		fp_mempool *p = pt_pool(40, 8, flags);
		struct worker w;
		void *t[8];

		if (!has_threads(flags)) {
			CHECK_EQ(fp_mempool_destroy(p), 0);
			continue;
		}
		CHECK_EQ(fp_mempool_flush(p), 0);
		/* Nobody gets a cache by that. */
		CHECK_EQ(fp_mempool_reclaim(p), 0);
		CHECK_EQ(pt_stats(p).thread_caches, 0);
		hire(&w, p);
		CHECK_EQ(tell(&w, GET, 8), 8);
		CHECK_EQ(tell(&w, PUT, 8), 8);
		CHECK(pt_stats(p).in_other_caches > 0);
		pt_get(p, t, 8);
		CHECK(fp_mempool_flush(p) >= 0);
		pt_put(p, t, 5);
		CHECK_EQ(fp_mempool_flush(p), 5);
		CHECK_EQ(fp_mempool_flush(p), 0);
		CHECK_EQ(pt_stats(p).in_own_cache, 0);
		CHECK(pt_stats(p).in_other_caches > 0);
		CHECK(tell(&w, FLUSH, 0) > 0);
		CHECK_EQ(pt_stats(p).in_depot, 37);
		pt_put(p, t + 5, 3);
		dismiss(&w);
		pt_end(p);
	}
}

static void reclaim_has_the_others_give_back_at_their_next_call(void)
{
	PT_EACH_KIND(flags)
	for (int next = 0; next < 3; next++) {
		static const enum order orders[] = { GET, PUT, FLUSH };
		fp_mempool *p = pt_pool(60, 8, flags);
		struct worker w[3];
		fp_mempool_stats s;
		int64_t kept;

		if (!has_threads(flags)) {
			CHECK_EQ(fp_mempool_destroy(p), 0);
			continue;
		}
		for (int i = 0; i < 3; i++) {
			hire(&w[i], p);
			CHECK_EQ(tell(&w[i], GET, 10), 10);
			CHECK(tell(&w[i], FLUSH, 0) >= 0);
			CHECK_EQ(tell(&w[i], PUT, 8), 8);
		}
		s = pt_stats(p);
		CHECK_EQ(s.in_other_caches, 24);
		CHECK_EQ(fp_mempool_reclaim(p), 24);
		CHECK_EQ(fp_mempool_reclaim(p), 24); /* they have made no call yet */
		CHECK_EQ(tell(&w[0], FLUSH, 0), 8);
		CHECK_EQ(fp_mempool_reclaim(p), 16);
		CHECK(tell(&w[1], orders[next], 1) >= 0);
		kept = (int64_t)pt_stats(p).in_other_caches - 8;
		/* The second gave back its 8, then took or put one. */
		CHECK(kept >= 0 && kept <= 4);
		CHECK_EQ(fp_mempool_reclaim(p), 8 + kept);
		for (int i = 0; i < 3; i++) {
			if (w[i].have)
				CHECK_EQ(tell(&w[i], PUT, w[i].have), w[i].n);
			dismiss(&w[i]);
		}
		CHECK_EQ(fp_mempool_reclaim(p), 0);
		pt_end(p);
	}
}

/* Once only: a thread that was asked goes on with a cache as before. */
static void a_thread_that_was_asked_keeps_its_cache(void)
{
	for (int kind = 0; kind < 4; kind++) {
		fp_mempool *p = pt_pool(60, 8, pt_kinds[kind]);
		struct worker w;

		hire(&w, p);
		CHECK_EQ(tell(&w, GET, 8), 8);
		for (int i = 0; i < 5; i++) {
			fp_mempool_reclaim(p);
			CHECK_EQ(tell(&w, PUT, 4), 4);
			CHECK_EQ(pt_stats(p).in_other_caches, 4);
			CHECK_EQ(tell(&w, PUT, 4), 4);
			CHECK_EQ(pt_stats(p).in_other_caches, 8);
			CHECK_EQ(tell(&w, GET, 8), 8);
			CHECK_EQ(pt_stats(p).in_other_caches, 0);
		}
		CHECK_EQ(pt_stats(p).thread_caches, 1);
		CHECK_EQ(tell(&w, PUT, 8), 8);
		dismiss(&w);
		pt_end(p);
	}
}

static void a_pool_of_one_thread_has_nobody_to_ask(void)
{
	fp_mempool *p = pt_pool(40, 8, PT_SINGLE);
	void *t[8];

	pt_get(p, t, 8);
	pt_put(p, t, 8);
	CHECK(pt_stats(p).in_own_cache > 0);
	CHECK_EQ(fp_mempool_reclaim(p), 0);
	CHECK_EQ(pt_stats(p).in_own_cache, 0);
	/* Its one cache serves whichever thread comes. */
	for (int i = 0; i < 5; i++) {
		struct worker w;

		hire(&w, p);
		CHECK_EQ(tell(&w, GET, 8), 8);
		CHECK_EQ(tell(&w, PUT, 8), 8);
		dismiss(&w);
		CHECK_EQ(pt_stats(p).thread_caches, 1);
		CHECK_EQ(pt_stats(p).in_own_cache, 8);
	}
	pt_end(p);
}

/* ---- exit ---- */

struct pools {
	fp_mempool *p[4];
};

static void *use_all(void *arg)
{
	struct pools *s = arg;
	void *t[8];

	for (int i = 0; i < 4; i++) {
		pt_get(s->p[i], t, 8);
		pt_put(s->p[i], t, 8);
		CHECK(pt_stats(s->p[i]).in_own_cache > 0);
	}
	return NULL;
}

static void a_thread_that_exits_gives_back_to_every_pool(void)
{
	struct pools s;

	for (int i = 0; i < 4; i++)
		s.p[i] = pt_pool(40, 8, pt_kinds[i]);
	for (int lap = 0; lap < 20; lap++) {
		pt_on_thread(use_all, &s);
		for (int i = 0; i < 4; i++) {
			fp_mempool_stats st = pt_stats(s.p[i]);

			CHECK_EQ(st.in_depot, 40);
			CHECK_EQ(st.thread_caches, 0);
		}
	}
	for (int i = 0; i < 4; i++)
		pt_end(s.p[i]);
}

static void a_pool_is_destroyed_while_its_threads_live_on(void)
{
	struct worker w[3];

	for (int lap = 0; lap < 20; lap++) {
		fp_mempool *p = pt_pool(60, 8, pt_kinds[lap % 4]);

		for (int i = 0; i < 3; i++) {
			if (lap == 0)
				hire(&w[i], p);
			w[i].p = p;
			CHECK_EQ(tell(&w[i], GET, 8), 8);
			CHECK_EQ(tell(&w[i], PUT, 8), 8);
		}
		CHECK_EQ(pt_stats(p).thread_caches, 3);
		pt_end(p);
	}
	for (int i = 0; i < 3; i++)
		dismiss(&w[i]);
}

struct leaver {
	fp_mempool *p;
	struct fpt_hold hold;
	sem_t destroyed;
};

static void *leave_held(void *arg)
{
	struct leaver *l = arg;
	void *t[8];

	pt_get(l->p, t, 8);
	pt_put(l->p, t, 8);
	fpt_hold_me(&l->hold);
	return NULL;
}

static void *destroy_it(void *arg)
{
	struct leaver *l = arg;

	CHECK_EQ(fp_mempool_destroy(l->p), 0);
	sem_post(&l->destroyed);
	return NULL;
}

/* In the middle of giving back: destroy comes before an exit or after it. */
static void destroy_waits_for_an_exit_that_is_inside(void)
{
	struct leaver l = { .p = pt_pool(40, 8, 0) };
	pthread_t leaver, destroyer;
	struct timespec soon;

	fpt_hold_init(&l.hold, "POOL_SHARD_LOCKED");
	sem_init(&l.destroyed, 0, 0);
	CHECK_EQ(pthread_create(&leaver, NULL, leave_held, &l), 0);
	CHECK_EQ(fpt_hold_reached(&l.hold), 1);
	CHECK_EQ(pthread_create(&destroyer, NULL, destroy_it, &l), 0);
	/* However long one waits; this is for a destroy that does not. */
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_nsec = (soon.tv_nsec + 30000000) % 1000000000;
	soon.tv_sec += soon.tv_nsec < 30000000;
	CHECK(sem_timedwait(&l.destroyed, &soon));
	fpt_hold_release(&l.hold);
	pthread_join(leaver, NULL);
	pthread_join(destroyer, NULL);
	fpt_hold_end(&l.hold);
	sem_destroy(&l.destroyed);
}

/* ---- too many threads ---- */

static void *get_and_put(void *pool)
{
	void *object = fp_mempool_get(pool);

	CHECK(object != NULL);
	CHECK_EQ(fp_mempool_put(pool, object), 0);
	return NULL;
}

static void three_hundred_threads_one_after_the_other(void)
{
	fp_mempool *p = pt_pool(100, 8, 0);
	int64_t memory = 0;

	for (int i = 0; i < 300; i++) {
		pt_on_thread(get_and_put, p);
		if (!memory)
			memory = fp_mempool_memory(p);
		CHECK_EQ(fp_mempool_memory(p), memory); /* one cache for all */
		CHECK_EQ(pt_stats(p).in_depot, 100);
	}
	pt_end(p);
}

static void three_hundred_threads_at_once(void)
{
	enum { N = 300 };
	static struct worker w[N];

	for (uint32_t max = 0; max <= 40; max += 40) {
		fp_mempool_opts o = pt_opts(N, 1, 0);
		uint64_t caches = max ? max : LIBFP_POOL_THREADS_MAX;
		fp_mempool_stats s;
		fp_mempool *p;
		void *t[1];

		o.max_threads = max;
		p = pt_create(&o);
		for (int i = 0; i < N; i++) {
			hire(&w[i], p);
			CHECK_EQ(tell(&w[i], GET, 1), 1);
		}
		CHECK(fp_mempool_get(p) == NULL);
		s = pt_stats(p);
		CHECK_EQ(s.in_use, N);
		CHECK_EQ(s.thread_caches, caches);
		for (int i = 0; i < N; i++)
			CHECK_EQ(tell(&w[i], PUT, 1), 1);
		s = pt_stats(p);
		/* Those beyond the limit put straight into the depot. */
		CHECK_EQ(s.in_depot, N - s.in_other_caches);
		CHECK(s.in_other_caches <= caches);
		CHECK(s.in_other_caches >= caches - 1);
		for (int i = 0; i < N / 2; i++)
			dismiss(&w[i]);
		/* Whoever is left gets a cache at its next call. */
		for (int i = N / 2; i < N; i++)
			CHECK_EQ(tell(&w[i], GET, 1), 1);
		s = pt_stats(p);
		CHECK_EQ(s.thread_caches, max ? max : N / 2 + 1); /* and this one */
		for (int i = N / 2; i < N; i++)
			CHECK_EQ(tell(&w[i], PUT, 1), 1);
		for (int i = N / 2; i < N; i++)
			dismiss(&w[i]);
		s = pt_stats(p);
		CHECK_EQ(s.thread_caches, max ? 0 : 1);
		CHECK_EQ(s.in_depot, N);
		pt_get(p, t, 1);
		pt_put(p, t, 1);
		pt_end(p);
	}
}

static void one_cache_for_whoever_comes_first(void)
{
	for (int kind = 0; kind < 4; kind++) {
		fp_mempool_opts o = pt_opts(40, 8, pt_kinds[kind]);
		struct worker a, b;
		void **place;
		fp_mempool *p;

		o.max_threads = 1;
		p = pt_create(&o);
		hire(&a, p);
		hire(&b, p);
		CHECK_EQ(tell(&a, GET, 8), 8);
		CHECK_EQ(tell(&b, GET, 8), 8);
		CHECK_EQ(tell(&b, PUT, 8), 8);
		CHECK_EQ(tell(&a, PUT, 8), 8);
		CHECK_EQ(pt_stats(p).thread_caches, 1);
		CHECK_EQ(pt_stats(p).in_other_caches, 8);
		CHECK_EQ(tell(&b, FLUSH, 0), 0);
		CHECK_EQ(fp_mempool_put_reserve(p, 1, &place), -EOPNOTSUPP);
		dismiss(&a);
		CHECK_EQ(tell(&b, GET, 8), 8);
		CHECK_EQ(tell(&b, PUT, 8), 8);
		CHECK_EQ(pt_stats(p).thread_caches, 1);
		CHECK(pt_stats(p).in_other_caches > 0);
		dismiss(&b);
		pt_end(p);
	}
}

/* ---- destructors of a thread's keys ---- */

static fp_mempool *key_pool;
static fp_mempool_stats seen_early, seen_late;

static void use_in_destructor(fp_mempool_stats *seen)
{
	fp_mempool *p = key_pool;
	void *t[3], **place;
	void *const *window;

	CHECK((t[0] = fp_mempool_get(p)) != NULL);
	CHECK_EQ(fp_mempool_get_bulk(p, t + 1, 2), 2);
	CHECK_EQ(fp_mempool_put(p, t[0]), 0);
	CHECK_EQ(fp_mempool_put_bulk(p, t + 1, 2), 2);
	*seen = pt_stats(p);
	if (seen == &seen_late) {
		CHECK_EQ(fp_mempool_get_reserve(p, 1, &window), -EOPNOTSUPP);
		CHECK_EQ(fp_mempool_put_reserve(p, 1, &place), -EOPNOTSUPP);
		CHECK_EQ(fp_mempool_get_commit(p, 0), -EINVAL);
		CHECK_EQ(fp_mempool_flush(p), 0);
	}
}

static void early_exit(void *unused)
{
	(void)unused;
	use_in_destructor(&seen_early);
}

static void late_exit(void *unused)
{
	(void)unused;
	use_in_destructor(&seen_late);
}

static void *use_with_destructors(void *pool)
{
	pthread_setspecific(early, pool);
	pthread_setspecific(late, pool);
	return get_and_put(pool);
}

static void *only_destructors(void *pool)
{
	pthread_setspecific(early, pool);
	pthread_setspecific(late, pool);
	return NULL;
}

/* M-35: past its exit hook a thread works on, without a cache, and leaves nothing. */
static void a_thread_past_its_exit_hook(void)
{
	for (int kind = 0; kind < 4; kind++)
		for (int lap = 0; lap < 10; lap++) {
			key_pool = pt_pool(40, 8, pt_kinds[kind]);
			fpt_where("flags %#x lap %d", pt_kinds[kind], lap);
			pt_on_thread(lap % 2 ? only_destructors : use_with_destructors,
				     key_pool);
			CHECK(seen_early.in_own_cache > 0);
			CHECK_EQ(seen_early.thread_caches, 1);
			CHECK_EQ(seen_late.in_own_cache, 0);
			CHECK_EQ(seen_late.thread_caches, 0);
			CHECK_EQ(seen_late.in_depot, 40);
			CHECK_EQ(pt_stats(key_pool).thread_caches, 0);
			pt_end(key_pool);
		}
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(flush_gives_back_what_this_thread_keeps),
		FPT_CASE(reclaim_has_the_others_give_back_at_their_next_call),
		FPT_CASE(a_thread_that_was_asked_keeps_its_cache),
		FPT_CASE(a_pool_of_one_thread_has_nobody_to_ask),
		FPT_CASE(a_thread_that_exits_gives_back_to_every_pool),
		FPT_CASE(a_pool_is_destroyed_while_its_threads_live_on),
		FPT_CASE(destroy_waits_for_an_exit_that_is_inside),
		FPT_CASE(three_hundred_threads_one_after_the_other),
		FPT_CASE(three_hundred_threads_at_once),
		FPT_CASE(one_cache_for_whoever_comes_first),
		FPT_CASE(a_thread_past_its_exit_hook),
	};
	fp_mempool *p;

	pthread_key_create(&early, early_exit);
	p = pt_pool(20, 4, 0); /* its first use makes the library's key */
	get_and_put(p);
	CHECK_EQ(fp_mempool_destroy(p), 0);
	pthread_key_create(&late, late_exit);
	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
