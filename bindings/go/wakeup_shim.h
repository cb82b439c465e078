/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Wake-ups and waiting rings in the form that costs Go least: shim.h says what holds for
 * all of it.
 *
 * No call here blocks, but for fpgo_ring_block(): goroutines wait in Go's own poller, on
 * a second descriptor of the wake-up's eventfd that Go may close when it likes.
 */
#ifndef FPGO_WAKEUP_SHIM_H
#define FPGO_WAKEUP_SHIM_H

#include <errno.h>
#include <fcntl.h>

#include "shim.h"

/* An fp_wakeup, as Go sees it. */
typedef uint8_t fpgo_wakeup;

/* A new handle, or why there is none. */
typedef struct fpgo_made_wakeup {
	fpgo_wakeup *wakeup;
	int code;
} fpgo_made_wakeup;

static inline fpgo_made_wakeup fpgo_wakeup_create(uint32_t flags)
{
	fpgo_made_wakeup made = { 0, 0 };
	fp_wakeup_opts opts;
	fp_wakeup *wakeup = 0;

	made.code = fp_wakeup_opts_init(&opts, sizeof(opts));
	if (made.code < 0)
		return made;
	opts.flags = flags;
	made.code = fp_wakeup_create(&opts, &wakeup);
	made.wakeup = (fpgo_wakeup *)wakeup;
	return made;
}

/* What has nothing to convert but the handle. */
#define FPGO_WAKEUP(name, function)                   \
	static inline int name(fpgo_wakeup *wakeup)   \
	{                                             \
		return function((fp_wakeup *)wakeup); \
	}
FPGO_WAKEUP(fpgo_wakeup_destroy, fp_wakeup_destroy)
FPGO_WAKEUP(fpgo_wakeup_mode, fp_wakeup_mode)
FPGO_WAKEUP(fpgo_wakeup_signal, fp_wakeup_signal)
FPGO_WAKEUP(fpgo_wakeup_interrupt, fp_wakeup_interrupt)
FPGO_WAKEUP(fpgo_wakeup_fd, fp_wakeup_fd)
FPGO_WAKEUP(fpgo_wakeup_arm, fp_wakeup_arm)
FPGO_WAKEUP(fpgo_wakeup_clear, fp_wakeup_clear)
#undef FPGO_WAKEUP

/* A descriptor of its own for the eventfd. */
static inline int fpgo_wakeup_dup(fpgo_wakeup *wakeup)
{
	int fd = fp_wakeup_fd((fp_wakeup *)wakeup);

	if (fd < 0)
		return fd;
	fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? -EMFILE : fd;
}

/* size is 0 if the call failed. */
static inline fp_wakeup_stats fpgo_wakeup_stats(fpgo_wakeup *wakeup)
{
	fp_wakeup_stats stats = { .size = sizeof(stats) };

	if (fp_wakeup_get_stats((fp_wakeup *)wakeup, &stats) < 0)
		stats.size = 0;
	return stats;
}

/* ---- rings ---- */

static inline int fpgo_set_wakeup(fpgo_ring *ring, uint32_t side, fpgo_wakeup *wakeup)
{
	return fp_ring_set_wakeup((fp_ring *)ring, side, (fp_wakeup *)wakeup);
}

static inline int fpgo_interrupt(fpgo_ring *ring, uint32_t side)
{
	return fp_ring_interrupt((fp_ring *)ring, side);
}

/* One try of a call that waits. */
static inline int32_t fpgo_enqueue_try(fpgo_ring *ring, const uint8_t *elems,
				       uint32_t min, uint32_t n)
{
	return fp_ring_enqueue_wait((fp_ring *)ring, elems, min, n, 0);
}

static inline int32_t fpgo_dequeue_try(fpgo_ring *ring, uint8_t *elems, uint32_t min,
				       uint32_t n)
{
	return fp_ring_dequeue_wait((fp_ring *)ring, elems, min, n, 0);
}

/* Whether a side is ready, at once or within the time. */
static inline int fpgo_ring_block(fpgo_ring *ring, uint32_t side, uint64_t timeout_ns)
{
	return side == LIBFP_RING_CONSUMER ?
		       fp_ring_wait_readable((fp_ring *)ring, timeout_ns) :
		       fp_ring_wait_writable((fp_ring *)ring, timeout_ns);
}

static inline int fpgo_ring_ready(fpgo_ring *ring, uint32_t side)
{
	return fpgo_ring_block(ring, side, 0);
}

#endif
