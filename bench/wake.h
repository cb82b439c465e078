/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wake.h - what the files of bench_wakeup share: wake-ups of each mode, a count of the
 * membarriers of the process, and a second thread with a core of its own.
 */
#ifndef BENCH_WAKE_H
#define BENCH_WAKE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include <libfp/ring.h>
#include <libfp/wakeup.h>

#include "harness.h"

#define WAKE_CAPACITY 1024

enum wake_mode { WAKE_MEMBARRIER, WAKE_FENCE, WAKE_POLL, WAKE_MODES };
extern const char *const wake_mode_names[WAKE_MODES];

/* Ends the program if there is none: nothing can be measured then. */
fp_wakeup *wake_create(enum wake_mode mode);
/* Of 8-byte elements, one thread a side; flags: 0 or LIBFP_RING_WAIT. */
fp_ring *wake_ring(uint32_t sync, uint32_t flags);

/* ---- system calls; wake_syscall.c ---- */

/* How often the library has called membarrier(2) for its fence. */
uint64_t wake_membarriers(void);
/* 1: the kernel has no membarrier from here on, as far as the library can tell. */
void wake_refuse_membarrier(int refuse);

/* ---- the other thread ---- */

/* A thread that a row starts with wake_start(): on the second core. */
struct wake_thread {
	pthread_t thread;
	int cpu;
	void (*run)(void *arg);
	void *arg;
};

void wake_start(struct wake_thread *t, struct bench *b, void (*run)(void *), void *arg);

static inline void wake_spin(uint64_t ns)
{
	uint64_t until = bench_now_ns() + ns;

	while (bench_now_ns() < until)
		bench_relax();
}

static inline void wake_await(const atomic_uint *word, unsigned value)
{
	while (atomic_load_explicit(word, memory_order_acquire) != value)
		bench_relax();
}

/* ---- rows ---- */

void wake_latency(struct bench *b); /* wake_latency.c */
void wake_cost(struct bench *b);    /* wake_cost.c: two cores */
void wake_idle(struct bench *b);    /* wake_cost.c: any number of cores */

#endif
