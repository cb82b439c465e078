/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shape of services and cores, shared by the files of src/service.
 *
 *     service   what to call, its gates, the owner word of a serialised one, its wake-up
 *     core      a thread that walks over an array of bindings, again and again
 *     map       that a service is mapped to a core; lives from map to unmap
 *     binding   how one core calls one service: function, argument, counters. One line,
 *               immutable once published, but for the counters, which its core writes,
 *               and for `run`, which turns into a stub, once and for good
 *     snapshot  the array: the bindings that a core is to call. Made by control, never
 *               changed, read by one core
 *
 * A change never edits what a core may be reading. Stop and unmap turn `run` of a binding
 * into a stub, which does nothing, and publish a snapshot without it; start and map make
 * a new binding. A core looks for a new snapshot once per loop and acknowledges it
 * (`ack`); what older snapshots alone refer to is freed by a later control call.
 *
 * Bindings, maps and snapshots are blocks of the core's memory, so that nothing that a
 * core reads dies with a service. Of a service itself a core touches the wake-up and the
 * deadline, only while it says so in `cur` (see service_idle.c).
 *
 * The files: service.c life of a service, service_stats.c counters and lists,
 * service_map.c gates, bindings, snapshots, service_wait.c the handshake of a stop,
 * service_run_once.c callers' threads, service_loop.c the loop, service_idle.c what it
 * does without work, service_core.c life of a core, service_thread.c its own thread.
 *
 * One lock guards all that is called cold here, of all services and cores. Nobody waits
 * or calls a callback while holding it. In a child it is free and the lists start anew.
 */
#ifndef FPI_SERVICE_INTERNAL_H
#define FPI_SERVICE_INTERNAL_H

#include <pthread.h>
#include <sched.h>

#include <libfp/service.h>

#include "base/atomic.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/fork.h"
#include "base/lock.h"
#include "base/memory.h"
#include "base/registry.h"
#include "base/thread_slot.h"
#include "wakeup/wakeup.h"

/* What the stub and the serial entry return for "did not run"; see service_loop.c. */
#define FPI_SERVICE_STUB INT32_MIN
#define FPI_SERVICE_BUSY (INT32_MIN + 1)

/* The owner word of a serialised service: 0, a core's number + 1, or these. */
#define FPI_SERVICE_BIAS (1ull << 63) /* added to a core's: it calls without asking */
#define FPI_SERVICE_APP (1ull << 62)  /* a thread in fp_service_run_once() */

#define FPI_SERVICE_SAMPLE 16 /* one loop in so many has its cycles measured */

struct fpi_service_counters {
	uint64_t calls, idle, errors, busy, cycles, longest;
};

enum fpi_block_kind {
	FPI_BLOCK_MAP,
	FPI_BLOCK_BINDING,
	FPI_BLOCK_SNAPSHOT,
};

/*
 * A piece of a core's memory, at the start of what lies in it or at its end. In the list
 * of all, so that a child can free what the parent left in the middle of a change.
 */
struct fpi_block {
	fpi_atomic_ptr next; /* struct fpi_block */
	struct fpi_block *prev;
	struct fpi_block *retired_next;
	uint64_t gen; /* 0: in use; else free once the core's ack is as large */
	uint32_t kind;
	struct fpi_mem mem;
};

struct fpi_service_map;

struct fpi_service_binding {
	fpi_atomic_ptr run; /* fp_service_run_fn */
	void *arg;
	fp_service *service; /* published in cur; else an address without meaning */
	fpi_atomic_u64 calls;
	fpi_atomic_u64 idle;
	fpi_atomic_u64 errors;
	fpi_atomic_u64 busy;
	fpi_atomic_u64 cycles;
	/* The second line: cold, but for the first. */
	fpi_atomic_u64 longest;
	fp_service_core *core;
	struct fpi_service_map *map;	  /* NULL: unmapped */
	struct fpi_service_binding *next; /* of the service's */
	uint64_t sequence;		  /* number of its retirement */
	uint64_t watch_calls, watch_since;
	uint8_t attached; /* in the service's list: the service exists */
	uint8_t biased;	  /* its core calls without asking the owner word */
	uint8_t left;	  /* retired, and the core was seen outside */
	struct fpi_block block;
} FPI_OWN_LINES;

/* snapshot.flags */
#define FPI_SNAPSHOT_STOP 0x1	 /* leave the loop */
#define FPI_SNAPSHOT_SAMPLED 0x2 /* measure cycles */
#define FPI_SNAPSHOT_EXACT 0x4

struct fpi_service_snapshot {
	struct fpi_block block;
	uint64_t gen;
	uint32_t flags;
	uint32_t n;
	struct fpi_service_binding *b[];
};

struct fpi_service_map {
	fp_service *service;
	fp_service_core *core;
	struct fpi_service_map *next_of_service, *next_of_core;
	struct fpi_service_binding *binding; /* NULL: not called */
	struct fpi_service_binding *fresh;   /* made for a change in progress */
	struct fpi_service_counters folded;  /* of bindings that are gone */
	struct fpi_service_counters base;    /* at the last reset */
	struct fpi_block block;
};

struct fp_service {
	/* Read by cores and run_once. */
	fp_service_run_fn run;
	void *user;
	uint32_t flags;
	uint32_t cycles; /* LIBFP_SERVICE_CYCLES_... */
	uint32_t generation;
	fpi_atomic_u32 runnable; /* ready and started */
	fpi_atomic_u64 deadline; /* 0: none */

	fp_wakeup wakeup;

	/* Serialised: who may run; written by whoever runs, unless biased. */
	fpi_atomic_u64 owner FPI_OWN_LINES;
	/* Callers of run_once; MT_SAFE: any number of them at once. */
	fpi_atomic_u64 enters;
	fpi_atomic_u64 leaves;	/* the calls, and the refused */
	fpi_atomic_u64 refused; /* entered, found it stopped */
	fpi_atomic_u64 app_idle;
	fpi_atomic_u64 app_errors;
	fpi_atomic_u64 app_cycles;
	fpi_atomic_u64 app_longest;

	/* Cold. */
	fp_service_released_fn released FPI_OWN_LINES;
	uint8_t ready;
	uint8_t started;
	uint8_t dying;	     /* destroy has begun */
	uint32_t waiters;    /* threads in stop, unmap, destroy */
	uint64_t references; /* by lookup and lists */
	uint64_t watch_calls, watch_since;
	struct fpi_service_map *maps;
	uint64_t n_maps;
	struct fpi_service_binding *bindings; /* live, and retired ones not yet freed */
	struct fpi_service_counters folded;   /* of bindings that are gone */
	struct fpi_service_counters base;     /* at the last reset */
	fp_service *next, *prev;
	struct fpi_name name;
	struct fpi_mem mem;
};

/* Where a core stands on the idle ladder; its thread's alone. See service_idle.c. */
struct fpi_core_idle {
	uint64_t since;	       /* of the first loop without work; 0: has work */
	uint64_t announced_at; /* 0: not announced */
	uint64_t limit;	       /* ns, of the sleep that was announced */
	uint64_t spin_until;   /* a deadline is near */
	uint64_t slack;	       /* ns that the kernel may add to a sleep */
	uint32_t key;
	uint32_t looks; /* since the clock was read */
	uint8_t napped; /* the next sleep is the long one */
};

/* Counters of a core. */
struct fpi_core_counters {
	uint64_t loops, idle_loops, busy_cycles, idle_cycles, sleeps, naps, wakes, late;
};

struct fp_service_core {
	/* Written by control, read once per loop. */
	fpi_atomic_ptr snapshot; /* struct fpi_service_snapshot */

	/* Written by the core, read by control. */
	fpi_atomic_ptr cur FPI_OWN_LINES; /* the service it is in, or itself, or NULL */
	fpi_atomic_u64 ack; /* generation of its snapshot; all: not in a loop */
	fpi_atomic_u64 loops;
	fpi_atomic_u64 idle_loops;
	fpi_atomic_u64 busy_cycles;
	fpi_atomic_u64 idle_cycles;
	fpi_atomic_u64 sleeps;
	fpi_atomic_u64 naps;
	fpi_atomic_u64 wakes;
	fpi_atomic_u64 late_wakes;
	fpi_atomic_u32 asleep;

	struct fpi_core_idle idle FPI_OWN_LINES;

	fp_wakeup wakeup;

	/* Constant after create, but for the CPUs. */
	uint64_t number;
	uint32_t bit;	    /* of the wake-ups of its services */
	uint32_t exchanges; /* no membarrier: publishes cur with an exchange */
	uint32_t policy;
	int32_t priority;
	uint32_t idle_policy;
	uint32_t generation;
	uint64_t spin_ns, nap_ns, late_margin_ns, max_sleep_ns, unwakeable_ns, stack_size;
	fp_allocator allocator; /* size 0: the library's own */
	cpu_set_t cpus;
	uint8_t has_cpus;

	/* Cold. */
	uint8_t cycles_on; /* has ever measured */
	uint8_t lent;
	uint8_t starting; /* a thread is inside its start */
	uint8_t joinable;
	uint32_t state;	  /* LIBFP_SERVICE_CORE_STOPPED, _RUNNING or _STOPPING */
	uint32_t granted; /* LIBFP_SERVICE_CORE_GOT_... */
	int64_t thread_id;
	fpi_atomic_u32 set_up; /* its thread has tried all attributes */
	pthread_t thread;
	uint64_t references;
	uint64_t gen; /* of the latest change */
	struct fpi_service_map *maps, **maps_end;
	uint64_t n_maps;
	fpi_atomic_ptr blocks;	   /* struct fpi_block: all of its memory */
	struct fpi_block *retired; /* of these, waiting for ack */
	struct fpi_service_snapshot *next_snapshot; /* made for a change in progress */
	struct fpi_core_counters base;		    /* at the last reset */
	fp_service_core *next, *prev;
	struct fpi_name name;
	struct fpi_mem mem;
	struct fpi_service_snapshot stop; /* what a core that is told to stop reads */
};

/* ---- what is one for all; service.c ---- */

struct fpi_services {
	struct fpi_lock lock;
	uint32_t generation; /* fork generation of the lists */
	fp_service *first, *last;
	fp_service_core *first_core, *last_core;
	fp_service *dying; /* destroyed inside a service, not free yet */
	uint64_t biased;   /* biased bindings that nobody saw their core leave */
	uint64_t retired;  /* sequence of the latest retired binding */
	uint64_t
		fenced[2]; /* ... of the latest before a fence; [1] before a membarrier */
	uint64_t cores_made;
	fpi_atomic_u32 pending; /* dying or biased: who passes has something to do */
};

extern struct fpi_services fpi_services;

void fpi_services_lock(void);
void fpi_services_unlock(void);
/* Under the lock: sets `pending`. */
void fpi_services_note(void);
/* What was deferred, if it can be done now. Not under the lock, not inside a callback. */
void fpi_services_finish_slow(fp_service_core *passed);
FPI_INLINE void fpi_services_finish(fp_service_core *passed)
{
	/* Relaxed: the snapshot, or the lock, came after it. */
	if (FPI_UNLIKELY(FPI_LOAD(&fpi_services.pending, FPI_RELAXED)))
		fpi_services_finish_slow(passed);
}

int fpi_service_check(const fp_service *s);
int fpi_core_check(const fp_service_core *c);
const char *fpi_service_label(const fp_service *s);
const char *fpi_core_label(const fp_service_core *c);

/* ---- memory of cores; service_core.c; under the lock ---- */

void *fpi_core_alloc(fp_service_core *c, uint64_t size, uint64_t block_at, uint32_t kind);
void fpi_core_free(fp_service_core *c, struct fpi_block *block);

/* ---- bindings and snapshots; service_map.c; all under the lock ---- */

/* Memory for a change at this map: a snapshot, with `bind` a binding. */
int fpi_map_prepare(struct fpi_service_map *m, int bind);
void fpi_map_cancel(struct fpi_service_map *m);
void fpi_map_retire(struct fpi_service_map *m);
void fpi_core_publish(fp_service_core *c);
/* Builds the snapshot that was prepared, without publishing it. */
struct fpi_service_snapshot *fpi_core_build(fp_service_core *c);
/* Free once the core has passed the present generation. */
void fpi_core_retire(fp_service_core *c, struct fpi_block *block);
/* Frees what the core has passed. */
void fpi_core_reclaim(fp_service_core *c);
void fpi_map_remove(struct fpi_service_map *m);
/* The same for all maps: for the bound ones a snapshot; with `bind` for all, and a binding. */
int fpi_service_prepare(fp_service *s, int bind);
void fpi_service_cancel(fp_service *s);
/* Retires all bindings; memory is prepared. */
void fpi_service_shut(fp_service *s);
int fpi_service_serialise(fp_service *s);
int fpi_service_map_locked(fp_service *s, fp_service_core *c);
int fpi_service_start_locked(fp_service *s);
struct fpi_service_map *fpi_map_find(const fp_service *s, const fp_service_core *c);

/* ---- the handshake; service_wait.c ---- */

/* Under the lock: whether the core of a retired binding has been seen outside. */
int fpi_binding_left(struct fpi_service_binding *b);
/* Under the lock: whether a thread may be inside a retired binding (of that core). */
int fpi_service_inside(fp_service *s, const fp_service_core *c);
/* Under the lock: whether a retired binding may be seen left after a barrier only. */
int fpi_service_needs_barrier(const fp_service *s);
/*
 * Under the lock, which it may give up meanwhile: ends the biases of retired bindings, if
 * their cores are outside now. The others end theirs when they come out.
 */
void fpi_service_settle(fp_service *s);
/* The same for all services. */
void fpi_services_settle(void);
/* Under the lock: signals the cores that may be inside retired bindings of it. */
void fpi_service_wake_inside(fp_service *s);
/* Not under the lock: fp_service_is_active(), of a service that is this process's. */
int fpi_service_active(fp_service *s);
/* Not under the lock. */
void fpi_services_barrier(void);
/*
 * Under the lock, which it gives up meanwhile. Waits until nobody is inside retired
 * bindings of s (on core c, if not NULL). 0 or -ETIMEDOUT; then *where is who is inside.
 */
int fpi_service_wait(fp_service *s, fp_service_core *c, uint64_t timeout_ns,
		     char where[LIBFP_NAME_MAX + 64]);
/* Sleeps between two looks of a wait that began so long ago. */
void fpi_service_pause(uint64_t waited_ns);

/* ---- counters; service_stats.c; under the lock ---- */

void fpi_counters_add(struct fpi_service_counters *to,
		      const struct fpi_service_counters *k);
struct fpi_service_counters fpi_binding_counters(const struct fpi_service_binding *b);

/* ---- the loop; service_loop.c and service_idle.c ---- */

/* Runs until told to stop (0) or until the time is over (-ETIMEDOUT). */
int fpi_core_loop(fp_service_core *c, uint64_t until);

/* The stub, and the entry of a serialised service that several may call. */
int32_t fpi_service_stub(void *unused);
int32_t fpi_service_serial(void *binding);

void fpi_core_idle_begin(fp_service_core *c, int own);
void fpi_core_idle(fp_service_core *c, const struct fpi_service_snapshot *s, int busy,
		   uint64_t until);
FPI_INLINE void fpi_core_worked(fp_service_core *c)
{
	c->idle.since = 0;
	c->idle.announced_at = 0;
	c->idle.napped = 0;
}

/* ---- threads; service_core.c, service_thread.c ---- */

/* The core runs from here on: -EALREADY, -ENOMEM. */
int fpi_core_enter(fp_service_core *c, int lent);
/* ... and no more. */
void fpi_core_leave(fp_service_core *c);
/* Makes its thread, which runs the loop and leaves. Not under the lock. */
int fpi_core_make_thread(fp_service_core *c);
/* Waits for the end of that thread, if it has left the loop. */
void fpi_core_join(fp_service_core *c);

/* One writer: no RMW. */
FPI_INLINE void fpi_count(fpi_atomic_u64 *counter, uint64_t n)
{
	FPI_STORE(counter, FPI_LOAD(counter, FPI_RELAXED) + n, FPI_RELAXED);
}

#endif
