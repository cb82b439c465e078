/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Merging what ends in several tables. Each worker says up to which clock it has handed
 * over everything; what ended up to the smallest of these is complete, and is written in
 * order. The rest waits for the workers that are behind.
 */
#include "outlet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

int outlet_init(struct outlet *o, FILE *csv, const char *path, unsigned int workers,
		size_t top)
{
	memset(o, 0, sizeof(*o));
	if (top_init(&o->top, top))
		return -1;
	o->csv = csv;
	o->path = path;
	o->workers = workers;
	pthread_mutex_init(&o->lock, NULL);
	report_header(csv); /* an error is found by the flush that follows rows */
	return 0;
}

void outlet_free(struct outlet *o)
{
	pthread_mutex_destroy(&o->lock);
	flow_list_free(&o->waiting);
	top_free(&o->top);
}

static int write_row(struct outlet *o, const struct flow *f)
{
	top_add(&o->top, f);
	o->rows++;
	return report_row(o->csv, f);
}

static int flush(struct outlet *o)
{
	errno = 0;
	if (fflush(o->csv) || ferror(o->csv))
		return errno ? errno : EIO;
	return 0;
}

static int in_order(const void *x, const void *y)
{
	return report_order(x, y);
}

static int write_until(struct outlet *o, uint64_t clock_ns)
{
	struct flow *flows = o->waiting.flows;
	size_t n = 0;
	int rc;

	if (!o->waiting.count)
		return 0;
	qsort(flows, o->waiting.count, sizeof(*flows), in_order);
	for (; n < o->waiting.count && flows[n].end_ns <= clock_ns; n++) {
		rc = write_row(o, &flows[n]);
		if (rc)
			return rc;
	}
	o->idle += n;
	o->waiting.count -= n;
	memmove(flows, flows + n, o->waiting.count * sizeof(*flows));
	return n ? flush(o) : 0;
}

static uint64_t smallest_clock(const struct outlet *o)
{
	uint64_t smallest = o->clock_ns[0];

	for (unsigned int i = 1; i < o->workers; i++)
		if (o->clock_ns[i] < smallest)
			smallest = o->clock_ns[i];
	return smallest;
}

int outlet_add(struct outlet *o, unsigned int worker, struct flow_list *ended,
	       uint64_t clock_ns)
{
	uint64_t before;
	int rc = 0;

	pthread_mutex_lock(&o->lock);
	before = smallest_clock(o);
	o->clock_ns[worker] = clock_ns;
	if (ended->count) {
		if (flow_list_reserve(&o->waiting, ended->count)) {
			rc = ENOMEM;
		} else {
			memcpy(o->waiting.flows + o->waiting.count, ended->flows,
			       ended->count * sizeof(*ended->flows));
			o->waiting.count += ended->count;
		}
		ended->count = 0;
	}
	if (!rc && smallest_clock(o) > before)
		rc = write_until(o, smallest_clock(o));
	pthread_mutex_unlock(&o->lock);
	return rc;
}

static int pointers_in_order(const void *px, const void *py)
{
	return report_order(*(const struct flow *const *)px,
			    *(const struct flow *const *)py);
}

int outlet_finish(struct outlet *o, struct pipeline_result *result)
{
	struct flow **flows;
	size_t n = 0;
	int rc = 0;

	for (unsigned int i = 0; i < result->workers; i++)
		n += result->tables[i].places;
	flows = malloc((n + 1) * sizeof(*flows));
	if (!flows)
		return ENOMEM;
	n = 0;
	for (unsigned int i = 0; i < result->workers; i++) {
		struct flow_table *t = &result->tables[i];

		for (size_t k = 0; k < t->places; k++) {
			if (!t->flows[k].live)
				continue;
			t->flows[k].end_ns = FLOW_NEVER;
			flows[n++] = &t->flows[k];
		}
	}
	qsort(flows, n, sizeof(*flows), pointers_in_order);
	for (size_t i = 0; !rc && i < n; i++)
		rc = write_row(o, flows[i]);
	free(flows);
	return rc ? rc : flush(o);
}
