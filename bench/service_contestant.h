/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * service_contestant.h - what a library of services must offer to take part.
 *
 * Each has a file of its own: service_fp.c (ours), service_rte.c (DPDK's, which is a
 * shared library too), service_bare.c (a loop written by hand, without any bookkeeping).
 * All call the same functions (service_callbacks.c), on the second core.
 */
#ifndef BENCH_SERVICE_CONTESTANT_H
#define BENCH_SERVICE_CONTESTANT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>

#include "harness.h"

typedef int32_t service_run(void *user);

/* What a library measures beside running. */
enum service_stats {
	SERVICE_OFF,
	SERVICE_SAMPLED,
	SERVICE_ON, /* time spent, exactly */
	SERVICE_STATS,
};

struct service_shape {
	/* How many are made, and how many of these are mapped: the first ones, or if
	 * `ends` is set the first one and the last one. */
	uint32_t created, mapped;
	int ends;
	int serialised; /* not safe for several threads */
	int sleeps;	/* ours: the core may sleep, and the services can be woken */
	enum service_stats stats;
	service_run *run;   /* of all */
	service_run *first; /* of the first one, if not NULL */
};

#define SERVICES_MAX 200

/* Open services, and the core that they are mapped to. */
struct service_set {
	struct service_shape shape;
	uint32_t n; /* created, by this contestant */
	void *services[SERVICES_MAX];
	uint32_t ids[SERVICES_MAX];
	void *core;
	int cpu; /* of the core */
	pthread_t thread;
	atomic_int leave; /* service_bare.c */
	_Alignas(128) atomic_ulong loops;
};

struct service_contestant {
	const char *who;
	/* Makes the services, mapped to a core that does not run. 0: cannot do this. */
	int (*open)(struct service_set *set);
	void (*close)(struct service_set *set);
	/* The core begins its loop, see service_go(); it has left it. */
	void (*go)(struct service_set *set);
	void (*halt)(struct service_set *set);
	uint64_t (*loops)(struct service_set *set);
	clockid_t (*clock)(struct service_set *set); /* of the core's CPU time */
	bench_loop *once; /* runs the first one on the caller; the object is the set */
	/* Of the first one, while the core runs; stop and unmap return when it is no
	 * longer inside. NULL: none. */
	void (*stop)(struct service_set *set);
	void (*start)(struct service_set *set);
	void (*unmap)(struct service_set *set);
	void (*map)(struct service_set *set);
};

/* Whether service i of a shape is to be mapped. */
static inline int service_mapped(const struct service_shape *shape, uint32_t i,
				 uint32_t created)
{
	return shape->ends ? i == 0 || i == created - 1 : i < shape->mapped;
}

static inline service_run *service_function(const struct service_shape *shape, uint32_t i)
{
	return i == 0 && shape->first ? shape->first : shape->run;
}

extern const struct service_contestant service_fp, service_bare;
#ifdef BENCH_RTE_VERSION
extern const struct service_contestant service_rte;
/* NULL, or why DPDK cannot take part; cpus: of the caller and of the core. */
const char *service_rte_start(int cpu, int core_cpu);
#endif

/* ---- what the services do; service_callbacks.c ---- */

service_run service_empty, service_no_work, service_store, service_10_us, service_20_us;

/* What a service is given as `user`. */
void *service_user(uint32_t i);

/* ---- rows ---- */

/* Open sets take a few KiB; one after the other, so there is one. */
extern struct service_set service_the_set;

void service_latency(struct bench *b, const struct service_contestant *const *contestants,
		     unsigned n);     /* service_latency.c */
void service_asleep(struct bench *b); /* service_asleep.c */
void service_late(struct bench *b);   /* service_late.c */

static inline void service_sleep(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	while (nanosleep(&t, &t))
		;
}

static inline void service_spin(uint64_t ns)
{
	uint64_t until = bench_now_ns() + ns;

	while (bench_now_ns() < until)
		bench_relax();
}

static inline uint64_t service_cpu_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Lets the core run, and returns when it has done a loop: a stop that comes before would
 * be told that it does not run. */
static inline void service_go(const struct service_contestant *c, struct service_set *set)
{
	uint64_t loops = c->loops(set);

	c->go(set);
	while (c->loops(set) == loops)
		service_sleep(20000);
}

#endif
