/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timer_contestant.h - what a library of timers must offer to take part.
 *
 * Each has a file of its own: timer_fp.c (ours), timer_rte.c (DPDK's lists), timer_ev.c
 * and timer_uv.c (heaps of event loops), timer_timerfd.c (the kernel's). All of them are
 * shared libraries, so each call of each of them is a call.
 *
 * The bench decides which timers a step takes, in which order, and when these expire
 * (struct timer_plan). load() puts that into the two arrays that the timed loops walk, as
 * the library wants it: pointers or ids, and times in its unit.
 */
#ifndef BENCH_TIMER_CONTESTANT_H
#define BENCH_TIMER_CONTESTANT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "harness.h"

#define TIMER_BURST 32

/* When a step's timers expire: an expiry is this and up to a second more. */
enum timer_when {
	TIMER_AHEAD,  /* in 40 s */
	TIMER_LATER,  /* in 41 s: later than any that is ahead */
	TIMER_LATEST, /* in 42 s */
	TIMER_DUE,    /* at once, as far as time can be told to the library */
};

#define TIMER_SPREAD_US 1000000u
#define TIMER_AHEAD_US 40000000u

static inline uint64_t timer_ahead_us(enum timer_when when)
{
	return TIMER_AHEAD_US + (uint64_t)when * TIMER_SPREAD_US;
}

/* The steps that are timed, all of them over all timers of a set. */
enum timer_step {
	TIMER_ARM,
	TIMER_REARM,
	TIMER_PUT_OFF, /* re-arm for later */
	TIMER_TOUCH,
	TIMER_CANCEL,
	TIMER_DROP_CANCELLED, /* the poll that comes by what was cancelled */
	TIMER_BULK_ARM,
	TIMER_BULK_REARM,
	TIMER_BULK_TOUCH,
	TIMER_MOVE_TOUCHED, /* the poll that comes by what was put off */
	TIMER_BULK_CANCEL,
	TIMER_EXPIRE,	   /* one poll that runs n callbacks, right after the arming */
	TIMER_EXPIRE_COLD, /* the same after other work, as it is when time goes by */
	TIMER_EXPIRE_BURST,
	TIMER_HOLD, /* one poll; each callback arms its timer again */
	TIMER_STEPS,
};

struct timer_plan {
	const uint32_t *order; /* of the timers */
	const uint32_t *us;    /* by timer: how much of the second */
	enum timer_when when;
};

/* The timers of a library. */
struct timer_set {
	uint32_t n;
	void *owner;	    /* wheel, loop, ... */
	void *timers;	    /* n of the library's structs */
	uint64_t *ids;	    /* room for n */
	uint64_t *handles;  /* room for n: the timers of a step, in its order ... */
	uint64_t *expiries; /* ... and when these are to expire */
	const uint32_t *us; /* of TIMER_HOLD: by timer, of the second */
	uint64_t now;	    /* the library's time, if that is told to it ... */
	uint64_t epoch_ns;  /* ... and when it was 0, if in real time */
	uint64_t fired;	    /* counted by callbacks */
};

typedef void timer_run(struct timer_set *set);

struct timer_contestant {
	const char *who;
	uint32_t most; /* timers */
	unsigned
		every; /* has a turn in every n-th round only, since it is slow; 0: in all */
	/* Makes set->n timers, none of them armed. 0: cannot. */
	int (*open)(struct timer_set *set);
	void (*close)(struct timer_set *set);
	void (*load)(struct timer_set *set, const struct timer_plan *plan);
	timer_run *steps[TIMER_STEPS]; /* NULL: has no such call */
	timer_run *rest; /* until what was armed as DUE is due; NULL: it is */
	/* In real time, on the monotonic clock; NULL: its polls do more than look at timers.
	 * Arms timer i for us[i] after begin_ns; polls at ns. */
	void (*arm_at)(struct timer_set *set, const uint32_t *us, uint64_t begin_ns);
	void (*poll)(struct timer_set *set, uint64_t ns);
	uint64_t (*reserved)(const struct timer_set *set); /* bytes; NULL: not told */
};

extern const struct timer_contestant timer_fp, timer_timerfd;
#ifdef BENCH_RTE_VERSION
extern const struct timer_contestant timer_rte;
#endif
#ifdef BENCH_EV_VERSION
extern const struct timer_contestant timer_ev;
#endif
#ifdef BENCH_UV_VERSION
extern const struct timer_contestant timer_uv;
#endif

/* ---- two threads ---- */

#define TIMER_HALF 32768u	/* timers that a thread may arm in a slice */
#define TIMER_BACKGROUND 20000u /* that are armed all the time */

struct timer_half {
	uint64_t *handles; /* TIMER_HALF of them */
	uint32_t *us;
	_Alignas(128) uint32_t next;
};

/* Two threads and what they arm: half 0 is the one that does not poll. */
struct timer_pair {
	struct timer_set set;
	struct timer_half half[2];
	_Alignas(128) atomic_uint polling; /* the owner has begun to */
	_Alignas(128) atomic_ulong armed;  /* by the one that does not poll */
	_Alignas(
		128) float *drained; /* ns that a poll takes for each it finds in lanes */
	unsigned n_drained, most_drained;
};

struct timer_pair_contestant {
	const char *who;
	int (*open)(struct timer_pair *pair); /* set.n timers; arms the background */
	void (*close)(struct timer_pair *pair);
	void (*prepare)(void *pair); /* nothing is armed but the background */
	bench_loop *arm_other, *arm_own;
	bench_loop *poll; /* until the other thread has armed so many */
};

static inline void timer_pair_reset(struct timer_pair *pair)
{
	pair->half[0].next = 0;
	pair->half[1].next = 0;
	atomic_store(&pair->polling, 0);
	atomic_store(&pair->armed, 0);
}

extern const struct timer_pair_contestant timer_fp_pair;
#ifdef BENCH_RTE_VERSION
extern const struct timer_pair_contestant timer_rte_pair;
#endif

/* ---- DPDK ---- */

#define TIMER_CROWD_MOST 64

#ifdef BENCH_RTE_VERSION
const char *timer_rte_start(int cpu); /* NULL, or why it cannot take part */
bench_loop timer_rte_idle;	      /* nothing is due */
/* The object is an unsigned: how many lists are polled, each with a timer. */
bench_loop timer_rte_idle_many;
#endif

/* ---- rows; each file says which ---- */

void timer_steps(struct bench *b, const struct timer_contestant *const *contestants,
		 unsigned n);
void timer_memory(struct bench *b, const struct timer_contestant *const *contestants,
		  unsigned n);			 /* timer_steps.c */
void timer_idle(struct bench *b, int with_rte);	 /* timer_idle.c */
void timer_pairs(struct bench *b, int with_rte); /* timer_pairs.c */
void timer_live(struct bench *b, int with_rte);	 /* timer_live.c */
void timer_polls(struct bench *b);		 /* timer_polls.c */
void timer_real(struct bench *b);		 /* timer_real.c */

/* ---- help ---- */

void *timer_alloc(size_t size); /* cleared; ends the program if there is none */

/* Uniform numbers: xorshift64*, G. Marsaglia (2003). */
static inline uint64_t timer_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dull;
}

static inline uint32_t timer_random_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)(((timer_random(state) >> 32) * n) >> 32);
}

#endif
