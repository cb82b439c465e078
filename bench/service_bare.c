/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * service_bare.c - services without a library: an array of functions, called in turn. It
 * counts nothing but its loops, publishes nothing, and cannot be changed while it runs.
 */
#include "service_contestant.h"

#include <stdlib.h>

struct entry {
	service_run *run;
	void *user;
};

static int bare_open(struct service_set *set)
{
	struct entry *entries;

	if (set->shape.stats != SERVICE_OFF || set->shape.ends || set->shape.serialised)
		return 0;
	entries = calloc(set->shape.mapped, sizeof(*entries));
	if (!entries)
		return 0;
	for (uint32_t i = 0; i < set->shape.mapped; i++)
		entries[i] = (struct entry){ service_function(&set->shape, i),
					     service_user(i) };
	set->core = entries;
	return 1;
}

static void bare_close(struct service_set *set)
{
	free(set->core);
}

static void *bare_main(void *arg)
{
	struct service_set *set = arg;
	const struct entry *entries = set->core;
	uint32_t n = set->shape.mapped;
	uint64_t loops = 0;

	bench_pin(set->cpu);
	do {
		for (uint32_t i = 0; i < n; i++)
			entries[i].run(entries[i].user);
		atomic_store_explicit(&set->loops, ++loops, memory_order_relaxed);
	} while (!atomic_load_explicit(&set->leave, memory_order_relaxed));
	return NULL;
}

static void bare_go(struct service_set *set)
{
	atomic_store(&set->leave, 0);
	if (pthread_create(&set->thread, NULL, bare_main, set))
		abort();
}

static void bare_halt(struct service_set *set)
{
	atomic_store(&set->leave, 1);
	pthread_join(set->thread, NULL);
}

static uint64_t bare_loops(struct service_set *set)
{
	return atomic_load_explicit(&set->loops, memory_order_relaxed);
}

static clockid_t bare_clock(struct service_set *set)
{
	clockid_t clock;

	return pthread_getcpuclockid(set->thread, &clock) ? CLOCK_MONOTONIC : clock;
}

const struct service_contestant service_bare = {
	.who = "no bookkeeping",
	.open = bare_open,
	.close = bare_close,
	.go = bare_go,
	.halt = bare_halt,
	.loops = bare_loops,
	.clock = bare_clock,
};
