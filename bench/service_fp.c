/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * service_fp.c - libfp's services, through the exported functions of the shared library.
 * The core runs on a thread of the bench (fp_service_core_run()), whose CPU clock can be
 * read by name, and never sleeps unless the row is about that.
 */
#include "service_contestant.h"

#include <stdlib.h>

#include <libfp/service.h>

static int make(struct service_set *set, uint32_t i)
{
	static const uint32_t cycles[SERVICE_STATS] = { LIBFP_SERVICE_CYCLES_OFF,
							LIBFP_SERVICE_CYCLES_SAMPLED,
							LIBFP_SERVICE_CYCLES_EXACT };
	fp_service_opts opts = LIBFP_SERVICE_OPTS_INIT;
	fp_service *service;

	opts.run = service_function(&set->shape, i);
	opts.user = service_user(i);
	opts.cycles = cycles[set->shape.stats];
	opts.flags = (set->shape.serialised ? 0 : LIBFP_SERVICE_MT_SAFE) |
		     (set->shape.sleeps ? LIBFP_SERVICE_WAKEABLE : 0);
	if (fp_service_create(&opts, &service))
		return 0;
	set->services[set->n++] = service;
	return !fp_service_start(service) &&
	       (!service_mapped(&set->shape, i, set->shape.created) ||
		!fp_service_map(service, set->core));
}

static void fp_close(struct service_set *set)
{
	while (set->n)
		fp_service_destroy(set->services[--set->n], LIBFP_SERVICE_FORCE,
				   LIBFP_FOREVER);
	fp_service_core_destroy(set->core);
}

static int fp_open(struct service_set *set)
{
	fp_service_core_opts opts = LIBFP_SERVICE_CORE_OPTS_INIT;
	fp_service_core *core;

	opts.idle =
		set->shape.sleeps ? LIBFP_SERVICE_CORE_SLEEP : LIBFP_SERVICE_CORE_SPIN;
	if (fp_service_core_create(&opts, &core))
		return 0;
	set->core = core;
	for (uint32_t i = 0; i < set->shape.created; i++)
		if (!make(set, i)) {
			fp_close(set);
			return 0;
		}
	return 1;
}

static void *fp_main(void *arg)
{
	struct service_set *set = arg;

	bench_pin(set->cpu);
	fp_service_core_run(set->core, LIBFP_FOREVER);
	return NULL;
}

static uint64_t fp_loops(struct service_set *set)
{
	fp_service_core_stats stats = { .size = sizeof(stats) };

	return fp_service_core_get_stats(set->core, &stats) ? 0 : stats.loops;
}

static void fp_go(struct service_set *set)
{
	if (pthread_create(&set->thread, NULL, fp_main, set))
		abort();
}

static void fp_halt(struct service_set *set)
{
	fp_service_core_stop(set->core, LIBFP_FOREVER);
	pthread_join(set->thread, NULL);
}

static clockid_t fp_clock(struct service_set *set)
{
	clockid_t clock;

	return pthread_getcpuclockid(set->thread, &clock) ? CLOCK_MONOTONIC : clock;
}

static uint64_t fp_once(void *object, uint32_t burst, uint64_t units)
{
	struct service_set *set = object;
	fp_service *service = set->services[0];

	(void)burst;
	for (uint64_t i = 0; i < units; i++)
		if (fp_service_run_once(service, 0, NULL))
			return i;
	return units;
}

static void fp_stop(struct service_set *set)
{
	fp_service_stop(set->services[0], LIBFP_FOREVER);
}

static void fp_start(struct service_set *set)
{
	fp_service_start(set->services[0]);
}

static void fp_unmap(struct service_set *set)
{
	fp_service_unmap(set->services[0], set->core, LIBFP_FOREVER);
}

static void fp_map(struct service_set *set)
{
	fp_service_map(set->services[0], set->core);
}

const struct service_contestant service_fp = {
	.who = "libfp",
	.open = fp_open,
	.close = fp_close,
	.go = fp_go,
	.halt = fp_halt,
	.loops = fp_loops,
	.clock = fp_clock,
	.once = fp_once,
	.stop = fp_stop,
	.start = fp_start,
	.unmap = fp_unmap,
	.map = fp_map,
};
