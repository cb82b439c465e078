/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pools made and destroyed beside threads that exit: a thread's exit gives its caches
 * back to every pool, at the moment when some other thread takes pools down, makes new
 * ones, or looks them up by name. Also explicit caches that come and go on one pool.
 */
#include <semaphore.h>

#include "hold.h"
#include "pool_traffic.h"

#define USERS 3

/* ---- the users of a pool are through with it, but have not exited yet ---- */

struct guest {
	fp_mempool *p;
	fp_mempool *stays; /* of which the exit gives a cache back too */
	sem_t *done;
	pthread_t thread;
};

static void *use_and_exit(void *arg)
{
	struct guest *g = arg;
	void *t[8];

	for (int i = 0; i < 3; i++) {
		pt_get(g->p, t, 8);
		pt_put(g->p, t, 8);
	}
	pt_get(g->stays, t, 4);
	pt_put(g->stays, t, 4);
	sem_post(g->done);
	return NULL; /* beside the destroy of g->p */
}

static void destroy_beside_exits(void)
{
	uint64_t laps = fpt_scale(400, 100000);
	fp_mempool *stays = pt_pool(200, 8, 0);
	sem_t done;

	sem_init(&done, 0, 0);
	for (uint64_t lap = 0; lap < laps; lap++) {
		fp_mempool *p = pt_pool(100, 8, pt_kinds[lap % 4]);
		struct guest g[USERS];

		for (int i = 0; i < USERS; i++) {
			g[i] = (struct guest){ .p = p, .stays = stays, .done = &done };
			CHECK_EQ(pthread_create(&g[i].thread, NULL, use_and_exit, &g[i]),
				 0);
		}
		for (int i = 0; i < USERS; i++)
			fpt_sem_wait(&done);
		CHECK_EQ(fp_mempool_destroy(p), 0);
		for (int i = 0; i < USERS; i++)
			pthread_join(g[i].thread, NULL);
	}
	sem_destroy(&done);
	CHECK_EQ(pt_stats(stays).thread_caches, 0);
	pt_end(stays);
}

/* ---- everybody makes, names, finds, uses and destroys pools, and exits ---- */

struct citizen {
	int number;
	uint64_t laps, seed;
	pthread_t thread;
};

static void *live(void *arg)
{
	struct citizen *z = arg;
	fp_mempool *mine[4] = { NULL };
	char name[32];
	void *t[10];

	for (uint64_t lap = 0; lap < z->laps; lap++) {
		int i = (int)(fpt_random(&z->seed) >> 62);
		fp_mempool *found;

		if (!mine[i]) {
			fp_mempool_opts o = pt_opts(50, 4, pt_kinds[lap % 4]);

			snprintf(name, sizeof(name), "%d.%d", z->number, i);
			o.name = name;
			mine[i] = pt_create(&o);
		}
		if (fp_mempool_get_bulk(mine[i], t, 10) == 10)
			pt_put(mine[i], t, 10);
		/* Somebody else's, as long as it is there. */
		snprintf(name, sizeof(name), "%d.%d", (z->number + 1) % USERS, i);
		if (fp_mempool_lookup(name, &found) == 0) {
			/* Others use it as well: that many there are, not more. */
			int32_t got = fp_mempool_get_bulk(found, t, 10);

			/* Or a checked pool's owner is trying to destroy it just now. */
			CHECK(got == 10 || got == 0 || got == -EBUSY);
			while (got == 10 && fp_mempool_put_bulk(found, t, 10) == -EBUSY)
				sched_yield();
			CHECK_EQ(fp_mempool_unref(found), 0);
		}
		if (fpt_random(&z->seed) >> 62 == 0 && fp_mempool_destroy(mine[i]) == 0)
			mine[i] = NULL;
	}
	for (int i = 0; i < 4; i++)
		while (fp_mempool_destroy(mine[i]))
			sched_yield(); /* a reference is out, an object in use */
	return NULL;
}

static void pools_of_all_threads(void)
{
	struct citizen z[USERS];
	uint64_t seed = fpt_seed(), lives = fpt_scale(40, 2000);

	for (uint64_t life = 0; life < lives; life++) {
		for (int i = 0; i < USERS; i++) {
			z[i] = (struct citizen){ .number = i,
						 .laps = fpt_scale(40, 200),
						 .seed = fpt_random(&seed) | 1 };
			CHECK_EQ(pthread_create(&z[i].thread, NULL, live, &z[i]), 0);
		}
		for (int i = 0; i < USERS; i++)
			pthread_join(z[i].thread, NULL);
	}
}

/* ---- explicit caches come and go ---- */

static void *renew_caches(void *arg)
{
	struct pt_user *u = arg;
	uint64_t laps = fpt_scale(800, 100000);

	for (uint64_t i = 0; i < laps; i++) {
		u->c = pt_cache(u->p);
		CHECK_EQ(fp_mempool_cache_count(u->c), 0);
		for (int k = 0; k < 4; k++)
			pt_step(u);
		CHECK_EQ(fp_mempool_cache_destroy(u->c), 0);
		u->c = NULL;
		pt_step(u);
	}
	pt_finish(u);
	return NULL;
}

static void explicit_caches_come_and_go(void)
{
	uint64_t seed = fpt_seed();

	for (int kind = 0; kind < 4; kind++) {
		fp_mempool *p = pt_traffic_pool(300, 8, pt_kinds[kind]);
		struct pt_user u[USERS];
		pthread_t t[USERS];

		fpt_where("flags %#x", pt_kinds[kind]);
		for (int i = 0; i < USERS; i++) {
			pt_user_init(&u[i], p, NULL, (uint32_t)i + 1, fpt_random(&seed),
				     20);
			CHECK_EQ(pthread_create(&t[i], NULL, renew_caches, &u[i]), 0);
		}
		for (int i = 0; i < USERS; i++)
			pthread_join(t[i], NULL);
		CHECK_EQ(pt_stats(p).explicit_caches, 0);
		/* One cache per thread and kind at most was ever made. */
		CHECK(fp_mempool_memory(p) <= (1 << 20));
		pt_all_back(p);
		CHECK_EQ(fp_mempool_destroy(p), 0);
	}
}

/* ---- statistics beside all that ---- */

static int watching; /* atomic */

static void *watch(void *arg)
{
	fp_mempool *p = arg;
	uint64_t last = 0;

	while (__atomic_load_n(&watching, __ATOMIC_RELAXED)) {
		fp_mempool_stats s = pt_stats(p);

		CHECK(s.available <= s.capacity);
		CHECK(s.in_use <= s.capacity);
		CHECK(s.thread_caches <= USERS);
		CHECK(s.objects_got >= last); /* only ever more */
		last = s.objects_got;
		CHECK(fp_mempool_memory(p) > 0);
		CHECK(fp_mempool_in_use_count(p) >= 0);
		CHECK(fp_mempool_leaks(p, NULL, 0) <= fp_mempool_capacity(p));
		sched_yield();
	}
	return NULL;
}

static void counts_are_never_absurd(void)
{
	uint64_t seed = fpt_seed();

	for (int kind = 1; kind < 4; kind += 2) {
		fp_mempool *p = pt_traffic_pool(300, 8, pt_kinds[kind]);
		struct pt_user u[USERS];
		pthread_t t[USERS], watcher;

		__atomic_store_n(&watching, 1, __ATOMIC_RELAXED);
		CHECK_EQ(pthread_create(&watcher, NULL, watch, p), 0);
		for (int i = 0; i < USERS; i++) {
			pt_user_init(&u[i], p, NULL, (uint32_t)i + 1, fpt_random(&seed),
				     20);
			CHECK_EQ(pthread_create(&t[i], NULL, renew_caches, &u[i]), 0);
		}
		for (int i = 0; i < USERS; i++)
			pthread_join(t[i], NULL);
		__atomic_store_n(&watching, 0, __ATOMIC_RELAXED);
		pthread_join(watcher, NULL);
		pt_all_back(p);
		CHECK_EQ(fp_mempool_destroy(p), 0);
	}
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(destroy_beside_exits),
		FPT_CASE(pools_of_all_threads),
		FPT_CASE(explicit_caches_come_and_go),
		FPT_CASE(counts_are_never_absurd),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
