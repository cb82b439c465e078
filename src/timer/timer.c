/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Timer wheels: options, create, destroy, names, counters, conversion of time.
 * timer_internal.h says what is where.
 *
 * A wheel is two blocks: the struct with its lanes and, if asked for, a wake-up of its own;
 * and the space for records, chunks and periods, which is touched as timers are made.
 */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/opts.h"
#include "service/service.h"
#include "timer/timer_internal.h"

#define WHEEL_OPTS_FIRST 56 /* sizeof(fp_timer_wheel_opts) as first published */
#define WHEEL_MEM_FLAGS (LIBFP_MEM_HUGE | LIBFP_MEM_PREFAULT | LIBFP_MEM_NODE)
#define WHEEL_FLAGS \
	(LIBFP_STATS | WHEEL_MEM_FLAGS | LIBFP_WHEEL_START_AT | LIBFP_WHEEL_WAIT)
#define TOUCH_STEP 4096 /* no platform has smaller pages */

static struct fpi_registry wheel_names = FPI_REGISTRY_INIT;

int fp_timer_wheel_opts_init(fp_timer_wheel_opts *opts, uint32_t size)
{
	return fpi_opts_init(opts, size, WHEEL_OPTS_FIRST);
}

int fpi_wheel_check(const fp_timer_wheel *w)
{
	if (!w)
		return -EINVAL;
	return w->generation == fpi_fork_generation() ? 0 : -ECHILD;
}

/* ---- options ---- */

static int check_counts(fp_timer_wheel_opts *o)
{
	if (o->max_timers == 0)
		o->max_timers = o->capacity ? o->capacity : LIBFP_WHEEL_TIMERS_DEFAULT;
	if (o->capacity == 0)
		o->capacity = o->max_timers < LIBFP_WHEEL_TIMERS_DEFAULT ?
				      o->max_timers :
				      LIBFP_WHEEL_TIMERS_DEFAULT;
	if (o->max_timers > LIBFP_WHEEL_TIMERS_MAX || o->max_timers < o->capacity)
		return fpi_refuse(-EINVAL,
				  "fp_timer_wheel_create: max_timers %u is below "
				  "capacity %u or above %d",
				  o->max_timers, o->capacity, LIBFP_WHEEL_TIMERS_MAX);
	return 0;
}

static int read_opts(fp_timer_wheel_opts *o, const fp_timer_wheel_opts *opts)
{
	int err;

	*o = (fp_timer_wheel_opts)LIBFP_TIMER_WHEEL_OPTS_INIT;
	err = opts ? fpi_opts_read(o, sizeof(*o), WHEEL_OPTS_FIRST, opts) : 0;
	if (err)
		return fpi_refuse(err,
				  "fp_timer_wheel_create: options misaligned or of a "
				  "size this library does not know");
	if (o->flags & ~(uint32_t)WHEEL_FLAGS)
		return fpi_refuse(-EOPNOTSUPP, "fp_timer_wheel_create: unknown flags %#x",
				  o->flags);
	if (o->reserved0)
		return fpi_refuse(-EINVAL, "fp_timer_wheel_create: padding is not zero");
	if (!o->tick_ns)
		o->tick_ns = LIBFP_WHEEL_TICK_NS_DEFAULT;
	err = check_counts(o);
	return err ? err : fpi_allocator_check(o->allocator);
}

/* ---- create ---- */

static void touch(void *from, uint64_t bytes)
{
	volatile unsigned char *p = from;

	for (uint64_t i = 0; i < bytes; i += TOUCH_STEP)
		p[i] = 0;
}

static int get_space(fp_timer_wheel *w, const fp_timer_wheel_opts *o)
{
	uint64_t records = (uint64_t)o->max_timers * sizeof(*w->records);
	uint64_t chunks = fpi_wheel_chunks_for(o->max_timers) * sizeof(*w->chunks);
	uint64_t periods = (uint64_t)o->max_timers * sizeof(*w->periods);
	uint64_t size = records + chunks + periods;
	unsigned char *at;
	int err;

	/* Untouched: memory for timers that are never made is only address space. */
	err = fpi_mem_alloc(&w->space, o->allocator, size, FPI_FALSE_SHARING,
			    o->flags & WHEEL_MEM_FLAGS & ~(uint32_t)LIBFP_MEM_PREFAULT,
			    o->numa_node);
	if (err)
		return fpi_refuse(err, "fp_timer_wheel_create: no %llu bytes of memory",
				  (unsigned long long)size);
	at = w->space.ptr;
	w->records = (struct fpi_timer *)(void *)at;
	w->chunks = (struct fpi_chunk *)(void *)(at + records);
	w->periods = (struct fpi_timer_period *)(void *)(at + records + chunks);
	if (o->flags & LIBFP_MEM_PREFAULT) {
		uint64_t timers = o->capacity;

		touch(w->records, timers * sizeof(*w->records));
		touch(w->chunks, (timers / FPI_CHUNK_ENTRIES + 1) * sizeof(*w->chunks));
	}
	w->reserved_bytes = size + w->mem.size;
	return 0;
}

static void set_options(fp_timer_wheel *w, const fp_timer_wheel_opts *o)
{
	uint64_t now = fpi_now_ns() / o->tick_ns;

	w->flags = o->flags;
	w->generation = fpi_fork_generation();
	w->tick_ns = o->tick_ns;
	w->cur = o->flags & LIBFP_WHEEL_START_AT ? o->start_tick : now;
	w->last_now = w->cur;
	w->max_timers = o->max_timers;
	while (1ull << w->index_bits < o->max_timers)
		w->index_bits++;
	w->index_mask = (1ull << w->index_bits) - 1;
	if (o->allocator)
		w->allocator = *o->allocator;
	w->owner.value = fpi_timer_me();
	w->next.value = UINT64_MAX;
	w->wake = &fpi_wakeup_nobody;
	if (w->own) {
		fpi_wakeup_init(w->own, FPI_WAKEUP_ALL, 0);
		w->wake = w->own;
	}
}

/* The struct, its lanes, and its own wake-up. NULL: no memory. */
static fp_timer_wheel *get_wheel(const fp_timer_wheel_opts *o)
{
	uint64_t lanes = FPI_ALIGN_UP(sizeof(fp_timer_wheel), FPI_FALSE_SHARING);
	uint64_t own = lanes + FPI_TIMER_LANES * sizeof(struct fpi_timer_lane),
		 size = own;
	struct fpi_mem mem = { 0 };
	fp_timer_wheel *w;
	int err;

	if (o->flags & LIBFP_WHEEL_WAIT)
		size += sizeof(fp_wakeup);
	err = fpi_mem_alloc(&mem, o->allocator, size, FPI_FALSE_SHARING, 0, 0);
	if (err) {
		fpi_refuse(err, "fp_timer_wheel_create: no %llu bytes of memory",
			   (unsigned long long)size);
		return NULL;
	}
	w = mem.ptr;
	w->mem = mem;
	w->lanes = (struct fpi_timer_lane *)(void *)((unsigned char *)mem.ptr + lanes);
	if (o->flags & LIBFP_WHEEL_WAIT)
		w->own = (fp_wakeup *)(void *)((unsigned char *)mem.ptr + own);
	return w;
}

static void free_wheel(fp_timer_wheel *w)
{
	struct fpi_mem mem = w->mem;

	fpi_mem_free(&w->space);
	fpi_mem_free(&mem);
}

int fp_timer_wheel_create(const fp_timer_wheel_opts *opts, fp_timer_wheel **out)
{
	fp_timer_wheel_opts o;
	fp_timer_wheel *w;
	int err = read_opts(&o, opts);

	if (err)
		return err;
	if (!out)
		return fpi_refuse(-EINVAL, "fp_timer_wheel_create: out is NULL");
	err = o.flags & LIBFP_WHEEL_WAIT ? fpi_wakeup_ready() : fpi_fork_register();
	if (err)
		return err;
	w = get_wheel(&o);
	if (!w)
		return -ENOMEM;
	set_options(w, &o);
	err = get_space(w, &o);
	if (!err) {
		err = fpi_registry_reserve(&wheel_names, &w->name, o.name, w);
		if (err)
			fpi_refuse(err,
				   "fp_timer_wheel_create: name '%.64s' is taken, empty "
				   "or too long",
				   o.name);
	}
	if (err) {
		free_wheel(w);
		return err;
	}
	fpi_wheel_init(w);
	fpi_timer_pool_init(w);
	*out = w;
	fpi_registry_publish(&w->name);
	return 0;
}

/* ---- destroy ---- */

int fp_timer_wheel_destroy(fp_timer_wheel *wheel)
{
	int err;

	if (!wheel)
		return 0;
	/* Threads, users and references of the parent do not exist in a child. */
	if (wheel->generation != fpi_fork_generation()) {
		fpi_registry_retire(&wheel->name, 1);
		fpi_service_destroy(wheel->service, 0, 0);
		free_wheel(wheel);
		return 0;
	}
	if (FPI_LOAD(&wheel->polling, FPI_RELAXED))
		return fpi_refuse(-EBUSY,
				  "fp_timer_wheel_destroy: a poll is in progress");
	if (fpi_registry_referenced(&wheel->name))
		return fpi_refuse(-EBUSY,
				  "fp_timer_wheel_destroy: references by lookup are out");
	err = fpi_wheel_unwait(wheel);
	if (!err)
		err = fpi_registry_retire(&wheel->name, 0);
	if (!err)
		free_wheel(wheel);
	return err;
}

/* ---- names ---- */

int fp_timer_wheel_lookup(const char *name, fp_timer_wheel **out)
{
	void *object;
	int err;

	if (!name || !out)
		return -EINVAL;
	err = fpi_registry_lookup(&wheel_names, name, &object);
	if (!err)
		*out = object;
	return err;
}

int fp_timer_wheel_unref(fp_timer_wheel *wheel)
{
	return wheel ? fpi_registry_unref(&wheel->name) : -EINVAL;
}

const char *fp_timer_wheel_name(const fp_timer_wheel *wheel)
{
	return wheel ? fpi_registry_name(&wheel->name) : NULL;
}

/* ---- time ---- */

int fp_timer_wheel_now(const fp_timer_wheel *wheel, uint64_t *tick)
{
	if (!wheel || !tick)
		return -EINVAL;
	*tick = fpi_now_ns() / wheel->tick_ns;
	return 0;
}

int fp_timer_wheel_ticks_from_ns(const fp_timer_wheel *wheel, uint64_t ns,
				 uint64_t *ticks)
{
	if (!wheel || !ticks)
		return -EINVAL;
	*ticks = ns / wheel->tick_ns + (ns % wheel->tick_ns != 0);
	return 0;
}

int64_t fp_timer_wheel_tick_ns(const fp_timer_wheel *wheel)
{
	if (!wheel)
		return -EINVAL;
	return wheel->tick_ns > INT64_MAX ? INT64_MAX : (int64_t)wheel->tick_ns;
}

/* ---- counters ---- */

/* The memory that has been written to at most. */
static uint64_t used_bytes(const fp_timer_wheel *w)
{
	return w->mem.size + FPI_LOAD(&w->made, FPI_RELAXED) * sizeof(*w->records) +
	       (FPI_LOAD(&w->chunks_used, FPI_RELAXED) + 1) * sizeof(*w->chunks);
}

int fp_timer_wheel_get_stats(const fp_timer_wheel *wheel, fp_timer_wheel_stats *io)
{
	fp_timer_wheel_stats s = { 0 };

	if (!wheel || !io)
		return -EINVAL;
	s.timers = FPI_LOAD(&wheel->exist, FPI_RELAXED);
	s.max_timers = wheel->max_timers;
	if (wheel->flags & LIBFP_STATS) {
		s.flags |= LIBFP_WHEEL_STATS_COUNTED;
		for (uint32_t i = 0; i < FPI_TIMER_LANES; i++) {
			s.arms += FPI_LOAD(&wheel->lanes[i].arms, FPI_RELAXED);
			s.rearms += FPI_LOAD(&wheel->lanes[i].rearms, FPI_RELAXED);
			s.cancelled += FPI_LOAD(&wheel->lanes[i].cancelled, FPI_RELAXED);
		}
	}
	s.fired = FPI_LOAD(&wheel->fired, FPI_RELAXED);
	s.expired = FPI_LOAD(&wheel->expired, FPI_RELAXED);
	s.overruns = FPI_LOAD(&wheel->overruns, FPI_RELAXED);
	s.late_max = FPI_LOAD(&wheel->late_max, FPI_RELAXED);
	s.polls = FPI_LOAD(&wheel->polls, FPI_RELAXED);
	s.entries_moved = FPI_LOAD(&wheel->moved, FPI_RELAXED);
	s.entries_moved_max = FPI_LOAD(&wheel->moved_max, FPI_RELAXED);
	s.memory = wheel->reserved_bytes;
	s.memory_used = used_bytes(wheel);
	return fpi_stats_write(io, &s, sizeof(s));
}

int fp_timer_wheel_reset_stats(fp_timer_wheel *wheel)
{
	if (!wheel)
		return -EINVAL;
	for (uint32_t i = 0; i < FPI_TIMER_LANES; i++) {
		FPI_STORE(&wheel->lanes[i].arms, 0, FPI_RELAXED);
		FPI_STORE(&wheel->lanes[i].rearms, 0, FPI_RELAXED);
		FPI_STORE(&wheel->lanes[i].cancelled, 0, FPI_RELAXED);
	}
	FPI_STORE(&wheel->fired, 0, FPI_RELAXED);
	FPI_STORE(&wheel->expired, 0, FPI_RELAXED);
	FPI_STORE(&wheel->overruns, 0, FPI_RELAXED);
	FPI_STORE(&wheel->late_max, 0, FPI_RELAXED);
	FPI_STORE(&wheel->polls, 0, FPI_RELAXED);
	FPI_STORE(&wheel->moved, 0, FPI_RELAXED);
	FPI_STORE(&wheel->moved_max, 0, FPI_RELAXED);
	return 0;
}
