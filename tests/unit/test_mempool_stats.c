/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Statistics: where the objects are, what was called how often; and the audit, which
 * must find what is broken and nothing else.
 */
#include <semaphore.h>
#include <stddef.h>
#include <unistd.h>

#include "hold.h"
#include "mempool/mempool_internal.h"
#include "pool_test.h"

static void any_size_of_struct(void)
{
	fp_mempool *p = pt_pool(30, 4, 0);
	uint64_t io[sizeof(fp_mempool_stats) / 8 + 4];
	fp_mempool_stats full = pt_stats(p);

	for (uint32_t size = 0; size <= sizeof(io); size++) {
		uint32_t filled = size < sizeof(full) ? size & ~7u : sizeof(full), out;

		memset(io, 0x77, sizeof(io));
		memcpy(io, &size, sizeof(size));
		if (size < 8) {
			CHECK_EQ(fp_mempool_get_stats(p, (void *)io), -EINVAL);
			continue;
		}
		CHECK_EQ(fp_mempool_get_stats(p, (void *)io), 0);
		memcpy(&out, io, sizeof(out));
		CHECK_EQ(out, filled);
		for (size_t i = filled; i < sizeof(io); i++)
			CHECK_EQ(((unsigned char *)io)[i], 0x77);
		full.size = filled;
		CHECK(!memcmp(io, &full, filled));
	}
	pt_end(p);
}

static void *half_of_it(void *arg)
{
	fp_mempool *p = arg;
	void *t[8];

	pt_get(p, t, 8);
	pt_put(p, t, 8);
	CHECK(pt_stats(p).in_own_cache > 0);
	return NULL;
}

/* ---- where they are ---- */

struct other {
	fp_mempool *p;
	sem_t full, go;
	uint32_t keeps;
};

static void *keep_some(void *arg)
{
	struct other *o = arg;
	void *t[64];

	pt_get(o->p, t, o->keeps);
	fp_mempool_flush(o->p);
	pt_put(o->p, t, o->keeps);
	sem_post(&o->full);
	fpt_sem_wait(&o->go);
	return NULL;
}

/* M-27: what other threads keep is no riddle. */
static void where_the_objects_are(void)
{
	for (int kind = 0; kind < 4; kind++) {
		struct other o = { .p = pt_pool(32, 8, pt_kinds[kind]), .keeps = 8 };
		fp_mempool_cache *c = pt_cache(o.p);
		fp_mempool_stats s;
		pthread_t thread;
		void *t[32];

		fpt_where("flags %#x", pt_kinds[kind]);
		sem_init(&o.full, 0, 0);
		sem_init(&o.go, 0, 0);
		CHECK_EQ(pthread_create(&thread, NULL, keep_some, &o), 0);
		fpt_sem_wait(&o.full);
		pt_get(o.p, t, 15);
		fp_mempool_flush(o.p);
		pt_put(o.p, t, 5);
		CHECK_EQ(fp_mempool_put_bulk_via_cache(o.p, c, t + 5, 3), 3);
		s = pt_stats(o.p);
		CHECK_EQ(s.capacity, 32);
		CHECK_EQ(s.in_use, 7);
		CHECK_EQ(s.in_other_caches, 8);
		CHECK_EQ(s.in_own_cache, 5);
		CHECK_EQ(s.in_explicit_caches, 3);
		CHECK_EQ(s.in_depot, 9);
		CHECK_EQ(s.available, 25);
		CHECK_EQ(s.thread_caches, 2);
		CHECK_EQ(s.explicit_caches, 1);
		CHECK_EQ(fp_mempool_cache_size(o.p), 8);
		/* All but what the others keep can be had. */
		CHECK_EQ(fp_mempool_get_bulk(o.p, t + 15, 15), 0);
		pt_get(o.p, t + 15, 14);
		CHECK_EQ(fp_mempool_reclaim(o.p), 8);
		pt_put(o.p, t + 8, 7);
		pt_put(o.p, t + 15, 14);
		sem_post(&o.go);
		pthread_join(thread, NULL);
		CHECK_EQ(fp_mempool_cache_destroy(c), 0);
		CHECK_EQ(pt_stats(o.p).thread_caches, 1);
		CHECK_EQ(pt_stats(o.p).in_other_caches, 0);
		sem_destroy(&o.full);
		sem_destroy(&o.go);
		pt_end(o.p);
	}
}

/* ---- counters ---- */

static void counters_are_kept_if_asked(void)
{
	PT_EACH_KIND(flags)
	{
		fp_mempool *p = pt_pool(30, 4, flags);
		fp_mempool_stats s;
		void *t[31];

		pt_get(p, t, 5);
		pt_put(p, t, 5);
		s = pt_stats(p);
		if (flags & LIBFP_STATS) {
			CHECK_EQ(s.flags, LIBFP_POOL_STATS_COUNTED);
			CHECK_EQ(s.gets, 1);
		} else {
			CHECK_EQ(s.flags, 0);
			CHECK_EQ(s.gets + s.puts + s.objects_got + s.objects_put +
					 s.failures + s.cache_hits + s.depot_exchanges,
				 0);
		}
		pt_end(p);
	}
}

/* Locks of shards taken by this thread, by the step in the lock's holder. */
static int locks;

static void count_locks(const char *step)
{
	locks += !strcmp(step, "POOL_SHARD_LOCKED");
}

/* Every call counted once, as what it was: seen from outside, by the locks it took. */
static void every_call_is_counted_once(void)
{
	for (uint32_t cache = 0; cache < 12; cache++)
		for (int handle = 0; handle < 2; handle++) {
			fp_mempool *p = pt_pool(30, cache, LIBFP_STATS);
			fp_mempool_cache *c = handle ? pt_cache(p) : NULL;
			uint64_t gets = 0, got = 0, puts = 0, put = 0, failures = 0;
			uint64_t hits = 0, exchanges = 0, seed = cache + 99;
			uint32_t have = 0;
			void *t[64];

			fpt_where("cache %u handle %d", cache, handle);
			fpi_test_step = count_locks;
			for (int i = 0; i < 400; i++) {
				uint32_t n = 1 + (uint32_t)(fpt_random(&seed) >> 33) % 9;
				int taken;

				locks = 0;
				if (fpt_random(&seed) >> 63 || !have) {
					int32_t rc =
						c ? fp_mempool_get_bulk_via_cache(
							    p, c, t + have, n) :
						    fp_mempool_get_bulk(p, t + have, n);

					taken = locks;
					have += (uint32_t)rc;
					gets += rc > 0;
					got += (uint64_t)rc;
					failures += rc == 0;
					hits += rc && !taken;
					exchanges += rc && taken;
				} else {
					n = n < have ? n : have;
					have -= n;
					if (c)
						CHECK_EQ(fp_mempool_put_bulk_via_cache(
								 p, c, t + have, n),
							 n);
					else
						pt_put(p, t + have, n);
					taken = locks;
					puts++;
					put += n;
					hits += !taken;
					exchanges += taken > 0;
				}
			}
			fpi_test_step = NULL;
			CHECK_EQ(pt_stats(p).gets, gets);
			CHECK_EQ(pt_stats(p).objects_got, got);
			CHECK_EQ(pt_stats(p).puts, puts);
			CHECK_EQ(pt_stats(p).objects_put, put);
			CHECK_EQ(pt_stats(p).failures, failures);
			CHECK_EQ(pt_stats(p).cache_hits, hits);
			CHECK_EQ(pt_stats(p).depot_exchanges, exchanges);
			CHECK(exchanges > 0);
			pt_put(p, t, have);
			CHECK_EQ(fp_mempool_cache_destroy(c), 0);
			pt_end(p);
		}
}

static void refused_calls_are_not_counted(void)
{
	fp_mempool *p = pt_pool(30, 4, LIBFP_STATS);
	fp_mempool_stats s;
	void *t[31] = { 0 }, **place;
	void *const *window;

	CHECK_EQ(fp_mempool_get_bulk(p, t, 31), -EINVAL);
	CHECK_EQ(fp_mempool_get_bulk(p, NULL, 1), -EINVAL);
	CHECK_EQ(fp_mempool_put(p, NULL), -EINVAL);
	CHECK_EQ(fp_mempool_get_bulk(p, t, 0), 0);
	CHECK_EQ(fp_mempool_put_bulk(p, t, 0), 0);
	CHECK_EQ(fp_mempool_get_commit(p, 1), -EINVAL);
	s = pt_stats(p);
	CHECK_EQ(s.gets + s.puts + s.failures, 0);
	/* A window counts when it is committed. */
	CHECK_EQ(fp_mempool_get_reserve(p, 2, &window), 2);
	CHECK_EQ(pt_stats(p).gets, 0);
	memcpy(t, window, 2 * sizeof(*t));
	CHECK_EQ(fp_mempool_get_commit(p, 2), 2);
	CHECK_EQ(fp_mempool_put_reserve(p, 2, &place), 2);
	memcpy(place, t, 2 * sizeof(*t));
	CHECK_EQ(fp_mempool_put_commit(p, 2), 2);
	s = pt_stats(p);
	CHECK_EQ(s.gets, 1);
	CHECK_EQ(s.objects_got, 2);
	CHECK_EQ(s.puts, 1);
	CHECK_EQ(s.objects_put, 2);
	pt_end(p);
}

/* What ended threads and destroyed caches did has been done. */
static void counters_outlive_their_caches(void)
{
	fp_mempool *p = pt_pool(30, 4, LIBFP_STATS);
	fp_mempool_cache *c;
	void *object;

	for (uint64_t i = 0; i < 20; i++) {
		pt_on_thread(half_of_it, p);
		c = pt_cache(p);
		object = fp_mempool_get_via_cache(p, c);
		CHECK_EQ(fp_mempool_put_via_cache(p, c, object), 0);
		CHECK_EQ(fp_mempool_cache_destroy(c), 0);
		CHECK_EQ(pt_stats(p).gets, 2 * (i + 1));
		CHECK_EQ(pt_stats(p).objects_put, 9 * (i + 1));
		CHECK_EQ(pt_stats(p).thread_caches, 0);
	}
	pt_end(p);
}

/* ---- the audit finds what is broken ---- */

static void found_and_mended(fp_mempool *p, uint32_t in_use,
			     void (*break_it)(fp_mempool *), void (*mend)(fp_mempool *))
{
	pt_at_rest(p, in_use);
	break_it(p);
	fpt_log_begin();
	CHECK_EQ(fp_mempool_audit(p), -EUCLEAN);
	CHECK(fpt_log.lines > 0);
	CHECK_EQ(fpt_log.level, LIBFP_LOG_ERROR);
	fpt_log_end();
	mend(p);
	pt_at_rest(p, in_use);
}

static void *kept;

/* In the calling thread's cache, whose two topmost objects it plays with. */
static fp_mempool_cache *own(fp_mempool *p)
{
	fp_mempool_cache *c = fpi_pool_cache_now(p);

	CHECK(c && c->count.value >= 2);
	return c;
}

static void twice(fp_mempool *p)
{
	void **top = own(p)->objects;

	kept = top[0];
	top[0] = top[1];
}

static void once(fp_mempool *p)
{
	own(p)->objects[0] = kept;
}

static void foreign(fp_mempool *p)
{
	kept = own(p)->objects[0];
	own(p)->objects[0] = &kept;
}

static void interior(fp_mempool *p)
{
	kept = own(p)->objects[0];
	own(p)->objects[0] = (char *)kept + 1;
}

static void count_up(fp_mempool *p)
{
	p->shard[0].count.value++;
}

static void count_down(fp_mempool *p)
{
	p->shard[0].count.value--;
}

static void empties_up(fp_mempool *p)
{
	p->shard[0].empties.value++;
}

static void empties_down(fp_mempool *p)
{
	p->shard[0].empties.value--;
}

static void magazine_too_full(fp_mempool *p)
{
	p->shard[0].loaded->count += p->magazine_size;
}

static void magazine_right(fp_mempool *p)
{
	p->shard[0].loaded->count -= p->magazine_size;
}

static void audit_finds_what_is_broken(void)
{
	static const struct {
		void (*break_it)(fp_mempool *), (*mend)(fp_mempool *);
	} table[] = { { twice, once },
		      { foreign, once },
		      { interior, once },
		      { count_up, count_down },
		      { empties_up, empties_down },
		      { magazine_too_full, magazine_right } };

	for (int kind = 0; kind < 4; kind++)
		for (size_t i = 0; i < FPT_LEN(table); i++) {
			fp_mempool *p = pt_pool(100, 10, pt_kinds[kind]);
			void *t[20];

			fpt_where("flags %#x break %zu", pt_kinds[kind], i);
			pt_get(p, t, 20);
			pt_put(p, t, 14);
			pt_get(p, t, 1);
			found_and_mended(p, 7, table[i].break_it, table[i].mend);
			pt_put(p, t, 1);
			pt_put(p, t + 14, 6);
			pt_end(p);
		}
}

/* An unchecked pool trusts its users; the audit says what came of it, without a crash. */
static void a_double_put_shows_in_the_audit(void)
{
	for (uint32_t cache = 0; cache <= 16; cache += 4) {
		fp_mempool *p = pt_pool(16, cache, cache ? 0 : LIBFP_POOL_NO_CACHE);
		void *t[16];

		fpt_where("cache %u", cache);
		pt_get(p, t, 16);
		for (int i = 0; i < 40; i++)
			CHECK_EQ(fp_mempool_put(p, t[i < 3 ? 0 : i % 16]), 0);
		CHECK_EQ(fp_mempool_audit(p), -EUCLEAN);
		CHECK(fp_mempool_avail_count(p) <= 16);
		CHECK(fp_mempool_in_use_count(p) >= 0);
		CHECK_EQ(fp_mempool_destroy(p), 0);
	}
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(any_size_of_struct),
		FPT_CASE(where_the_objects_are),
		FPT_CASE(counters_are_kept_if_asked),
		FPT_CASE(every_call_is_counted_once),
		FPT_CASE(refused_calls_are_not_counted),
		FPT_CASE(counters_outlive_their_caches),
		FPT_CASE(audit_finds_what_is_broken),
		FPT_CASE(a_double_put_shows_in_the_audit),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
