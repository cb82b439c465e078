/* SPDX-License-Identifier: BSD-2-Clause */
/* The progress line of long runs, drawn over itself on stderr. */
#ifndef FLOWS_PROGRESS_H
#define FLOWS_PROGRESS_H

#include <stdint.h>

struct progress {
	int enabled;
	int drawn;
	uint64_t start_ns;
	uint64_t next_ns; /* when to draw again */
};

/* CLOCK_MONOTONIC */
uint64_t now_ns(void);

void progress_start(struct progress *p, int enabled);
/* Cheap enough for every few hundred packets. total: 0 if not known. */
void progress_update(struct progress *p, uint64_t packets, uint64_t bytes,
		     uint64_t total);
/* Wipes the line. */
void progress_end(struct progress *p);

#endif
