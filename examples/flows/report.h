/* SPDX-License-Identifier: BSD-2-Clause */
/* What comes out: flows.csv and the summary for people. */
#ifndef FLOWS_REPORT_H
#define FLOWS_REPORT_H

#include <stddef.h>
#include <stdio.h>

#include "outlet.h"
#include "pipeline.h"

struct report_names {
	const char *input;
	const char *csv;
	const char *echo; /* NULL: none */
};

/*
 * The order of rows, as strcmp() says it: when the flows ended, then their first_ns, then
 * their keys. Total: two flows of one key do not end at one moment.
 */
int report_order(const struct flow *x, const struct flow *y);
/* The order of the printed table: many bytes first. */
int report_by_bytes(const struct flow *x, const struct flow *y);

/* 0, or an errno value: the stream failed. */
int report_header(FILE *out);
int report_row(FILE *out, const struct flow *f);

/* Leaves errors to ferror(). `outlet` is finished, its top sorted. */
void report_summary(FILE *out, const struct pipeline_result *r,
		    const struct report_names *names, const struct outlet *outlet);

#endif
