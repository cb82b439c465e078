/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How service cores sleep: on any number of wake-ups at once, while a thread can sleep
 * on one futex only.
 *
 * All cores of the process sleep on one word, an epoch, each with a bit of its own (its
 * number modulo 31: cores may share one). A wake-up of kind CORES is a mask of the cores
 * that may sleep on it.
 *
 *     core                                       signaller of wake-up w
 *     key = epoch (acquire)                      publish (release)
 *     w.mask |= bit (RMW), for each w            compiler fence
 *     membarrier                                 if (w.mask (relaxed) == 0) done
 *     poll every service once more               mask = w.mask := 0 (RMW)
 *     futex_wait(epoch, key, bit)                epoch++ (release)
 *                                                futex_wake(epoch, mask)
 *
 * The invariant is that of wakeup_count.c: the signaller sees the bit, or the last poll
 * sees what was published. The key is read before the first bit is set, unlike there: a
 * signaller takes the bits away, and one that took this core's bit for an earlier
 * publication bumps the epoch afterwards, hence after the key was read, and the core does
 * not sleep. Were the key read later, the core could have the new epoch and no bit.
 *
 * A core does not take its bits back when it wakes: the next signal does, and wakes in
 * vain, once. So a signal costs a system call once per sleep of a core, not more.
 *
 * Progress: signal is wait-free, but for the system call. An epoch that comes round to
 * the key within one sleep's beginning needs 2^32 signals there; not considered.
 */
#include "base/clock.h"
#include "base/fork.h"
#include "base/futex.h"
#include "base/step.h"
#include "wakeup/wakeup.h"

/* Of this process; in a child nobody sleeps on its copy. */
static struct {
	fpi_atomic_u32 epoch;
} cores FPI_OWN_LINES;

uint32_t fpi_wakeup_cores_key(void)
{
	/* Acquire: before the bits are set. Partner: CORES_BUMP. */
	return FPI_LOAD(&cores.epoch, FPI_MO(CORES_KEY, ACQUIRE));
}

void fpi_wakeup_cores_announce(fp_wakeup *w, uint32_t bit)
{
	/*
	 * Release: the key was read before a signaller takes this bit away, and bumps the
	 * epoch. Partner: CORES_TAKE.
	 */
	FPI_FETCH_OR(&w->state, bit, FPI_MO(CORES_ANNOUNCE, RELEASE));
	FPI_STEP(CORES_ANNOUNCED);
}

int fpi_wakeup_cores_sleep(uint32_t key, uint32_t bit, uint64_t deadline_ns)
{
	FPI_STEP(CORES_SLEEPING);
	return fpi_futex_wait_until(&cores.epoch.value, key, bit, deadline_ns);
}

int fpi_wakeup_cores_signal(fp_wakeup *w)
{
	uint32_t mask;

	/* Acquire: the key's read before the bit. Partner: CORES_ANNOUNCE. */
	mask = (uint32_t)FPI_EXCHANGE(&w->state, 0, FPI_MO(CORES_TAKE, ACQUIRE));
	if (!mask)
		return 0;
	FPI_STEP(CORES_TAKEN);
	/* Release: partner CORES_KEY. */
	FPI_FETCH_ADD(&cores.epoch, 1, FPI_MO(CORES_BUMP, RELEASE));
	fpi_futex_wake_bits(&cores.epoch.value, mask);
	return 1;
}
