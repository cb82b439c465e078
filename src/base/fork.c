/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fork generation.
 *
 * The one pthread_atfork handler of the library runs in the child, where no
 * other thread exists, and adds 1 to a counter; it takes no lock and calls
 * nothing. It also forgets the slot of the one thread that is left, so that fast
 * paths need not compare generations, and that it was inside a service. Everything else about fork is decided lazily by whoever compares a
 * remembered generation with the present one: locks (lock.c), thread slots
 * (thread_slot.c), reserved names (registry.c), objects.
 *
 * The handler is registered at first need, not by a constructor. Counter 0
 * means "not yet": nothing that remembers a generation exists before. Several
 * threads may get here at once; each registers, and a child then counts
 * several steps at once, which is as good as one. A child forked between a
 * thread's pthread_atfork() and its store below either runs the handler or
 * starts at 0 and registers again. Not counted is only a fork whose handlers
 * are already being run by another thread while the first registration of the
 * process takes place.
 */
#include <errno.h>
#include <pthread.h>

#include "base/fork.h"
#include "base/thread_slot.h"

fpi_atomic_u32 fpi_fork_counter;

static void fork_in_child(void)
{
	/* Relaxed: the child has one thread. */
	FPI_FETCH_ADD(&fpi_fork_counter, 1, FPI_MO(FORK_CHILD, RELAXED));
	fpi_thread.slot = FPI_NO_SLOT;
	fpi_thread.in_service = 0; /* of a core, or a call, of the parent */
}

static FPI_COLD int fork_register_first(void)
{
	int saved = errno;
	uint32_t none = 0;

	if (pthread_atfork(NULL, NULL, fork_in_child)) {
		errno = saved;
		return -ENOMEM;
	}
	/* Release: after the registration. Partner: FORK_GENERATION. */
	FPI_CAS(&fpi_fork_counter, &none, 1, FPI_MO(FORK_REGISTERED, RELEASE));
	return 0;
}

int fpi_fork_register(void)
{
	if (FPI_LIKELY(fpi_fork_generation() != 0))
		return 0;
	return fork_register_first();
}
