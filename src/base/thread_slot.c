/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Thread slots.
 *
 * A bit map of taken slots under a lock; the lowest free slot is taken, so
 * that indexes stay small. The lock also orders what a slot's last owner wrote
 * before what its next owner reads. The fast path is a thread-local compare.
 *
 * Thread exit is seen through a pthread key, created at first need. libc runs
 * its destructor while other destructors of the thread may still have to run
 * and call libfp: `exited` makes sure that they get no slot, because nobody
 * would give it back.
 *
 * Fork: the slots of the parent's other threads are nobody's in the child. The
 * map carries the fork generation in which it was written; the first taker of
 * a new generation clears it. The thread that forked finds its remembered
 * generation outdated and takes a slot again, like a new thread.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/lock.h"
#include "base/step.h"
#include "base/thread_slot.h"

#define SLOT_WORDS ((FPI_THREAD_SLOTS + 63) / 64)
#define SLOT_HOOKS 8

typedef void slot_hook(uint32_t slot);

static struct {
	struct fpi_lock lock;
	uint32_t generation; /* fork generation of taken[] */
	uint64_t taken[SLOT_WORDS];
	slot_hook *hooks[SLOT_HOOKS];
} slots;

static fpi_atomic_u32 slot_full; /* generation in which all slots are taken */
static fpi_atomic_u32 slot_key;	 /* pthread key + 1; 0: not created */

static void slot_set_full(uint32_t generation)
{
	/* Relaxed: a hint that saves the lock. Partner: SLOT_FULL. */
	FPI_STORE(&slot_full, generation, FPI_MO(SLOT_FULL_SET, RELAXED));
}

/* Under the lock: the lowest free slot, or FPI_NO_SLOT. */
static uint32_t slot_find(uint32_t generation)
{
	if (slots.generation != generation) {
		memset(slots.taken, 0, sizeof(slots.taken));
		slots.generation = generation;
	}
	for (uint32_t w = 0; w < SLOT_WORDS; w++) {
		uint32_t slot = w * 64;

		if (!~slots.taken[w])
			continue;
		slot += (uint32_t)__builtin_ctzll(~slots.taken[w]);
		return slot < FPI_THREAD_SLOTS ? slot : FPI_NO_SLOT;
	}
	return FPI_NO_SLOT;
}

static void slot_give(uint32_t slot)
{
	fpi_lock_acquire(&slots.lock);
	FPI_STEP(SLOT_LOCKED);
	slots.taken[slot / 64] &= ~(1ull << slot % 64);
	slot_set_full(0);
	fpi_lock_release(&slots.lock);
}

/* Runs on every thread that ever asked for a slot, when it exits. */
static void slot_thread_exit(void *unused)
{
	slot_hook *hooks[SLOT_HOOKS];
	uint32_t generation = fpi_fork_generation();
	uint32_t slot = fpi_thread.slot;
	int owned = fpi_thread.generation == generation && slot != FPI_NO_SLOT;

	(void)unused;
	if (owned) {
		fpi_lock_acquire(&slots.lock);
		memcpy(hooks, slots.hooks, sizeof(hooks));
		fpi_lock_release(&slots.lock);
		/* Hooks run with the slot still in place, without the lock. */
		for (uint32_t i = 0; i < SLOT_HOOKS && hooks[i]; i++)
			hooks[i](slot);
	}
	fpi_thread.slot = FPI_NO_SLOT;
	fpi_thread.generation = generation;
	fpi_thread.exited = 1;
	if (owned)
		slot_give(slot);
}

/*
 * The key plus 1, or 0 if the process has no more keys. Threads may race: one
 * key wins, the others are deleted before anybody has used them.
 */
static uint32_t slot_key_get(void)
{
	uint32_t key = FPI_LOAD(&slot_key, FPI_MO(SLOT_KEY, RELAXED));
	pthread_key_t made;

	if (key)
		return key;
	if (pthread_key_create(&made, slot_thread_exit))
		return 0;
	/* Relaxed here and above: the number is all that is passed on. */
	if (FPI_CAS(&slot_key, &key, (uint32_t)made + 1, FPI_MO(SLOT_KEY_SET, RELAXED)))
		return (uint32_t)made + 1;
	pthread_key_delete(made);
	return key;
}

/* Arranges for slot_thread_exit() on this thread. */
static int slot_watch_exit(void)
{
	uint32_t key = slot_key_get();

	/* Any value but NULL makes libc call the destructor. */
	return key && !pthread_setspecific((pthread_key_t)(key - 1), &fpi_thread);
}

FPI_NOINLINE uint32_t fpi_thread_slot_take(void)
{
	uint32_t generation, slot;
	int saved = errno;

	if (fpi_thread.exited || fpi_fork_register())
		return FPI_NO_SLOT;
	generation = fpi_fork_generation();
	/* Relaxed: see SLOT_FULL_SET; too late an answer is no harm. */
	if (FPI_LOAD(&slot_full, FPI_MO(SLOT_FULL, RELAXED)) == generation)
		return FPI_NO_SLOT;
	if (!slot_watch_exit()) {
		errno = saved;
		return FPI_NO_SLOT;
	}
	fpi_lock_acquire(&slots.lock);
	FPI_STEP(SLOT_LOCKED);
	slot = slot_find(generation);
	if (slot == FPI_NO_SLOT)
		slot_set_full(generation);
	else
		slots.taken[slot / 64] |= 1ull << slot % 64;
	fpi_lock_release(&slots.lock);
	if (slot != FPI_NO_SLOT) {
		fpi_thread.slot = (uint16_t)slot;
		fpi_thread.generation = generation;
	}
	return slot;
}

FPI_NOINLINE int64_t fpi_thread_id_ask(void)
{
	int32_t id = gettid();

	/* Remembered only if a fork would be noticed. */
	if (!fpi_fork_register()) {
		fpi_thread.id = id;
		fpi_thread.id_generation = fpi_fork_generation();
	}
	return id;
}

int fpi_thread_exit_register(void (*fn)(uint32_t slot))
{
	int rc = -ENOSPC;

	fpi_lock_acquire(&slots.lock);
	for (uint32_t i = 0; i < SLOT_HOOKS; i++) {
		if (!slots.hooks[i])
			slots.hooks[i] = fn;
		if (slots.hooks[i] == fn) {
			rc = 0;
			break;
		}
	}
	fpi_lock_release(&slots.lock);
	return rc;
}
