/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libfp/timer.h - timer wheels: millions of timers that any thread arms and cancels and
 * one thread polls.
 *
 * A *wheel* holds timers and knows no clock: time is the tick that its poll is given.
 * That may be the monotonic clock (fp_timer_wheel_now()), the time stamps of packets, or
 * a test's own count. A *timer* is a 64-bit id: made once, then armed, re-armed and
 * cancelled any number of times, at no allocation.
 *
 *     fp_timer_create(wheel, expired, conn, &id);
 *     fp_timer_arm(wheel, id, now + 5000);
 *     ...
 *     fp_timer_wheel_poll(wheel, now, LIBFP_WHEEL_NO_LIMIT);   runs expired()
 *
 * Rules
 *   T1  Never early: a timer fires in a poll whose now_tick is at or after its expiry.
 *   T2  In order of expiry tick; those of one tick in the order in which one thread armed
 *       them (or moved them with fp_timer_touch()), between threads in no stated order.
 *   T3  One poll fires all that is due, however long since the last. What a callback arms
 *       for the tick being fired or earlier, or for one up to which an earlier poll fired
 *       all, waits for the next poll.
 *   T4  fp_timer_cancel() says which holds: it will not run (1), it was not armed or has
 *       run (0), it is running (-EINPROGRESS).
 *   T5  After fp_timer_cancel_sync() returned, the callback does not run and will not;
 *       called from inside that callback it returns -EDEADLK.
 *   T6  Periodic timers do not drift; what becomes of missed periods is their policy, and
 *       a count says how many there were.
 *   T7  A wheel never reads a clock unless asked to: see fp_timer_wheel_now(),
 *       fp_timer_wheel_wait() and fp_timer_wheel_service().
 *
 * Ids         Never 0. An id that was destroyed is refused with -ESTALE for good, not
 *             found in a timer made later; so is one of another wheel (with all but
 *             certainty: the ids of a wheel begin at a random place).
 * Threads     Any thread may make any call at any moment, also about the same timer, and
 *             from inside callbacks. One thread polls at a time (others get -EBUSY), and
 *             another may be the next to do so. The thread that polled last works on the
 *             wheel itself; what others arm lies in a lane until the next poll.
 * Callbacks   Run on the polling thread, inside its poll. Nobody waits for them but
 *             fp_timer_cancel_sync(), and other threads arm and cancel meanwhile. They
 *             may call anything on this wheel but a poll (-EBUSY) and
 *             fp_timer_wheel_destroy() (-EBUSY). They return normally.
 * Progress    Lock-free but for one bit in each timer, which a call about that timer holds
 *             for a few instructions: a thread that is preempted there delays whoever
 *             wants the same timer, the poll included. Waiters spin a little, then sleep.
 * Memory      A record of 64 bytes a timer and 17 in the wheel, touched as timers are
 *             made; address space for max_timers is reserved at create. Nothing but
 *             fp_timer_create() takes memory, so arming cannot fail for want of it.
 * Fork        A child may destroy a wheel; create-, control- and waiting calls return
 *             -ECHILD, and the others must not be made.
 * Algorithm   Hierarchical timing wheel with bitmaps: G. Varghese, T. Lauck, "Hashed and
 *             Hierarchical Timing Wheels" (1987); rolling windows, lazy re-arm and early
 *             sort: see the top of src/timer/timer_wheel.c.
 */
#ifndef LIBFP_TIMER_H
#define LIBFP_TIMER_H

#include <libfp/base.h>
#include <libfp/service.h>
#include <libfp/wakeup.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fp_timer_wheel fp_timer_wheel;

/* fp_timer_record.flags */
#define LIBFP_TIMER_IS_PERIODIC 0x1

/* A timer that has fired. */
typedef struct fp_timer_record {
	uint64_t id;
	uint64_t user;	      /* as given to fp_timer_create() */
	uint64_t expiry_tick; /* what it was armed for */
	uint32_t overruns;    /* periods that are not delivered, or wait to be (see
			       * fp_timer_arm_periodic()); at most UINT32_MAX */
	uint32_t flags;	      /* LIBFP_TIMER_IS_PERIODIC */
} fp_timer_record;

/*
 * The callback of a timer. `expired` is valid during the call only.
 *
 * Runs on the thread that polls, see "Callbacks". `user` is used for the last time as
 * fp_timer_destroy() says.
 */
typedef void (*fp_timer_fn)(fp_timer_wheel *wheel, const fp_timer_record *expired,
			    void *user);

/* fp_timer_wheel_opts.flags */
#define LIBFP_WHEEL_START_AT 0x100 /* start_tick counts */
#define LIBFP_WHEEL_WAIT 0x200	   /* with a wake-up of its own: fp_timer_wheel_wait() */

#define LIBFP_WHEEL_TIMERS_DEFAULT 65536
#define LIBFP_WHEEL_TIMERS_MAX (1 << 28)
#define LIBFP_WHEEL_TICK_NS_DEFAULT 1000
#define LIBFP_WHEEL_NO_LIMIT 0x7fffffff /* `max` of a poll that fires all */

typedef struct fp_timer_wheel_opts {
	uint32_t size;	      /* sizeof(fp_timer_wheel_opts) */
	uint32_t flags;	      /* LIBFP_WHEEL_..., LIBFP_STATS, LIBFP_MEM_... */
	const char *name;     /* NULL: not registered */
	uint64_t tick_ns;     /* length of a tick for those who want the clock; 0: 1000 */
	uint64_t start_tick;  /* with LIBFP_WHEEL_START_AT the time before the first poll;
			       * without: now */
	uint32_t capacity;    /* timers expected: LIBFP_MEM_PREFAULT touches memory for
			       * these; 0: 65536, or max_timers if that is less */
	uint32_t max_timers;  /* 0: capacity */
	uint32_t numa_node;   /* with LIBFP_MEM_NODE */
	uint32_t reserved0;   /* 0 */
	const fp_allocator *allocator; /* NULL: the library's own */
} fp_timer_wheel_opts;

#define LIBFP_TIMER_WHEEL_OPTS_INIT \
	{ sizeof(fp_timer_wheel_opts), 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* fp_timer_wheel_stats.flags */
#define LIBFP_WHEEL_STATS_COUNTED 0x1 /* arms, moved, cancelled are kept (LIBFP_STATS) */

typedef struct fp_timer_wheel_stats {
	uint32_t size;	 /* in: sizeof(fp_timer_wheel_stats); out: bytes filled */
	uint32_t flags;	 /* LIBFP_WHEEL_STATS_COUNTED */
	uint64_t timers; /* that exist, destroyed ones not yet recycled included */
	uint64_t max_timers;
	uint64_t arms;	    /* of timers that were not armed; LIBFP_STATS */
	uint64_t rearms;    /* of timers that were; LIBFP_STATS */
	uint64_t cancelled; /* by cancel, destroy and cancel_all; LIBFP_STATS */
	uint64_t fired;	    /* callbacks run and records filled */
	uint64_t expired;   /* of these, after which the timer was not armed any more */
	uint64_t overruns;  /* periods that were not delivered */
	uint64_t late_max;  /* ticks between the expiry and the poll that fired, at most */
	uint64_t polls;	    /* that had something to do */
	uint64_t entries_moved; /* within the wheel, by polls */
	uint64_t entries_moved_max; /* by one poll that fired nothing, at most */
	uint64_t memory;	/* bytes reserved */
	uint64_t memory_used;	/* of these, in use at most so far */
} fp_timer_wheel_stats;

/* fp_timer_arm_periodic(): what becomes of periods that no poll came for in time. */
#define LIBFP_TIMER_SKIP 0     /* the last due one fires, at its tick; the others do not */
#define LIBFP_TIMER_COALESCE 1 /* the first due one fires, for all */
#define LIBFP_TIMER_CATCH_UP 2 /* each fires, in order */

/* fp_timer_info.flags: LIBFP_TIMER_IS_PERIODIC and */
#define LIBFP_TIMER_IS_ARMED 0x2

typedef struct fp_timer_info {
	uint64_t id;
	uint64_t user;
	uint64_t expiry_tick;  /* if armed */
	uint64_t period_ticks; /* if periodic */
	uint32_t flags;	       /* LIBFP_TIMER_IS_... */
	uint32_t policy;       /* if periodic: LIBFP_TIMER_SKIP, ... */
} fp_timer_info;

/* Sees one timer. Returns 0 to go on. `info` is valid during the call only. */
typedef int (*fp_timer_info_fn)(const fp_timer_info *info, void *user);

/* ---- wheels ---- */

/*
 * Fills *opts with LIBFP_TIMER_WHEEL_OPTS_INIT: for languages without macros.
 *
 * opts:     the struct to fill.
 * size:     its size in bytes as the caller knows it, at least the first
 *           published size (56).
 * Returns:  0; -EINVAL: opts is NULL or size is too small; -E2BIG: size is
 *           larger than 1 MiB, which no options struct will ever be.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int fp_timer_wheel_opts_init(fp_timer_wheel_opts *opts, uint32_t size);

/*
 * Creates a wheel without timers. The calling thread counts as the one that polled last.
 *
 * opts:     NULL for the defaults.
 * out:      receives the wheel; untouched on failure.
 * Returns:  0; -EINVAL: out is NULL, max_timers is above LIBFP_WHEEL_TIMERS_MAX or below
 *           capacity, or the options' size, padding, alignment or allocator is bad;
 *           -E2BIG, -EOPNOTSUPP: see libfp/base.h; -ENAMETOOLONG; -EEXIST: the name is
 *           taken; -ENOMEM.
 * Threads:  any.
 * Progress: blocking (allocates; with LIBFP_WHEEL_WAIT see "Cost" in libfp/wakeup.h).
 * Since:    0.9
 */
LIBFP_API int fp_timer_wheel_create(const fp_timer_wheel_opts *opts,
				    fp_timer_wheel **out);

/*
 * Frees a wheel with all its timers, armed or not, and the service it made.
 *
 * Returns:  0, also for NULL; -EBUSY and nothing changed: a poll is in progress,
 *           references by lookup are out, a thread waits, or its service is mapped or
 *           inside a call, or this is called inside a service.
 * Threads:  one, with no other call on this wheel.
 * Progress: blocking (frees memory).
 * Since:    0.9
 */
LIBFP_API int fp_timer_wheel_destroy(fp_timer_wheel *wheel);

/*
 * Finds a wheel by name and takes a reference to it.
 *
 * name:     the name given at create.
 * out:      receives the wheel; untouched on failure.
 * Returns:  0; -EINVAL: name or out is NULL; -ENOENT: no such wheel, or it is
 *           being created or destroyed.
 * Threads:  any.
 * Progress: blocking (registry lock).
 * Since:    0.9
 */
LIBFP_API int fp_timer_wheel_lookup(const char *name, fp_timer_wheel **out);

/*
 * Gives back one reference taken by fp_timer_wheel_lookup().
 *
 * Returns:  0; -EINVAL: wheel is NULL or no reference is out.
 * Threads:  any.
 * Progress: blocking (registry lock).
 * Since:    0.9
 */
LIBFP_API int fp_timer_wheel_unref(fp_timer_wheel *wheel);

/*
 * The name given at create.
 *
 * Returns:  the name, valid until destroy; NULL: wheel is NULL or has no name.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API const char *fp_timer_wheel_name(const fp_timer_wheel *wheel);

/*
 * The tick of the monotonic clock: nanoseconds divided by tick_ns, rounded down.
 *
 * tick:     receives it; untouched on failure.
 * Returns:  0; -EINVAL: wheel or tick is NULL.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int fp_timer_wheel_now(const fp_timer_wheel *wheel, uint64_t *tick);

/*
 * A span of nanoseconds in ticks, rounded up, so that now + ticks is never early.
 *
 * ticks:    receives it; untouched on failure.
 * Returns:  0; -EINVAL: wheel or ticks is NULL.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int fp_timer_wheel_ticks_from_ns(const fp_timer_wheel *wheel, uint64_t ns,
					   uint64_t *ticks);

/*
 * The length of a tick in nanoseconds, as given at create.
 *
 * Returns:  nanoseconds; INT64_MAX if it is longer; -EINVAL: wheel is NULL.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int64_t fp_timer_wheel_tick_ns(const fp_timer_wheel *wheel);

/*
 * Fires timers that are due: runs their callbacks in order. A timer without a callback
 * counts as fired.
 *
 * now_tick: the time. Earlier than in the last poll that had something to do: nothing
 *           fires.
 * max:      fires at most so many (0: none); the rest is due in the next poll.
 * Returns:  how many fired; -EBUSY: another thread polls, or works on the wheel at this
 *           moment, or this is a callback of the wheel; -EINVAL: wheel is NULL.
 * Threads:  any, one at a time.
 * Progress: blocking (callbacks, and the bit of a timer); callbacks aside bounded by what
 *           is due, and some hundred entries of the wheel if that is nothing.
 * Since:    0.9
 */
LIBFP_API int64_t fp_timer_wheel_poll(fp_timer_wheel *wheel, uint64_t now_tick,
				      uint32_t max);

/*
 * As fp_timer_wheel_poll(), but runs no callback and fills records instead. A timer whose
 * record was filled *has run*: cancelling it afterwards returns 0 though the caller may
 * still be at work on the record.
 *
 * records:  receives up to n.
 * Returns:  how many were filled; -EBUSY as fp_timer_wheel_poll(); -EINVAL: wheel is
 *           NULL, records is NULL with n > 0, or n is above INT32_MAX.
 * Threads:  any, one at a time.
 * Progress: blocking (the bit of a timer), bounded as fp_timer_wheel_poll().
 * Since:    0.9
 */
LIBFP_API int32_t fp_timer_wheel_poll_burst(fp_timer_wheel *wheel, uint64_t now_tick,
					    fp_timer_record *records, uint32_t n);

/*
 * Polls several wheels as one: fires in order of expiry tick over all of them, in the
 * order of `wheels` for one tick.
 *
 * wheels:   n handles, none twice.
 * max:      fires at most so many.
 * Returns:  how many fired; -EBUSY and nothing fired: as fp_timer_wheel_poll(), for one of
 *           them, or one is there twice; -EINVAL: wheels is NULL with n > 0, or one is
 *           NULL.
 * Threads:  any, one at a time for each wheel.
 * Progress: blocking, as fp_timer_wheel_poll(); n steps for each that fires.
 * Since:    0.9
 */
LIBFP_API int64_t fp_timer_wheel_poll_many(fp_timer_wheel *const *wheels, uint32_t n,
					   uint64_t now_tick, uint32_t max);

/*
 * The tick before which a poll has nothing to do. No timer expires before it; it may be
 * earlier than the first expiry, because the wheel moves entries on the way there.
 *
 * tick:     receives it, 0 for "poll at once"; untouched unless 1 is returned.
 * Returns:  1; 0: nothing is armed for earlier than UINT64_MAX; -EINVAL: wheel or tick is
 *           NULL.
 * Threads:  any; what other threads arm meanwhile may be missing.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int fp_timer_wheel_next_expiry(const fp_timer_wheel *wheel, uint64_t *tick);

/*
 * How many timers are armed.
 *
 * Returns:  the number, exact while no other call runs; -EINVAL: wheel is NULL.
 * Threads:  any.
 * Progress: wait-free; looks at every timer.
 * Since:    0.9
 */
LIBFP_API int64_t fp_timer_wheel_count(const fp_timer_wheel *wheel);

/*
 * Cancels every timer that is armed when it begins. What is armed meanwhile may be
 * cancelled or not.
 *
 * Returns:  how many were cancelled; -EINVAL: wheel is NULL; -ECHILD.
 * Threads:  any; also inside callbacks. Callbacks that run are not waited for.
 * Progress: lock-free but for each timer's bit; looks at every timer.
 * Since:    0.9
 */
LIBFP_API int64_t fp_timer_wheel_cancel_all(fp_timer_wheel *wheel);

/*
 * Shows every timer to a function, in no stated order.
 *
 * fn:       may call anything on the wheel.
 * Returns:  0; what fn returned if that was not 0; -EINVAL: wheel or fn is NULL; -ECHILD.
 * Threads:  any; timers that come or go meanwhile may be shown or not.
 * Progress: lock-free but for each timer's bit; looks at every timer.
 * Since:    0.9
 */
LIBFP_API int fp_timer_wheel_for_each(fp_timer_wheel *wheel, fp_timer_info_fn fn,
				      void *user);

/*
 * Reads the counters of a wheel.
 *
 * io:       io->size is set by the caller; the library fills at most that and
 *           writes back what it filled.
 * Returns:  0; -EINVAL: wheel or io is NULL, or io->size is below 8.
 * Threads:  any; exact while no other call runs.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int fp_timer_wheel_get_stats(const fp_timer_wheel *wheel,
				       fp_timer_wheel_stats *io);

/*
 * Makes the counters of a wheel zero.
 *
 * Returns:  0; -EINVAL: wheel is NULL.
 * Threads:  any; what happens meanwhile may be counted or not.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int fp_timer_wheel_reset_stats(fp_timer_wheel *wheel);

/* ---- waiting ---- */

/*
 * Binds a wheel to a wake-up: from now on it is signalled whenever a timer is armed for
 * earlier than the wheel's next expiry was. The wheel keeps the wake-up from being
 * destroyed.
 *
 * wakeup:   NULL unbinds; a wheel with LIBFP_WHEEL_WAIT then has its own again.
 * Returns:  0; -EINVAL: wheel is NULL; -EBUSY: a thread waits, or it has made a service;
 *           -ECHILD: wheel or wakeup was made before a fork.
 * Threads:  one, with no other call on this wheel.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int fp_timer_wheel_set_wakeup(fp_timer_wheel *wheel, fp_wakeup *wakeup);

/*
 * Sleeps until the next expiry on the monotonic clock, or until a timer is armed for
 * earlier than that, or the bound wake-up is signalled for another reason. Poll then.
 *
 * timeout_ns: how long; 0: does not, and makes no system call; LIBFP_FOREVER: no limit.
 * Returns:  0: poll; -ETIMEDOUT; -ECANCELED: fp_timer_wheel_interrupt(), or
 *           fp_wakeup_interrupt() on the bound wake-up, came meanwhile; -ENXIO: there is
 *           nothing to sleep on (neither LIBFP_WHEEL_WAIT nor a wake-up bound);
 *           -EOPNOTSUPP: the wheel has a service; -EINVAL: wheel is NULL; -ECHILD.
 * Threads:  any; usually the one that polls.
 * Progress: blocking.
 * Since:    0.9
 */
LIBFP_API int fp_timer_wheel_wait(fp_timer_wheel *wheel, uint64_t timeout_ns);

/*
 * Ends every fp_timer_wheel_wait() that has begun, with -ECANCELED; on a bound wake-up
 * also the other waits.
 *
 * Returns:  0; -ENXIO: neither LIBFP_WHEEL_WAIT nor a wake-up bound; -EOPNOTSUPP: the
 *           wheel has a service; -EINVAL: wheel is NULL; -ECHILD.
 * Threads:  any.
 * Progress: wait-free, but for a system call if somebody sleeps.
 * Since:    0.9
 */
LIBFP_API int fp_timer_wheel_interrupt(fp_timer_wheel *wheel);

/*
 * The service that polls this wheel by the monotonic clock and announces its next expiry,
 * so that a service core sleeps until then. The first call makes it: not started, mapped
 * to no core, and woken by what is armed.
 *
 * service:  receives it. It is the wheel's: fp_timer_wheel_destroy() destroys it.
 * Returns:  0; -EBUSY: a wake-up is bound, or a thread waits; -EINVAL: wheel or service
 *           is NULL; -ENOMEM; -ECHILD.
 * Threads:  one, with no other call on this wheel.
 * Progress: blocking (allocates).
 * Since:    0.9
 */
LIBFP_API int fp_timer_wheel_service(fp_timer_wheel *wheel, fp_service **service);

/* ---- timers ---- */

/*
 * Makes a timer, which is not armed.
 *
 * cb:       runs when it fires; NULL: none, for fp_timer_wheel_poll_burst().
 * user:     handed to cb and to records; usable as an integer.
 * id:       receives its id; untouched on failure.
 * Returns:  0; -EINVAL: wheel or id is NULL; -ENOMEM: max_timers exist (those destroyed
 *           count until the poll that comes by them); -ECHILD.
 * Threads:  any; also inside callbacks.
 * Progress: blocking (a lock for a few instructions).
 * Since:    0.9
 */
LIBFP_API int fp_timer_create(fp_timer_wheel *wheel, fp_timer_fn cb, void *user,
			      uint64_t *id);

/*
 * Makes n timers with one callback.
 *
 * users:    the `user` of each; NULL: all NULL.
 * ids:      receives as many ids as are returned.
 * Returns:  how many were made, fewer than n if max_timers are reached; -EINVAL: wheel is
 *           NULL, ids is NULL with n > 0, or n is above INT32_MAX; -ECHILD.
 * Threads:  any; also inside callbacks.
 * Progress: blocking (a lock for n times a few instructions).
 * Since:    0.9
 */
LIBFP_API int32_t fp_timer_create_bulk(fp_timer_wheel *wheel, fp_timer_fn cb,
				       void *const *users, uint64_t *ids, uint32_t n);

/*
 * Cancels a timer and makes its id stale, at any moment.
 *
 * Returns:  1: it was armed and will not run; 0: it was not armed. After both, `user` is
 *           not used any more. -EINPROGRESS: its callback runs (which may be the caller):
 *           `user` is used until fp_timer_cancel_sync() of this id has returned.
 *           -ESTALE: no such timer. -EINVAL: wheel is NULL.
 * Threads:  any; also inside callbacks, its own too.
 * Progress: blocking; see "Progress".
 * Since:    0.9
 */
LIBFP_API int fp_timer_destroy(fp_timer_wheel *wheel, uint64_t id);

/*
 * Destroys n timers. One bad id does not stop the rest.
 *
 * results:  receives what fp_timer_destroy() returns for each; may be NULL.
 * Returns:  how many were destroyed (-EINPROGRESS included); -EINVAL: wheel is NULL, ids
 *           is NULL with n > 0, or n is above INT32_MAX.
 * Threads:  any; also inside callbacks.
 * Progress: blocking, as fp_timer_destroy().
 * Since:    0.9
 */
LIBFP_API int32_t fp_timer_destroy_bulk(fp_timer_wheel *wheel, const uint64_t *ids,
					uint32_t n, int32_t *results);

/*
 * Arms a timer to fire once, or moves it if it is armed. A periodic timer is not periodic
 * any more.
 *
 * expiry_tick: any; what is not after the last poll fires in the next one.
 * Returns:  0: armed; 1: it was armed, and is moved; -ESTALE: no such timer; -EINVAL:
 *           wheel is NULL.
 * Threads:  any; also inside callbacks, its own too.
 * Progress: lock-free but for the timer's bit; see "Progress".
 * Since:    0.9
 */
LIBFP_API int fp_timer_arm(fp_timer_wheel *wheel, uint64_t id, uint64_t expiry_tick);

/*
 * Arms n timers. One bad id does not stop the rest.
 *
 * expiry_ticks: of each.
 * results:  receives what fp_timer_arm() returns for each; may be NULL.
 * Returns:  how many were armed; -EINVAL: wheel is NULL, ids or expiry_ticks is NULL with
 *           n > 0, or n is above INT32_MAX.
 * Threads:  any; also inside callbacks.
 * Progress: lock-free but for each timer's bit, as fp_timer_arm().
 * Since:    0.9
 */
LIBFP_API int32_t fp_timer_arm_bulk(fp_timer_wheel *wheel, const uint64_t *ids,
				    const uint64_t *expiry_ticks, uint32_t n,
				    int32_t *results);

/*
 * Arms a timer to fire at first_tick and then every period_ticks, counted from first_tick
 * however late polls are. It stays armed until it is cancelled, or its next expiry would
 * be beyond UINT64_MAX.
 *
 * period_ticks: 1 or more.
 * policy:   if a poll finds k + 1 of its expiries due: LIBFP_TIMER_SKIP: fires for the
 *           last one, with overruns = k. LIBFP_TIMER_COALESCE: fires for the first one,
 *           with overruns = k. LIBFP_TIMER_CATCH_UP: fires for each, the first with
 *           overruns = k, the last with 0.
 * Returns:  0: armed; 1: it was armed, and is moved; -ESTALE: no such timer; -EINVAL:
 *           wheel is NULL or period_ticks is 0; -EOPNOTSUPP: unknown policy.
 * Threads:  any; also inside callbacks, its own too.
 * Progress: lock-free but for the timer's bit; see "Progress".
 * Since:    0.9
 */
LIBFP_API int fp_timer_arm_periodic(fp_timer_wheel *wheel, uint64_t id,
				    uint64_t first_tick, uint64_t period_ticks,
				    uint32_t policy);

/*
 * Moves an armed timer to expiry_tick unless it expires later already: a sign of life, at
 * a fraction of the cost of fp_timer_arm(). One that waits for the next poll (T3) goes on
 * waiting for that.
 *
 * Returns:  1: it is armed, for expiry_tick or later; 0: it is not armed, and stays so;
 *           -ESTALE: no such timer; -EINVAL: wheel is NULL.
 * Threads:  any; also inside callbacks.
 * Progress: lock-free but for the timer's bit; see "Progress".
 * Since:    0.9
 */
LIBFP_API int fp_timer_touch(fp_timer_wheel *wheel, uint64_t id, uint64_t expiry_tick);

/*
 * Touches n timers. One bad id does not stop the rest.
 *
 * results:  receives what fp_timer_touch() returns for each; may be NULL.
 * Returns:  how many of them are armed; -EINVAL: wheel is NULL, ids or expiry_ticks is
 *           NULL with n > 0, or n is above INT32_MAX.
 * Threads:  any; also inside callbacks.
 * Progress: lock-free but for each timer's bit, as fp_timer_touch().
 * Since:    0.9
 */
LIBFP_API int32_t fp_timer_touch_bulk(fp_timer_wheel *wheel, const uint64_t *ids,
				      const uint64_t *expiry_ticks, uint32_t n,
				      int32_t *results);

/*
 * Disarms a timer.
 *
 * Returns:  1: it was armed, and will not run; 0: it was not armed, or has run;
 *           -EINPROGRESS: its callback runs (if that had re-armed it, it is disarmed);
 *           -ESTALE: no such timer; -EINVAL: wheel is NULL.
 * Threads:  any; also inside callbacks, its own too.
 * Progress: lock-free but for the timer's bit; see "Progress".
 * Since:    0.9
 */
LIBFP_API int fp_timer_cancel(fp_timer_wheel *wheel, uint64_t id);

/*
 * Cancels n timers. One bad id does not stop the rest.
 *
 * results:  receives what fp_timer_cancel() returns for each; may be NULL.
 * Returns:  how many will not run (those with result 1); -EINVAL: wheel is NULL, ids is
 *           NULL with n > 0, or n is above INT32_MAX.
 * Threads:  any; also inside callbacks.
 * Progress: lock-free but for each timer's bit, as fp_timer_cancel().
 * Since:    0.9
 */
LIBFP_API int32_t fp_timer_cancel_bulk(fp_timer_wheel *wheel, const uint64_t *ids,
				       uint32_t n, int32_t *results);

/*
 * Disarms a timer and waits until its callback does not run. What the callback arms
 * meanwhile is disarmed too. With the id of a destroyed timer it only waits. Two callbacks
 * of two wheels that wait for each other wait for ever.
 *
 * timeout_ns: how long to wait; LIBFP_FOREVER: without limit.
 * Returns:  1: it was armed, and will not run; 0: it was not armed, or has run; -ETIMEDOUT:
 *           it is disarmed, its callback still runs; -EDEADLK: called by the thread that
 *           runs the callback, nothing changed; -ESTALE: no such timer (any more), and its
 *           callback does not run; -EINVAL: wheel is NULL; -ECHILD.
 * Threads:  any; also inside callbacks of other timers.
 * Progress: blocking.
 * Since:    0.9
 */
LIBFP_API int fp_timer_cancel_sync(fp_timer_wheel *wheel, uint64_t id,
				   uint64_t timeout_ns);

/*
 * Whether a timer is armed.
 *
 * Returns:  1 or 0; -ESTALE: no such timer; -EINVAL: wheel is NULL.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int fp_timer_is_pending(const fp_timer_wheel *wheel, uint64_t id);

/*
 * How many ticks an armed timer still has.
 *
 * ticks:    receives expiry - now_tick, 0 if it is due; untouched unless 1 is returned.
 * Returns:  1; 0: it is not armed; -ESTALE: no such timer; -EINVAL: wheel or ticks is
 *           NULL.
 * Threads:  any.
 * Progress: lock-free but for the timer's bit; see "Progress".
 * Since:    0.9
 */
LIBFP_API int fp_timer_remaining(fp_timer_wheel *wheel, uint64_t id, uint64_t now_tick,
				 uint64_t *ticks);

#ifdef __cplusplus
}
#endif

#endif /* LIBFP_TIMER_H */
