/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libfp/wakeup.h - sleeping until something happens, at no cost to whoever makes it
 * happen while nobody sleeps.
 *
 * A wake-up is an event count. A thread that finds nothing to do announces itself,
 * looks once more, and sleeps:
 *
 *     while (!work()) {
 *         fp_wakeup_prepare(w, &key);
 *         if (work()) { fp_wakeup_cancel(w, key); break; }
 *         fp_wakeup_wait(w, key, timeout_ns);
 *     }
 *
 * Whoever makes work calls fp_wakeup_signal() afterwards: one load if nobody sleeps.
 * Objects do that themselves once they are bound (fp_ring_set_wakeup()); a wake-up that
 * several objects are bound to is a wait set. Rings have waiting calls that contain
 * the loop above.
 *
 * A thread that sleeps in poll, epoll or an event loop uses the file descriptor:
 *
 *     fd = fp_wakeup_fd(w), once
 *     fp_wakeup_arm(w); look at the objects; if there is nothing: poll(fd);
 *     fp_wakeup_clear(w); drain the objects; and so on
 *
 * The descriptor is written once per arm, not once per signal. One thread at a time
 * arms, polls and clears; threads in fp_wakeup_wait() may sleep on the same wake-up.
 *
 * Cost        The sleeper pays: fp_wakeup_prepare() and fp_wakeup_arm() run a
 *             membarrier(2), which interrupts the CPUs on which threads of this
 *             process run (LIBFP_WAKEUP_MODE_MEMBARRIER). LIBFP_WAKEUP_FENCE puts a
 *             memory fence into every signal instead. Where the kernel refuses
 *             membarrier and no fence was asked for, a sleep ends after 10 ms at the
 *             latest and the caller looks again (LIBFP_WAKEUP_MODE_POLL).
 *             The first wake-up of a process that has several threads takes some
 *             10 to 30 ms to create, while the kernel registers the process.
 * Spurious    A wait may return 0 though nothing happened: look, and wait again.
 * Fork        In a child a wake-up of the parent can be destroyed; signals do nothing,
 *             and every other call that could change it returns -ECHILD. Its
 *             descriptor is left as it is.
 * Algorithm   Event count with an asymmetric fence: D. P. Reed, R. K. Kanodia,
 *             "Synchronization with eventcounts and sequencers" (1979); U. Drepper,
 *             "Futexes are tricky" (2011); membarrier(2).
 */
#ifndef LIBFP_WAKEUP_H
#define LIBFP_WAKEUP_H

#include <libfp/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fp_wakeup fp_wakeup;

#define LIBFP_WAKEUP_FENCE 0x100 /* signals contain a fence; no membarrier is used */

/* How a wake-up keeps its promise; fixed at create, see fp_wakeup_mode(). */
#define LIBFP_WAKEUP_MODE_MEMBARRIER 1
#define LIBFP_WAKEUP_MODE_FENCE 2
#define LIBFP_WAKEUP_MODE_POLL 3 /* sleeps end after 10 ms */

typedef struct fp_wakeup_opts {
	uint32_t size;	/* sizeof(fp_wakeup_opts) */
	uint32_t flags; /* LIBFP_WAKEUP_FENCE */
	const fp_allocator *allocator; /* NULL: the library's own */
} fp_wakeup_opts;

#define LIBFP_WAKEUP_OPTS_INIT { sizeof(fp_wakeup_opts), 0, 0 }

/* Counts since create; kept on the sleeping side only. */
typedef struct fp_wakeup_stats {
	uint32_t size;		 /* in: sizeof(fp_wakeup_stats); out: bytes filled */
	uint32_t flags;		 /* none defined: 0 */
	uint64_t waiting;	 /* threads between prepare and the end of wait, now */
	uint64_t bound;		 /* objects that signal it, now */
	uint64_t sleeps;	 /* times a thread went to sleep in the kernel */
	uint64_t wakes;		 /* of these, ended by a signal */
	uint64_t spurious;	 /* of these, ended without signal, time-out or interrupt */
	uint64_t fallback_polls; /* of these, ended by the limit of LIBFP_WAKEUP_MODE_POLL */
	uint64_t fd_writes;	 /* times the descriptor was written */
	uint64_t interrupts;	 /* calls of fp_wakeup_interrupt() */
} fp_wakeup_stats;

/*
 * Fills *opts with LIBFP_WAKEUP_OPTS_INIT: for languages without macros.
 *
 * opts:     the struct to fill.
 * size:     its size in bytes as the caller knows it, at least the first
 *           published size (16).
 * Returns:  0; -EINVAL: opts is NULL or size is too small; -E2BIG: size is
 *           larger than 1 MiB, which no options struct will ever be.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int fp_wakeup_opts_init(fp_wakeup_opts *opts, uint32_t size);

/*
 * Creates a wake-up.
 *
 * opts:     NULL for the defaults.
 * out:      receives the wake-up; untouched on failure.
 * Returns:  0; -EINVAL: out is NULL, or the options' size, alignment or allocator is
 *           bad; -E2BIG, -EOPNOTSUPP: see libfp/base.h; -ENOMEM.
 * Threads:  any.
 * Progress: blocking (allocates; may wait for the kernel once per process, see
 *           "Cost").
 * Since:    0.9
 */
LIBFP_API int fp_wakeup_create(const fp_wakeup_opts *opts, fp_wakeup **out);

/*
 * Destroys a wake-up and closes its descriptor. The wake-up of a service or a service
 * core is not the caller's to destroy.
 *
 * Returns:  0, also for NULL; -EBUSY and nothing changed: an object is bound to it, or a
 *           thread is between prepare and the end of wait; -EOPNOTSUPP: it belongs to a
 *           service or a service core.
 * Threads:  one, with no other call on this wake-up.
 * Progress: blocking (frees memory).
 * Since:    0.9
 */
LIBFP_API int fp_wakeup_destroy(fp_wakeup *wakeup);

/*
 * How this wake-up keeps its promise, as fixed at create; LIBFP_WAKEUP_MODE_POLL also
 * once the kernel refuses the membarrier that it granted then.
 *
 * Returns:  LIBFP_WAKEUP_MODE_...; -EINVAL: wakeup is NULL.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int fp_wakeup_mode(const fp_wakeup *wakeup);

/*
 * Announces that the caller is about to sleep. A signal that comes after this call has
 * returned ends the wait with this key; what was made before it is seen by a look at
 * the objects after it. Must be followed by one cancel or one wait.
 *
 * key:      receives what cancel and wait need; untouched on failure.
 * Returns:  0; -EINVAL: wakeup or key is NULL; -ECHILD: made before a fork; -EOPNOTSUPP:
 *           it belongs to a service or a service core; -EAGAIN: some 8 million
 *           threads wait already.
 * Threads:  any.
 * Progress: wait-free, but for one system call (membarrier).
 * Since:    0.9
 */
LIBFP_API int fp_wakeup_prepare(fp_wakeup *wakeup, uint64_t *key);

/*
 * Takes the announcement back.
 *
 * key:      from fp_wakeup_prepare().
 * Returns:  0; -EINVAL: wakeup is NULL or nobody has prepared; -ECHILD, -EOPNOTSUPP as
 *           prepare.
 * Threads:  any; once per prepare.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int fp_wakeup_cancel(fp_wakeup *wakeup, uint64_t key);

/*
 * Sleeps until a signal or an interrupt that came after prepare.
 *
 * key:      from fp_wakeup_prepare(); used up, whatever is returned but -EINVAL.
 * timeout_ns: nanoseconds; 0: does not sleep; LIBFP_FOREVER: no limit.
 * Returns:  0: signalled (or spurious); -ETIMEDOUT; -ECANCELED: fp_wakeup_interrupt() was
 *           called; -EINVAL: wakeup is NULL or nobody has prepared; -ECHILD,
 *           -EOPNOTSUPP as prepare.
 * Threads:  any; once per prepare. Not a cancellation point; signals do not end it.
 * Progress: blocking.
 * Since:    0.9
 */
LIBFP_API int fp_wakeup_wait(fp_wakeup *wakeup, uint64_t key, uint64_t timeout_ns);

/*
 * Wakes every thread that waits and writes the descriptor if it is armed. Call it after
 * making what the sleepers wait for; objects that are bound call it themselves.
 *
 * Returns:  1: somebody was waiting; 0: nobody; -EINVAL: wakeup is NULL. In a forked
 *           child 0 for what was made before.
 * Threads:  any. Async-signal-safe.
 * Progress: wait-free: one load if nobody waits, else a system call.
 * Since:    0.9
 */
LIBFP_API int fp_wakeup_signal(fp_wakeup *wakeup);

/*
 * Ends every wait that was prepared before this call with -ECANCELED, and also the
 * waits of objects that are bound. Later waits are not affected. Writes the descriptor
 * if it is armed.
 *
 * Returns:  0; -EINVAL: wakeup is NULL; -ECHILD, -EOPNOTSUPP as prepare.
 * Threads:  any.
 * Progress: wait-free, but for a system call.
 * Since:    0.9
 */
LIBFP_API int fp_wakeup_interrupt(fp_wakeup *wakeup);

/*
 * The descriptor that becomes readable when a signal comes while it is armed: an
 * eventfd(2), non-blocking, close-on-exec, made by the first call and closed by destroy.
 * Do not close it; do not read it (fp_wakeup_clear() does).
 *
 * Returns:  the descriptor, 0 or above; -EINVAL: wakeup is NULL; -EMFILE: no descriptors
 *           left; -ENOMEM; -ECHILD, -EOPNOTSUPP as prepare.
 * Threads:  any.
 * Progress: lock-free, but for a system call.
 * Since:    0.9
 */
LIBFP_API int fp_wakeup_fd(fp_wakeup *wakeup);

/*
 * Announces that the caller is about to sleep on the descriptor: the next signal writes
 * it, once. Look at the objects after this call and before polling. In
 * LIBFP_WAKEUP_MODE_POLL poll for at most 10 ms.
 *
 * Returns:  0; -EINVAL: wakeup is NULL; -ENXIO: fp_wakeup_fd() was never called;
 *           -ECHILD, -EOPNOTSUPP as prepare.
 * Threads:  one at a time with clear; any thread.
 * Progress: wait-free, but for one system call (membarrier).
 * Since:    0.9
 */
LIBFP_API int fp_wakeup_arm(fp_wakeup *wakeup);

/*
 * Ends an arm: makes the descriptor unreadable again, whether or not a signal came. Look
 * at the objects after it.
 *
 * Returns:  1: a signal had come, or it was not armed; 0: none; -EINVAL: wakeup is NULL; -ENXIO:
 *           fp_wakeup_fd() was never called; -ECHILD, -EOPNOTSUPP as prepare.
 * Threads:  as fp_wakeup_arm().
 * Progress: wait-free, but for one system call.
 * Since:    0.9
 */
LIBFP_API int fp_wakeup_clear(fp_wakeup *wakeup);

/*
 * Reads the counters.
 *
 * io:       io->size is set by the caller; the library fills at most that and
 *           writes back what it filled.
 * Returns:  0; -EINVAL: wakeup or io is NULL, or io->size is below 8.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int fp_wakeup_get_stats(const fp_wakeup *wakeup, fp_wakeup_stats *io);

#ifdef __cplusplus
}
#endif

#endif /* LIBFP_WAKEUP_H */
