/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * membarrier(2): makes every running thread of the process execute a memory fence, so
 * that the rare side of a protocol pays for both. The common side has a compiler fence
 * (FPI_COMPILER_FENCE) in the place of its own.
 */
#ifndef FPI_BASE_MEMBARRIER_H
#define FPI_BASE_MEMBARRIER_H

/*
 * Registers the process. Costs 10 to 30 ms once if it has several threads (the kernel
 * waits for a grace period), little afterwards: call it where objects are created.
 * Returns 0; -EOPNOTSUPP: the kernel, or a filter, has none.
 */
int fpi_membarrier_register(void);

/* Returns 0; -EOPNOTSUPP: it did not happen. A full fence for the caller, too. */
int fpi_membarrier(void);

#endif
