/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library's only mutex. It spins a little, then sleeps in a futex; in a
 * forked child it is free, whoever held it in the parent. See lock.c.
 *
 * All zero is an unlocked lock. Not recursive. Hold it for a bounded number of
 * instructions, and make the data it guards consistent after every single
 * store: a fork may happen in the middle.
 */
#ifndef FPI_BASE_LOCK_H
#define FPI_BASE_LOCK_H

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/fork.h"

struct fpi_lock {
	fpi_atomic_u32 word; /* generation << 2 | state */
};

enum {
	FPI_LOCK_FREE = 0,
	FPI_LOCK_HELD = 1,
	FPI_LOCK_CONTENDED = 2, /* held, and somebody may sleep */
	FPI_LOCK_STATE = 3,	/* mask */
};
#define FPI_LOCK_GENERATION_SHIFT 2

#define FPI_LOCK_INIT         \
	{                     \
		.word = { 0 } \
	}

void fpi_lock_acquire_slow(struct fpi_lock *lock);
void fpi_lock_wake(struct fpi_lock *lock);

FPI_INLINE void fpi_lock_acquire(struct fpi_lock *lock)
{
	uint32_t generation = fpi_fork_generation();
	uint32_t expected = generation << FPI_LOCK_GENERATION_SHIFT;

	/*
	 * Acquire: what the last holder wrote. Partner: LOCK_RELEASE.
	 * Generation 0 goes the slow way, which registers the fork handler.
	 */
	if (FPI_LIKELY(generation != 0) &&
	    FPI_LIKELY(FPI_CAS_LOCK(&lock->word, &expected, expected | FPI_LOCK_HELD,
				    FPI_MO(LOCK_ACQUIRE, ACQUIRE))))
		return;
	fpi_lock_acquire_slow(lock);
}

FPI_INLINE void fpi_lock_release(struct fpi_lock *lock)
{
	uint32_t generation = fpi_fork_generation();
	uint32_t old;

	/* Release: to the next holder. Partners: LOCK_ACQUIRE, LOCK_ACQUIRE_SLOW. */
	old = FPI_EXCHANGE(&lock->word, generation << FPI_LOCK_GENERATION_SHIFT,
			   FPI_MO(LOCK_RELEASE, RELEASE));
	if (FPI_UNLIKELY((old & FPI_LOCK_STATE) == FPI_LOCK_CONTENDED))
		fpi_lock_wake(lock);
}

#endif
