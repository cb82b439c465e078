/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * partner.h - the second thread of two-thread slices. It spins on a core of its
 * own, takes orders from the thread that measures, and throws back cache lines
 * so that the distance between the two cores can be told.
 */
#ifndef BENCH_PARTNER_H
#define BENCH_PARTNER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "harness.h"

enum partner_order { PARTNER_HANDOFF, PARTNER_FEED, PARTNER_QUIT };

struct partner {
	/* The order, written by the measuring thread. */
	_Alignas(128) atomic_uint order_seq;
	enum partner_order order;
	const struct bench_case *feed;
	uint64_t units;

	/* The answer, written by the partner. */
	_Alignas(128) atomic_uint done_seq;
	long switches; /* involuntary ones, while it did the last order */
	uint64_t fed;

	/* The line that is handed to and fro. */
	_Alignas(128) atomic_uint ball;

	_Alignas(128) int cpu;
	unsigned seq; /* of the last order */
	pthread_t thread;
};

int partner_start(struct partner *partner, int cpu); /* 0, or an errno value */
void partner_stop(struct partner *partner);

/* Lets the partner run the case's feed(); partner_wait() ends it. */
void partner_feed(struct partner *partner, const struct bench_case *c, uint64_t units);
void partner_wait(struct partner *partner);

/* ns to hand a cache line to the other core: half a round trip. */
double partner_handoff_ns(struct partner *partner);

/* How often the calling thread was descheduled against its will. */
long partner_switches(void);

#endif
