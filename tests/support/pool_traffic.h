/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Traffic for the mempool stress tests: users that get and put with every kind of call
 * at random, and an owner for each object. Whoever gets an object must find it without
 * an owner (a CAS from 0 to the user's number never fails), and it is the user's until
 * it is put. The objects themselves are written and read plainly, so that sanitizers
 * see a hand-over that is not ordered.
 */
#ifndef FPT_POOL_TRAFFIC_H
#define FPT_POOL_TRAFFIC_H

#include <sched.h>

#include "pool_test.h"

#define PT_OBJECTS 4096 /* of the largest pool */
#define PT_HELD 64	/* objects in the hands of one user at most */

/* By index of object; of one pool at a time. */
static uint32_t pt_owner[PT_OBJECTS];

struct pt_user {
	fp_mempool *p;
	fp_mempool_cache *c; /* NULL: the thread's, or none */
	uint32_t id;	     /* not 0 */
	uint64_t seed;
	uint32_t may_hold; /* at most PT_HELD */
	uint32_t have;
	uint64_t failures; /* gets that found too few */
	uint64_t got;
	void *held[PT_HELD];
};

static inline void pt_user_init(struct pt_user *u, fp_mempool *p, fp_mempool_cache *c,
				uint32_t id, uint64_t seed, uint32_t may_hold)
{
	memset(u, 0, sizeof(*u));
	u->p = p;
	u->c = c;
	u->id = id;
	u->seed = seed | 1;
	u->may_hold = may_hold;
}

static inline uint32_t pt_below(struct pt_user *u, uint32_t n)
{
	return (uint32_t)((fpt_random(&u->seed) >> 32) % n);
}

/* Two words: whose it was last, and the same as a check that it is whole. */
static inline void pt_take(struct pt_user *u, void *object)
{
	int64_t index = fp_mempool_index(u->p, object);
	uint32_t nobody = 0;
	uint64_t words[2];

	CHECK(index >= 0 && index < PT_OBJECTS);
	CHECK(__atomic_compare_exchange_n(&pt_owner[index], &nobody, u->id, 0,
					  __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	memcpy(words, object, sizeof(words));
	CHECK_EQ(words[0], words[1]);
	words[0] = words[1] = u->id;
	memcpy(object, words, sizeof(words));
	u->held[u->have++] = object;
	u->got++;
}

/* The n newest are on their way to the pool: nobody's from here on. */
static inline void *const *pt_let_go(struct pt_user *u, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		void *object = u->held[u->have - 1 - i];
		int64_t index = fp_mempool_index(u->p, object);
		uint32_t me = u->id;
		uint64_t words[2];

		memcpy(words, object, sizeof(words));
		CHECK_EQ(words[0], u->id);
		CHECK_EQ(words[1], u->id);
		CHECK(__atomic_compare_exchange_n(&pt_owner[index], &me, 0, 0,
						  __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	}
	u->have -= n;
	return u->held + u->have;
}

/* Gets up to n in one call of some kind; returns how many. */
static inline uint32_t pt_some_get(struct pt_user *u, uint32_t n)
{
	void *const *window = NULL;
	void *t[PT_HELD];
	int32_t got = 0;

	switch (pt_below(u, 4)) {
	case 0:
		t[0] = u->c ? fp_mempool_get_via_cache(u->p, u->c) : fp_mempool_get(u->p);
		got = t[0] != NULL;
		break;
	case 1:
		got = u->c ? fp_mempool_get_reserve_via_cache(u->p, u->c, n, &window) :
			     fp_mempool_get_reserve(u->p, n, &window);
		if (got > 0) {
			if (pt_below(u, 3) == 0)
				got = 1 + (int32_t)pt_below(u, (uint32_t)got);
			memcpy(t, window, (size_t)got * sizeof(*t));
			CHECK_EQ(u->c ? fp_mempool_get_commit_via_cache(u->p, u->c,
									(uint32_t)got) :
					fp_mempool_get_commit(u->p, (uint32_t)got),
				 got);
			break;
		}
		if (got != -EOPNOTSUPP)
			break;
		/* fall through */
	default:
		got = u->c ? fp_mempool_get_bulk_via_cache(u->p, u->c, t, n) :
			     fp_mempool_get_bulk(u->p, t, n);
		CHECK(got == 0 || got == (int32_t)n);
	}
	CHECK(got >= 0);
	u->failures += got == 0;
	for (int32_t i = 0; i < got; i++)
		pt_take(u, t[i]);
	return (uint32_t)got;
}

/* Puts n, which the user has, by one kind of call or another. */
static inline void pt_some_put(struct pt_user *u, uint32_t n)
{
	void *const *t;
	void **place;
	int32_t room;

	switch (pt_below(u, 4)) {
	case 0:
		for (; n; n--) {
			t = pt_let_go(u, 1);
			CHECK_EQ(u->c ? fp_mempool_put_via_cache(u->p, u->c, *t) :
					fp_mempool_put(u->p, *t),
				 0);
		}
		return;
	case 1:
		room = u->c ? fp_mempool_put_reserve_via_cache(u->p, u->c, n, &place) :
			      fp_mempool_put_reserve(u->p, n, &place);
		if (room > 0) {
			t = pt_let_go(u, (uint32_t)room);
			memcpy(place, t, (size_t)room * sizeof(*place));
			CHECK_EQ(u->c ? fp_mempool_put_commit_via_cache(u->p, u->c,
									(uint32_t)room) :
					fp_mempool_put_commit(u->p, (uint32_t)room),
				 room);
			n -= (uint32_t)room;
		}
		if (!n)
			return;
		/* fall through */
	default:
		t = pt_let_go(u, n);
		CHECK_EQ(u->c ? fp_mempool_put_bulk_via_cache(u->p, u->c, t, n) :
				fp_mempool_put_bulk(u->p, t, n),
			 n);
	}
}

/* One step: a get or a put, now and then a flush or a reclaim. */
static inline void pt_step(struct pt_user *u)
{
	uint32_t room = u->may_hold - u->have;

	switch (pt_below(u, 64)) {
	case 0:
		CHECK((u->c ? fp_mempool_cache_flush(u->c) : fp_mempool_flush(u->p)) >=
		      0);
		return;
	case 1:
		CHECK(fp_mempool_reclaim(u->p) >= 0);
		return;
	case 2:
		CHECK(fp_mempool_avail_count(u->p) <= fp_mempool_capacity(u->p));
		CHECK_EQ(pt_stats(u->p).capacity, fp_mempool_capacity(u->p));
		return;
	}
	if (room && (!u->have || pt_below(u, 2))) {
		if (!pt_some_get(u, 1 + pt_below(u, room < 20 ? room : 20)))
			sched_yield();
	} else {
		pt_some_put(u, 1 + pt_below(u, u->have));
	}
}

static inline void pt_finish(struct pt_user *u)
{
	if (u->have)
		pt_some_put(u, u->have);
}

/* Nobody has any object, and all of them are in the pool. */
static inline void pt_all_back(fp_mempool *p)
{
	for (int i = 0; i < PT_OBJECTS; i++)
		CHECK_EQ(pt_owner[i], 0);
	pt_at_rest(p, 0);
}

/* Contents that the checks above can be made on survive in a CHECKED pool only so. */
static inline int pt_blank(void *object, uint32_t index, void *user)
{
	(void)index;
	(void)user;
	memset(object, 0, 16);
	return 0;
}

static inline fp_mempool *pt_traffic_pool(uint32_t count, uint32_t cache_size,
					  uint32_t flags)
{
	fp_mempool_opts o = pt_opts(count, cache_size, flags);

	o.constructor = pt_blank;
	return pt_create(&o);
}

#endif
