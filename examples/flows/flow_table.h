/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The flows that one worker has seen. One thread uses a table; the report reads
 * all of them when the workers have ended.
 */
#ifndef FLOWS_FLOW_TABLE_H
#define FLOWS_FLOW_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "parse.h"

struct flow {
	struct flow_key key;
	uint64_t hash;
	uint64_t first_ns; /* smallest and largest time stamp */
	uint64_t last_ns;
	uint64_t packets[2]; /* by sender: end 0, end 1 of the key */
	uint64_t bytes[2];   /* original lengths */
	uint8_t a;	     /* the end that sent the first packet */
	uint8_t tcp_flags;   /* of all packets */
};

struct flow_table {
	struct flow *flows; /* dense, in order of appearance */
	size_t count;
	size_t room;
	uint32_t *slots; /* open addressing: index into flows + 1; 0: free */
	size_t mask;	 /* slots - 1 */
};

/* 0, or -1: out of memory. */
int flow_table_init(struct flow_table *t);
void flow_table_free(struct flow_table *t);

/* Counts a frame of verdict FRAME_FLOW. 0, or -1: out of memory. */
int flow_table_add(struct flow_table *t, const struct frame *frame, uint64_t time_ns,
		   uint32_t length);

#endif
