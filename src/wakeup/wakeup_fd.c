/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The descriptor of a wake-up: an eventfd for threads that sleep in poll, epoll or an
 * event loop.
 *
 *     sleeper                                    signaller
 *     arm: state |= ARMED (RMW), membarrier      publish; state == 0? done
 *     look once more                             old = state &= ~ARMED (RMW)
 *     poll(fd)                                   if (old & ARMED) write(fd)
 *     clear: state &= ~ARMED, read(fd)
 *
 * ARMED counts as a waiter, so the invariant of wakeup_count.c holds for it: the signaller
 * sees it, or the second look sees what was published. The one that clears the bit
 * writes, so that a descriptor is written once per arm and not once per element. A
 * signaller may write after the sleeper has cleared: the next poll then returns at once,
 * for nothing, and the next clear reads it.
 *
 * Progress: wait-free, but for the system calls. Source: the protocol of io_uring's
 * IORING_SQ_NEED_WAKEUP turned around; eventfd(2).
 */
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/step.h"
#include "wakeup/wakeup.h"

void fpi_wakeup_write_fd(fp_wakeup *w)
{
	const uint64_t one = 1;
	int saved = errno;
	/*
	 * Acquire: the descriptor that the arming thread saw (WAKE_ARM). Release: the
	 * publication, to the thread that clears (WAKE_CLEAR).
	 */
	uint64_t old =
		FPI_FETCH_AND(&w->state, ~FPI_WAKEUP_ARMED, FPI_MO(WAKE_DISARM, ACQ_REL));

	if (!(old & FPI_WAKEUP_ARMED))
		return;
	FPI_STEP(WAKE_DISARMED);
	/* Fails only at 2^64 - 2 unread writes, and is readable then. */
	if (write((int)FPI_LOAD(&w->fd, FPI_RELAXED) - 1, &one, sizeof(one)) > 0)
		FPI_FETCH_ADD(&w->fd_writes, 1, FPI_RELAXED);
	errno = saved;
}

static int open_fd(fp_wakeup *w)
{
	int saved = errno, fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), err = -errno;
	uint32_t none = 0;

	errno = saved;
	if (fd < 0)
		return err == -ENOMEM || err == -ENODEV ? -ENOMEM : -EMFILE;
	/* Two threads may come at once: one descriptor is it. */
	if (FPI_CAS(&w->fd, &none, (uint32_t)fd + 1, FPI_RELAXED))
		return fd;
	close(fd);
	errno = saved;
	return (int)none - 1;
}

int fp_wakeup_fd(fp_wakeup *wakeup)
{
	int err = fpi_wakeup_check(wakeup);
	uint32_t fd;

	if (err)
		return err;
	fd = FPI_LOAD(&wakeup->fd, FPI_RELAXED);
	return fd ? (int)fd - 1 : open_fd(wakeup);
}

static int check_armable(const fp_wakeup *w)
{
	int err = fpi_wakeup_check(w);

	if (!err && FPI_LOAD(&w->fd, FPI_RELAXED) == 0)
		err = -ENXIO;
	return err;
}

int fp_wakeup_arm(fp_wakeup *wakeup)
{
	int err = check_armable(wakeup);

	if (err)
		return err;
	/* Release: the descriptor, to WAKE_DISARM. The barrier is the sleeper's fence. */
	FPI_FETCH_OR(&wakeup->state, FPI_WAKEUP_ARMED, FPI_MO(WAKE_ARM, RELEASE));
	FPI_STEP(WAKE_ARMED);
	fpi_wakeup_barrier(wakeup);
	return 0;
}

int fp_wakeup_clear(fp_wakeup *wakeup)
{
	int err = check_armable(wakeup), saved = errno;
	uint64_t old, count;
	int written;

	if (err)
		return err;
	/* Acquire: what was published before the signal. Partner: WAKE_DISARM. */
	old = FPI_FETCH_AND(&wakeup->state, ~FPI_WAKEUP_ARMED,
			    FPI_MO(WAKE_CLEAR, ACQUIRE));
	written = read((int)FPI_LOAD(&wakeup->fd, FPI_RELAXED) - 1, &count,
		       sizeof(count)) > 0;
	errno = saved;
	return written || !(old & FPI_WAKEUP_ARMED);
}
