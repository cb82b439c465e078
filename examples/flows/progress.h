/* SPDX-License-Identifier: BSD-2-Clause */
/* The progress line of long runs, drawn over itself on stderr by a service. */
#ifndef FLOWS_PROGRESS_H
#define FLOWS_PROGRESS_H

#include <stdatomic.h>
#include <stdint.h>

#include <libfp/service.h>

struct progress {
	/* Written by the reader, read by the service. */
	_Alignas(128) _Atomic uint64_t packets;
	_Atomic uint64_t bytes;

	_Alignas(128) uint64_t total; /* bytes; 0: not known */
	uint64_t start_ns;
	uint64_t next_ns; /* the service's: when to draw again */
	int drawn;
	fp_service *service; /* NULL: no line */
	fp_service_core *core;
};

/* CLOCK_MONOTONIC */
uint64_t now_ns(void);

/* Without a thread for it there is no line; the run goes on. */
void progress_start(struct progress *p, int enabled, uint64_t total);

/* What was read so far: two stores. */
static inline void progress_update(struct progress *p, uint64_t packets, uint64_t bytes)
{
	atomic_store_explicit(&p->packets, packets, memory_order_relaxed);
	atomic_store_explicit(&p->bytes, bytes, memory_order_relaxed);
}

/* Ends the service and wipes the line. */
void progress_end(struct progress *p);

#endif
