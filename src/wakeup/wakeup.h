/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shape of a wake-up, shared by the files of src/wakeup, and what the parts that
 * signal or sleep (src/ring, src/service) use of it: they may have one inside their
 * objects, and touch it through the functions below only.
 *
 * One line holds all that a signaller reads: the state word, 0 while nobody sleeps.
 * Only sleepers write it, so producers share it for reading. The protocol and its
 * memory orders are explained at the top of wakeup_count.c; the descriptor's in
 * wakeup_fd.c; how service cores sleep in wakeup_cores.c.
 *
 * State word, kinds ALL and ONE
 * -----------------------------
 *     63     62     47..24                  23..0
 *     FENCE  ARMED  waiters that want all   waiters
 *                   waiters to be woken
 * Kind CORES: bits 0..30 are the mask of cores that may sleep; never in mode FENCE.
 */
#ifndef FPI_WAKEUP_WAKEUP_H
#define FPI_WAKEUP_WAKEUP_H

#include <libfp/wakeup.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/memory.h"

enum fpi_wakeup_kind {
	FPI_WAKEUP_ALL,	  /* a signal wakes all: waiters wait for different things */
	FPI_WAKEUP_ONE,	  /* private to one side of a ring: wakes one, who hands on */
	FPI_WAKEUP_CORES, /* of a service or a core: wakes the cores in its mask */
};

#define FPI_WAKEUP_UNBINDING (1ull << 32)

#define FPI_WAKEUP_WAITER 1ull
#define FPI_WAKEUP_WAITERS_MAX ((1ull << 24) - 1)
#define FPI_WAKEUP_FOR_ALL (1ull << 24) /* added by a waiter that wants all woken */
#define FPI_WAKEUP_ARMED (1ull << 62)
#define FPI_WAKEUP_FENCED (1ull << 63) /* set for good: sends every signal the slow way */

struct fp_wakeup {
	/* Read by signallers. */
	fpi_atomic_u64 state;
	fpi_atomic_u32 epoch;	   /* the futex; counts signals that found somebody */
	fpi_atomic_u32 interrupts; /* the upper half of a key */
	uint32_t kind;		   /* enum fpi_wakeup_kind */
	uint32_t mode;		   /* LIBFP_WAKEUP_MODE_... */
	uint32_t generation;	   /* fork generation of create */
	fpi_atomic_u32 fd;	   /* 0: none yet, else descriptor + 1 */
	fpi_atomic_u32 limited;	   /* a membarrier failed: as in mode POLL from here on */

	/* Cold: counters, written by sleepers. */
	fpi_atomic_u64 sleeps FPI_OWN_LINES;
	fpi_atomic_u64 wakes;
	fpi_atomic_u64 spurious;
	fpi_atomic_u64 fallback_polls;
	fpi_atomic_u64 fd_writes;
	fpi_atomic_u64 bound; /* objects, and UNBINDING for each that is letting go */
	struct fpi_mem mem;   /* none: part of another object */
} FPI_OWN_LINES;

/* Of an object that nobody can sleep on: always empty, never freed. wakeup_count.c. */
extern fp_wakeup fpi_wakeup_nobody;

/* ---- life; wakeup.c ---- */

/*
 * Registers the process for what `flags` (LIBFP_WAKEUP_FENCE or 0) need.
 * Returns 0, or -ENOMEM: no fork handler. Call it before the two below.
 */
int fpi_wakeup_ready(void);

/* Makes a wake-up in memory of its owner, all zero. */
void fpi_wakeup_init(fp_wakeup *w, uint32_t kind, uint32_t flags);

/*
 * Whether this process may sleep on it. Returns 0; -EINVAL: NULL; -ECHILD: made before a
 * fork; -EOPNOTSUPP: kind CORES; -ENXIO: all zero, a wake-up that is nobody's.
 */
int fpi_wakeup_check(const fp_wakeup *w);

/* Whether objects are bound, or threads wait. For kind CORES: bound only. */
int fpi_wakeup_in_use(const fp_wakeup *w);

/* An object that signals it: keeps it from being destroyed. -ECHILD: a child's. */
int fpi_wakeup_bind(fp_wakeup *w);
void fpi_wakeup_unbind(fp_wakeup *w);

/* Whether an object signals it: for a core that is going to sleep. */
int fpi_wakeup_is_bound(const fp_wakeup *w);

/* ---- signalling; wakeup_count.c ---- */

/* Returns 1: somebody was to be woken; 0. Async-signal-safe. */
int fpi_wakeup_signal_slow(fp_wakeup *w, uint64_t state);

/*
 * The first half of a signal, after something was published: the state, 0 if there is
 * nobody to wake. The order of the publication (a release at least) and of this load is
 * the whole cost on the common path.
 */
FPI_INLINE uint64_t fpi_wakeup_sleepers(const fp_wakeup *w)
{
	/*
	 * Partner: the sleeper's membarrier (WAKE_ANNOUNCE, then the barrier, then its
	 * second look), which makes of this a fence. In FENCE mode the state is never 0
	 * and the slow half has the fence.
	 */
	FPI_COMPILER_FENCE();
	return FPI_LOAD(&w->state, FPI_RELAXED);
}

/* Wakes who sleeps. */
FPI_INLINE int fpi_wakeup_signal(fp_wakeup *w)
{
	uint64_t state = fpi_wakeup_sleepers(w);

	return FPI_LIKELY(state == 0) ? 0 : fpi_wakeup_signal_slow(w, state);
}

/* The same for something that concerns every waiter, whatever the kind: a close. */
void fpi_wakeup_signal_all(fp_wakeup *w);

/* Kind ONE, else nothing: a waiter that was woken leaves something for another. */
void fpi_wakeup_hand_on(fp_wakeup *w);

/* As fp_wakeup_interrupt(), without its checks. */
void fpi_wakeup_interrupt(fp_wakeup *w);

/* ---- sleeping; wakeup_count.c ---- */

FPI_INLINE uint32_t fpi_wakeup_key_interrupts(uint64_t key)
{
	return (uint32_t)(key >> 32);
}

/* A key of which only the interrupts count: those before a longer wait. */
uint64_t fpi_wakeup_start(const fp_wakeup *w);

/*
 * Announces one waiter; unit: FPI_WAKEUP_WAITER, with FPI_WAKEUP_FOR_ALL added if all
 * are to be woken. Returns the key. Then one of the two barriers, the second look, and
 * fpi_wakeup_leave(), before it perhaps fpi_wakeup_sleep().
 */
uint64_t fpi_wakeup_announce(fp_wakeup *w, uint64_t unit);

/* Before a sleep without limit. */
void fpi_wakeup_barrier(fp_wakeup *w);

/* The longest sleep that is safe after it, in ns. */
uint64_t fpi_wakeup_limit(const fp_wakeup *w);

/*
 * Before a nap. In mode MEMBARRIER a signal that comes within the few nanoseconds of a
 * store buffer may be missed, and comes late by the nap, never lost.
 */
void fpi_wakeup_nap_barrier(void);

/*
 * Returns 0: a signal, or limit_ns (FPI_NO_DEADLINE: none) is over; -ETIMEDOUT: the
 * deadline; -ECANCELED. *woken is set if it was in the kernel and a signal ended it; may
 * be NULL.
 */
int fpi_wakeup_sleep(fp_wakeup *w, uint64_t key, uint64_t deadline_ns, uint64_t limit_ns,
		     int *woken);

void fpi_wakeup_leave(fp_wakeup *w, uint64_t unit);

/* Whether an interrupt came after the key was made. */
int fpi_wakeup_interrupted(const fp_wakeup *w, uint64_t key);

/* ---- descriptor; wakeup_fd.c ---- */

/* Writes the descriptor if this signal is the one that disarms it. */
void fpi_wakeup_write_fd(fp_wakeup *w);

/* ---- service cores; wakeup_cores.c ---- */

#define FPI_WAKEUP_CORE_BITS 31
FPI_INLINE uint32_t fpi_wakeup_core_bit(uint64_t core_number)
{
	return 1u << core_number % FPI_WAKEUP_CORE_BITS;
}

/*
 * A core that is going to sleep: the key first, then its bit into every wake-up that
 * concerns it, then a barrier, then the second look, then the sleep.
 */
uint32_t fpi_wakeup_cores_key(void);
void fpi_wakeup_cores_announce(fp_wakeup *w, uint32_t bit);

/* Returns 0: signalled, or for no reason; -EAGAIN: signalled before; -ETIMEDOUT. */
int fpi_wakeup_cores_sleep(uint32_t key, uint32_t bit, uint64_t deadline_ns);

/* The slow half of a signal of kind CORES. */
int fpi_wakeup_cores_signal(fp_wakeup *w);

#endif
