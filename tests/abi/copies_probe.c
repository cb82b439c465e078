/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Built with the base part of the library into a shared library of its own, this lets a
 * test look at the thread slots of one copy of that; see copies.c.
 */
#include "base/atomic.h"
#include "base/thread_slot.h"

#define PROBE __attribute__((visibility("default")))

PROBE uint32_t probe_slot(void);
PROBE uint32_t probe_exits(void);

static fpi_atomic_u32 exits;

static void count_exit(uint32_t slot)
{
	(void)slot;
	FPI_FETCH_ADD(&exits, 1, FPI_RELAXED);
}

/* The slot of the calling thread in this copy. */
uint32_t probe_slot(void)
{
	fpi_thread_exit_register(count_exit);
	return fpi_thread_slot();
}

/* How many threads with a slot in this copy have ended. */
uint32_t probe_exits(void)
{
	return FPI_LOAD(&exits, FPI_RELAXED);
}
