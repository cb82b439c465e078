/* SPDX-License-Identifier: BSD-2-Clause */
/* What comes out: flows.csv and the summary for people. */
#ifndef FLOWS_REPORT_H
#define FLOWS_REPORT_H

#include <stddef.h>
#include <stdio.h>

#include "pipeline.h"

struct report_names {
	const char *input;
	const char *csv;
	const char *echo; /* NULL: none */
};

/* All flows of all workers, sorted by first_ns, then by the key. NULL: no memory. */
const struct flow **report_sort(const struct pipeline_result *r, size_t *count);

/* 0, or an errno value: the stream failed. */
int report_csv(FILE *out, const struct flow *const *flows, size_t count);
/* Reorders the flows: the top table is by bytes. Leaves errors to ferror(). */
void report_summary(FILE *out, const struct pipeline_result *r,
		    const struct report_names *names, const struct flow **flows,
		    size_t count, size_t top);

#endif
