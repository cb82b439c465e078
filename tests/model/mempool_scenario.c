/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prepares a pool scenario, runs its letters and checks what came out; see
 * mempool_scenario.h.
 *
 * The pool is made once per scenario, in memory of our own that is set back to a
 * snapshot before every execution. What a thread allocates comes from an arena of
 * its own, so that it is at the same address in every execution.
 */
#include "mempool_scenario.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mempool/mempool_internal.h"

#define MAIN EX_THREADS /* "thread" of preparation and checks */
#define ARENA_BYTES 8192
#define MAX_HELD 12
#define FIRST_ID 100 /* kernel ids: even, so that thread t begins at shard t % 2 */

struct actor {
	void *held[MAX_HELD];
	uint32_t n_held;
	fp_mempool_cache *cache; /* explicit, its own */
	void **places;		 /* windows */
	void *const *shown;
};

static struct world {
	const struct mempool_scenario *scenario;
	fp_mempool *pool;
	struct actor actors[EX_THREADS + 1];
	struct actor at_start[EX_THREADS + 1];
	fp_mempool_cache *cache; /* explicit, for x and y */
	void *shared;
	int shared_puts; /* that succeeded */
	int destroyed;
	int prepared;
	uint32_t flag;
} world;
static struct world *const w = &world;

static _Alignas(LIBFP_POOL_ALIGN_MAX) unsigned char arena[EX_THREADS + 1][ARENA_BYTES];
static unsigned char snapshot[ARENA_BYTES];
static size_t arena_used[EX_THREADS + 1];
static size_t snapshot_size;

/* ---- who runs, and its memory ---- */

static void become(int t, uint32_t slot)
{
	uint32_t generation = fpi_fork_generation();

	fpi_thread = (struct fpi_thread){
		.generation = generation,
		.id_generation = generation,
		.id = FIRST_ID + t,
		.slot = (uint16_t)slot,
	};
}

static void *arena_alloc(void *ctx, uint64_t size, uint64_t align)
{
	int t = w->prepared ? fpi_thread.id - FIRST_ID : MAIN;
	size_t at = (arena_used[t] + align - 1) & ~(size_t)(align - 1);

	(void)ctx;
	if (at + size > ARENA_BYTES) {
		fprintf(stderr, "%s: the arena is too small\n", w->scenario->name);
		exit(2);
	}
	arena_used[t] = at + size;
	return arena[t] + at;
}

/* Whoever used the memory must have happened before. */
static void arena_free(void *ctx, void *p, uint64_t size, uint64_t align)
{
	(void)ctx;
	(void)align;
	ex_plain(p, size < 512 ? size : 512, 1, "freed memory");
}

static const fp_allocator allocator = { sizeof(allocator), 0, arena_alloc, arena_free,
					NULL };

/* ---- objects ---- */

static void touch(void *object)
{
	ex_plain(object, sizeof(uint64_t), 1, "object");
	*(uint64_t *)object = (uint64_t)fpi_thread.id;
}

static void hold(int t, void *object)
{
	struct actor *a = &w->actors[t];

	EX_CHECK(fpi_pool_index(w->pool, object) >= 0);
	EX_CHECK(a->n_held < MAX_HELD);
	a->held[a->n_held++] = object;
}

/* CHECKED: another thread was inside. */
static int refused(int64_t r)
{
	return r == -EBUSY && (w->scenario->flags & LIBFP_CHECKED) && !w->scenario->must;
}

static void got(int t, void *object)
{
	EX_CHECK(object || !w->scenario->must);
	if (object) {
		touch(object);
		hold(t, object);
	}
}

static void get_bulk(int t)
{
	void *objects[2] = { NULL, NULL };
	int32_t n = fp_mempool_get_bulk(w->pool, objects, 2);

	if (refused(n))
		return;
	EX_CHECK(n == 2 || (n == 0 && !w->scenario->must));
	for (int32_t i = 0; i < n; i++)
		got(t, objects[i]);
}

static void put(int t, int via)
{
	struct actor *a = &w->actors[t];
	void *object;
	int r;

	if (!a->n_held)
		return;
	object = a->held[a->n_held - 1];
	touch(object);
	r = via ? fp_mempool_put_via_cache(w->pool, w->cache, object) :
		  fp_mempool_put(w->pool, object);
	if (refused(r))
		return;
	EX_CHECK(r == 0);
	a->n_held--;
}

static void put_bulk(int t)
{
	struct actor *a = &w->actors[t];
	void *objects[2];
	int32_t r;

	if (a->n_held < 2)
		return;
	memcpy(objects, a->held + a->n_held - 2, sizeof(objects));
	touch(objects[0]);
	touch(objects[1]);
	r = fp_mempool_put_bulk(w->pool, objects, 2);
	if (refused(r))
		return;
	EX_CHECK(r == 2);
	a->n_held -= 2;
}

static void get_in_window(int t)
{
	void *const *window;
	void *object = NULL;
	int32_t n = fp_mempool_get_reserve(w->pool, 2, &window);

	EX_CHECK(n >= 0 && n <= 2);
	if (n) {
		object = window[0];
		EX_CHECK(fp_mempool_get_commit(w->pool, 1) == 1);
	}
	got(t, object);
}

static void put_in_window(int t)
{
	struct actor *a = &w->actors[t];
	void **window;

	if (!a->n_held)
		return;
	EX_CHECK(fp_mempool_put_reserve(w->pool, 1, &window) == 1);
	window[0] = a->held[--a->n_held];
	touch(window[0]);
	EX_CHECK(fp_mempool_put_commit(w->pool, 1) == 1);
}

/* Between the two halves another thread may do what it likes. */
static void open_for_put(int t)
{
	if (fp_mempool_put_reserve(w->pool, 1, &w->actors[t].places) != 1)
		w->actors[t].places = NULL;
}

static void put_opened(int t)
{
	struct actor *a = &w->actors[t];

	EX_CHECK(a->places && a->n_held);
	a->places[0] = a->held[--a->n_held];
	touch(a->places[0]);
	EX_CHECK(fp_mempool_put_commit(w->pool, 1) == 1);
}

static void show(int t)
{
	if (fp_mempool_get_reserve(w->pool, 1, &w->actors[t].shown) != 1)
		w->actors[t].shown = NULL;
}

static void take_shown(int t)
{
	void *object;

	if (!w->actors[t].shown)
		return;
	object = w->actors[t].shown[0];
	EX_CHECK(fp_mempool_get_commit(w->pool, 1) == 1);
	got(t, object);
}

/* ---- misuse ---- */

static void put_shared(void)
{
	int r = fp_mempool_put(w->pool, w->shared);

	w->shared_puts += r == 0;
	EX_CHECK(r == 0 || r == -EALREADY || (r == -EUCLEAN && w->scenario->damaged));
}

static void put_shared_and_none(void)
{
	void *objects[2] = { w->shared, (unsigned char *)w->shared + 1 };
	int32_t r = fp_mempool_put_bulk(w->pool, objects, 2);

	EX_CHECK(r == -EALREADY || r == -EFAULT);
}

static void shut(void)
{
	if (fpi_pool_shut(w->pool, "shut"))
		return;
	for (uint32_t i = 0; i < w->pool->shards; i++)
		for (struct fpi_magazine *m = w->pool->shard[i].loaded; m; m = m->next)
			ex_plain(m, sizeof(*m) + sizeof(void *), 1, "magazine");
}

static void list_leaks(void)
{
	fp_mempool_leak leaks[MAX_HELD];
	int64_t n = fp_mempool_leaks(w->pool, leaks, MAX_HELD);

	EX_CHECK(n >= 0 && n <= MAX_HELD);
	/* Who sees that it was got sees when. */
	for (int64_t i = 0; i < n; i++)
		EX_CHECK(leaks[i].since_ns != 0);
}

/* ---- caches, threads, counts ---- */

static void create_cache(int t)
{
	EX_CHECK(fp_mempool_cache_create(w->pool, &w->actors[t].cache) == 0);
}

static void destroy_cache(int t)
{
	EX_CHECK(fp_mempool_cache_destroy(w->actors[t].cache) == 0);
	w->actors[t].cache = NULL;
}

static void check_gave_back(void)
{
	fp_mempool_cache *c = FPI_LOAD(&w->pool->own[fpi_thread.slot], FPI_RELAXED);

	EX_CHECK(fpi_cache_count(c) <= w->scenario->k_max);
}

static void leave_thread(void)
{
	fpi_pool_thread_exit(fpi_thread.slot);
	fpi_thread.slot = FPI_NO_SLOT;
	fpi_thread.exited = 1;
}

static void read_counts(void)
{
	fp_mempool_stats st = { .size = sizeof(st) };

	EX_CHECK(fp_mempool_get_stats(w->pool, &st) == 0);
	EX_CHECK(st.available <= st.capacity);
	EX_CHECK(st.in_use + st.available == st.capacity);
}

static void destroy(void)
{
	EX_CHECK(fp_mempool_destroy(w->pool) == 0);
	w->destroyed = 1;
}

/* clang-format off */
static void operation(int t, char op)
{
	switch (op) {
	case 'g': got(t, fp_mempool_get(w->pool)); break;
	case 'G': get_bulk(t); break;
	case 'p': put(t, 0); break;
	case 'P': put_bulk(t); break;
	case 'x': got(t, fp_mempool_get_via_cache(w->pool, w->cache)); break;
	case 'y': put(t, 1); break;
	case 'z': get_in_window(t); break;
	case 'v': put_in_window(t); break;
	case 'o': open_for_put(t); break;
	case 'i': put_opened(t); break;
	case 'a': show(t); break;
	case 't': take_shown(t); break;
	case 'c': create_cache(t); break;
	case 'e': destroy_cache(t); break;
	case 'f': EX_CHECK(fp_mempool_flush(w->pool) >= 0); break;
	case 'r': EX_CHECK(fp_mempool_reclaim(w->pool) >= 0); break;
	case 'k': check_gave_back(); break;
	case 'E': leave_thread(); break;
	case 'N': become(t, FPI_NO_SLOT); break;
	case '0': become(t, 0); break;
	case 'n': read_counts(); break;
	case 'X': destroy(); break;
	case 'd': put_shared(); break;
	case 'D': put_shared_and_none(); break;
	case 'h': fp_mempool_get(w->pool); break;
	case 'l': list_leaks(); break;
	case 'Y': shut(); break;
	case 's': ex_store(&w->flag, sizeof(w->flag), 1, EX_RELEASE, "flag"); break;
	case 'w': ex_await(&w->flag, sizeof(w->flag), 1, EX_ACQUIRE, "flag"); break;
	default: ex_fail("unknown operation", w->scenario->name, 0);
	}
}
/* clang-format on */

static void thread(int t)
{
	become(t, (uint32_t)t);
	for (const char *p = w->scenario->threads[t]; *p; p++)
		operation(t, *p);
}

/* ---- checks at the end ---- */

static void put_what_is_held(void)
{
	for (int t = 0; t <= MAIN; t++) {
		struct actor *a = &w->actors[t];

		while (a->n_held)
			EX_CHECK(fp_mempool_put(w->pool, a->held[--a->n_held]) == 0);
	}
	if (w->shared &&
	    FPI_LOAD(&w->pool->records[fpi_pool_index(w->pool, w->shared)].taker,
		     FPI_RELAXED)) {
		EX_CHECK(w->shared_puts == 0 || w->scenario->fresh);
		EX_CHECK(fp_mempool_put(w->pool, w->shared) == 0);
	}
}

static void flush_all(void)
{
	fp_mempool_cache *c = FPI_LOAD(&w->pool->caches, FPI_RELAXED);

	for (; c; c = c->next)
		fpi_cache_flush(w->pool, c);
}

static void check_all_come_out(void)
{
	void *objects[MAX_HELD];
	uint32_t n = w->scenario->count;
	uint64_t seen = 0;

	EX_CHECK(fp_mempool_get_bulk(w->pool, objects, n) == (int32_t)n);
	for (uint32_t i = 0; i < n; i++)
		seen |= 1ull << fpi_pool_index(w->pool, objects[i]);
	EX_CHECK(seen == (1ull << n) - 1);
	EX_CHECK(fp_mempool_get(w->pool) == NULL);
}

/* For the trace: what the audit finds. */
static void log_line(uint32_t level, const char *line, void *user)
{
	(void)level;
	(void)user;
	ex_note("log: %s", line);
}

static void finish(void)
{
	if (w->destroyed)
		return;
	fp_log_set_handler(log_line, NULL, NULL);
	fpi_pool_reopen(w->pool);
	EX_CHECK(w->shared_puts <= 1);
	put_what_is_held();
	EX_CHECK(fp_mempool_audit(w->pool) == 0);
	flush_all();
	EX_CHECK(fp_mempool_audit(w->pool) == 0);
	EX_CHECK(fp_mempool_in_use_count(w->pool) == 0);
	check_all_come_out();
}

/* ---- preparation ---- */

static void setup(void)
{
	static const char *const names[FPI_POOL_SHARDS][4] = {
		{ "lock[0]", "count[0]", "adds[0]", "empties[0]" },
		{ "lock[1]", "count[1]", "adds[1]", "empties[1]" },
	};
	fp_mempool *p = w->pool;

	become(MAIN, FPI_NO_SLOT);
	fp_log_set_handler(NULL, NULL, NULL);
	memcpy(arena[MAIN], snapshot, snapshot_size);
	memset(arena_used, 0, sizeof(arena_used));
	arena_used[MAIN] = snapshot_size;
	memcpy(w->actors, w->at_start, sizeof(w->actors));
	w->shared_puts = 0;
	w->destroyed = 0;
	w->flag = 0;
	/* Back on the list, if the last execution destroyed it. */
	fpi_pool_leave(p);
	fpi_pool_join(p);
	ex_statistic(&p->memory.value);
	ex_statistic(&p->misuses.value);
	ex_statistic(&p->guard.entered.value);
	for (fp_mempool_cache *c = FPI_LOAD(&p->caches, FPI_RELAXED);
	     c && !w->scenario->counts; c = c->next) {
		ex_statistic(&c->count.value);
		ex_statistic(&c->previous_count.value);
	}
	for (uint32_t i = 0; i < p->shards; i++) {
		ex_name(&p->shard[i].lock.word.value, names[i][0]);
		ex_name(&p->shard[i].count.value, names[i][1]);
		ex_name(&p->shard[i].adds.value, names[i][2]);
		ex_name(&p->shard[i].empties.value, names[i][3]);
	}
}

static void must_be(int ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "%s: cannot prepare: %s\n", w->scenario->name, what);
		exit(2);
	}
}

static int construct(void *object, uint32_t index, void *user)
{
	(void)user;
	memset(object, (int)index, sizeof(uint64_t));
	return 0;
}

static void create(const struct mempool_scenario *s)
{
	fp_mempool_opts o = LIBFP_MEMPOOL_OPTS_INIT;

	o.flags = s->flags | (s->cache_size ? 0 : LIBFP_POOL_NO_CACHE);
	o.count = s->count;
	o.object_size = sizeof(uint64_t);
	o.cache_size = s->cache_size;
	o.allocator = &allocator;
	o.constructor = s->constructed ? construct : NULL;
	memset(arena, 0, sizeof(arena));
	memset(arena_used, 0, sizeof(arena_used));
	must_be(fp_mempool_create(&o, &w->pool) == 0, "create");
	fpi_lock_acquire(&w->pool->lock); /* a word of this generation */
	fpi_lock_release(&w->pool->lock);
}

/* Gets all objects, then puts them where the scenario wants them. */
static void distribute(const struct mempool_scenario *s)
{
	void *all[MAX_HELD], **next = all;
	uint32_t left = s->count;

	must_be(s->count <= MAX_HELD, "too many objects");
	must_be(fp_mempool_get_bulk(w->pool, all, s->count) == (int32_t)s->count, "get");
	for (int t = 0; t < EX_THREADS; t++) {
		uint32_t cached = s->cached[t];

		for (uint32_t i = 0; i < s->held[t]; i++, left--)
			w->actors[t].held[w->actors[t].n_held++] = *next++;
		if (!cached)
			continue;
		become(t, (uint32_t)t);
		must_be(fp_mempool_put_bulk(w->pool, next, cached) == (int32_t)cached,
			"fill a cache");
		become(MAIN, FPI_NO_SLOT);
		next += cached;
		left -= cached;
	}
	if (s->shared) {
		w->shared = *next++;
		left--;
		if (s->fresh)
			must_be(fp_mempool_put(w->pool, w->shared) == 0, "put");
		FPI_STORE(&w->pool->records[fpi_pool_index(w->pool, w->shared)].since_ns,
			  0, FPI_RELAXED);
		if (s->damaged)
			((unsigned char *)w->shared)[sizeof(uint64_t)] = 0;
	}
	for (uint32_t i = 0; i < left; i++)
		if (s->flags & LIBFP_CHECKED)
			must_be(fp_mempool_put(w->pool, next[i]) == 0, "put");
	if (!(s->flags & LIBFP_CHECKED)) {
		fpi_depot_put(w->pool, 0, next, s->shard0);
		fpi_depot_put(w->pool, 1, next + s->shard0, left - s->shard0);
	}
}

void mempool_scenario_prepare(const struct mempool_scenario *s, struct ex_test *test)
{
	fpi_fork_register(); /* a first generation, for become() */
	become(MAIN, FPI_NO_SLOT);
	if (w->pool)
		fpi_pool_leave(w->pool);
	memset(w, 0, sizeof(*w));
	w->scenario = s;
	create(s);
	if (s->via)
		must_be(fp_mempool_cache_create(w->pool, &w->cache) == 0, "cache");
	distribute(s);
	memcpy(w->at_start, w->actors, sizeof(w->actors));
	w->prepared = 1;
	snapshot_size = arena_used[MAIN];
	memcpy(snapshot, arena[MAIN], snapshot_size);
	*test = (struct ex_test){
		.name = s->name,
		.setup = setup,
		.thread = thread,
		.finish = finish,
		.local = &fpi_thread,
		.local_size = sizeof(fpi_thread),
	};
	while (test->threads < EX_THREADS && s->threads[test->threads])
		test->threads++;
}
