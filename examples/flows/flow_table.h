/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The flows that one worker sees. One thread uses a table; the report reads what is left
 * in all of them when the workers have ended.
 *
 * Flows age by the capture's clock, the largest time stamp of any packet so far, which the
 * caller brings with every call. A flow that no packet came to for the timeout ends: it
 * leaves the table for the list `ended`, and the next packet of its key begins a new flow.
 */
#ifndef FLOWS_FLOW_TABLE_H
#define FLOWS_FLOW_TABLE_H

#include <libfp/timer.h>
#include <stddef.h>
#include <stdint.h>

#include "parse.h"

#define FLOW_NEVER UINT64_MAX
#define FLOW_BURST 32 /* timers that are touched by one call */

struct flow {
	struct flow_key key;
	uint64_t hash;
	uint64_t first_ns; /* smallest and largest time stamp */
	uint64_t last_ns;
	uint64_t end_ns; /* the clock at which it ends; FLOW_NEVER: with the capture */
	uint64_t timer;	 /* of its place in the table, armed for end_ns */
	uint64_t packets[2]; /* by sender: end 0, end 1 of the key */
	uint64_t bytes[2];   /* original lengths */
	uint32_t next_free;  /* of a place that is not live: the next one, + 1 */
	uint8_t a;	     /* the end that sent the first packet */
	uint8_t tcp_flags;   /* of all packets */
	uint8_t live;	     /* this place of the table holds a flow */
};

struct flow_list {
	struct flow *flows;
	size_t count;
	size_t room;
};

struct flow_table {
	struct flow *flows; /* places, by order of first use */
	size_t places;	    /* that were ever used */
	size_t room;
	uint32_t free;	 /* a place that is not live any more, + 1; 0: none */
	uint32_t *slots; /* open addressing: place + 1; 0: free */
	size_t mask;	 /* slots - 1 */
	uint64_t timeout_ns;
	fp_timer_wheel *wheel; /* a timer for each place; NULL: flows do not age */
	struct {	       /* timers to be touched, and for when */
		uint64_t timers[FLOW_BURST];
		uint64_t ends[FLOW_BURST];
		uint32_t count;
	} alive;
	struct flow_list ended; /* in no stated order; emptied by the caller */
};

/* timeout_ns: 0: flows do not age. 0, or -1: out of memory. */
int flow_table_init(struct flow_table *t, uint64_t timeout_ns);
void flow_table_free(struct flow_table *t);

/*
 * Counts a frame of verdict FRAME_FLOW, after the end of its flow if that is due. The
 * clock must not be before that of the last call. 0, or -1: out of memory.
 */
int flow_table_add(struct flow_table *t, const struct frame *frame, uint64_t time_ns,
		   uint64_t clock_ns, uint32_t length);

/* Ends all flows that are due. 0, or -1: out of memory. */
int flow_table_age(struct flow_table *t, uint64_t clock_ns);

/* Makes room for n more. 0, or -1: out of memory. */
int flow_list_reserve(struct flow_list *list, size_t n);
void flow_list_free(struct flow_list *list);

#endif
