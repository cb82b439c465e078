/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters and lists of services and cores.
 *
 * Every binding counts for itself, written by its core alone; fp_service_run_once() has
 * counters in the service. When a binding is freed its counters are added to those of the
 * service, and of the map if there still is one. So a sum over the service's list and
 * what was folded is exact whenever nobody is inside, also after an unmap and after the
 * end of a core. A reset keeps the present sum and subtracts it from then on, because a
 * counter has one writer; only the longest call, which is a maximum, is overwritten.
 *
 * The watchdog: a call that is in progress when statistics are read, and was so with the
 * same count of calls when they were last read, has been inside since then at least. It
 * costs the loop nothing.
 */
#include <errno.h>

#include "base/opts.h"
#include "service/service_internal.h"

/* ---- sums ---- */

void fpi_counters_add(struct fpi_service_counters *to,
		      const struct fpi_service_counters *k)
{
	to->calls += k->calls;
	to->idle += k->idle;
	to->errors += k->errors;
	to->busy += k->busy;
	to->cycles += k->cycles;
	if (to->longest < k->longest)
		to->longest = k->longest;
}

static void subtract(struct fpi_service_counters *from,
		     const struct fpi_service_counters *k)
{
	from->calls -= k->calls;
	from->idle -= k->idle;
	from->errors -= k->errors;
	from->busy -= k->busy;
	from->cycles -= k->cycles;
}

struct fpi_service_counters fpi_binding_counters(const struct fpi_service_binding *b)
{
	struct fpi_service_counters k = { 0 };

	k.idle = FPI_LOAD(&b->idle, FPI_RELAXED);
	k.errors = FPI_LOAD(&b->errors, FPI_RELAXED);
	k.calls = FPI_LOAD(&b->calls, FPI_RELAXED);
	k.busy = FPI_LOAD(&b->busy, FPI_RELAXED);
	k.cycles = FPI_LOAD(&b->cycles, FPI_RELAXED);
	k.longest = FPI_LOAD(&b->longest, FPI_RELAXED);
	return k;
}

static uint64_t app_calls(const fp_service *s)
{
	uint64_t refused = FPI_LOAD(&s->refused, FPI_RELAXED);
	uint64_t leaves = FPI_LOAD(&s->leaves, FPI_RELAXED);

	/* Refused is counted first, so a thread in between is not counted as a call. */
	return leaves > refused ? leaves - refused : 0;
}

/* All that was ever counted. */
static struct fpi_service_counters sum(const fp_service *s)
{
	struct fpi_service_counters k = s->folded, more;

	for (const struct fpi_service_binding *b = s->bindings; b; b = b->next) {
		more = fpi_binding_counters(b);
		fpi_counters_add(&k, &more);
	}
	more = (struct fpi_service_counters){
		.calls = app_calls(s),
		.idle = FPI_LOAD(&s->app_idle, FPI_RELAXED),
		.errors = FPI_LOAD(&s->app_errors, FPI_RELAXED),
		.cycles = FPI_LOAD(&s->app_cycles, FPI_RELAXED),
		.longest = FPI_LOAD(&s->app_longest, FPI_RELAXED),
	};
	fpi_counters_add(&k, &more);
	return k;
}

static struct fpi_service_counters map_sum(const struct fpi_service_map *m)
{
	struct fpi_service_counters k = m->folded;

	for (const struct fpi_service_binding *b = m->service->bindings; b; b = b->next) {
		struct fpi_service_counters more = fpi_binding_counters(b);

		if (b->map == m)
			fpi_counters_add(&k, &more);
	}
	return k;
}

/* ---- the watchdog ---- */

/* A call number `calls` is in progress, or none is. Returns since when it was seen. */
static uint64_t watch(uint64_t *watch_calls, uint64_t *watch_since, int inside,
		      uint64_t calls, uint64_t now)
{
	if (!inside) {
		*watch_since = 0;
		return 0;
	}
	if (*watch_since && *watch_calls == calls)
		return *watch_since;
	*watch_calls = calls;
	*watch_since = now;
	return 0;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return !a || (b && b < a) ? b : a;
}

static uint64_t inside_since(fp_service *s)
{
	uint64_t now = fpi_now_ns(), since = 0;
	uint64_t owner = FPI_LOAD(&s->owner, FPI_RELAXED);
	uint64_t leaves = FPI_LOAD(&s->leaves, FPI_RELAXED);
	int inside = owner == FPI_SERVICE_APP;

	if (s->flags & LIBFP_SERVICE_MT_SAFE)
		inside = FPI_LOAD(&s->enters, FPI_RELAXED) != leaves;
	since = watch(&s->watch_calls, &s->watch_since, inside, leaves, now);
	for (struct fpi_service_binding *b = s->bindings; b; b = b->next) {
		uint64_t calls = FPI_LOAD(&b->calls, FPI_RELAXED) +
				 FPI_LOAD(&b->busy, FPI_RELAXED);

		inside = FPI_LOAD(&b->core->cur, FPI_RELAXED) == (void *)s && !b->left;
		since = earlier(since, watch(&b->watch_calls, &b->watch_since, inside,
					     calls, now));
	}
	return since;
}

/* ---- statistics of a service ---- */

int fp_service_get_stats(fp_service *service, fp_service_stats *io)
{
	int err = fpi_service_check(service), active;
	struct fpi_service_counters k;
	fp_service_stats s = { 0 };

	if (err || !io)
		return err ? err : -EINVAL;
	active = fpi_service_active(service);
	if (service->cycles)
		s.cycle_hz = fpi_cycle_hz();
	fpi_services_lock();
	k = sum(service);
	subtract(&k, &service->base);
	s.flags = (service->ready ? LIBFP_SERVICE_IS_READY : 0) |
		  (service->started ? LIBFP_SERVICE_IS_STARTED : 0) |
		  (active > 0 ? LIBFP_SERVICE_IS_ACTIVE : 0);
	s.calls = k.calls;
	s.idle = k.idle;
	s.errors = k.errors;
	s.busy = k.busy;
	if (service->cycles)
		s.cycles = k.cycles;
	if (service->cycles == LIBFP_SERVICE_CYCLES_EXACT)
		s.longest = k.longest;
	s.cores = service->n_maps;
	s.inside_since_ns = inside_since(service);
	s.deadline_ns = FPI_LOAD(&service->deadline, FPI_RELAXED);
	fpi_services_unlock();
	return fpi_stats_write(io, &s, sizeof(s));
}

int fp_service_reset_stats(fp_service *service)
{
	int err = fpi_service_check(service);

	if (err)
		return err;
	fpi_services_lock();
	service->base = sum(service);
	for (struct fpi_service_map *m = service->maps; m; m = m->next_of_service)
		m->base = map_sum(m);
	service->folded.longest = 0;
	FPI_STORE(&service->app_longest, 0, FPI_RELAXED);
	for (struct fpi_service_binding *b = service->bindings; b; b = b->next)
		FPI_STORE(&b->longest, 0, FPI_RELAXED);
	fpi_services_unlock();
	return 0;
}

int fp_service_get_map_stats(fp_service *service, fp_service_core *core,
			     fp_service_map_stats *io)
{
	int err = fpi_service_check(service);
	struct fpi_service_counters k;
	fp_service_map_stats s = { 0 };
	struct fpi_service_map *m;

	if (!err)
		err = fpi_core_check(core);
	if (err || !io || io->size < 8)
		return err ? err : -EINVAL;
	fpi_services_lock();
	m = fpi_map_find(service, core);
	if (m) {
		k = map_sum(m);
		subtract(&k, &m->base);
		s.calls = k.calls;
		s.idle = k.idle;
		s.errors = k.errors;
		s.busy = k.busy;
		s.cycles = service->cycles ? k.cycles : 0;
	}
	fpi_services_unlock();
	return m ? fpi_stats_write(io, &s, sizeof(s)) : -ENOENT;
}

/* ---- statistics of a core ---- */

static struct fpi_core_counters core_counters(const fp_service_core *c)
{
	return (struct fpi_core_counters){
		.loops = FPI_LOAD(&c->loops, FPI_RELAXED),
		.idle_loops = FPI_LOAD(&c->idle_loops, FPI_RELAXED),
		.busy_cycles = FPI_LOAD(&c->busy_cycles, FPI_RELAXED),
		.idle_cycles = FPI_LOAD(&c->idle_cycles, FPI_RELAXED),
		.sleeps = FPI_LOAD(&c->sleeps, FPI_RELAXED),
		.naps = FPI_LOAD(&c->naps, FPI_RELAXED),
		.wakes = FPI_LOAD(&c->wakes, FPI_RELAXED),
		.late = FPI_LOAD(&c->late_wakes, FPI_RELAXED),
	};
}

int fp_service_core_get_stats(fp_service_core *core, fp_service_core_stats *io)
{
	int err = fpi_core_check(core);
	fp_service_core_stats s = { 0 };
	struct fpi_core_counters k;
	int measured;
	uint64_t hz;

	if (err || !io)
		return err ? err : -EINVAL;
	fpi_services_lock();
	measured = core->cycles_on;
	fpi_services_unlock();
	hz = measured ? fpi_cycle_hz() : 0;
	fpi_services_lock();
	k = core_counters(core);
	s.flags = core->granted | (core->lent ? LIBFP_SERVICE_CORE_IS_LENT : 0);
	s.state = core->state;
	if (s.state == LIBFP_SERVICE_CORE_RUNNING && FPI_LOAD(&core->asleep, FPI_RELAXED))
		s.state = LIBFP_SERVICE_CORE_ASLEEP;
	s.loops = k.loops - core->base.loops;
	s.idle_loops = k.idle_loops - core->base.idle_loops;
	s.busy_cycles = k.busy_cycles - core->base.busy_cycles;
	s.idle_cycles = k.idle_cycles - core->base.idle_cycles;
	s.cycle_hz = hz;
	s.sleeps = k.sleeps - core->base.sleeps;
	s.naps = k.naps - core->base.naps;
	s.wakes = k.wakes - core->base.wakes;
	s.late_wakes = k.late - core->base.late;
	s.services = core->n_maps;
	s.thread_id = core->thread_id;
	fpi_services_unlock();
	return fpi_stats_write(io, &s, sizeof(s));
}

int fp_service_core_reset_stats(fp_service_core *core)
{
	int err = fpi_core_check(core);

	if (err)
		return err;
	fpi_services_lock();
	core->base = core_counters(core);
	fpi_services_unlock();
	return 0;
}

/* ---- lists ---- */

int64_t fp_service_list(fp_service **list, uint32_t n)
{
	int64_t count = 0;

	if (!list && n)
		return -EINVAL;
	fpi_services_lock();
	for (fp_service *s = fpi_services.first; s; s = s->next, count++)
		if (count < n) {
			s->references++;
			list[count] = s;
		}
	fpi_services_unlock();
	return count;
}

int64_t fp_service_core_list(fp_service_core **list, uint32_t n)
{
	int64_t count = 0;

	if (!list && n)
		return -EINVAL;
	fpi_services_lock();
	for (fp_service_core *c = fpi_services.first_core; c; c = c->next, count++)
		if (count < n) {
			c->references++;
			list[count] = c;
		}
	fpi_services_unlock();
	return count;
}

int64_t fp_service_core_services(fp_service_core *core, fp_service **list, uint32_t n)
{
	int err = fpi_core_check(core);
	int64_t count = 0;

	if (err || (!list && n))
		return err ? err : -EINVAL;
	fpi_services_lock();
	for (struct fpi_service_map *m = core->maps; m; m = m->next_of_core, count++)
		if (count < n) {
			m->service->references++;
			list[count] = m->service;
		}
	fpi_services_unlock();
	return count;
}
