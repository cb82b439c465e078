/* SPDX-License-Identifier: BSD-2-Clause */
/* The n flows with the most bytes of all that it is shown, in bounded memory. */
#ifndef FLOWS_TOP_H
#define FLOWS_TOP_H

#include <stddef.h>

#include "flow_table.h"

struct top {
	struct flow *flows; /* a heap: none has fewer bytes than the first */
	size_t count;
	size_t room; /* n */
};

/* 0, or -1: out of memory. */
int top_init(struct top *top, size_t n);
void top_free(struct top *top);

void top_add(struct top *top, const struct flow *f);

/* Puts the one with the most bytes first; nothing can be added then. */
void top_sort(struct top *top);

#endif
