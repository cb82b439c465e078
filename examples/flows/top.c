/* SPDX-License-Identifier: BSD-2-Clause */
/* A binary heap whose root is the flow that the next larger one replaces. */
#include "top.h"

#include <stdlib.h>
#include <string.h>

#include "report.h"

int top_init(struct top *top, size_t n)
{
	memset(top, 0, sizeof(*top));
	top->flows = malloc((n + 1) * sizeof(*top->flows)); /* touched as it fills */
	if (!top->flows)
		return -1;
	top->room = n;
	return 0;
}

void top_free(struct top *top)
{
	free(top->flows);
	memset(top, 0, sizeof(*top));
}

/* True if x stands behind y in the table, so nearer to the root. */
static int is_less(const struct flow *x, const struct flow *y)
{
	return report_by_bytes(x, y) > 0;
}

static void sift_up(struct top *top, size_t i, const struct flow *f)
{
	while (i && is_less(f, &top->flows[(i - 1) / 2])) {
		top->flows[i] = top->flows[(i - 1) / 2];
		i = (i - 1) / 2;
	}
	top->flows[i] = *f;
}

static void sift_down(struct top *top, const struct flow *f)
{
	size_t i = 0, child;

	while ((child = 2 * i + 1) < top->count) {
		if (child + 1 < top->count &&
		    is_less(&top->flows[child + 1], &top->flows[child]))
			child++;
		if (is_less(f, &top->flows[child]))
			break;
		top->flows[i] = top->flows[child];
		i = child;
	}
	top->flows[i] = *f;
}

void top_add(struct top *top, const struct flow *f)
{
	if (top->count < top->room)
		sift_up(top, top->count++, f);
	else if (top->count && is_less(&top->flows[0], f))
		sift_down(top, f);
}

static int by_bytes(const void *x, const void *y)
{
	return report_by_bytes(x, y);
}

void top_sort(struct top *top)
{
	qsort(top->flows, top->count, sizeof(*top->flows), by_bytes);
}
