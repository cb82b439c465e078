/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The threads of fp-flows and the rings between them; the picture is at the top
 * of pipeline.c.
 */
#ifndef FLOWS_PIPELINE_H
#define FLOWS_PIPELINE_H

#include <stdint.h>

#include "capture.h"
#include "flow_table.h"
#include "parse.h"

#define PIPELINE_WORKERS_MAX 64
#define PIPELINE_RING_MAX 65536

struct outlet; /* outlet.h */

struct pipeline_opts {
	unsigned int workers;	    /* 1 to PIPELINE_WORKERS_MAX */
	unsigned int ring_capacity; /* 1 to PIPELINE_RING_MAX */
	uint64_t idle_timeout_ns;   /* 0: flows end with the capture alone */
	struct outlet *outlet;	    /* of flows that end before it */
	struct echo *echo;	    /* NULL: no echo */
	int progress;		    /* draw a progress line on stderr */
};

/* What a worker, or all of them, counted. */
struct pipeline_counts {
	uint64_t frames[FRAME_VERDICTS];
	uint64_t bytes[FRAME_VERDICTS]; /* original lengths */
	uint64_t ip4; /* frames with an IPv4 header, malformed ones too */
	uint64_t ip6;
};

enum pipeline_status {
	PIPELINE_COMPLETE,
	PIPELINE_DAMAGED, /* the capture ends early; the rest is in the result */
	PIPELINE_FAILED,  /* no usable result */
};

struct pipeline_result {
	/* With the flows that nothing but the end of the capture has ended. */
	struct flow_table tables[PIPELINE_WORKERS_MAX];
	unsigned int workers;
	uint64_t idle_timeout_ns;
	struct pipeline_counts counts;
	uint64_t packets;
	double seconds;
	char error[CAPTURE_ERROR]; /* unless COMPLETE */
};

/*
 * Reads the capture to its end. Whatever the status, the result is to be freed.
 * The echo stays open.
 */
enum pipeline_status pipeline_run(struct capture *capture,
				  const struct pipeline_opts *opts,
				  struct pipeline_result *result);
void pipeline_result_free(struct pipeline_result *result);

#endif
