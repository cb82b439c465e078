/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Wake-ups: create, destroy, bind, inspect. Sleeping and signalling are in
 * wakeup_count.c, the descriptor in wakeup_fd.c, service cores in wakeup_cores.c.
 */
#include <errno.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/membarrier.h"
#include "base/opts.h"
#include "wakeup/wakeup.h"

#define WAKEUP_OPTS_FIRST 16 /* sizeof(fp_wakeup_opts) as first published */

int fp_wakeup_opts_init(fp_wakeup_opts *opts, uint32_t size)
{
	return fpi_opts_init(opts, size, WAKEUP_OPTS_FIRST);
}

int fpi_wakeup_ready(void)
{
	return fpi_fork_register();
}

static uint32_t choose_mode(uint32_t flags)
{
	if (flags & LIBFP_WAKEUP_FENCE)
		return LIBFP_WAKEUP_MODE_FENCE;
	return fpi_membarrier_register() ? LIBFP_WAKEUP_MODE_POLL :
					   LIBFP_WAKEUP_MODE_MEMBARRIER;
}

void fpi_wakeup_init(fp_wakeup *w, uint32_t kind, uint32_t flags)
{
	w->kind = kind;
	w->mode = choose_mode(flags);
	w->generation = fpi_fork_generation();
	if (w->mode == LIBFP_WAKEUP_MODE_FENCE)
		w->state.value = FPI_WAKEUP_FENCED;
}

int fpi_wakeup_check(const fp_wakeup *w)
{
	if (!w)
		return -EINVAL;
	if (w->generation == 0)
		return -ENXIO;
	if (w->generation != fpi_fork_generation())
		return -ECHILD;
	return w->kind == FPI_WAKEUP_CORES ? -EOPNOTSUPP : 0;
}

static int read_opts(fp_wakeup_opts *o, const fp_wakeup_opts *opts)
{
	int err;

	*o = (fp_wakeup_opts)LIBFP_WAKEUP_OPTS_INIT;
	if (!opts)
		return 0;
	err = fpi_opts_read(o, sizeof(*o), WAKEUP_OPTS_FIRST, opts);
	if (err)
		return fpi_refuse(err,
				  "fp_wakeup_create: options misaligned or of a size "
				  "this library does not know");
	if (o->flags & ~(uint32_t)LIBFP_WAKEUP_FENCE)
		return fpi_refuse(-EOPNOTSUPP, "fp_wakeup_create: unknown flags %#x",
				  o->flags);
	return fpi_allocator_check(o->allocator);
}

int fp_wakeup_create(const fp_wakeup_opts *opts, fp_wakeup **out)
{
	struct fpi_mem mem = { 0 };
	fp_wakeup_opts o;
	fp_wakeup *w;
	int err;

	if (!out)
		return fpi_refuse(-EINVAL, "fp_wakeup_create: out is NULL");
	err = read_opts(&o, opts);
	if (err)
		return err;
	err = fpi_wakeup_ready();
	if (!err)
		err = fpi_mem_alloc(&mem, o.allocator, sizeof(*w), FPI_FALSE_SHARING, 0,
				    0);
	if (err)
		return fpi_refuse(err, "fp_wakeup_create: no memory");
	w = mem.ptr;
	w->mem = mem;
	fpi_wakeup_init(w, FPI_WAKEUP_ALL, o.flags);
	*out = w;
	return 0;
}

int fpi_wakeup_in_use(const fp_wakeup *w)
{
	/* Partner: WAKE_LEAVE: its last access came before. */
	uint64_t state = FPI_LOAD(&w->state, FPI_MO(WAKE_IN_USE, ACQUIRE));

	/* Partner: WAKE_UNBIND: its last signal came before. */
	if (FPI_LOAD(&w->bound, FPI_MO(WAKE_BOUND, ACQUIRE)))
		return 1;
	return w->kind != FPI_WAKEUP_CORES && (state & FPI_WAKEUP_WAITERS_MAX) != 0;
}

int fpi_wakeup_bind(fp_wakeup *w)
{
	if (w->generation != fpi_fork_generation())
		return -ECHILD;
	FPI_FETCH_ADD(&w->bound, 1, FPI_RELAXED);
	return 0;
}

int fpi_wakeup_is_bound(const fp_wakeup *w)
{
	return (uint32_t)FPI_LOAD(&w->bound, FPI_RELAXED) != 0;
}

void fpi_wakeup_unbind(fp_wakeup *w)
{
	uint64_t unit = 1;

	if (w->kind == FPI_WAKEUP_CORES) {
		/*
		 * A core may sleep without limit because of this object. It is told to
		 * look again, and until then the wake-up is in use.
		 */
		unit = FPI_WAKEUP_UNBINDING;
		FPI_FETCH_ADD(&w->bound, unit - 1, FPI_RELAXED);
		fpi_wakeup_signal(w);
	}
	/* Release: the object's signals, to the thread that destroys. */
	FPI_FETCH_SUB(&w->bound, unit, FPI_MO(WAKE_UNBIND, RELEASE));
}

int fp_wakeup_destroy(fp_wakeup *wakeup)
{
	struct fpi_mem mem;
	int saved = errno;
	uint32_t fd;

	if (!wakeup)
		return 0;
	if (!wakeup->mem.ptr)
		return fpi_refuse(-EOPNOTSUPP,
				  "fp_wakeup_destroy: it belongs to a service "
				  "or a service core");
	/* A child has none of the parent's threads, and leaves its descriptors alone. */
	if (wakeup->generation == fpi_fork_generation()) {
		if (fpi_wakeup_in_use(wakeup))
			return fpi_refuse(-EBUSY,
					  "fp_wakeup_destroy: objects are bound to "
					  "it, or a thread waits");
		fd = FPI_LOAD(&wakeup->fd, FPI_RELAXED);
		if (fd)
			close((int)fd - 1);
		errno = saved;
	}
	mem = wakeup->mem;
	fpi_mem_free(&mem);
	return 0;
}

int fp_wakeup_mode(const fp_wakeup *wakeup)
{
	if (!wakeup)
		return -EINVAL;
	/* What it was made for, unless the kernel has withdrawn it. */
	return fpi_wakeup_limit(wakeup) == FPI_NO_DEADLINE ? (int)wakeup->mode :
							     LIBFP_WAKEUP_MODE_POLL;
}

int fp_wakeup_get_stats(const fp_wakeup *wakeup, fp_wakeup_stats *io)
{
	fp_wakeup_stats s = { 0 };

	if (!wakeup || !io)
		return -EINVAL;
	if (wakeup->kind != FPI_WAKEUP_CORES)
		s.waiting =
			FPI_LOAD(&wakeup->state, FPI_RELAXED) & FPI_WAKEUP_WAITERS_MAX;
	s.bound = (uint32_t)FPI_LOAD(&wakeup->bound, FPI_RELAXED);
	s.sleeps = FPI_LOAD(&wakeup->sleeps, FPI_RELAXED);
	s.wakes = FPI_LOAD(&wakeup->wakes, FPI_RELAXED);
	s.spurious = FPI_LOAD(&wakeup->spurious, FPI_RELAXED);
	s.fallback_polls = FPI_LOAD(&wakeup->fallback_polls, FPI_RELAXED);
	s.fd_writes = FPI_LOAD(&wakeup->fd_writes, FPI_RELAXED);
	s.interrupts = FPI_LOAD(&wakeup->interrupts, FPI_RELAXED);
	return fpi_stats_write(io, &s, sizeof(s));
}
