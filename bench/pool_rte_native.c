/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pool_rte_native.c - rte_mempool once more, compiled for this very CPU
 * (-march=native): what its user has who builds on the machine that it runs on.
 */
#define POOL_RTE_NATIVE
#define POOL_RTE_WHO "rte_mempool native"
#include "pool_rte.c"
