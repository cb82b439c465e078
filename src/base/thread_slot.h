/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Thread slots: a small dense index per thread, for per-thread state in
 * arrays. Taken at first use, given back at thread exit. See thread_slot.c.
 */
#ifndef FPI_BASE_THREAD_SLOT_H
#define FPI_BASE_THREAD_SLOT_H

#include <stdint.h>

#include "base/compiler.h"
#include "base/fork.h"

#ifndef FPI_THREAD_SLOTS /* the model has fewer */
#define FPI_THREAD_SLOTS 256
#endif
#define FPI_NO_SLOT FPI_THREAD_SLOTS /* an index of its own: "whoever has none" */

/*
 * The calling thread, as this library knows it: all its thread-local memory,
 * 24 bytes, because the reserve that libc keeps for libraries loaded late is small.
 */
struct fpi_thread {
	uint32_t generation;	/* fork generation in which slot holds */
	uint32_t id_generation; /* the same of id */
	int32_t id;
	uint16_t slot;
	uint8_t exited : 1; /* the exit hook has run */
	uint8_t in_log_handler : 1;
	uint8_t in_service; /* calls services: a call that waits would wait for itself */
	uint64_t stamp;	    /* of the last timer it armed: their order within a tick */
};

/* Initial-exec: one load; the library is small enough for the reserve of dlopen. */
extern FPI_THREAD_LOCAL struct fpi_thread fpi_thread
	__attribute__((tls_model("initial-exec")));

uint32_t fpi_thread_slot_take(void);
int64_t fpi_thread_id_ask(void);

/*
 * The slot of this thread, below FPI_THREAD_SLOTS, or FPI_NO_SLOT: all are
 * taken, or the thread is past its exit hook. No other thread has the same
 * one. It stays the same until the thread exits (or forks: the child's thread
 * takes a new one).
 */
FPI_INLINE uint32_t fpi_thread_slot(void)
{
	if (FPI_LIKELY(fpi_thread.generation == fpi_fork_generation()))
		return fpi_thread.slot;
	return fpi_thread_slot_take();
}

/*
 * The slot if this thread has taken one in this process, else FPI_NO_SLOT: for fast
 * paths, which then go a slower way that asks for one. One load.
 */
FPI_INLINE uint32_t fpi_thread_slot_now(void)
{
	return fpi_thread.slot;
}

/* The kernel's id of this thread, right in a forked child too. */
FPI_INLINE int64_t fpi_thread_id(void)
{
	if (FPI_LIKELY(fpi_thread.id_generation == fpi_fork_generation()))
		return fpi_thread.id;
	return fpi_thread_id_ask();
}

/*
 * Has fn(slot) called on every thread with a slot when it exits, before the
 * slot is given back. Registering the same function again does nothing.
 * Call it before the first use of a slot that fn must hear of.
 * Returns 0; -ENOSPC: the table is too small for the parts of the library.
 */
int fpi_thread_exit_register(void (*fn)(uint32_t slot));

#endif
