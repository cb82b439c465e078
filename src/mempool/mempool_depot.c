/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The depot: the common store of magazines.
 *
 * Up to 8 shards, each a lock, a stack of magazines with objects and a stack of
 * empty ones. A cache exchanges whole magazines with a shard by pointer: an empty
 * one for a loaded one when it ran out, the other way round when it is full. A
 * cache starts at the shard of its thread, then goes on to the others.
 *
 * Room. The depot was made with enough magazines for all objects, and every
 * exchange is one for one, so it always has that many: whatever is not in the
 * depot fits into it. No call ever needs memory, and a put cannot fail.
 *
 * A get is all or nothing, and fails only if the depot as a whole has too few.
 * Nobody ever holds objects of one shard while looking for more in another, so
 * there is nothing to undo and no object that is nowhere:
 *   1. a shard that alone has enough gives it, under its lock;
 *   2. if none has, the counts may prove that there is not enough (see
 *      depot_lacks()), without a lock;
 *   3. else all locks are taken, in order, and then the sum is exact.
 * In the same way a put that finds no empty magazine in any shard takes all locks
 * and pours its objects into whatever has room.
 *
 * Locks. At most one shard lock is held, or all, taken in ascending order. They
 * order everything but the peeks at the counts. Progress: blocking, bounded.
 */
#include "mempool/mempool_internal.h"

#define POINTERS_OF_LINE (FPI_CACHELINE / sizeof(void *))
#define MAGAZINE_LINE_FROM 24 /* objects: larger magazines start on a line */

/* ---- magazines ---- */

uint64_t fpi_magazine_bytes(uint32_t size)
{
	uint64_t bytes = sizeof(struct fpi_magazine) + (uint64_t)size * sizeof(void *);

	return size < MAGAZINE_LINE_FROM ? bytes : FPI_ALIGN_UP(bytes, FPI_CACHELINE);
}

static struct fpi_magazine *pop(struct fpi_magazine **list)
{
	struct fpi_magazine *m = FPI_PLAIN_LOAD(list);

	FPI_PLAIN_STORE(list, FPI_PLAIN_LOAD(&m->next));
	return m;
}

static void push(struct fpi_magazine **list, struct fpi_magazine *m)
{
	FPI_PLAIN_STORE(&m->next, FPI_PLAIN_LOAD(list));
	FPI_PLAIN_STORE(list, m);
}

/* ---- shards: under the lock ---- */

static void lock_shard(const fp_mempool *p, struct fpi_shard *s)
{
	if (!p->single)
		fpi_lock_acquire(&s->lock);
	FPI_STEP(POOL_SHARD_LOCKED);
}

static void unlock_shard(const fp_mempool *p, struct fpi_shard *s)
{
	if (!p->single)
		fpi_lock_release(&s->lock);
}

static uint32_t count_of(const struct fpi_shard *s)
{
	return FPI_LOAD(&s->count, FPI_RELAXED);
}

/*
 * Release: who sees that objects went also sees those that had come before; see
 * depot_lacks(). Partner: DEPOT_PEEK_COUNT.
 */
static void set_count(struct fpi_shard *s, uint32_t count)
{
	FPI_STORE(&s->count, count, FPI_MO(DEPOT_COUNT, RELEASE));
}

static void added(struct fpi_shard *s, uint32_t n)
{
	set_count(s, count_of(s) + n);
	/* Release: after the count. Partner: DEPOT_PEEK_ADDS. */
	FPI_STORE(&s->adds, FPI_LOAD(&s->adds, FPI_RELAXED) + 1,
		  FPI_MO(DEPOT_ADDS, RELEASE));
}

static struct fpi_magazine *pop_empty(struct fpi_shard *s)
{
	FPI_STORE(&s->empties, FPI_LOAD(&s->empties, FPI_RELAXED) - 1, FPI_RELAXED);
	return pop(&s->empty);
}

static void push_empty(struct fpi_shard *s, struct fpi_magazine *m)
{
	push(&s->empty, m);
	FPI_STORE(&s->empties, FPI_LOAD(&s->empties, FPI_RELAXED) + 1, FPI_RELAXED);
}

/* Moves n objects, which the shard has, to out. */
static void shard_take(struct fpi_shard *s, void **out, uint32_t n)
{
	uint32_t left = n;

	while (left) {
		struct fpi_magazine *m = FPI_PLAIN_LOAD(&s->loaded);
		uint64_t has = FPI_PLAIN_LOAD(&m->count);
		uint64_t k = has < left ? has : left;

		fpi_take_objects(out, m->objects + has, k);
		FPI_PLAIN_STORE(&m->count, has - k);
		if (k == has) {
			pop(&s->loaded);
			push_empty(s, m);
		}
		out += k;
		left -= (uint32_t)k;
	}
	set_count(s, count_of(s) - n);
}

/* Fills magazine m up; returns how many of n went in. */
static uint64_t fill(const fp_mempool *p, struct fpi_magazine *m, void *const *objects,
		     uint64_t n)
{
	uint64_t has = FPI_PLAIN_LOAD(&m->count);
	uint64_t room = p->magazine_size - has;
	uint64_t k = room < n ? room : n;

	fpi_put_objects(m->objects + has, objects, k);
	FPI_PLAIN_STORE(&m->count, has + k);
	return k;
}

/*
 * Puts as many of n objects as find room: in the topmost magazine, then in empty
 * ones; `everywhere`: in every one that is not full. Returns how many.
 */
static uint64_t shard_put(const fp_mempool *p, struct fpi_shard *s, void *const *objects,
			  uint64_t n, int everywhere)
{
	struct fpi_magazine *m = FPI_PLAIN_LOAD(&s->loaded);
	uint64_t done = 0;

	if (m && !everywhere)
		done = fill(p, m, objects, n);
	for (; m && everywhere && done < n; m = FPI_PLAIN_LOAD(&m->next))
		done += fill(p, m, objects + done, n - done);
	while (done < n && FPI_PLAIN_LOAD(&s->empty)) {
		m = pop_empty(s);
		FPI_PLAIN_STORE(&m->count, 0);
		done += fill(p, m, objects + done, n - done);
		push(&s->loaded, m);
	}
	if (done)
		added(s, (uint32_t)done);
	return done;
}

/* ---- get ---- */

static void set_loaded(fp_mempool_cache *c, struct fpi_magazine *m, uint32_t count)
{
	c->loaded = m;
	c->objects = m->objects;
	FPI_STORE(&c->count, count, FPI_RELAXED);
}

/* All that the cache has, in its order, to out; the cache is empty then. */
static void drain(fp_mempool_cache *c, void **out)
{
	uint32_t count = FPI_LOAD(&c->count, FPI_RELAXED);
	uint32_t before = FPI_LOAD(&c->previous_count, FPI_RELAXED);

	fpi_take_objects(out, c->objects + count, count);
	fpi_take_objects(out + count, c->previous->objects + before, before);
	FPI_STORE(&c->count, 0, FPI_RELAXED);
	FPI_STORE(&c->previous_count, 0, FPI_RELAXED);
}

/* An empty magazine of cache c. */
static void give_empty(struct fpi_shard *s, const fp_mempool_cache *c,
		       struct fpi_magazine *m)
{
	FPI_PLAIN_STORE(&m->user, c);
	push_empty(s, m);
}

/*
 * Takes n objects, which the shard has, to out; the last magazine touched goes to
 * the cache, whose magazines are empty. Returns how many of n are still to be
 * taken from the loaded magazine, which has them: that needs no lock.
 */
static uint32_t shard_refill(struct fpi_shard *s, fp_mempool_cache *c, void **out,
			     uint32_t n)
{
	struct fpi_magazine *m = FPI_PLAIN_LOAD(&s->loaded);
	uint64_t has;
	uint32_t whole = 0, swapped;

	/* Magazines that the request uses up. */
	while (m && (has = FPI_PLAIN_LOAD(&m->count)) < n - whole) {
		whole += (uint32_t)has;
		m = FPI_PLAIN_LOAD(&m->next);
	}
	shard_take(s, out, whole);
	m = pop(&s->loaded);
	swapped = (uint32_t)FPI_PLAIN_LOAD(&m->count);
	give_empty(s, c, c->loaded);
	set_loaded(c, m, swapped);
	/* The second get in a row that missed: a thread that only gets. */
	if (c->last_miss == FPI_WAY_GET && FPI_PLAIN_LOAD(&s->loaded)) {
		uint32_t more = (uint32_t)FPI_PLAIN_LOAD(&s->loaded->count);

		if (more <= c->pool->cache_size - swapped) {
			m = pop(&s->loaded);
			give_empty(s, c, c->previous);
			c->previous = m;
			FPI_STORE(&c->previous_count, more, FPI_RELAXED);
			swapped += more;
		}
	}
	c->last_miss = FPI_WAY_GET;
	set_count(s, count_of(s) - swapped);
	return n - whole;
}

/*
 * The loaded magazine came from the depot: if another cache had it before, its lines
 * are with another core. Asked for all at once they come while the first are used.
 */
static void fetch_loaded(const fp_mempool_cache *c, uint32_t count)
{
	if (FPI_PLAIN_LOAD(&c->loaded->user) == c)
		return;
	for (uint32_t i = 0; i < count; i += POINTERS_OF_LINE)
		__builtin_prefetch(&c->objects[count - 1 - i]);
}

/* The same for an empty magazine, which is about to be written. */
static void fetch_empty(const fp_mempool *p, const fp_mempool_cache *c)
{
	if (FPI_PLAIN_LOAD(&c->loaded->user) == c)
		return;
	for (uint32_t i = 0; i < p->magazine_size; i += POINTERS_OF_LINE)
		fpi_prefetch_write(&c->objects[i]);
}

/* Under the lock of a shard that has enough; releases it. */
static void get_from(fp_mempool *p, struct fpi_shard *s, fp_mempool_cache *c, void **out,
		     uint32_t n, uint32_t cached)
{
	uint32_t rest, count;

	if (!c) {
		shard_take(s, out, n);
		unlock_shard(p, s);
		return;
	}
	if (cached)
		drain(c, out);
	rest = shard_refill(s, c, out + cached, n - cached);
	unlock_shard(p, s);
	c->exchanges++;
	count = FPI_LOAD(&c->count, FPI_RELAXED);
	fetch_loaded(c, count);
	p->take_many(out + n - rest, c->objects + count, rest);
	FPI_STORE(&c->count, count - rest, FPI_RELAXED);
	fpi_cache_set_limit(c, FPI_LOAD(&c->previous_count, FPI_RELAXED));
}

/*
 * Whether the depot as a whole had fewer than n at some moment of this call.
 *
 * Sums the counts, and looks before and after whether something was added. If
 * not, objects only went in between, so at the end there were no more than the
 * sum. The weak point is an addition that the first look missed although a later
 * removal was seen; then the removal's count (acquire) brings the addition's mark
 * with it, and the second look sees that.
 */
static int depot_lacks(const fp_mempool *p, uint32_t n)
{
	uint64_t sum = 0;
	uint32_t before = 0, after = 0;

	for (uint32_t i = 0; i < p->shards; i++)
		/* Partner: DEPOT_ADDS: what was added by then is in the count. */
		before += FPI_LOAD(&p->shard[i].adds, FPI_MO(DEPOT_PEEK_ADDS, ACQUIRE));
	for (uint32_t i = 0; i < p->shards; i++) {
		/* Partner: DEPOT_COUNT. */
		sum += FPI_LOAD(&p->shard[i].count, FPI_MO(DEPOT_PEEK_COUNT, ACQUIRE));
		FPI_STEP(POOL_SHARD_COUNTED);
	}
	for (uint32_t i = 0; i < p->shards; i++)
		after += FPI_LOAD(&p->shard[i].adds, FPI_RELAXED);
	return sum < n && before == after;
}

static void lock_all(const fp_mempool *p)
{
	for (uint32_t i = 0; i < p->shards; i++)
		lock_shard(p, &p->shard[i]);
}

static void unlock_all(const fp_mempool *p)
{
	for (uint32_t i = p->shards; i-- > 0;)
		unlock_shard(p, &p->shard[i]);
}

/* No shard alone has enough: from all of them at once. */
static FPI_COLD int get_from_all(fp_mempool *p, fp_mempool_cache *c, void **out,
				 uint32_t n, uint32_t cached)
{
	uint32_t left = n - cached;
	uint64_t sum = 0;

	lock_all(p);
	for (uint32_t i = 0; i < p->shards; i++)
		sum += count_of(&p->shard[i]);
	if (sum < left) {
		unlock_all(p);
		return 0;
	}
	if (c)
		drain(c, out);
	out += cached;
	for (uint32_t i = 0; left; i++) {
		uint32_t has = count_of(&p->shard[i]);
		uint32_t k = has < left ? has : left;

		shard_take(&p->shard[i], out, k);
		out += k;
		left -= k;
	}
	unlock_all(p);
	if (c) {
		c->exchanges++;
		fpi_cache_set_limit(c, 0);
	}
	return 1;
}

int fpi_depot_get(fp_mempool *p, fp_mempool_cache *c, void **out, uint32_t n,
		  uint32_t cached)
{
	uint32_t first = c ? c->shard : fpi_pool_start_shard(p);
	uint32_t need = n - cached;

	for (uint32_t i = 0; i < p->shards; i++) {
		struct fpi_shard *s = &p->shard[(first + i) & (p->shards - 1)];

		/* A hint; the lock orders. */
		if (count_of(s) < need)
			continue;
		lock_shard(p, s);
		if (FPI_LIKELY(count_of(s) >= need)) {
			get_from(p, s, c, out, n, cached);
			return 1;
		}
		unlock_shard(p, s);
	}
	if (depot_lacks(p, need))
		return 0;
	return get_from_all(p, c, out, n, cached);
}

/* ---- put ---- */

/* Every shard's empty magazines are used up: pour into what is not full. */
static FPI_COLD void put_anywhere(fp_mempool *p, void *const *objects, uint64_t n)
{
	uint64_t done = 0;

	lock_all(p);
	/* Ends: see "Room" at the top. */
	for (uint32_t i = 0; done < n && i < p->shards; i++)
		done += shard_put(p, &p->shard[i], objects + done, n - done, 1);
	unlock_all(p);
}

void fpi_depot_put(fp_mempool *p, uint32_t shard, void *const *objects, uint64_t n)
{
	uint64_t done = 0;

	for (uint32_t i = 0; done < n && i < p->shards; i++) {
		struct fpi_shard *s = &p->shard[(shard + i) & (p->shards - 1)];

		lock_shard(p, s);
		done += shard_put(p, s, objects + done, n - done, 0);
		unlock_shard(p, s);
	}
	if (done < n)
		put_anywhere(p, objects + done, n - done);
}

/* Under the lock: gives magazine m with its objects, gets an empty one for it. */
static struct fpi_magazine *exchange_full(struct fpi_shard *s, const fp_mempool_cache *c,
					  struct fpi_magazine *m, uint32_t count)
{
	struct fpi_magazine *e = pop_empty(s);

	FPI_PLAIN_STORE(&m->count, count);
	FPI_PLAIN_STORE(&m->user, c);
	push(&s->loaded, m);
	added(s, count);
	return e;
}

/* Under the lock of a shard with an empty magazine. */
static void spill_to(struct fpi_shard *s, fp_mempool_cache *c)
{
	uint32_t count = FPI_LOAD(&c->count, FPI_RELAXED);
	uint32_t before = FPI_LOAD(&c->previous_count, FPI_RELAXED);
	struct fpi_magazine *e;

	if (before) {
		e = exchange_full(s, c, c->previous, before);
		c->previous = c->loaded;
		FPI_STORE(&c->previous_count, count, FPI_RELAXED);
		set_loaded(c, e, 0);
		/* The second put in a row that missed: a thread that only puts. */
		if (c->last_miss != FPI_WAY_PUT || !FPI_PLAIN_LOAD(&s->empty))
			return;
		c->previous = exchange_full(s, c, c->previous, count);
		FPI_STORE(&c->previous_count, 0, FPI_RELAXED);
		return;
	}
	/* A cache of one magazine. */
	set_loaded(c, exchange_full(s, c, c->loaded, count), 0);
}

void fpi_depot_spill(fp_mempool *p, fp_mempool_cache *c)
{
	uint32_t count = FPI_LOAD(&c->count, FPI_RELAXED);
	uint32_t before;

	for (uint32_t i = 0; i < p->shards; i++) {
		struct fpi_shard *s = &p->shard[(c->shard + i) & (p->shards - 1)];

		/* A hint; the lock orders. */
		if (!FPI_LOAD(&s->empties, FPI_RELAXED))
			continue;
		lock_shard(p, s);
		if (FPI_LIKELY(FPI_PLAIN_LOAD(&s->empty) != NULL)) {
			spill_to(s, c);
			unlock_shard(p, s);
			fetch_empty(p, c);
			c->last_miss = FPI_WAY_PUT;
			goto done;
		}
		unlock_shard(p, s);
	}
	before = FPI_LOAD(&c->previous_count, FPI_RELAXED);
	if (before) {
		struct fpi_magazine *m = c->previous;

		put_anywhere(p, m->objects, before);
		c->previous = c->loaded;
		FPI_STORE(&c->previous_count, count, FPI_RELAXED);
		set_loaded(c, m, 0);
	} else {
		put_anywhere(p, c->objects, count);
		FPI_STORE(&c->count, 0, FPI_RELAXED);
	}
done:
	c->exchanges++;
	fpi_cache_set_limit(c, FPI_LOAD(&c->previous_count, FPI_RELAXED));
}

/* ---- create ---- */

static uint64_t magazines_for(uint64_t capacity, uint32_t size)
{
	return (capacity + size - 1) / size;
}

uint64_t fpi_depot_bytes(uint64_t capacity, uint32_t magazine_size)
{
	return magazines_for(capacity, magazine_size) * fpi_magazine_bytes(magazine_size);
}

void fpi_depot_init(fp_mempool *p, unsigned char *memory)
{
	uint64_t magazines = magazines_for(p->capacity, p->magazine_size);
	uint64_t bytes = fpi_magazine_bytes(p->magazine_size);
	uint64_t left = p->capacity;

	/* From the last object on: the first gets return the first objects. */
	for (uint64_t i = magazines; i-- > 0;) {
		struct fpi_magazine *m =
			(struct fpi_magazine *)(void *)(memory + i * bytes);
		struct fpi_shard *s = &p->shard[i & (p->shards - 1)];
		uint64_t n = left - i * p->magazine_size;

		for (uint64_t k = 0; k < n; k++)
			m->objects[k] = fpi_pool_object(p, left - 1 - k);
		m->count = n;
		m->next = s->loaded;
		s->loaded = m;
		s->count.value += (uint32_t)n;
		left -= n;
	}
}
