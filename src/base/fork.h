/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fork generation: a number that differs between a process and the
 * children it forks, so that a check for "made before the fork" costs one load
 * instead of a getpid(). See fork.c.
 */
#ifndef FPI_BASE_FORK_H
#define FPI_BASE_FORK_H

#include "base/atomic.h"
#include "base/compiler.h"

extern fpi_atomic_u32 fpi_fork_counter; /* for the function below alone */

/*
 * The generation of this process: 0 until the first fpi_fork_register() of the
 * process, then at least 1 and larger in every forked child.
 */
FPI_INLINE uint32_t fpi_fork_generation(void)
{
	/*
	 * Acquire: who sees a generation above 0 also sees the handler that
	 * keeps it true. Partner: FORK_REGISTERED.
	 */
	return FPI_LOAD(&fpi_fork_counter, FPI_MO(FORK_GENERATION, ACQUIRE));
}

/*
 * Makes sure that the generation is counted from here on. Call it before
 * making anything that remembers a generation. 0, or -ENOMEM.
 */
int fpi_fork_register(void);

#endif
