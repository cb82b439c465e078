/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Making and recycling timers.
 *
 * Records lie in one array, reserved for max_timers at create and touched from its start
 * as timers are made; recycled ones are a free list, last first. An id is {generation,
 * index}: the index has as many bits as max_timers needs, the generation the rest, at most
 * 48. Generations begin at a number drawn for the wheel and advance when a timer is
 * recycled, 0 left out so that no id is 0; a record that has gone through all of them is
 * retired, because its next id would be one that somebody may still hold.
 *
 * Progress: blocking (the pool's lock, for a few instructions).
 */
#include <errno.h>

#include "base/clock.h"
#include "timer/timer_internal.h"

#ifdef FPI_TEST_STEPS
uint32_t
	fpi_test_generation_bits; /* fewer, so that a test sees the end; 0: as they are */
#endif

static uint32_t generation_bits(const fp_timer_wheel *w)
{
	uint32_t bits = 64 - w->index_bits;

	if (bits > FPI_TIMER_GENERATION_BITS)
		bits = FPI_TIMER_GENERATION_BITS;
#ifdef FPI_TEST_STEPS
	if (fpi_test_generation_bits)
		bits = fpi_test_generation_bits;
#endif
	return bits;
}

/* Steele, Lea, Flood: "Fast splittable pseudorandom number generators" (2014). */
static uint64_t mix(uint64_t z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

void fpi_timer_pool_init(fp_timer_wheel *w)
{
	static fpi_atomic_u64 wheels;
	uint64_t number = FPI_FETCH_ADD(&wheels, 0x9e3779b97f4a7c15ull, FPI_RELAXED);

	w->generation_mask = (1ull << generation_bits(w)) - 1;
	w->first_generation = mix(number ^ fpi_now_ns()) & w->generation_mask;
	if (!w->first_generation)
		w->first_generation = 1;
}

static uint64_t generation_after(const fp_timer_wheel *w, uint64_t generation)
{
	generation = (generation + 1) & w->generation_mask;
	return generation ? generation : 1;
}

/* Takes a record that nobody uses. Returns its index + 1, or 0. Needs the lock. */
static uint32_t take(fp_timer_wheel *w)
{
	uint32_t at = w->free, made = FPI_LOAD(&w->made, FPI_RELAXED);

	if (at) {
		w->free = FPI_PLAIN_LOAD(&w->records[at - 1].next);
	} else if (made < w->max_timers) {
		at = made + 1;
		FPI_STORE(&w->records[made].word,
			  w->first_generation << FPI_TIMER_GENERATION_SHIFT, FPI_RELAXED);
		/* Relaxed: who looks at all finds a word of 0 until the timer is made. */
		FPI_STORE(&w->made, at, FPI_RELAXED);
	}
	if (at)
		FPI_STORE(&w->exist, FPI_LOAD(&w->exist, FPI_RELAXED) + 1, FPI_RELAXED);
	return at;
}

static uint64_t begin(fp_timer_wheel *w, uint32_t index, fp_timer_fn cb, void *user)
{
	struct fpi_timer *t = &w->records[index];
	/* Whoever looks at all timers may have locked it while it was another one. */
	uint64_t word = fpi_timer_lock(t) | FPI_TIMER_LIVE;

	FPI_PLAIN_STORE(&t->cb, cb);
	FPI_PLAIN_STORE(&t->user, user);
	fpi_timer_unlock(t, word);
	return fpi_timer_id(w, index, word);
}

int fp_timer_create(fp_timer_wheel *wheel, fp_timer_fn cb, void *user, uint64_t *id)
{
	int err = fpi_wheel_check(wheel);
	uint32_t at;

	if (err || !id)
		return err ? err : -EINVAL;
	fpi_lock_acquire(&wheel->pool_lock);
	FPI_STEP(TIMER_POOL_LOCKED);
	at = take(wheel);
	fpi_lock_release(&wheel->pool_lock);
	if (!at)
		return -ENOMEM;
	*id = begin(wheel, at - 1, cb, user);
	return 0;
}

int32_t fp_timer_create_bulk(fp_timer_wheel *wheel, fp_timer_fn cb, void *const *users,
			     uint64_t *ids, uint32_t n)
{
	int err = fpi_wheel_check(wheel);
	uint32_t made = 0;

	if (err || (n && !ids) || n > INT32_MAX)
		return err ? err : -EINVAL;
	/* Indexes first, under the lock; then ids in their place. */
	fpi_lock_acquire(&wheel->pool_lock);
	while (made < n) {
		uint32_t at = take(wheel);

		if (!at)
			break;
		ids[made++] = at - 1;
	}
	fpi_lock_release(&wheel->pool_lock);
	for (uint32_t i = 0; i < made; i++)
		ids[i] = begin(wheel, (uint32_t)ids[i], cb, users ? users[i] : NULL);
	return (int32_t)made;
}

void fpi_timer_recycle(fp_timer_wheel *w, uint32_t index, uint64_t word)
{
	struct fpi_timer *t = &w->records[index];
	uint64_t generation = generation_after(w, word >> FPI_TIMER_GENERATION_SHIFT);

	/* From here on its ids are stale. Nobody else has a way to the record. */
	fpi_timer_unlock(t, generation << FPI_TIMER_GENERATION_SHIFT);
	fpi_lock_acquire(&w->pool_lock);
	FPI_STEP(TIMER_RECYCLED);
	FPI_STORE(&w->exist, FPI_LOAD(&w->exist, FPI_RELAXED) - 1, FPI_RELAXED);
	if (generation != w->first_generation) {
		FPI_PLAIN_STORE(&t->next, w->free);
		w->free = index + 1;
	}
	fpi_lock_release(&w->pool_lock);
}
