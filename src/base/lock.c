/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The slow half of the mutex.
 *
 * One 32-bit word holds {fork generation, state}. A word of another generation
 * was written before a fork: its holder, if any, is a thread of the parent and
 * does not exist here, so the word counts as free and the first taker writes
 * it anew. That is why the library needs no prepare/parent/child handlers that
 * take and give every lock around a fork.
 *
 * States are those of Drepper, "Futexes are tricky" (2011), third mutex:
 * free, held, held with possible sleepers. Whoever has slept takes the lock as
 * CONTENDED, because more may sleep than it knows; at worst one wake is in
 * vain.
 *
 * The spin is bounded so that a SCHED_FIFO thread does not spin for ever in
 * front of a preempted holder; it is long enough for every critical section of
 * the library, so that a running holder costs no system call.
 *
 * If the fork handler cannot be registered (no memory) the lock works as a
 * plain mutex of the first generation.
 */
#include "base/futex.h"
#include "base/lock.h"

#ifndef FPI_LOCK_SPINS /* the model has fewer */
#define FPI_LOCK_SPINS 200
#endif

FPI_COLD void fpi_lock_acquire_slow(struct fpi_lock *lock)
{
	uint32_t generation = fpi_fork_register() ? 1 : fpi_fork_generation();
	uint32_t base = generation << FPI_LOCK_GENERATION_SHIFT;
	uint32_t own = base | FPI_LOCK_HELD;
	uint32_t spins = 0;

	for (;;) {
		/* Relaxed: a hint for the CAS, which orders. */
		uint32_t word = FPI_LOAD(&lock->word, FPI_MO(LOCK_PEEK, RELAXED));
		int stale = ((word ^ base) & ~(uint32_t)FPI_LOCK_STATE) != 0;

		if (stale || (word & FPI_LOCK_STATE) == FPI_LOCK_FREE) {
			/* Acquire: partner LOCK_RELEASE. */
			if (FPI_CAS(&lock->word, &word, own,
				    FPI_MO(LOCK_ACQUIRE_SLOW, ACQUIRE)))
				return;
		}
		if (spins < FPI_LOCK_SPINS) {
			spins++;
			fpi_cpu_relax();
			continue;
		}
		/* Relaxed: the word says all, and the kernel looks at it again. */
		if (word == (base | FPI_LOCK_HELD) &&
		    FPI_CAS(&lock->word, &word, base | FPI_LOCK_CONTENDED,
			    FPI_MO(LOCK_CONTEND, RELAXED)))
			word = base | FPI_LOCK_CONTENDED;
		if (word == (base | FPI_LOCK_CONTENDED)) {
			fpi_futex_wait(&lock->word.value, word);
			own = base | FPI_LOCK_CONTENDED;
		}
	}
}

FPI_COLD void fpi_lock_wake(struct fpi_lock *lock)
{
	fpi_futex_wake(&lock->word.value, 1);
}
