/* SPDX-License-Identifier: BSD-2-Clause */
/* eal.h - starts DPDK's EAL, for the contestants that are made of it. */
#ifndef BENCH_EAL_H
#define BENCH_EAL_H

/* cpu: where its main lcore is. Returns NULL, or why it cannot start. */
const char *bench_eal_start(int cpu);

/* The same with a thread of its own on another core: lcore 1. */
const char *bench_eal_start_worker(int cpu, int worker_cpu);

/* With n lcores on one core, of which all but one have threads that sleep: for lists that
 * are kept for each lcore. */
const char *bench_eal_start_lcores(int cpu, unsigned n);

#endif
