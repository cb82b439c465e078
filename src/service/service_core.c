/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cores: create, destroy, start, stop, run. The loop is in service_loop.c,
 * the thread that a core makes for itself in service_thread.c.
 *
 *     STOPPED --start, run--> RUNNING --stop--> STOPPING --leave--> STOPPED
 *                                \______________time over_________/
 *
 * A core that is told to stop finds a snapshot that says so. It stays the last word until
 * the core has left: changes meanwhile publish nothing, and the next start builds a
 * snapshot of what is mapped then. While a core is not in its loop, its ack is larger
 * than any generation: whatever is retired has been passed.
 *
 * Maps, bindings and snapshots are blocks of the core's memory, in one list. The list is
 * whole after every store, since a child may find it in the middle of a change and frees
 * all of it by its `next`.
 */
#define _GNU_SOURCE 1 /* CPU sets */
#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "base/membarrier.h"
#include "base/opts.h"
#include "base/step.h"
#include "service/service_internal.h"

#define CORE_OPTS_FIRST 88 /* sizeof(fp_service_core_opts) as first published */
#define CORE_FLAGS \
	(LIBFP_SERVICE_CORE_SPIN_NS | LIBFP_SERVICE_CORE_NAP_NS | LIBFP_SERVICE_CORE_PIN)
#define NOT_IN_LOOP UINT64_MAX /* core.ack */

static struct fpi_registry core_names = FPI_REGISTRY_INIT;

int fpi_core_check(const fp_service_core *c)
{
	if (!c)
		return -EINVAL;
	return c->generation == fpi_fork_generation() ? 0 : -ECHILD;
}

const char *fpi_core_label(const fp_service_core *c)
{
	const char *name = fpi_registry_name(&c->name);

	return name ? name : "without a name";
}

/* ---- memory ---- */

void *fpi_core_alloc(fp_service_core *c, uint64_t size, uint64_t block_at, uint32_t kind)
{
	struct fpi_mem mem = { 0 };
	struct fpi_block *block, *first = FPI_LOAD(&c->blocks, FPI_RELAXED);

	if (fpi_mem_alloc(&mem, c->allocator.size ? &c->allocator : NULL, size,
			  FPI_FALSE_SHARING, 0, 0))
		return NULL;
	block = (struct fpi_block *)(void *)((char *)mem.ptr + block_at);
	block->mem = mem;
	block->kind = kind;
	block->next.value = first;
	/* Release: whole before it is in the list, in a child's copy too. */
	FPI_STORE(&c->blocks, (void *)block, FPI_MO(SERVICE_BLOCK, RELEASE));
	if (first)
		first->prev = block;
	return mem.ptr;
}

void fpi_core_free(fp_service_core *c, struct fpi_block *block)
{
	struct fpi_block *next = FPI_LOAD(&block->next, FPI_RELAXED);
	struct fpi_mem mem = block->mem;

	FPI_STORE(block->prev ? &block->prev->next : &c->blocks, (void *)next,
		  FPI_MO(SERVICE_UNBLOCK, RELEASE));
	if (next)
		next->prev = block->prev;
	fpi_mem_free(&mem);
}

static void free_core(fp_service_core *c)
{
	struct fpi_block *block = FPI_LOAD(&c->blocks, FPI_RELAXED), *next;
	struct fpi_mem mem;

	for (; block; block = next) {
		next = FPI_LOAD(&block->next, FPI_RELAXED);
		mem = block->mem;
		fpi_mem_free(&mem);
	}
	mem = c->mem;
	fpi_mem_free(&mem);
}

/* ---- create ---- */

int fp_service_core_opts_init(fp_service_core_opts *opts, uint32_t size)
{
	return fpi_opts_init(opts, size, CORE_OPTS_FIRST);
}

static int check_priority(const fp_service_core_opts *o)
{
	int real_time = o->policy == LIBFP_SERVICE_CORE_POLICY_FIFO ||
			o->policy == LIBFP_SERVICE_CORE_POLICY_RR;
	int ok = o->priority >= -20 && o->priority <= 19;

	if (real_time)
		ok = o->priority >= 1 && o->priority <= 99;
	else if (o->policy == LIBFP_SERVICE_CORE_POLICY_NONE)
		ok = o->priority == 0;
	if (!ok)
		return fpi_refuse(
			-EINVAL,
			"fp_service_core_create: priority %d does not go with policy %u",
			o->priority, o->policy);
	return 0;
}

static int read_opts(fp_service_core_opts *o, const fp_service_core_opts *opts)
{
	int err;

	*o = (fp_service_core_opts)LIBFP_SERVICE_CORE_OPTS_INIT;
	if (!opts)
		return 0;
	err = fpi_opts_read(o, sizeof(*o), CORE_OPTS_FIRST, opts);
	if (err)
		return fpi_refuse(err, "fp_service_core_create: options misaligned or of "
				       "a size this library does not know");
	if (o->flags & ~(uint32_t)CORE_FLAGS)
		return fpi_refuse(-EOPNOTSUPP,
				  "fp_service_core_create: unknown flags %#x", o->flags);
	if (o->policy > LIBFP_SERVICE_CORE_POLICY_IDLE ||
	    o->idle > LIBFP_SERVICE_CORE_SPIN)
		return fpi_refuse(-EOPNOTSUPP,
				  "fp_service_core_create: unknown policy %u or idle %u",
				  o->policy, o->idle);
	if (o->cpu > LIBFP_SERVICE_CORE_CPU_MAX)
		return fpi_refuse(-EINVAL, "fp_service_core_create: CPU %u is above %d",
				  o->cpu, LIBFP_SERVICE_CORE_CPU_MAX);
	err = check_priority(o);
	return err ? err : fpi_allocator_check(o->allocator);
}

static void set_options(fp_service_core *c, const fp_service_core_opts *o)
{
	c->spin_ns = o->spin_ns;
	if (!c->spin_ns && !(o->flags & LIBFP_SERVICE_CORE_SPIN_NS))
		c->spin_ns = LIBFP_SERVICE_CORE_SPIN_DEFAULT;
	c->nap_ns = o->nap_ns;
	if (!c->nap_ns && !(o->flags & LIBFP_SERVICE_CORE_NAP_NS))
		c->nap_ns = LIBFP_SERVICE_CORE_NAP_DEFAULT;
	c->unwakeable_ns = o->unwakeable_ns ? o->unwakeable_ns :
					      LIBFP_SERVICE_CORE_UNWAKEABLE_DEFAULT;
	c->late_margin_ns = o->late_margin_ns;
	c->max_sleep_ns = o->max_sleep_ns;
	c->stack_size = o->stack_size;
	c->policy = o->policy;
	c->priority = o->priority;
	c->idle_policy = o->idle;
	CPU_ZERO(&c->cpus);
	if (o->flags & LIBFP_SERVICE_CORE_PIN) {
		CPU_SET(o->cpu, &c->cpus);
		c->has_cpus = 1;
	}
	if (o->allocator)
		c->allocator = *o->allocator;
	c->generation = fpi_fork_generation();
	c->exchanges = fpi_membarrier_register() != 0;
	fpi_wakeup_init(&c->wakeup, FPI_WAKEUP_CORES, 0);
	c->ack.value = NOT_IN_LOOP;
	c->maps_end = &c->maps;
	c->stop.flags = FPI_SNAPSHOT_STOP;
	c->snapshot.value = &c->stop;
}

static void join_list(fp_service_core *c)
{
	fpi_services_lock();
	c->number = fpi_services.cores_made++;
	c->bit = fpi_wakeup_core_bit(c->number);
	c->prev = fpi_services.last_core;
	if (c->prev)
		c->prev->next = c;
	else
		fpi_services.first_core = c;
	fpi_services.last_core = c;
	fpi_services_unlock();
}

static void leave_list(fp_service_core *c)
{
	if (c->prev)
		c->prev->next = c->next;
	else
		fpi_services.first_core = c->next;
	if (c->next)
		c->next->prev = c->prev;
	else
		fpi_services.last_core = c->prev;
}

int fp_service_core_create(const fp_service_core_opts *opts, fp_service_core **out)
{
	struct fpi_mem mem = { 0 };
	fp_service_core_opts o;
	fp_service_core *c;
	int err = read_opts(&o, opts);

	if (err)
		return err;
	if (!out)
		return fpi_refuse(-EINVAL, "fp_service_core_create: out is NULL");
	err = fpi_wakeup_ready();
	if (!err)
		err = fpi_mem_alloc(&mem, o.allocator, sizeof(*c), FPI_FALSE_SHARING, 0,
				    0);
	if (err)
		return fpi_refuse(err, "fp_service_core_create: no memory");
	c = mem.ptr;
	c->mem = mem;
	set_options(c, &o);
	err = fpi_registry_reserve(&core_names, &c->name, o.name, c);
	if (err) {
		fpi_refuse(err,
			   "fp_service_core_create: name '%.64s' is taken, empty or "
			   "too long",
			   o.name);
		fpi_mem_free(&mem);
		return err;
	}
	join_list(c);
	*out = c;
	fpi_registry_publish(&c->name);
	return 0;
}

int fp_service_core_set_cpus(fp_service_core *core, const uint32_t *cpus, uint32_t n)
{
	int err = fpi_core_check(core);
	cpu_set_t set;

	if (err || (!cpus && n))
		return err ? err : -EINVAL;
	CPU_ZERO(&set);
	for (uint32_t i = 0; i < n; i++) {
		if (cpus[i] > LIBFP_SERVICE_CORE_CPU_MAX)
			return -EINVAL;
		CPU_SET(cpus[i], &set);
	}
	fpi_services_lock();
	if (core->state == LIBFP_SERVICE_CORE_STOPPED) {
		core->cpus = set;
		core->has_cpus = n != 0;
	} else {
		err = -EBUSY;
	}
	fpi_services_unlock();
	return err;
}

/* ---- destroy ---- */

/* Under the lock: 0, or -EBUSY and why. */
static int take_down(fp_service_core *c, const char **why)
{
	*why = NULL;
	if (c->state != LIBFP_SERVICE_CORE_STOPPED || c->starting || c->joinable)
		*why = "it runs";
	else if (fpi_wakeup_in_use(&c->wakeup))
		*why = "objects are bound to its wake-up";
	else if (c->references || fpi_registry_retire(&c->name, 0))
		*why = "references by lookup are out";
	if (*why)
		return -EBUSY;
	while (c->maps) {
		struct fpi_service_map *m = c->maps;

		fpi_map_retire(m);
		fpi_map_remove(m);
	}
	/* It has passed everything: counters go to the services. */
	fpi_core_reclaim(c);
	leave_list(c);
	return 0;
}

int fp_service_core_destroy(fp_service_core *core)
{
	const char *why;
	int err;

	if (!core)
		return 0;
	if (core->generation != fpi_fork_generation()) {
		fpi_registry_retire(&core->name, 1);
		free_core(core);
		return 0;
	}
	fpi_core_join(core);
	fpi_services_lock();
	err = take_down(core, &why);
	fpi_services_unlock();
	if (err)
		return fpi_refuse(err, "fp_service_core_destroy: %s", why);
	free_core(core);
	fpi_services_finish(NULL);
	return 0;
}

/* ---- names ---- */

int fp_service_core_lookup(const char *name, fp_service_core **out)
{
	fp_service_core *c;
	void *object;
	int err;

	if (!name || !out)
		return -EINVAL;
	err = fpi_registry_lookup(&core_names, name, &object);
	if (err)
		return err;
	c = object;
	fpi_services_lock();
	c->references++;
	fpi_services_unlock();
	fpi_registry_unref(&c->name);
	*out = c;
	return 0;
}

int fp_service_core_unref(fp_service_core *core)
{
	int err = -EINVAL;

	if (!core)
		return err;
	fpi_services_lock();
	if (core->references) {
		core->references--;
		err = 0;
	}
	fpi_services_unlock();
	return err;
}

const char *fp_service_core_name(const fp_service_core *core)
{
	return core ? fpi_registry_name(&core->name) : NULL;
}

fp_wakeup *fp_service_core_wakeup(fp_service_core *core)
{
	return core ? &core->wakeup : NULL;
}

/* ---- running ---- */

/* Under the lock: a snapshot of all that is mapped and runnable. */
static int first_snapshot(fp_service_core *c)
{
	uint64_t bytes = sizeof(struct fpi_service_snapshot) +
			 c->n_maps * sizeof(struct fpi_service_binding *);
	struct fpi_service_snapshot *s;

	c->next_snapshot =
		fpi_core_alloc(c, bytes, offsetof(struct fpi_service_snapshot, block),
			       FPI_BLOCK_SNAPSHOT);
	if (!c->next_snapshot)
		return -ENOMEM;
	c->gen++;
	s = fpi_core_build(c);
	/* What is retired from here on has a larger generation. */
	FPI_STORE(&c->ack, s->gen, FPI_RELAXED);
	/* As any publication, if its thread exists already: a lent one does. */
	FPI_STORE(&c->snapshot, (void *)s, FPI_MO(SERVICE_FIRST_SNAPSHOT, RELEASE));
	return 0;
}

int fpi_core_enter(fp_service_core *c, int lent)
{
	int err = -EALREADY;

	fpi_core_join(c);
	fpi_services_lock();
	if (c->state == LIBFP_SERVICE_CORE_STOPPED && !c->joinable && !c->starting)
		err = first_snapshot(c);
	if (!err) {
		c->state = LIBFP_SERVICE_CORE_RUNNING;
		c->lent = (uint8_t)lent;
		c->starting = !lent;
		c->granted = 0;
		FPI_STORE(&c->set_up, 0, FPI_RELAXED);
	}
	fpi_services_unlock();
	return err;
}

void fpi_core_leave(fp_service_core *c)
{
	struct fpi_service_snapshot *last;

	fpi_services_lock();
	last = FPI_LOAD(&c->snapshot, FPI_RELAXED);
	FPI_STORE(&c->snapshot, (void *)&c->stop, FPI_RELAXED);
	/* Release, both: the last call. Partners: SERVICE_CUR_SEEN, SERVICE_ACK_SEEN. */
	FPI_STORE(&c->cur, NULL, FPI_MO(SERVICE_CUR_LEFT, RELEASE));
	FPI_STORE(&c->ack, NOT_IN_LOOP, FPI_MO(SERVICE_ACK_LEFT, RELEASE));
	if (last != &c->stop)
		fpi_core_free(c, &last->block);
	fpi_core_reclaim(c);
	c->lent = 0;
	c->thread_id = 0;
	c->state = LIBFP_SERVICE_CORE_STOPPED;
	fpi_services_unlock();
	/* The core may be gone from here on. */
	fpi_services_finish(NULL);
}

static int start_core(fp_service_core *core)
{
	int err = fpi_core_check(core);

	if (!err)
		err = fpi_core_enter(core, 0);
	if (!err)
		err = fpi_core_make_thread(core);
	return err;
}

int fp_service_core_start(fp_service_core *core)
{
	return start_core(core);
}

int fp_service_core_run(fp_service_core *core, uint64_t timeout_ns)
{
	uint64_t until = FPI_NO_DEADLINE;
	int err = fpi_core_check(core);

	if (!err && fpi_thread.in_service)
		err = -EDEADLK;
	if (!err)
		err = fpi_core_enter(core, 1);
	if (err)
		return err;
	if (timeout_ns == 0)
		until = 0;
	else if (timeout_ns != LIBFP_FOREVER)
		until = fpi_deadline(fpi_now_ns(), timeout_ns);
	fpi_services_lock();
	core->thread_id = fpi_thread_id();
	fpi_services_unlock();
	fpi_core_idle_begin(core, 0);
	fpi_thread.in_service = 1;
	err = fpi_core_loop(core, until);
	fpi_thread.in_service = 0;
	fpi_core_leave(core);
	return err;
}

/* Under the lock: tells it to leave its loop. */
static void tell_to_stop(fp_service_core *c)
{
	struct fpi_service_snapshot *old = FPI_LOAD(&c->snapshot, FPI_RELAXED);

	c->state = LIBFP_SERVICE_CORE_STOPPING;
	c->stop.gen = ++c->gen;
	FPI_STORE(&c->snapshot, (void *)&c->stop, FPI_MO(SERVICE_PUBLISH_STOP, RELEASE));
	fpi_core_retire(c, &old->block);
	fpi_wakeup_signal(&c->wakeup);
}

/* Under the lock, which it gives up meanwhile. */
static int wait_stopped(fp_service_core *c, uint64_t timeout_ns)
{
	uint64_t begin = fpi_now_ns(), waited = 0;

	while (c->state == LIBFP_SERVICE_CORE_STOPPING) {
		if (waited >= timeout_ns)
			return -ETIMEDOUT;
		fpi_services_unlock();
		FPI_STEP(SERVICE_CORE_WAITS);
		fpi_service_pause(waited);
		fpi_services_lock();
		waited = fpi_now_ns() - begin;
	}
	return 0;
}

/* Which service it is in, for the log. Under the lock. */
static void describe(fp_service_core *c, char *where, size_t size)
{
	const void *cur = FPI_LOAD(&c->cur, FPI_RELAXED);

	(void)snprintf(where, size, "%s",
		       cur && cur != c ? "a service that is gone" :
					 "its loop, in no service");
	for (const fp_service *s = fpi_services.first; s; s = s->next)
		if (s == cur)
			(void)snprintf(where, size, "service '%s'", fpi_service_label(s));
}

int fp_service_core_stop(fp_service_core *core, uint64_t timeout_ns)
{
	char where[LIBFP_NAME_MAX + 64] = "", label[LIBFP_NAME_MAX + 1];
	int err = fpi_core_check(core);

	if (err)
		return err;
	fpi_services_lock();
	if (core->state == LIBFP_SERVICE_CORE_STOPPED)
		err = -EALREADY;
	else if (core->state == LIBFP_SERVICE_CORE_RUNNING)
		tell_to_stop(core);
	if (!err && fpi_thread.in_service)
		err = -EINPROGRESS;
	if (!err)
		err = wait_stopped(core, timeout_ns);
	if (err == -ETIMEDOUT) {
		describe(core, where, sizeof(where));
		(void)snprintf(label, sizeof(label), "%s", fpi_core_label(core));
	}
	fpi_services_unlock();
	if (err == -ETIMEDOUT)
		return fpi_refuse(err,
				  "fp_service_core_stop: core '%s' is still inside %s",
				  label, where);
	if (err != -EINPROGRESS)
		fpi_core_join(core);
	return err;
}

/* ---- everything at once ---- */

/* Under the lock. Returns how many were mapped, or an error. */
static int64_t map_unmapped(fp_service_core *const *cores, uint32_t n)
{
	int64_t mapped = 0;

	for (fp_service *s = fpi_services.first; s; s = s->next) {
		int err = 0;

		if (s->waiters)
			continue; /* somebody ends it just now */
		if (!s->n_maps) {
			err = fpi_service_map_locked(s, cores[mapped % n]);
			mapped += !err;
		}
		if (!err)
			err = fpi_service_start_locked(s);
		if (err)
			return err;
	}
	return mapped;
}

int64_t fp_service_start_defaults(fp_service_core *const *cores, uint32_t n)
{
	int64_t mapped;
	int err = cores && n ? 0 : -EINVAL;

	for (uint32_t i = 0; i < n && !err; i++)
		err = fpi_core_check(cores[i]);
	if (!err && fpi_thread.in_service)
		err = -EDEADLK;
	if (err)
		return err;
	fpi_services_lock();
	mapped = map_unmapped(cores, n);
	fpi_services_settle();
	fpi_services_unlock();
	for (uint32_t i = 0; i < n && mapped >= 0; i++) {
		err = start_core(cores[i]);
		if (err && err != -EALREADY)
			return err;
	}
	return mapped;
}
