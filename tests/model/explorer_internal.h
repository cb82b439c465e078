/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What explorer.c (search) and weak_memory.c (model) share.
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
	EX_TAKE,
	EX_SLEEP, /* until somebody wakes this thread */
	EX_SC_FENCE,
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

/* explorer.c */
extern int ex_me;			 /* running thread, -1: setup or finish */
extern uint64_t ex_run;			 /* number of this execution */
extern int ex_tracing;			 /* ex_note() keeps lines */
int ex_step(const struct ex_pending *p); /* returns the choice */
int ex_on_stack(const void *addr);	 /* of the running thread */
void ex_restart(void);			 /* a location became shared */
_Noreturn void ex_limit(const char *what);

#endif
