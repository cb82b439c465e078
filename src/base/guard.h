/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Guards of LIBFP_CHECKED objects: who is inside, and may this thread be too?
 *
 * struct fpi_guard counts the threads inside an object's calls, so that destroy
 * can refuse while one is. An owner word lets one thread at a time into what is
 * promised to be used by one. Misuse is turned away before anything is touched.
 * See guard.c.
 */
#ifndef FPI_BASE_GUARD_H
#define FPI_BASE_GUARD_H

#include <stdint.h>

#include "base/atomic.h"
#include "base/compiler.h"

struct fpi_guard {
	fpi_atomic_u32 inside;	/* threads inside a call */
	fpi_atomic_u32 dying;	/* thread inside destroy or reset, else 0 */
	fpi_atomic_u32 entered; /* see fpi_guard_entered() */
	uint32_t reserved;
};

/*
 * Enters, for a call of thread `me`. what, name: for the log line ("pool", its name).
 * Returns 0; -EBUSY: destroy has begun; the guard is left then.
 */
int fpi_guard_enter(struct fpi_guard *guard, uint32_t me, const char *what,
		    const char *name);

/*
 * Notes a thread that is inside and was not turned away after all (by an owner word):
 * the one that destroy names when it refuses.
 */
FPI_INLINE void fpi_guard_entered(struct fpi_guard *guard, uint32_t me)
{
	FPI_STORE(&guard->entered, me, FPI_RELAXED);
}

/* From here on destroy may free the object: the last thing a call does. */
void fpi_guard_leave(struct fpi_guard *guard);

/*
 * Keeps calls out, for destroy and reset. call: its name, for the log line.
 * Returns 0; -EBUSY: a thread is inside, or in another such call.
 */
int fpi_guard_shut(struct fpi_guard *guard, uint32_t me, const char *what,
		   const char *name, const char *call);

void fpi_guard_reopen(struct fpi_guard *guard);

/* Lets calls that came during destroy find their way out, before the memory goes. */
void fpi_guard_let_out(struct fpi_guard *guard);

/* Takes an owner word for thread `me`. Returns 0, or the thread that has it. */
uint32_t fpi_owner_enter(fpi_atomic_u32 *owner, uint32_t me);

void fpi_owner_leave(fpi_atomic_u32 *owner);

#endif
