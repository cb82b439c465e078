/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The way of flows into flows.csv: workers hand over what has ended, in the midst of the
 * run, and the rest at its end. Rows come out in the order that report.h states, the same
 * for any number of workers.
 */
#ifndef FLOWS_OUTLET_H
#define FLOWS_OUTLET_H

#include <pthread.h>
#include <stdio.h>

#include "flow_table.h"
#include "pipeline.h"
#include "top.h"

struct outlet {
	const char *path; /* for messages */
	FILE *csv;
	pthread_mutex_t lock;
	unsigned int workers;
	uint64_t clock_ns[PIPELINE_WORKERS_MAX]; /* up to which each has handed over */
	struct flow_list waiting; /* for the worker whose clock is behind */
	size_t idle;		  /* rows written before the end of the capture */
	size_t rows;
	struct top top;
};

/* Keeps the path and the stream, which stays the caller's. 0, or -1: out of memory. */
int outlet_init(struct outlet *o, FILE *csv, const char *path, unsigned int workers,
		size_t top);
void outlet_free(struct outlet *o);

/*
 * Takes what ended in a worker's table up to a clock, empties the list, and writes what no
 * worker can have anything before. Any worker, each with a number of its own. 0, or an
 * errno value: the stream failed, or no memory.
 */
int outlet_add(struct outlet *o, unsigned int worker, struct flow_list *ended,
	       uint64_t clock_ns);

/* Writes what is left in the tables, which the end of the capture ends. As outlet_add(). */
int outlet_finish(struct outlet *o, struct pipeline_result *result);

#endif
