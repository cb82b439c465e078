/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shape of a timer wheel, shared by the files of src/timer.
 *
 *   timer.c         options, create, destroy, names, counters, conversion of time
 *   timer_pool.c    making and recycling timers: ids, generations
 *   timer_word.c    arm, touch, cancel, destroy: the word of a timer, lanes (essay)
 *   timer_inspect.c what looks at all timers, or at one without changing it
 *   timer_slot.h    putting an entry into a slot
 *   timer_wheel.c   slots, chunks, levels: where entries are (essay)
 *   timer_due.c     the entries that are due soon, in order
 *   timer_poll.c    polls: what fires, and callbacks
 *   timer_wait.c    wake-ups, waiting, the service
 *
 * Who may touch what
 * ------------------
 * Record (struct fpi_timer): `exp`, `entry_exp`, the period belong to whoever has set the
 * word's LOCKED bit; `at` and `slot` to whoever has the wheel; `next` to whoever put it
 * on a lane, then to the poller, or to the pool's lock while the timer is free.
 * Wheel: everything below `lock` to whoever has taken it (fpi_wheel_try()): the thread
 * that polls, or for one call the thread that polled last. It is never waited for.
 */
#ifndef FPI_TIMER_INTERNAL_H
#define FPI_TIMER_INTERNAL_H

#include <libfp/timer.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/lock.h"
#include "base/memory.h"
#include "base/registry.h"
#include "base/step.h"
#include "base/thread_slot.h"
#include "wakeup/wakeup.h"

/* ---- the word of a timer: generation << 16 | flags ---- */

#define FPI_TIMER_LOCKED 0x1ull	 /* somebody works on the record */
#define FPI_TIMER_LIVE 0x2ull	 /* made and not destroyed */
#define FPI_TIMER_ARMED 0x4ull	 /* to be fired at `exp` */
#define FPI_TIMER_ENTRY 0x8ull	 /* the wheel has an entry for it, perhaps a stale one */
#define FPI_TIMER_QUEUED 0x10ull /* on a lane */
#define FPI_TIMER_DEAD 0x20ull	 /* destroyed; the poller recycles it */
#define FPI_TIMER_FIRED 0x40ull	 /* has had a callback run: it may still */
#define FPI_TIMER_PERIODIC 0x80ull
#define FPI_TIMER_POLICY_SHIFT 8
#define FPI_TIMER_POLICY (3ull << FPI_TIMER_POLICY_SHIFT)
#define FPI_TIMER_REPEATS (FPI_TIMER_PERIODIC | FPI_TIMER_POLICY)
#define FPI_TIMER_GENERATION_SHIFT 16
#define FPI_TIMER_GENERATION_BITS 48

/* One cache line. */
struct fpi_timer {
	fpi_atomic_u64 word;
	fpi_atomic_u64 exp;   /* expiry wanted */
	fpi_atomic_u64 stamp; /* of the arming: order among equals, by thread */
	uint64_t entry_exp;   /* expiry of its entry: at or before exp, unless QUEUED */
	fp_timer_fn cb;
	void *user;
	uint32_t at;   /* slots and lists: chunk << 5 | place */
	uint32_t slot; /* index of the slot, or FPI_SLOT_... */
	uint32_t next; /* lane or free list: index + 1 */
	uint32_t reserved;
};

/* Beside the record, touched by periodic timers only. */
struct fpi_timer_period {
	uint64_t ticks;
	uint64_t skipped; /* periods that the next record tells of */
};

/* ---- chunks, slots, levels; see timer_wheel.c ---- */

#define FPI_CHUNK_ENTRIES 31
#define FPI_CHUNK_BITS 5
#define FPI_ENTRY_NONE UINT32_MAX /* a hole in a list */

struct fpi_entry {
	uint64_t exp;
	uint32_t index; /* of the timer */
	uint32_t check; /* lists: low half of its stamp when sorted */
};

struct fpi_chunk {
	uint32_t next; /* chunk; 0: none */
	uint32_t count;
	uint64_t reserved;
	struct fpi_entry entry[FPI_CHUNK_ENTRIES];
};

struct fpi_slot {
	uint32_t head; /* chunk; 0: the one that is always full */
	uint32_t chunks;
};

#define FPI_WHEEL_LEVELS 8
#define FPI_LEVEL_BITS 8
#define FPI_LEVEL_SLOTS 512u
#define FPI_LEVEL_WORDS (FPI_LEVEL_SLOTS / 64)
#define FPI_SLOT_LATE (FPI_WHEEL_LEVELS * FPI_LEVEL_SLOTS) /* armed for the past */
#define FPI_WHEEL_SLOTS (FPI_SLOT_LATE + 1)
#define FPI_SLOT_RUN (FPI_SLOT_LATE + 1)  /* in the run */
#define FPI_SLOT_LIST (FPI_SLOT_LATE + 2) /* in list FPI_SLOT_LIST + 0 or 1 */

/* Slots of up to so many chunks are opened when due, larger ones moved ahead of time. */
#define FPI_CHUNKS_AT_ONCE 4

/* ---- what is due soon; see timer_due.c ---- */

#define FPI_RUN_MAX 96
#define FPI_RUN_CHUNKS 3 /* of a slot that may go into the run */

struct fpi_key {
	uint64_t exp;
	uint64_t stamp;
	uint32_t index;
};

/* A sorted list of chunks, taken from its front. */
struct fpi_list {
	uint32_t head; /* chunk; 0: empty */
	uint32_t place;
};

enum { FPI_LIST_TICK, FPI_LIST_LATE, FPI_LISTS };

/* ---- the wheel ---- */

#define FPI_TIMER_LANES 16u

struct fpi_timer_lane {
	fpi_atomic_u32 head; /* index + 1 */
	fpi_atomic_u64 arms; /* counters of LIBFP_STATS, here to be spread */
	fpi_atomic_u64 rearms;
	fpi_atomic_u64 cancelled;
} FPI_OWN_LINES;

struct fp_timer_wheel {
	/* Read by every call. */
	struct fpi_timer *records;
	fpi_atomic_u64 owner; /* fpi_timer_me() of who polled last */
	uint64_t index_mask;
	uint32_t index_bits;
	uint32_t max_timers;
	struct fpi_timer_lane *lanes;
	struct fpi_timer_period *periods;
	fp_wakeup *wake; /* never NULL */
	uint32_t flags;
	uint32_t generation; /* fork generation of create */

	/* Looked at by an idle poll, and by remote arms. */
	fpi_atomic_u64 next
		FPI_OWN_LINES;	/* no poll before it has work; early, never late */
	fpi_atomic_u32 pending; /* lanes that have something */

	/* The id whose callback runs. */
	fpi_atomic_u64 running FPI_OWN_LINES;

	/* The wheel proper. */
	fpi_atomic_u32 lock FPI_OWN_LINES;
	uint32_t event_level;	/* FPI_WHEEL_LEVELS: no slot is occupied */
	fpi_atomic_u64 polling; /* fpi_timer_me() inside a poll, else 0 */
	uint64_t cur;		/* everything before is done */
	uint64_t last_now;	/* of the last poll */
	uint64_t event_tick;	/* start of the next slot to open */
	uint32_t event_stale;	/* event_tick, event_level are to be found anew */
	uint32_t dirty;		/* levels whose `first` is to be found anew, bits */
	struct fpi_chunk *chunks;
	uint32_t chunk_free; /* list */
	uint32_t chunk_high; /* never used from here on */
	uint32_t run_count;
	uint32_t handled;     /* entries, by this poll */
	uint64_t fired_now;   /* by this poll */
	uint64_t kept_now;    /* of these, armed for another period */
	uint64_t late_now;    /* ticks, at most, of this poll */
	uint64_t next_before; /* `next` when it began */
	struct fpi_list list[FPI_LISTS];
	uint64_t first[FPI_WHEEL_LEVELS];      /* start of the first occupied slot */
	uint64_t step_tick[FPI_WHEEL_LEVELS];  /* when a chunk of it is moved */
	uint64_t step_first[FPI_WHEEL_LEVELS]; /* the `first` that is meant for */
	uint64_t occupied[FPI_WHEEL_LEVELS][FPI_LEVEL_WORDS];
	uint32_t occupied_words[FPI_WHEEL_LEVELS];
	struct fpi_key run[FPI_RUN_MAX]; /* latest first */
	struct fpi_slot slots[FPI_WHEEL_SLOTS];

	/* Counters, written by the poller. */
	fpi_atomic_u64 fired FPI_OWN_LINES;
	fpi_atomic_u64 expired;
	fpi_atomic_u64 overruns;
	fpi_atomic_u64 late_max;
	fpi_atomic_u64 polls;
	fpi_atomic_u64 moved;
	fpi_atomic_u64 moved_max;
	fpi_atomic_u64 chunks_used;

	/* Making timers. */
	struct fpi_lock pool_lock FPI_OWN_LINES;
	uint32_t free;	     /* index + 1 */
	fpi_atomic_u32 made; /* records in use so far: the high-water mark */
	fpi_atomic_u32 exist;
	uint64_t first_generation;
	uint64_t generation_mask;

	/* Cold. */
	uint64_t tick_ns;
	uint64_t reserved_bytes;
	uint64_t announced_ns; /* deadline of the service */
	fp_wakeup *own;	       /* LIBFP_WHEEL_WAIT, or NULL */
	fp_service *service;   /* or NULL */
	struct fpi_name name;
	struct fpi_mem space; /* records, chunks, periods */
	struct fpi_mem mem;   /* this struct, lanes, own */
	fp_allocator allocator;
};

/* ---- threads ---- */

#ifndef FPI_TIMER_ME /* the model has its own threads */
/* A thread, as long as it lives. A later one may have the same: it may then work on the
 * wheel as if it had polled, which is allowed to any one thread. */
#define FPI_TIMER_ME ((uint64_t)(uintptr_t)&fpi_thread)
#endif
#ifndef FPI_TIMER_SPINS /* the model has fewer */
#define FPI_TIMER_SPINS 200
#endif

FPI_INLINE uint64_t fpi_timer_me(void)
{
	return FPI_TIMER_ME;
}

FPI_INLINE uint32_t fpi_timer_lane_of(uint64_t me)
{
	/* The high bits of a product mix all bits of the address. */
	return (uint32_t)((me * 0x9e3779b97f4a7c15ull) >> 60) % FPI_TIMER_LANES;
}

/* ---- the word ---- */

uint64_t fpi_timer_lock_slow(struct fpi_timer *t);

/* Sets LOCKED, whatever the timer's state: for who has its index. Returns the word before. */
FPI_INLINE uint64_t fpi_timer_lock(struct fpi_timer *t)
{
	uint64_t word = FPI_LOAD(&t->word, FPI_RELAXED);

	/* Acquire: what the last holder wrote. Partner: TIMER_UNLOCK. */
	if (FPI_LIKELY(!(word & FPI_TIMER_LOCKED)) &&
	    FPI_LIKELY(FPI_CAS(&t->word, &word, word | FPI_TIMER_LOCKED,
			       FPI_MO(TIMER_LOCK, ACQUIRE))))
		return word;
	return fpi_timer_lock_slow(t);
}

FPI_INLINE void fpi_timer_unlock(struct fpi_timer *t, uint64_t word)
{
	/* Release: to the next holder. Partners: TIMER_LOCK, TIMER_LOCK_ID, TIMER_LOCK_SLOW. */
	FPI_STORE(&t->word, word, FPI_MO(TIMER_UNLOCK, RELEASE));
}

FPI_INLINE uint64_t fpi_timer_id(const fp_timer_wheel *w, uint32_t index, uint64_t word)
{
	return word >> FPI_TIMER_GENERATION_SHIFT << w->index_bits | index;
}

/* Whether a word is that of a timer with this id. */
FPI_INLINE int fpi_timer_is(const fp_timer_wheel *w, uint64_t id, uint64_t word)
{
	return word >> FPI_TIMER_GENERATION_SHIFT == id >> w->index_bits &&
	       (word & (FPI_TIMER_LIVE | FPI_TIMER_DEAD)) == FPI_TIMER_LIVE;
}

/* What the last arming was for. */
FPI_INLINE void fpi_timer_set(struct fpi_timer *t, uint64_t exp)
{
	FPI_STORE(&t->exp, exp, FPI_RELAXED);
	FPI_STORE(&t->stamp, ++fpi_thread.stamp, FPI_RELAXED);
}

/* Cancels by index, whatever the generation; *was: it was armed. See fp_timer_cancel(). */
int fpi_timer_cancel_at(fp_timer_wheel *w, uint32_t index, int *was);

/* Draws the wheel's first generation. */
void fpi_timer_pool_init(fp_timer_wheel *w);

/* Recycles a locked timer that is in no slot and on no lane; unlocks it. */
void fpi_timer_recycle(fp_timer_wheel *w, uint32_t index, uint64_t word);

/* ---- having the wheel ---- */

enum fpi_wheel_had { FPI_WHEEL_NOT, FPI_WHEEL_TAKEN, FPI_WHEEL_NESTED };

FPI_INLINE int fpi_wheel_is_polling(const fp_timer_wheel *w, uint64_t me)
{
	return FPI_LOAD(&w->polling, FPI_RELAXED) == me;
}

/* Takes the lock, if it is free. */
FPI_INLINE int fpi_wheel_take(fp_timer_wheel *w)
{
	/* Acquire: what the last holder did with the wheel. Partner: WHEEL_GIVE. */
	return FPI_EXCHANGE(&w->lock, 1, FPI_MO(WHEEL_TAKE, ACQUIRE)) == 0;
}

FPI_INLINE void fpi_wheel_give(fp_timer_wheel *w)
{
	/* Release. Partner: WHEEL_TAKE. */
	FPI_STORE(&w->lock, 0, FPI_MO(WHEEL_GIVE, RELEASE));
}

/* For the thread that is the owner. */
FPI_INLINE enum fpi_wheel_had fpi_wheel_try(fp_timer_wheel *w, uint64_t me)
{
	if (FPI_LIKELY(fpi_wheel_take(w)))
		return FPI_WHEEL_TAKEN;
	/* Its own poll has it: this is a callback. Nobody else writes its token. */
	return fpi_wheel_is_polling(w, me) ? FPI_WHEEL_NESTED : FPI_WHEEL_NOT;
}

/* ---- timer_wheel.c; all need the wheel ---- */

void fpi_wheel_init(fp_timer_wheel *w);
uint64_t fpi_wheel_chunks_for(uint64_t timers);
uint32_t fpi_chunk_get(fp_timer_wheel *w);
void fpi_chunk_put(fp_timer_wheel *w, uint32_t chunk);

/* Makes the entry of a locked timer that has none. Returns when a poll has to look. */
uint64_t fpi_wheel_insert(fp_timer_wheel *w, uint32_t index, uint64_t exp);

/* The same, of a timer whose entry the poll has just reached. */
void fpi_wheel_reinsert(fp_timer_wheel *w, uint32_t index, uint64_t exp);

/* Puts an entry of the run that is after `cur` back into a slot. */
void fpi_wheel_put_back(fp_timer_wheel *w, uint32_t index, uint64_t exp);

/* Takes the entry of a locked timer away. */
void fpi_wheel_remove(fp_timer_wheel *w, uint32_t index);

/* Finds event_tick and event_level. */
void fpi_wheel_find_event(fp_timer_wheel *w);

/* Opens the slot of the event, which has come. */
void fpi_wheel_open(fp_timer_wheel *w);

/* Moves chunks of large slots ahead of time. */
void fpi_wheel_migrate(fp_timer_wheel *w, uint64_t now);

/* When a poll has something to do. */
uint64_t fpi_wheel_next(fp_timer_wheel *w);

/* ---- timer_due.c; all need the wheel ---- */

/* Puts the entries of a slot into the run. Returns 0: there is no room. */
int fpi_due_run(fp_timer_wheel *w, struct fpi_slot *slot);

/* Puts one timer into the run. */
void fpi_due_run_one(fp_timer_wheel *w, uint32_t index, uint64_t exp);

void fpi_due_run_remove(fp_timer_wheel *w, uint32_t index);

/* Makes the entries of a slot a sorted list, or adds them to one that exists. */
void fpi_due_list(fp_timer_wheel *w, uint32_t which, struct fpi_slot *slot);

/* The first of run and lists; 0: none. */
int fpi_due_peek(fp_timer_wheel *w, struct fpi_key *key, uint32_t *from);

/* Takes what peek found. */
void fpi_due_take(fp_timer_wheel *w, uint32_t from);

FPI_INLINE int fpi_due_lists(const fp_timer_wheel *w)
{
	return (w->list[FPI_LIST_TICK].head | w->list[FPI_LIST_LATE].head) != 0;
}

/* For sorting, without the timer's bit: what fires is compared again (timer_poll.c). */
FPI_INLINE uint64_t fpi_timer_stamp(const struct fpi_timer *t)
{
	return FPI_LOAD(&t->stamp, FPI_RELAXED);
}

/* ---- timer_poll.c ---- */

/* fp_timer_wheel_poll() of a wheel that has work. */
int64_t fpi_wheel_poll(fp_timer_wheel *w, uint64_t now, uint32_t max);

/* ---- lanes; timer_word.c ---- */

/* Takes what other threads have armed and destroyed into the wheel. */
void fpi_wheel_drain(fp_timer_wheel *w);

/* When a poll has something to do, as any thread sees it; 0: at once. */
FPI_INLINE uint64_t fpi_wheel_work_tick(const fp_timer_wheel *w)
{
	/*
	 * Acquire: who finds that a poll has taken in the lanes also finds its `next`.
	 * Partner: PENDING_TAKE.
	 */
	if (FPI_LOAD(&w->pending, FPI_MO(PENDING_LOOK, ACQUIRE)))
		return 0;
	return FPI_LOAD(&w->next, FPI_RELAXED);
}

/* ---- timer_wait.c ---- */

/* After something was armed for `exp` that no poll knows of, or `next` was lowered. */
void fpi_wheel_wake_slow(fp_timer_wheel *w, uint64_t state, uint64_t exp);

FPI_INLINE void fpi_wheel_wake(fp_timer_wheel *w, uint64_t exp)
{
	uint64_t state = fpi_wakeup_sleepers(w->wake);

	if (FPI_UNLIKELY(state != 0))
		fpi_wheel_wake_slow(w, state, exp);
}

/* Lets go of wake-up and service. Returns 0, or -EBUSY and nothing changed. */
int fpi_wheel_unwait(fp_timer_wheel *w);

/* ---- errors ---- */

/* Whether a call that a child of fork must not make may go on: 0, -EINVAL, -ECHILD. */
int fpi_wheel_check(const fp_timer_wheel *w);

#endif
