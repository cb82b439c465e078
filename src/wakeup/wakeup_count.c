/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The event count: how a thread sleeps until something is published, and how whoever
 * publishes learns of it for one load.
 *
 *     sleeper                                  signaller
 *     state += 1 (relaxed RMW)                 publish (release)
 *     key = epoch (acquire)                    compiler fence
 *     membarrier                               if (state (relaxed) == 0) done
 *     look once more (acquire)                 epoch++ (release)
 *     futex_wait(epoch, key)                   futex_wake(epoch)
 *     state -= 1 (relaxed RMW)
 *
 * Invariant: either the signaller sees the sleeper's announcement, or the sleeper's second
 * look sees the publication. That is store buffering (Dekker): each side writes, then
 * reads what the other writes, and needs a full fence in between. The membarrier is both
 * fences: it returns after every running thread has executed one. If the signaller's
 * fence falls before its publication or between publication and load, its load comes
 * after the announcement; if after the load, the second look comes after the publication.
 * In mode FENCE the signaller has a seq_cst fence of its own and the sleeper has one in
 * the place of the membarrier. In mode POLL (no membarrier, none asked for) nothing
 * orders the signaller, so no sleep lasts longer than SLEEP_LIMIT.
 *
 * The key is read after the announcement and before the second look. A signal that the
 * second look does not see bumps the epoch after the key was read, and the kernel refuses
 * to sleep on another epoch. Read after the second look it would hide that signal.
 *
 * Whom to wake. A wake-up of kind ALL wakes every sleeper: they may wait for different
 * things. One of kind ONE (private to one side of a ring, whose waiters want the same)
 * wakes one, and one wake-up per publication is not enough there: with two publications
 * in flight the sleeper woken by the second may find the first one's slot unpublished and
 * sleep again, while the sleeper woken by the first takes one element and leaves. So who
 * went through the kernel, and finds more than it took, passes the wake on; see
 * ring_wait.c. A waiter that one element may not satisfy, or that takes none, adds
 * FOR_ALL, and then all are woken.
 *
 * An interrupt counts in a word of its own, then acts as a signal. Both words are in the
 * key, so that an interrupt after the announcement is told from a signal.
 *
 * Progress: signal is wait-free (one load, or a bounded number of instructions and system
 * calls); sleeping blocks. Verified with GenMC and Spin before it was written here; the
 * model test (tests/model/wakeup.c) explores this source.
 *
 * Sources: Reed and Kanodia, "Synchronization with eventcounts and sequencers", CACM 22
 * (1979); Drepper, "Futexes are tricky" (2011); the asymmetric fence is that of Dice,
 * Huang and Yang, "Asymmetric Dekker synchronization" (2001).
 */
#include <errno.h>

#include "base/clock.h"
#include "base/fork.h"
#include "base/futex.h"
#include "base/membarrier.h"
#include "base/step.h"
#include "wakeup/wakeup.h"

fp_wakeup fpi_wakeup_nobody;

#define SLEEP_LIMIT 10000000u /* ns; mode POLL */

/* ---- signalling ---- */

/* Bumps the epoch and wakes n sleepers. */
static void wake(fp_wakeup *w, uint32_t n)
{
	/* Release: who sees the new epoch sees the interrupt. Partner: WAKE_EPOCH. */
	FPI_FETCH_ADD(&w->epoch, 1, FPI_MO(WAKE_BUMP, RELEASE));
	FPI_STEP(WAKE_BUMPED);
	fpi_futex_wake(&w->epoch.value, n);
}

/* The fields of both kinds of waiters. */
static uint64_t waiters_of(uint64_t state)
{
	return state & ~(FPI_WAKEUP_ARMED | FPI_WAKEUP_FENCED);
}

static void wake_waiters(fp_wakeup *w, uint64_t waiters)
{
	int one = w->kind == FPI_WAKEUP_ONE && waiters < FPI_WAKEUP_FOR_ALL;

	if (waiters)
		wake(w, one ? 1 : UINT32_MAX);
}

FPI_COLD int fpi_wakeup_signal_slow(fp_wakeup *w, uint64_t state)
{
	/* The parent's sleepers and descriptor are not this process's business. */
	if (w->generation != fpi_fork_generation())
		return 0;
	if (w->kind == FPI_WAKEUP_CORES)
		return fpi_wakeup_cores_signal(w);
	if (state & FPI_WAKEUP_FENCED) {
		/* Between publication and load. Partner: WAKE_SLEEPER_FENCE. */
		FPI_FENCE(FPI_MO(WAKE_SIGNAL_FENCE, SEQ_CST));
		state = FPI_LOAD(&w->state, FPI_RELAXED);
	}
	if (state & FPI_WAKEUP_ARMED)
		fpi_wakeup_write_fd(w);
	wake_waiters(w, waiters_of(state));
	return (state & ~FPI_WAKEUP_FENCED) != 0;
}

void fpi_wakeup_signal_all(fp_wakeup *w)
{
	if (w->kind != FPI_WAKEUP_ONE) {
		fpi_wakeup_signal(w);
		return;
	}
	/* Between publication and load, as in the slow half. */
	FPI_FENCE(FPI_MO(WAKE_ALL_FENCE, SEQ_CST));
	if (waiters_of(FPI_LOAD(&w->state, FPI_RELAXED)))
		wake(w, UINT32_MAX);
}

void fpi_wakeup_hand_on(fp_wakeup *w)
{
	if (w->kind != FPI_WAKEUP_ONE)
		return;
	/* Between the look that found something and this load. */
	FPI_FENCE(FPI_MO(WAKE_HAND_ON_FENCE, SEQ_CST));
	wake_waiters(w, waiters_of(FPI_LOAD(&w->state, FPI_RELAXED)));
}

void fpi_wakeup_interrupt(fp_wakeup *w)
{
	/* Release by WAKE_BUMP; one that is seen early only ends a wait sooner. */
	FPI_FETCH_ADD(&w->interrupts, 1, FPI_RELAXED);
	/* Whether or not somebody is seen: who announces now must see the epoch move. */
	wake(w, UINT32_MAX);
	fpi_wakeup_write_fd(w);
}

/* ---- sleeping ---- */

uint64_t fpi_wakeup_start(const fp_wakeup *w)
{
	return (uint64_t)FPI_LOAD(&w->interrupts, FPI_RELAXED) << 32;
}

uint64_t fpi_wakeup_announce(fp_wakeup *w, uint64_t unit)
{
	uint32_t epoch;

	/* Relaxed: the barrier that follows orders it before the second look. */
	FPI_FETCH_ADD(&w->state, unit, FPI_RELAXED);
	FPI_STEP(WAKE_ANNOUNCED);
	/* Acquire: an interrupt that came before the epoch. Partner: WAKE_BUMP. */
	epoch = FPI_LOAD(&w->epoch, FPI_MO(WAKE_EPOCH, ACQUIRE));
	/*
	 * After the epoch: an interrupt that comes in between is in the key, and the caller
	 * knows since when it waits. The other way round it would be in the epoch alone, and
	 * nobody would ever see it.
	 */
	return (uint64_t)FPI_LOAD(&w->interrupts, FPI_RELAXED) << 32 | epoch;
}

void fpi_wakeup_barrier(fp_wakeup *w)
{
	if (w->mode == LIBFP_WAKEUP_MODE_MEMBARRIER) {
		if (FPI_LIKELY(!fpi_membarrier()))
			return;
		FPI_STORE(&w->limited, 1, FPI_RELAXED); /* forbidden since create */
	}
	/* Between announcement and second look. Partner: WAKE_SIGNAL_FENCE. */
	FPI_FENCE(FPI_MO(WAKE_SLEEPER_FENCE, SEQ_CST));
}

uint64_t fpi_wakeup_limit(const fp_wakeup *w)
{
	if (w->mode == LIBFP_WAKEUP_MODE_POLL || FPI_LOAD(&w->limited, FPI_RELAXED))
		return SLEEP_LIMIT;
	return FPI_NO_DEADLINE;
}

void fpi_wakeup_nap_barrier(void)
{
	FPI_FENCE(FPI_MO(WAKE_NAP_FENCE, SEQ_CST));
}

int fpi_wakeup_interrupted(const fp_wakeup *w, uint64_t key)
{
	/* After WAKE_SEEN or the kernel: the count that came before the epoch. */
	return FPI_LOAD(&w->interrupts, FPI_RELAXED) != fpi_wakeup_key_interrupts(key);
}

int fpi_wakeup_sleep(fp_wakeup *w, uint64_t key, uint64_t deadline_ns, uint64_t limit_ns,
		     int *woken)
{
	uint32_t epoch = (uint32_t)key;
	uint64_t until = deadline_ns;
	int limited = 0, slept, err;

	if (limit_ns != FPI_NO_DEADLINE) {
		uint64_t limit = fpi_deadline(fpi_now_ns(), limit_ns);

		limited = limit < deadline_ns;
		until = limited ? limit : deadline_ns;
	}
	/* Acquire: an interrupt that came before the epoch. Partner: WAKE_BUMP. */
	while (FPI_LOAD(&w->epoch, FPI_MO(WAKE_SEEN, ACQUIRE)) == epoch) {
		FPI_STEP(WAKE_SLEEPING);
		err = fpi_futex_wait_until(&w->epoch.value, epoch, FPI_FUTEX_ANY, until);
		slept = err != -EAGAIN;
		/* It has used up a wake, even if it should not see the epoch yet. */
		if (err == 0 && woken)
			*woken = 1;
		FPI_FETCH_ADD(&w->sleeps, slept, FPI_RELAXED);
		if (FPI_LOAD(&w->epoch, FPI_MO(WAKE_SEEN_AFTER, ACQUIRE)) != epoch) {
			FPI_FETCH_ADD(&w->wakes, slept, FPI_RELAXED);
			if (woken)
				*woken = 1;
			break;
		}
		if (err == -ETIMEDOUT && !limited)
			return -ETIMEDOUT;
		if (err == -ETIMEDOUT) {
			FPI_FETCH_ADD(&w->fallback_polls, limit_ns == SLEEP_LIMIT,
				      FPI_RELAXED);
			return 0;
		}
		FPI_FETCH_ADD(&w->spurious, slept, FPI_RELAXED);
	}
	return fpi_wakeup_interrupted(w, key) ? -ECANCELED : 0;
}

void fpi_wakeup_leave(fp_wakeup *w, uint64_t unit)
{
	/*
	 * Who still sees it signals in vain. Release: this wait, to the thread that
	 * destroys. Partner: WAKE_IN_USE.
	 */
	FPI_FETCH_SUB(&w->state, unit, FPI_MO(WAKE_LEAVE, RELEASE));
}

/* ---- the public calls ---- */

static uint64_t waiters(const fp_wakeup *w)
{
	return FPI_LOAD(&w->state, FPI_RELAXED) & FPI_WAKEUP_WAITERS_MAX;
}

int fp_wakeup_prepare(fp_wakeup *wakeup, uint64_t *key)
{
	int err = fpi_wakeup_check(wakeup);

	if (err || !key)
		return err ? err : -EINVAL;
	/* Not exact beside other threads that prepare; far from the next field. */
	if (waiters(wakeup) >= FPI_WAKEUP_WAITERS_MAX / 2)
		return -EAGAIN;
	*key = fpi_wakeup_announce(wakeup, FPI_WAKEUP_WAITER);
	fpi_wakeup_barrier(wakeup);
	return 0;
}

int fp_wakeup_cancel(fp_wakeup *wakeup, uint64_t key)
{
	int err = fpi_wakeup_check(wakeup);

	(void)key;
	if (err)
		return err;
	if (waiters(wakeup) == 0)
		return -EINVAL;
	fpi_wakeup_leave(wakeup, FPI_WAKEUP_WAITER);
	return 0;
}

int fp_wakeup_wait(fp_wakeup *wakeup, uint64_t key, uint64_t timeout_ns)
{
	uint64_t deadline = FPI_NO_DEADLINE;
	int err = fpi_wakeup_check(wakeup);

	if (err)
		return err;
	if (waiters(wakeup) == 0)
		return -EINVAL;
	if (timeout_ns == 0) {
		/* Partner: WAKE_BUMP. */
		if (FPI_LOAD(&wakeup->epoch, FPI_MO(WAKE_POLLED, ACQUIRE)) ==
		    (uint32_t)key)
			err = -ETIMEDOUT;
		else if (fpi_wakeup_interrupted(wakeup, key))
			err = -ECANCELED;
	} else {
		if (timeout_ns != LIBFP_FOREVER)
			deadline = fpi_deadline(fpi_now_ns(), timeout_ns);
		err = fpi_wakeup_sleep(wakeup, key, deadline, fpi_wakeup_limit(wakeup),
				       NULL);
	}
	fpi_wakeup_leave(wakeup, FPI_WAKEUP_WAITER);
	return err;
}

int fp_wakeup_signal(fp_wakeup *wakeup)
{
	return wakeup ? fpi_wakeup_signal(wakeup) : -EINVAL;
}

int fp_wakeup_interrupt(fp_wakeup *wakeup)
{
	int err = fpi_wakeup_check(wakeup);

	if (!err)
		fpi_wakeup_interrupt(wakeup);
	return err;
}
