/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * libfp/service.h - services: named functions that service cores call in turn.
 *
 * A *service* is a function that does a little work each time it is called. A *service
 * core* is a thread that calls the services mapped to it, one after the other, for ever;
 * it is the library's own (fp_service_core_start()) or the caller's
 * (fp_service_core_run()). Services and cores are mapped to each other freely, at any
 * time and from any thread, also from inside a service; there is no limit to either.
 *
 * Runs        A service is called by the cores it is mapped to while both its gates are
 *             open: fp_service_set_ready(), the component's own, and
 *             fp_service_start(), the application's. A service is *serialised*, that is
 *             never run twice at once, unless it has LIBFP_SERVICE_MT_SAFE: a core that
 *             finds it busy goes on with the next one.
 * Fairness    Every loop of a core calls each of its services once: a service that
 *             always has work keeps no other one waiting for more than a loop.
 * Stopping    fp_service_stop(), fp_service_unmap() and fp_service_destroy() wait until
 *             no core is inside that service's function, and for nothing else. After
 *             they returned 0 the function does not run (unmap: on that core) and what
 *             it did is visible. Called from inside *any* service they do not wait, but
 *             return -EINPROGRESS: no run begins once each core has passed, and
 *             fp_service_is_active() tells when that is.
 * Idle        A core that finds no work spins for a while, naps, and then sleeps until
 *             one of its services' wake-ups is signalled (fp_service_wakeup()), a
 *             deadline comes (fp_service_set_deadline()), or the mapping changes. A
 *             service that polls something which signals nothing is still called every
 *             millisecond (fp_service_core_opts.unwakeable_ns).
 * Counters    Calls, idle calls and errors of every service on every core, always;
 *             time with fp_service_opts.cycles. Exact when no run is in progress; those
 *             of a core outlive its unmapping and its end.
 * Names       Optional, as for every part: unique among services, and among cores.
 * Fork        A child may destroy the parent's services and cores, which do not run in
 *             it; everything else on them returns -ECHILD.
 * Exit        Stop your cores before the process exits or the code of a service is
 *             unloaded; the library has no exit hook of its own.
 */
#ifndef LIBFP_SERVICE_H
#define LIBFP_SERVICE_H

#include <libfp/base.h>
#include <libfp/wakeup.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fp_service fp_service;
typedef struct fp_service_core fp_service_core;

/*
 * The function of a service. `user` is fp_service_opts.user.
 *
 * Returns 0 or above: it has worked; -EAGAIN: there was nothing to do; another negative
 * value: an error, which is counted, and the service goes on. A core sleeps only when all
 * of its services say -EAGAIN.
 *
 * Runs on a thread of a core it is mapped to, or inside fp_service_run_once(). May call
 * anything of the library but fp_service_core_run(), and
 * fp_service_core_destroy() of a core that it runs on; fp_service_core_stop() of that
 * core does not wait. Returns normally: no longjmp, no exception, no pthread_exit.
 */
typedef int32_t (*fp_service_run_fn)(void *user);

/* Called once when a destroyed service will never use `user` again; may be on any
 * thread that calls libfp, or a core's; must not call libfp. */
typedef void (*fp_service_released_fn)(void *user);

/* fp_service_opts.flags */
#define LIBFP_SERVICE_MT_SAFE 0x100   /* may run on several threads at once */
#define LIBFP_SERVICE_WAKEABLE 0x200  /* somebody signals its wake-up, or it needs no
				       * calls without a deadline: may sleep for ever */
#define LIBFP_SERVICE_NOT_READY 0x400 /* created with the component's gate shut */

/* fp_service_opts.cycles: what is measured; one clock read per service call. */
#define LIBFP_SERVICE_CYCLES_OFF 0
#define LIBFP_SERVICE_CYCLES_SAMPLED 1 /* one loop in 16, scaled */
#define LIBFP_SERVICE_CYCLES_EXACT 2   /* every loop, and the longest run */

typedef struct fp_service_opts {
	uint32_t size;	  /* sizeof(fp_service_opts) */
	uint32_t flags;	  /* LIBFP_SERVICE_... */
	const char *name; /* NULL: not registered */
	fp_service_run_fn run;
	void *user;
	fp_service_released_fn released; /* NULL: none */
	uint32_t cycles;		 /* LIBFP_SERVICE_CYCLES_... */
	uint32_t reserved0;		 /* 0 */
	const fp_allocator *allocator;	 /* NULL: the library's own */
} fp_service_opts;

#define LIBFP_SERVICE_OPTS_INIT { sizeof(fp_service_opts), 0, 0, 0, 0, 0, 0, 0, 0 }

/* fp_service_stats.flags */
#define LIBFP_SERVICE_IS_READY 0x1
#define LIBFP_SERVICE_IS_STARTED 0x2
#define LIBFP_SERVICE_IS_ACTIVE 0x4 /* a thread is inside its function */

typedef struct fp_service_stats {
	uint32_t size;	/* in: sizeof(fp_service_stats); out: bytes filled */
	uint32_t flags; /* LIBFP_SERVICE_IS_... */
	uint64_t calls; /* of the function, on cores and by fp_service_run_once() */
	uint64_t idle;	/* of these, returned -EAGAIN */
	uint64_t errors; /* of these, returned another negative value */
	uint64_t busy;	 /* times a core found it inside elsewhere and went on */
	uint64_t cycles; /* clock ticks inside the function, idle calls included */
	uint64_t longest; /* ticks of the longest call (LIBFP_SERVICE_CYCLES_EXACT) */
	uint64_t cycle_hz; /* ticks per second; 0: cycles are off */
	uint64_t cores;	   /* mapped cores */
	uint64_t inside_since_ns; /* CLOCK_MONOTONIC of when a call that still runs was
				   * first seen by fp_service_get_stats(), the longest
				   * such; 0: none was seen twice. Ask repeatedly: this is
				   * the watchdog */
	uint64_t deadline_ns;	  /* as set, 0: none */
} fp_service_stats;

#define LIBFP_SERVICE_FORCE 0x1 /* fp_service_destroy: unmap first */

/* fp_service_core_opts.idle: what a core does without work. */
#define LIBFP_SERVICE_CORE_SLEEP 0 /* spin, nap, sleep (the default) */
#define LIBFP_SERVICE_CORE_YIELD 1 /* spin, then sched_yield in every loop */
#define LIBFP_SERVICE_CORE_SPIN 2  /* never leaves the CPU */

/* fp_service_core_opts.policy: best effort; what was got is in the statistics. */
#define LIBFP_SERVICE_CORE_POLICY_NONE 0 /* as the thread that starts it */
#define LIBFP_SERVICE_CORE_POLICY_OTHER 1
#define LIBFP_SERVICE_CORE_POLICY_FIFO 2
#define LIBFP_SERVICE_CORE_POLICY_RR 3
#define LIBFP_SERVICE_CORE_POLICY_BATCH 4
#define LIBFP_SERVICE_CORE_POLICY_IDLE 5

/* fp_service_core_opts.flags */
#define LIBFP_SERVICE_CORE_SPIN_NS 0x100 /* spin_ns counts although it is 0 */
#define LIBFP_SERVICE_CORE_NAP_NS 0x200	 /* nap_ns counts although it is 0 */
#define LIBFP_SERVICE_CORE_PIN 0x400	 /* cpu counts */
#define LIBFP_SERVICE_CORE_CPU_MAX 1023

#define LIBFP_SERVICE_CORE_SPIN_DEFAULT 50000	    /* ns */
#define LIBFP_SERVICE_CORE_NAP_DEFAULT 100000	    /* ns */
#define LIBFP_SERVICE_CORE_UNWAKEABLE_DEFAULT 1000000 /* ns */

typedef struct fp_service_core_opts {
	uint32_t size;	  /* sizeof(fp_service_core_opts) */
	uint32_t flags;	  /* LIBFP_SERVICE_CORE_SPIN_NS, ... */
	const char *name; /* NULL: not registered; its first 15 bytes name the thread */
	uint32_t cpu;	  /* with LIBFP_SERVICE_CORE_PIN: the CPU of its own thread; for
			   * several see fp_service_core_set_cpus() */
	uint32_t policy;  /* LIBFP_SERVICE_CORE_POLICY_... */
	int32_t priority; /* FIFO, RR: 1 to 99; else a nice value, -20 to 19 */
	uint32_t idle;	  /* LIBFP_SERVICE_CORE_SLEEP, _YIELD or _SPIN */
	uint64_t spin_ns; /* without work before the first nap; 0: 50 us */
	uint64_t nap_ns;      /* length of the first sleep, which needs no membarrier;
			       * 0: 100 us */
	uint64_t late_margin_ns; /* wakes so long before a deadline and spins; 0: none */
	uint64_t max_sleep_ns;	 /* 0: no limit */
	uint64_t unwakeable_ns;	 /* limit of a sleep while a service that nobody wakes is
				  * mapped; 0: 1 ms */
	uint64_t stack_size;	 /* bytes; 0: the system's default */
	const fp_allocator *allocator; /* NULL: the library's own */
} fp_service_core_opts;

#define LIBFP_SERVICE_CORE_OPTS_INIT \
	{ sizeof(fp_service_core_opts), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* fp_service_core_stats.state */
#define LIBFP_SERVICE_CORE_STOPPED 0
#define LIBFP_SERVICE_CORE_RUNNING 1  /* its thread is in the loop */
#define LIBFP_SERVICE_CORE_ASLEEP 2   /* running, and in the kernel without work */
#define LIBFP_SERVICE_CORE_STOPPING 3 /* told to stop, still in the loop */

/* fp_service_core_stats.flags: what the system granted at the last start. */
#define LIBFP_SERVICE_CORE_GOT_CPUS 0x1
#define LIBFP_SERVICE_CORE_GOT_POLICY 0x2
#define LIBFP_SERVICE_CORE_IS_LENT 0x4 /* the loop runs on a caller's thread */

typedef struct fp_service_core_stats {
	uint32_t size;	/* in: sizeof(fp_service_core_stats); out: bytes filled */
	uint32_t flags; /* LIBFP_SERVICE_CORE_GOT_..., _IS_LENT */
	uint32_t state; /* LIBFP_SERVICE_CORE_STOPPED, ... */
	uint32_t reserved0;
	uint64_t loops;	     /* over its services */
	uint64_t idle_loops; /* of these, without work */
	uint64_t busy_cycles; /* clock ticks in loops with work; kept while a mapped service
			       * has cycles on */
	uint64_t idle_cycles;  /* in loops without work, sleep excluded */
	uint64_t cycle_hz;     /* ticks per second; 0: cycles were never on */
	uint64_t sleeps;     /* times it went to sleep, naps included */
	uint64_t naps;	     /* of these, the short first ones */
	uint64_t wakes;	     /* sleeps that a signal ended, or kept from beginning */
	uint64_t late_wakes; /* sleeps that ended more than 1 ms after a deadline */
	uint64_t services;   /* mapped services */
	int64_t thread_id;   /* kernel's id of the thread in the loop; 0: none */
} fp_service_core_stats;

/* Counters of one service on one core, since they were last mapped to each other. */
typedef struct fp_service_map_stats {
	uint32_t size;	/* in: sizeof(fp_service_map_stats); out: bytes filled */
	uint32_t flags; /* none defined: 0 */
	uint64_t calls;
	uint64_t idle;
	uint64_t errors;
	uint64_t busy;
	uint64_t cycles;
} fp_service_map_stats;

/* ---- services ---- */

/*
 * Fills *opts with LIBFP_SERVICE_OPTS_INIT: for languages without macros.
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
LIBFP_API int fp_service_opts_init(fp_service_opts *opts, uint32_t size);

/*
 * Creates a service: not started, mapped to no core, all counters zero.
 *
 * opts:     run has no default, so NULL is -EINVAL.
 * out:      receives the service; untouched on failure.
 * Returns:  0; -EINVAL: run or out is NULL, or the options' size, padding, alignment or
 *           allocator is bad; -E2BIG, -EOPNOTSUPP: see libfp/base.h (also an unknown
 *           value of cycles); -ENAMETOOLONG; -EEXIST: the name is taken; -ENOMEM.
 * Threads:  any; also inside a service.
 * Progress: blocking (allocates; the lock of all services).
 * Since:    0.9
 */
LIBFP_API int fp_service_create(const fp_service_opts *opts, fp_service **out);

/*
 * Stops a service for good, waits until no thread is inside its function, and frees it.
 *
 * flags:    0, or LIBFP_SERVICE_FORCE to unmap it from all cores first.
 * timeout_ns: how long to wait; LIBFP_FOREVER: without limit.
 * Returns:  0: freed (also for NULL); -EBUSY and nothing changed: mapped (without
 *           LIBFP_SERVICE_FORCE), references by lookup are out, another thread waits in
 *           its stop or unmap, or objects are bound to its wake-up; -EOPNOTSUPP: unknown
 *           flag; -ETIMEDOUT: it is stopped and unmapped, a thread is still inside (the
 *           log names the core), call again; -EINPROGRESS: called inside a service: the
 *           handle must not be used any more, and the library frees it and calls
 *           `released` once no thread is inside; -ENOMEM: nothing changed.
 * Threads:  one, with no other call on this service.
 * Progress: blocking.
 * Since:    0.9
 */
LIBFP_API int fp_service_destroy(fp_service *service, uint32_t flags,
				 uint64_t timeout_ns);

/*
 * Finds a service by name and takes a reference to it.
 *
 * name:     the name given at create.
 * out:      receives the service; untouched on failure.
 * Returns:  0; -EINVAL: name or out is NULL; -ENOENT: no such service, or it is
 *           being created or destroyed.
 * Threads:  any.
 * Progress: blocking (registry lock).
 * Since:    0.9
 */
LIBFP_API int fp_service_lookup(const char *name, fp_service **out);

/*
 * Gives back one reference taken by fp_service_lookup() or fp_service_list().
 *
 * Returns:  0; -EINVAL: service is NULL or no reference is out.
 * Threads:  any.
 * Progress: blocking (registry lock).
 * Since:    0.9
 */
LIBFP_API int fp_service_unref(fp_service *service);

/*
 * The name given at create.
 *
 * Returns:  the name, valid until destroy; NULL: service is NULL or has no name.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API const char *fp_service_name(const fp_service *service);

/*
 * Lists the services of the process, named or not, oldest first, with a reference to
 * each that fp_service_unref() gives back.
 *
 * list:     receives up to n handles; may be NULL if n is 0.
 * n:        room in list.
 * Returns:  how many services there are, of which min(that, n) were listed; -EINVAL:
 *           list is NULL with n > 0.
 * Threads:  any.
 * Progress: blocking (the lock of all services).
 * Since:    0.9
 */
LIBFP_API int64_t fp_service_list(fp_service **list, uint32_t n);

/*
 * Opens or shuts the component's gate. Shutting waits as fp_service_stop() does.
 *
 * ready:    1 or 0.
 * timeout_ns: how long to wait when shutting; LIBFP_FOREVER: without limit.
 * Returns:  0; -EINVAL: service is NULL or ready is neither; -EBUSY: another thread
 *           waits in its stop, unmap or destroy; -ETIMEDOUT, -EINPROGRESS as
 *           fp_service_stop(); -ENOMEM: nothing changed; -ECHILD.
 * Threads:  any; also inside a service.
 * Progress: blocking.
 * Since:    0.9
 */
LIBFP_API int fp_service_set_ready(fp_service *service, uint32_t ready,
				   uint64_t timeout_ns);

/*
 * Opens the application's gate: mapped cores call the service from their next loop on.
 *
 * Returns:  0, also if it was started; -EINVAL: service is NULL; -EBUSY: another thread
 *           waits in its stop, unmap or destroy; -ENOMEM: nothing changed; -ECHILD.
 * Threads:  any; also inside a service.
 * Progress: blocking (the lock of all services).
 * Since:    0.9
 */
LIBFP_API int fp_service_start(fp_service *service);

/*
 * Shuts the application's gate and waits until no thread is inside the function.
 *
 * timeout_ns: how long to wait; 0: does not; LIBFP_FOREVER: without limit.
 * Returns:  0: no thread is inside, and none will be, also if it was stopped;
 *           -ETIMEDOUT: stopped, but a thread is still inside (the log names the core):
 *           call again; -EINPROGRESS: called inside a service: stopped, not waited for;
 *           -EINVAL: service is NULL; -ENOMEM: nothing changed; -ECHILD.
 * Threads:  any; also inside a service.
 * Progress: blocking.
 * Since:    0.9
 */
LIBFP_API int fp_service_stop(fp_service *service, uint64_t timeout_ns);

/*
 * Whether cores may call it: ready, started, and mapped to a core at least.
 *
 * Returns:  1 or 0; -EINVAL: service is NULL; -ECHILD.
 * Threads:  any.
 * Progress: blocking (the lock of all services).
 * Since:    0.9
 */
LIBFP_API int fp_service_is_runnable(const fp_service *service);

/*
 * Whether a thread may be inside its function. Once it is 0 after a stop, it stays 0.
 *
 * Returns:  1 or 0; -EINVAL: service is NULL; -ECHILD.
 * Threads:  any.
 * Progress: blocking (the lock of all services).
 * Since:    0.9
 */
LIBFP_API int fp_service_is_active(const fp_service *service);

/*
 * Maps a service to a core: the core calls it, once it is runnable, from its next loop
 * on. The core need not run yet.
 *
 * Returns:  0, also if it was mapped; -EINVAL: service or core is NULL; -EBUSY: another
 *           thread waits in the service's stop, unmap or destroy; -ENOMEM: nothing
 *           changed; -ECHILD.
 * Threads:  any; also inside a service.
 * Progress: blocking (the lock of all services).
 * Since:    0.9
 */
LIBFP_API int fp_service_map(fp_service *service, fp_service_core *core);

/*
 * Ends a mapping and waits if that core is inside the service's function.
 *
 * timeout_ns: how long to wait; 0: does not; LIBFP_FOREVER: without limit.
 * Returns:  0: that core is not inside and will not be, also if it was not mapped;
 *           -ETIMEDOUT: unmapped, but the core is still inside; -EINPROGRESS: called
 *           inside a service: unmapped, not waited for; -EINVAL: service or core is
 *           NULL; -ENOMEM: nothing changed; -ECHILD.
 * Threads:  any; also inside a service.
 * Progress: blocking.
 * Since:    0.9
 */
LIBFP_API int fp_service_unmap(fp_service *service, fp_service_core *core,
			       uint64_t timeout_ns);

/*
 * Whether a service is mapped to a core.
 *
 * Returns:  1 or 0; -EINVAL: service or core is NULL; -ECHILD.
 * Threads:  any.
 * Progress: blocking (the lock of all services).
 * Since:    0.9
 */
LIBFP_API int fp_service_is_mapped(const fp_service *service,
				   const fp_service_core *core);

/*
 * Runs the function once on the calling thread. The service need not be mapped.
 *
 * flags:    0.
 * result:   receives what the function returned; untouched if it did not run; may be
 *           NULL.
 * Returns:  0: it ran; -EBUSY: it is serialised and a thread is inside; -ESHUTDOWN: it is
 *           not ready or not started; -EINVAL: service is NULL; -EOPNOTSUPP: unknown
 *           flag; -ENOMEM; -ECHILD.
 * Threads:  any; also inside another service.
 * Progress: blocking, if the function is; the first run of a serialised service that is
 *           mapped takes the lock of all services.
 * Since:    0.9
 */
LIBFP_API int fp_service_run_once(fp_service *service, uint32_t flags, int32_t *result);

/*
 * The wake-up that wakes the cores to which the service is mapped at that moment: bind
 * the service's rings to it, or signal it. Nobody can wait on it, hence not interrupt it
 * either.
 *
 * Returns:  the wake-up, which lives as long as the service; NULL: service is NULL.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API fp_wakeup *fp_service_wakeup(fp_service *service);

/*
 * Announces when the service wants to be called at the latest. It stays until it is set
 * anew. Wakes sleeping cores if it is earlier than before.
 *
 * deadline_ns: CLOCK_MONOTONIC; 0: none.
 * Returns:  0; -EINVAL: service is NULL; -ECHILD.
 * Threads:  any; also inside a service.
 * Progress: wait-free, but for a system call if a core sleeps.
 * Since:    0.9
 */
LIBFP_API int fp_service_set_deadline(fp_service *service, uint64_t deadline_ns);

/*
 * Reads the counters of a service, summed over all cores it was ever mapped to.
 *
 * io:       io->size is set by the caller; the library fills at most that and
 *           writes back what it filled.
 * Returns:  0; -EINVAL: service or io is NULL, or io->size is below 8; -ECHILD.
 * Threads:  any.
 * Progress: blocking (the lock of all services).
 * Since:    0.9
 */
LIBFP_API int fp_service_get_stats(fp_service *service, fp_service_stats *io);

/*
 * Makes the counters of a service zero, on all its cores.
 *
 * Returns:  0; -EINVAL: service is NULL; -ECHILD.
 * Threads:  any; runs in progress may be counted or not.
 * Progress: blocking (the lock of all services).
 * Since:    0.9
 */
LIBFP_API int fp_service_reset_stats(fp_service *service);

/*
 * Reads the counters of a service on one core.
 *
 * Returns:  0; -EINVAL: service, core or io is NULL, or io->size is below 8; -ENOENT:
 *           they are not mapped to each other; -ECHILD.
 * Threads:  any.
 * Progress: blocking (the lock of all services).
 * Since:    0.9
 */
LIBFP_API int fp_service_get_map_stats(fp_service *service, fp_service_core *core,
				       fp_service_map_stats *io);

/*
 * Maps every service that is mapped to no core to one of `cores`, in turn, starts all
 * services and all cores that do not run.
 *
 * cores:    n handles.
 * Returns:  how many services were mapped; -EINVAL: cores is NULL, n is 0, or a handle is
 *           NULL; -EAGAIN: no thread can be made, -ENOMEM: what was done until then stays;
 *           -ECHILD.
 * Threads:  any; not inside a service (-EDEADLK).
 * Progress: blocking.
 * Since:    0.9
 */
LIBFP_API int64_t fp_service_start_defaults(fp_service_core *const *cores, uint32_t n);

/* ---- service cores ---- */

/*
 * Fills *opts with LIBFP_SERVICE_CORE_OPTS_INIT: for languages without macros.
 *
 * opts:     the struct to fill.
 * size:     its size in bytes as the caller knows it, at least the first
 *           published size (88).
 * Returns:  0; -EINVAL: opts is NULL or size is too small; -E2BIG: size is
 *           larger than 1 MiB, which no options struct will ever be.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API int fp_service_core_opts_init(fp_service_core_opts *opts, uint32_t size);

/*
 * Creates a service core, which does not run yet.
 *
 * opts:     NULL for the defaults.
 * out:      receives the core; untouched on failure.
 * Returns:  0; -EINVAL: out is NULL, a CPU above LIBFP_SERVICE_CORE_CPU_MAX, a priority that
 *           does not go with the policy, or the options' size, alignment or allocator is bad; -E2BIG, -EOPNOTSUPP: see libfp/base.h (also
 *           an unknown policy or idle value); -ENAMETOOLONG; -EEXIST: the name is taken;
 *           -ENOMEM.
 * Threads:  any; also inside a service.
 * Progress: blocking (allocates; may wait for the kernel once per process, see
 *           libfp/wakeup.h).
 * Since:    0.9
 */
LIBFP_API int fp_service_core_create(const fp_service_core_opts *opts,
				     fp_service_core **out);

/*
 * Says on which CPUs the core's own thread runs from its next start on.
 *
 * cpus:     n CPU numbers; copied. NULL with n = 0: any.
 * Returns:  0; -EINVAL: core is NULL, cpus is NULL with n > 0, or a CPU is above
 *           LIBFP_SERVICE_CORE_CPU_MAX; -EBUSY: the core runs; -ECHILD.
 * Threads:  any.
 * Progress: blocking (the lock of all services).
 * Since:    0.9
 */
LIBFP_API int fp_service_core_set_cpus(fp_service_core *core, const uint32_t *cpus,
				       uint32_t n);

/*
 * Frees a core that does not run, and ends its mappings. The counters of its services
 * keep what they counted on it.
 *
 * Returns:  0, also for NULL; -EBUSY and nothing changed: it runs, references by lookup
 *           are out, or objects are bound to its wake-up.
 * Threads:  one, with no other call on this core.
 * Progress: blocking (the lock of all services).
 * Since:    0.9
 */
LIBFP_API int fp_service_core_destroy(fp_service_core *core);

/*
 * Finds a core by name and takes a reference to it.
 *
 * name:     the name given at create.
 * out:      receives the core; untouched on failure.
 * Returns:  0; -EINVAL: name or out is NULL; -ENOENT: no such core, or it is
 *           being created or destroyed.
 * Threads:  any.
 * Progress: blocking (registry lock).
 * Since:    0.9
 */
LIBFP_API int fp_service_core_lookup(const char *name, fp_service_core **out);

/*
 * Gives back one reference taken by fp_service_core_lookup() or fp_service_core_list().
 *
 * Returns:  0; -EINVAL: core is NULL or no reference is out.
 * Threads:  any.
 * Progress: blocking (registry lock).
 * Since:    0.9
 */
LIBFP_API int fp_service_core_unref(fp_service_core *core);

/*
 * The name given at create.
 *
 * Returns:  the name, valid until destroy; NULL: core is NULL or has no name.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API const char *fp_service_core_name(const fp_service_core *core);

/*
 * Lists the cores of the process, named or not, oldest first, with a reference to each
 * that fp_service_core_unref() gives back.
 *
 * list:     receives up to n handles; may be NULL if n is 0.
 * n:        room in list.
 * Returns:  how many cores there are, of which min(that, n) were listed; -EINVAL: list
 *           is NULL with n > 0.
 * Threads:  any.
 * Progress: blocking (the lock of all services).
 * Since:    0.9
 */
LIBFP_API int64_t fp_service_core_list(fp_service_core **list, uint32_t n);

/*
 * Lists the services that are mapped to a core, in the order in which it calls them, with
 * a reference to each that fp_service_unref() gives back.
 *
 * list:     receives up to n handles; may be NULL if n is 0.
 * n:        room in list.
 * Returns:  how many are mapped, of which min(that, n) were listed; -EINVAL: core is
 *           NULL, or list is NULL with n > 0; -ECHILD.
 * Threads:  any.
 * Progress: blocking (the lock of all services).
 * Since:    0.9
 */
LIBFP_API int64_t fp_service_core_services(fp_service_core *core, fp_service **list,
					   uint32_t n);

/*
 * Starts the core's own thread. It blocks all signals and carries the core's name.
 *
 * Returns:  0; -EALREADY: it runs; -EAGAIN: no thread can be made; -EINVAL: core is NULL,
 *           or the stack size is below the system's minimum; -ENOMEM; -ECHILD.
 * Threads:  any; also inside a service.
 * Progress: blocking (makes a thread).
 * Since:    0.9
 */
LIBFP_API int fp_service_core_start(fp_service_core *core);

/*
 * Ends the loop, wherever it runs, and waits for that. Mappings stay; a core can be
 * started again. Its services go on on their other cores.
 *
 * timeout_ns: how long to wait; 0: does not; LIBFP_FOREVER: without limit.
 * Returns:  0: no thread is in its loop; -EALREADY: it does not run; -ETIMEDOUT: told to
 *           stop, still inside a service (the log names it): call again; -EINPROGRESS:
 *           called inside a service: told to stop, not waited for; -EINVAL: core is
 *           NULL; -ECHILD.
 * Threads:  any; also inside a service.
 * Progress: blocking.
 * Since:    0.9
 */
LIBFP_API int fp_service_core_stop(fp_service_core *core, uint64_t timeout_ns);

/*
 * Runs the core's loop on the calling thread until fp_service_core_stop() or the
 * time-out. Does not change the thread's name, signals, CPUs or policy.
 *
 * timeout_ns: how long to run; 0: one loop; LIBFP_FOREVER: until stopped.
 * Returns:  0: stopped; -ETIMEDOUT: the time is over; -EALREADY: it runs elsewhere;
 *           -EDEADLK: called inside a service; -EINVAL: core is NULL; -ENOMEM; -ECHILD.
 * Threads:  any.
 * Progress: blocking.
 * Since:    0.9
 */
LIBFP_API int fp_service_core_run(fp_service_core *core, uint64_t timeout_ns);

/*
 * The wake-up that wakes this core from its sleep, to poll all its services once.
 *
 * Returns:  the wake-up, which lives as long as the core; NULL: core is NULL.
 * Threads:  any.
 * Progress: wait-free.
 * Since:    0.9
 */
LIBFP_API fp_wakeup *fp_service_core_wakeup(fp_service_core *core);

/*
 * Reads the counters and the state of a core.
 *
 * io:       io->size is set by the caller; the library fills at most that and
 *           writes back what it filled.
 * Returns:  0; -EINVAL: core or io is NULL, or io->size is below 8; -ECHILD.
 * Threads:  any.
 * Progress: blocking (the lock of all services).
 * Since:    0.9
 */
LIBFP_API int fp_service_core_get_stats(fp_service_core *core, fp_service_core_stats *io);

/*
 * Makes the counters of a core zero; those of its services stay.
 *
 * Returns:  0; -EINVAL: core is NULL; -ECHILD.
 * Threads:  any; a loop in progress may be counted or not.
 * Progress: blocking (the lock of all services).
 * Since:    0.9
 */
LIBFP_API int fp_service_core_reset_stats(fp_service_core *core);

#ifdef __cplusplus
}
#endif

#endif /* LIBFP_SERVICE_H */
