/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Guards of LIBFP_CHECKED objects.
 *
 * A call counts itself in, then looks whether destroy has begun; destroy does it
 * in the other order. Both are seq_cst, so at least one of the two sees the
 * other. Nothing but the guard is touched before that: the rest of the object may
 * be gone already.
 *
 * Entering an owner word is acquire and leaving it release, so a hand-over from
 * one thread to the next is as orderly as the object promises.
 */
#include <errno.h>
#include <sched.h>

#include <libfp/base.h>

#include "base/guard.h"
#include "base/log.h"

#define GUARD_YIELDS 10000

void fpi_guard_leave(struct fpi_guard *guard)
{
	/* Partner: GUARD_SHUT_INSIDE: destroy sees what we did before we left. */
	FPI_FETCH_SUB(&guard->inside, 1, FPI_MO(GUARD_LEAVE, RELEASE));
}

int fpi_guard_enter(struct fpi_guard *guard, uint32_t me, const char *what,
		    const char *name)
{
	uint32_t by;

	FPI_FETCH_ADD(&guard->inside, 1, FPI_MO(GUARD_ENTER, SEQ_CST));
	by = FPI_LOAD(&guard->dying, FPI_MO(GUARD_ENTER_DYING, SEQ_CST));
	if (!by)
		return 0;
	fpi_log(LIBFP_LOG_ERROR,
		"%s %s: thread %u made a call while thread %u is inside destroy or reset",
		what, name, me, by);
	fpi_guard_leave(guard);
	return -EBUSY;
}

int fpi_guard_shut(struct fpi_guard *guard, uint32_t me, const char *what,
		   const char *name, const char *call)
{
	uint32_t none = 0;

	if (!FPI_CAS(&guard->dying, &none, me, FPI_MO(GUARD_SHUT, SEQ_CST))) {
		fpi_log(LIBFP_LOG_ERROR,
			"%s %s: thread %u called %s while thread %u is inside destroy or reset",
			what, name, me, call, none);
		return -EBUSY;
	}
	if (FPI_LOAD(&guard->inside, FPI_MO(GUARD_SHUT_INSIDE, SEQ_CST))) {
		uint32_t other = FPI_LOAD(&guard->entered, FPI_RELAXED);

		fpi_guard_reopen(guard);
		fpi_log(LIBFP_LOG_ERROR,
			"%s %s: thread %u called %s while a thread is inside a call; "
			"thread %u came in last",
			what, name, me, call, other);
		return -EBUSY;
	}
	return 0;
}

void fpi_guard_reopen(struct fpi_guard *guard)
{
	FPI_STORE(&guard->dying, 0, FPI_MO(GUARD_REOPEN, RELEASE));
}

void fpi_guard_let_out(struct fpi_guard *guard)
{
	/* They only log and leave. Bounded: misuse must not hang the one who destroys. */
	for (int i = 0;
	     i < GUARD_YIELDS && FPI_LOAD(&guard->inside, FPI_MO(GUARD_LET_OUT, ACQUIRE));
	     i++)
		sched_yield();
}

uint32_t fpi_owner_enter(fpi_atomic_u32 *owner, uint32_t me)
{
	uint32_t other = 0;

	/* Partner: OWNER_LEAVE of the thread that was here before. */
	return FPI_CAS(owner, &other, me, FPI_MO(OWNER_ENTER, ACQUIRE)) ? 0 : other;
}

void fpi_owner_leave(fpi_atomic_u32 *owner)
{
	/* Partner: OWNER_ENTER. */
	FPI_STORE(owner, 0, FPI_MO(OWNER_LEAVE, RELEASE));
}
