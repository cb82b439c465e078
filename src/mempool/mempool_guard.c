/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LIBFP_CHECKED and LIBFP_STATS: what stands around get and put of such a pool. A
 * pool without these flags never comes here.
 *
 * CHECKED keeps a record of each object: who has it and since when. Around each
 * object lie guard bytes. An available object is poisoned, or, if it has a
 * constructor and so keeps its contents, has its checksum noted; get looks whether
 * that still holds. A put is checked as a whole before anything happens: the record
 * of each object goes from its taker to 0 by a CAS, so that of two puts of one
 * object exactly one wins, and a table that fails half-way is rolled back.
 *
 * Damage is mended when it is reported, so that the next call can go on; the
 * object stays where it was.
 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "mempool/mempool_internal.h"

#define GUARD_BYTE 0xfa
#define POISON_BYTE 0xdb
#define FNV_OFFSET 0xcbf29ce484222325ull /* Fowler, Noll, Vo: FNV-1a, 64 bits */
#define FNV_PRIME 0x100000001b3ull

const char *fpi_pool_name(const fp_mempool *p)
{
	const char *name = fpi_registry_name(&p->name);

	return name ? name : "(no name)";
}

static uint32_t self(void)
{
	return (uint32_t)fpi_thread_id();
}

static int32_t misuse(fp_mempool *p, int32_t code)
{
	FPI_FETCH_ADD(&p->misuses, 1, FPI_RELAXED);
	return code;
}

/* ---- who may be inside ---- */

static fpi_atomic_u32 *side_of(fp_mempool *p, enum fpi_cache_way way)
{
	if (way == FPI_WAY_GET && (p->flags & LIBFP_POOL_ST_GET))
		return &p->getter;
	if (way == FPI_WAY_PUT && (p->flags & LIBFP_POOL_ST_PUT))
		return &p->putter;
	return NULL;
}

static int enter_owner(fp_mempool *p, fpi_atomic_u32 *owner, const char *what)
{
	uint32_t other = fpi_owner_enter(owner, self());

	if (!other)
		return 0;
	fpi_log(LIBFP_LOG_ERROR,
		"pool %s: thread %u entered %s while thread %u is inside",
		fpi_pool_name(p), self(), what, other);
	return misuse(p, -EBUSY);
}

int fpi_pool_enter(fp_mempool *p, fp_mempool_cache *c, enum fpi_cache_way way)
{
	fpi_atomic_u32 *side;
	int err;

	if (!(p->flags & LIBFP_CHECKED))
		return 0;
	err = fpi_guard_enter(&p->guard, self(), "pool", fpi_pool_name(p));
	if (err)
		return err;
	side = side_of(p, way);
	if (side)
		err = enter_owner(p, side,
				  way == FPI_WAY_GET ? "the single-threaded get side" :
						       "the single-threaded put side");
	if (!err && c) {
		err = enter_owner(p, &c->owner, "a cache");
		if (err && side)
			fpi_owner_leave(side);
	}
	if (err)
		fpi_guard_leave(&p->guard);
	else
		fpi_guard_entered(&p->guard, self());
	return err;
}

void fpi_pool_leave_call(fp_mempool *p, fp_mempool_cache *c, enum fpi_cache_way way)
{
	fpi_atomic_u32 *side;

	if (!(p->flags & LIBFP_CHECKED))
		return;
	side = side_of(p, way);
	if (c)
		fpi_owner_leave(&c->owner);
	if (side)
		fpi_owner_leave(side);
	fpi_guard_leave(&p->guard);
}

int fpi_pool_shut(fp_mempool *p, const char *call)
{
	if (!(p->flags & LIBFP_CHECKED))
		return 0;
	return fpi_guard_shut(&p->guard, self(), "pool", fpi_pool_name(p), call);
}

void fpi_pool_reopen(fp_mempool *p)
{
	if (p->flags & LIBFP_CHECKED)
		fpi_guard_reopen(&p->guard);
}

/* ---- contents and guards ---- */

/* Both runs of guard bytes; `mend` writes them. 1: all were right. */
static int guards(const fp_mempool *p, uint64_t index, int mend)
{
	unsigned char *object = fpi_pool_object(p, index);
	unsigned char *ends[2] = { object - p->guard_bytes, object + p->object_size };
	uint64_t sizes[2] = { p->guard_bytes,
			      p->stride - p->object_size - p->guard_bytes };
	int right = 1;

	for (int e = 0; e < 2; e++) {
		for (uint64_t i = 0; i < sizes[e]; i++)
			right &= FPI_PLAIN_LOAD(&ends[e][i]) == GUARD_BYTE;
		for (uint64_t i = 0; mend && i < sizes[e]; i++)
			FPI_PLAIN_STORE(&ends[e][i], GUARD_BYTE);
	}
	return right;
}

int fpi_object_guards_intact(const fp_mempool *p, uint64_t index)
{
	return guards(p, index, 0);
}

static uint64_t checksum(const fp_mempool *p, uint64_t index)
{
	const unsigned char *object = fpi_pool_object(p, index);
	uint64_t sum = FNV_OFFSET;

	for (uint64_t i = 0; i < p->object_size; i++)
		sum = (sum ^ object[i]) * FNV_PRIME;
	return sum;
}

/* Notes the contents of an object that becomes available. */
static void seal(fp_mempool *p, uint64_t index)
{
	if (p->constructed)
		FPI_PLAIN_STORE(&p->records[index].content, checksum(p, index));
	else
		memset(fpi_pool_object(p, index), POISON_BYTE, p->object_size);
}

int fpi_object_untouched(const fp_mempool *p, uint64_t index)
{
	const unsigned char *object = fpi_pool_object(p, index);

	if (p->constructed)
		return FPI_PLAIN_LOAD(&p->records[index].content) == checksum(p, index);
	for (uint64_t i = 0; i < p->object_size; i++)
		if (object[i] != POISON_BYTE)
			return 0;
	return 1;
}

void fpi_guard_objects(fp_mempool *p)
{
	for (uint64_t i = 0; i < p->capacity; i++) {
		guards(p, i, 1);
		seal(p, i);
	}
}

/* ---- objects on their way out ---- */

/* 1: all are as they were put; else what is not is reported and mended. */
static int check_available(fp_mempool *p, void *const *objects, uint32_t n)
{
	int right = 1;

	for (uint32_t i = 0; i < n; i++) {
		int64_t index = fpi_pool_index(p, objects[i]);
		int guarded = guards(p, (uint64_t)index, 0);

		if (guarded && fpi_object_untouched(p, (uint64_t)index))
			continue;
		right = 0;
		fpi_log(LIBFP_LOG_ERROR,
			"pool %s: object %lld was written to %s it was put; found by thread %u",
			fpi_pool_name(p), (long long)index,
			guarded ? "after" : "beyond its ends after", self());
		guards(p, (uint64_t)index, 1);
		seal(p, (uint64_t)index);
	}
	return right;
}

static void note_taken(fp_mempool *p, void *const *objects, uint32_t n)
{
	uint64_t now = fpi_now_ns();

	for (uint32_t i = 0; i < n; i++) {
		struct fpi_object_record *r = &p->records[fpi_pool_index(p, objects[i])];

		FPI_STORE(&r->since_ns, now, FPI_RELAXED);
		FPI_STORE(&r->tag, 0, FPI_RELAXED);
		/* Release: with the time. Partner: POOL_PUT_TAKEN. */
		FPI_STORE(&r->taker, self(), FPI_MO(POOL_TAKEN, RELEASE));
	}
}

/* ---- objects on their way in ---- */

/* Takes one object over from its user; 0, or the error of fp_mempool_put(). */
static int32_t accept(fp_mempool *p, void *object, uint32_t *taker)
{
	int64_t index = fpi_pool_index(p, object);
	struct fpi_object_record *r;

	if (index < 0) {
		fpi_log(LIBFP_LOG_ERROR, "pool %s: thread %u put %p, which is %s",
			fpi_pool_name(p), self(), object,
			fpi_pool_contains(p, object) ? "inside an object of it" :
						       "no object of it");
		return misuse(p, -EFAULT);
	}
	r = &p->records[index];
	*taker = FPI_LOAD(&r->taker, FPI_RELAXED);
	/* Acquire: what the taker noted. Partner: POOL_TAKEN. */
	if (!*taker || !FPI_CAS(&r->taker, taker, 0, FPI_MO(POOL_PUT_TAKEN, ACQUIRE))) {
		fpi_log(LIBFP_LOG_ERROR,
			"pool %s: thread %u put object %lld, which is not in use",
			fpi_pool_name(p), self(), (long long)index);
		return misuse(p, -EALREADY);
	}
	if (guards(p, (uint64_t)index, 0))
		return 0;
	fpi_log(LIBFP_LOG_ERROR,
		"pool %s: object %lld was written to beyond its ends; thread %u got it, "
		"thread %u put it",
		fpi_pool_name(p), (long long)index, *taker, self());
	guards(p, (uint64_t)index, 1);
	FPI_STORE(&r->taker, *taker, FPI_MO(POOL_NOT_PUT, RELEASE));
	return misuse(p, -EUCLEAN);
}

/* All n or none. */
static int32_t accept_all(fp_mempool *p, void *const *objects, uint32_t n)
{
	uint32_t me = self(), taker;
	int32_t err = 0;
	uint32_t i;

	for (i = 0; i < n && !err; i++)
		err = accept(p, objects[i], &taker);
	if (!err) {
		for (i = 0; i < n; i++)
			seal(p, (uint64_t)fpi_pool_index(p, objects[i]));
		return 0;
	}
	/* Whoever had them, the caller has them now. */
	for (i--; i-- > 0;)
		FPI_STORE(&p->records[fpi_pool_index(p, objects[i])].taker, me,
			  FPI_MO(POOL_ROLL_BACK, RELEASE));
	return err;
}

/* ---- counters ---- */

static struct fpi_pool_counters *counters_of(fp_mempool *p, fp_mempool_cache *c)
{
	return c ? &c->counters : &p->counters;
}

static void add(fpi_atomic_u64 *counter, uint64_t n)
{
	FPI_FETCH_ADD(counter, n, FPI_RELAXED);
}

/* hit: no depot lock was taken. */
static void count_get(fp_mempool *p, fp_mempool_cache *c, uint32_t got, int hit)
{
	struct fpi_pool_counters *k = counters_of(p, c);

	if (!(p->flags & LIBFP_STATS))
		return;
	if (got) {
		add(&k->gets, 1);
		add(&k->objects_got, got);
		add(hit ? &k->cache_hits : &k->depot_exchanges, 1);
	} else {
		add(&k->failures, 1);
	}
}

static void count_put(fp_mempool *p, fp_mempool_cache *c, uint32_t n, int hit)
{
	struct fpi_pool_counters *k = counters_of(p, c);

	if (!(p->flags & LIBFP_STATS))
		return;
	add(&k->puts, 1);
	add(&k->objects_put, n);
	add(hit ? &k->cache_hits : &k->depot_exchanges, 1);
}

/* ---- the calls ---- */

static int32_t checked_get(fp_mempool *p, fp_mempool_cache *c, void **out, uint32_t n)
{
	uint64_t before = c ? c->exchanges : 0;
	uint32_t got = fpi_cache_get(p, c, out, n);
	int hit = c && c->exchanges == before;

	if (got && (p->flags & LIBFP_CHECKED)) {
		if (!check_available(p, out, n)) {
			/* Back in the order in which they came: from the last one on. */
			for (uint32_t i = n; i-- > 0;)
				fpi_cache_put(p, c, &out[i], 1);
			return misuse(p, -EUCLEAN);
		}
		note_taken(p, out, n);
	}
	count_get(p, c, got, hit);
	return (int32_t)got;
}

int32_t fpi_guarded_get(fp_mempool *p, fp_mempool_cache *c, void **out, uint32_t n)
{
	int32_t got = fpi_pool_enter(p, c, FPI_WAY_GET);

	if (got)
		return got;
	got = checked_get(p, c, out, n);
	fpi_pool_leave_call(p, c, FPI_WAY_GET);
	return got;
}

int32_t fpi_guarded_put(fp_mempool *p, fp_mempool_cache *c, void *const *objects,
			uint32_t n)
{
	int32_t err = fpi_pool_enter(p, c, FPI_WAY_PUT);
	uint64_t before;

	if (err)
		return err;
	if (p->flags & LIBFP_CHECKED)
		err = accept_all(p, objects, n);
	if (!err) {
		before = c ? c->exchanges : 0;
		fpi_cache_put(p, c, objects, n);
		count_put(p, c, n, c && c->exchanges == before);
	}
	fpi_pool_leave_call(p, c, FPI_WAY_PUT);
	return err ? err : (int32_t)n;
}

int32_t fpi_guarded_window_get(fp_mempool *p, fp_mempool_cache *c, void *const *objects,
			       uint32_t k)
{
	if (p->flags & LIBFP_CHECKED) {
		if (!check_available(p, objects, k))
			return misuse(p, -EUCLEAN);
		note_taken(p, objects, k);
	}
	if (k)
		count_get(p, c, k, 1);
	return (int32_t)k;
}

int32_t fpi_guarded_window_put(fp_mempool *p, fp_mempool_cache *c, void *const *objects,
			       uint32_t k)
{
	int32_t err = 0;

	if (p->flags & LIBFP_CHECKED)
		err = accept_all(p, objects, k);
	if (err)
		return err;
	if (k)
		count_put(p, c, k, 1);
	return (int32_t)k;
}
