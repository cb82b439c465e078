/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * service_rte.c - DPDK's rte_service. A service core is a thread of the EAL; the process
 * has one, on the second core. There are 64 services at most, so a row that creates more
 * has the first and the last of 64 here, or no peer.
 */
#include "eal.h"
#include "service_contestant.h"

#include <stdio.h>
#include <stdlib.h>

#include <rte_eal.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_memory.h>
#include <rte_service.h>
#include <rte_service_component.h>

#define LCORE 1
#define SERVICES 64 /* the most; DPDK keeps the name of this to itself */

static clockid_t lcore_clock;

static int note_clock(void *arg)
{
	(void)arg;
	return pthread_getcpuclockid(pthread_self(), &lcore_clock);
}

const char *service_rte_start(int cpu, int core_cpu)
{
	const char *why = bench_eal_start_worker(cpu, core_cpu);

	if (why)
		return why;
	if (rte_eal_remote_launch(note_clock, NULL, LCORE) || rte_eal_wait_lcore(LCORE))
		return "its worker does not run";
	if (rte_service_lcore_add(LCORE))
		return "its worker cannot be a service core";
	if (rte_thread_register()) /* this thread runs services once */
		return "cannot register a thread";
	return NULL;
}

static int make(struct service_set *set, uint32_t i, uint32_t created)
{
	struct rte_service_spec spec = {
		.callback = service_function(&set->shape, i),
		.callback_userdata = service_user(i),
		.capabilities = set->shape.serialised ? 0 : RTE_SERVICE_CAP_MT_SAFE,
		.socket_id = SOCKET_ID_ANY,
	};
	uint32_t id;

	snprintf(spec.name, sizeof(spec.name), "service%u", (unsigned)i);
	if (rte_service_component_register(&spec, &id))
		return 0;
	set->ids[set->n++] = id;
	rte_service_component_runstate_set(id, 1);
	rte_service_set_stats_enable(id, set->shape.stats == SERVICE_ON);
	return !rte_service_runstate_set(id, 1) &&
	       (!service_mapped(&set->shape, i, created) ||
		!rte_service_map_lcore_set(id, LCORE, 1));
}

static void rte_close(struct service_set *set)
{
	while (set->n) {
		uint32_t id = set->ids[--set->n];

		rte_service_map_lcore_set(id, LCORE, 0);
		rte_service_component_unregister(id);
	}
}

static int rte_open(struct service_set *set)
{
	uint32_t free = SERVICES - rte_service_get_count();
	uint32_t created = set->shape.created;

	if (set->shape.stats == SERVICE_SAMPLED || set->shape.sleeps ||
	    (!set->shape.ends && created > free))
		return 0;
	created = created < free ? created : free;
	for (uint32_t i = 0; i < created; i++)
		if (!make(set, i, created)) {
			rte_close(set);
			return 0;
		}
	return 1;
}

static void set_running(struct service_set *set, uint32_t running)
{
	for (uint32_t i = 0; i < set->n; i++)
		rte_service_runstate_set(set->ids[i], running);
}

static uint64_t rte_loops(struct service_set *set)
{
	uint64_t loops = 0;

	(void)set;
	rte_service_lcore_attr_get(LCORE, RTE_SERVICE_LCORE_ATTR_LOOPS, &loops);
	return loops;
}

static void rte_go(struct service_set *set)
{
	set_running(set, 1);
	if (rte_service_lcore_start(LCORE))
		abort();
}

/* A core that services need cannot be stopped, so they stop first. */
static void rte_halt(struct service_set *set)
{
	set_running(set, 0);
	if (rte_service_lcore_stop(LCORE))
		abort();
	rte_eal_wait_lcore(LCORE);
}

static clockid_t rte_clock(struct service_set *set)
{
	(void)set;
	return lcore_clock;
}

static uint64_t rte_once(void *object, uint32_t burst, uint64_t units)
{
	struct service_set *set = object;
	uint32_t id = set->ids[0];

	(void)burst;
	for (uint64_t i = 0; i < units; i++)
		if (rte_service_run_iter_on_app_lcore(id, 1))
			return i;
	return units;
}

static void rte_stop(struct service_set *set)
{
	rte_service_runstate_set(set->ids[0], 0);
	while (rte_service_may_be_active(set->ids[0]) == 1)
		bench_relax();
}

static void rte_start(struct service_set *set)
{
	rte_service_runstate_set(set->ids[0], 1);
}

/* No unmap: there is no way to tell when the core has left an unmapped service. */
const struct service_contestant service_rte = {
	.who = "rte_service",
	.open = rte_open,
	.close = rte_close,
	.go = rte_go,
	.halt = rte_halt,
	.loops = rte_loops,
	.clock = rte_clock,
	.once = rte_once,
	.stop = rte_stop,
	.start = rte_start,
};
