/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * eal.c - see eal.h.
 *
 * The EAL pins the thread that starts it, so it gets one to keep. It works
 * unprivileged; --no-shconf and not --in-memory, which DPDK 22.11 refuses
 * together with --no-huge. The memory is reserved, and used as far as it is
 * asked for.
 */
#include "eal.h"

#include <pthread.h>
#include <stdio.h>

#include <rte_eal.h>
#include <rte_errno.h>

static const char *error;

static void *start_eal(void *arg)
{
	char *lcores = arg;
	char *argv[] = { "bench",	   "--no-huge", "--no-pci", "--no-shconf",
			 "--no-telemetry", "-m",	"1024",	    "--log-level",
			 "error",	   "--lcores",	lcores,	    NULL };

	if (rte_eal_init(sizeof(argv) / sizeof(argv[0]) - 1, argv) < 0)
		error = rte_strerror(rte_errno);
	return NULL;
}

static const char *start(char *lcores)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, start_eal, lcores))
		return "cannot create a thread for the EAL";
	pthread_join(thread, NULL);
	return error;
}

const char *bench_eal_start(int cpu)
{
	char lcores[32];

	snprintf(lcores, sizeof(lcores), "0@%d", cpu);
	return start(lcores);
}

const char *bench_eal_start_worker(int cpu, int worker_cpu)
{
	char lcores[64];

	snprintf(lcores, sizeof(lcores), "0@%d,1@%d", cpu, worker_cpu);
	return start(lcores);
}

const char *bench_eal_start_lcores(int cpu, unsigned n)
{
	char lcores[64];

	snprintf(lcores, sizeof(lcores), "(0-%u)@%d", n - 1, cpu);
	return start(lcores);
}
