/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What explorer.c (search), weak_memory.c (model) and system_calls.c share.
 */
#ifndef MODEL_EXPLORER_INTERNAL_H
#define MODEL_EXPLORER_INTERNAL_H

#include "explorer.h"

#define EX_LOCATIONS 64
#define EX_MESSAGES 62 /* per location; a step's choice is one bit of 64 */

/*
 * What a step reads: bit m, message m without writing; EX_WRITES, it is a
 * store, a read-modify-write of the last message, or a seq_cst fence.
 */
#define EX_WRITES 63

/* Per location the oldest message that may be read, per thread a clock. */
struct ex_view {
	uint8_t seen[EX_LOCATIONS];
	uint8_t clock[8];
};

struct ex_location {
	const void *addr;
	size_t size;
	const char *what;
	uint8_t users; /* threads, over all executions */
	uint8_t writers;
	int shared;    /* a scheduling point */
	int statistic; /* see ex_statistic() */
	uint64_t run;  /* the execution that the rest belongs to */
	int n;
	struct {
		uint64_t value;
		struct ex_view view;
	} message[EX_MESSAGES];
};

enum ex_kind {
	EX_READ,
	EX_WRITE,
	EX_COMPARE,
	EX_UPDATE,
	EX_AWAIT,
	EX_AWAIT_NOT,
	EX_TAKE,
	EX_SLEEP, /* until somebody wakes this thread; value: it has a deadline */
	EX_POLL,
	EX_SC_FENCE,
	EX_BARRIER, /* a fence in another thread: the choice; value: those done */
};

/* The step that a thread is about to make. */
struct ex_pending {
	enum ex_kind kind;
	struct ex_location *loc; /* NULL for a fence */
	uint64_t value;		 /* EX_COMPARE, EX_TAKE: expected; EX_AWAIT: wanted */
	int sc;
};

/* weak_memory.c */
void ex_memory_reset(void);  /* forget all locations */
void ex_memory_begin(int n); /* a new execution of n threads */
void ex_memory_end(void);    /* write last values to memory */
uint64_t ex_memory_choices(int thread, const struct ex_pending *p);
struct ex_location *ex_location(const void *addr, size_t size, const char *what);
const char *ex_name_of(const struct ex_location *l);
/* Makes the step, as a scheduling point if others can see it. Returns the choice. */
int ex_choose(struct ex_pending *p, enum ex_order order);
uint64_t ex_read_message(struct ex_location *l, int m, enum ex_order order);
void ex_sc_fence(int thread);
void ex_see_all(void); /* nothing stale for the running thread; orders nothing */

/* system_calls.c */
void ex_calls_begin(void); /* a new execution: nobody sleeps */
uint64_t ex_calls_choices(int thread, const struct ex_pending *p);
int ex_calls_asleep(int thread); /* has once slept without a deadline */
/* What may end by itself once nobody can run. */
uint64_t ex_calls_last_choices(int thread, const struct ex_pending *p);

/* explorer.c */
extern int ex_me;			 /* running thread, -1: setup or finish */
extern uint64_t ex_run;			 /* number of this execution */
extern int ex_tracing;			 /* ex_note() keeps lines */
int ex_step(const struct ex_pending *p); /* returns the choice */
int ex_live(int thread);		 /* has not ended */
int ex_threads(void);
int ex_timeouts(void);		   /* of the test */
int ex_on_stack(const void *addr); /* of the running thread */
void ex_restart(void);		   /* a location became shared */
_Noreturn void ex_limit(const char *what);

#endif
