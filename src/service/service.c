/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Services: create, destroy, names, and what all services and cores share. How they run
 * is told in service_loop.c, how they are changed in service_map.c.
 *
 * Deferral. Inside a service nobody can wait for a service to be left: two that stop each
 * other would wait for ever. So stop and unmap there return -EINPROGRESS when the change
 * is made, and destroy hands the service to the list of the dying. It is freed by whoever
 * comes by when nobody is inside any more: the destroying thread itself, if that is so at
 * once; a core that takes a snapshot, which all of its cores do after they left it; a
 * thread that leaves fp_service_run_once(); or the next control call. `pending` keeps
 * that from costing anything as long as there is nothing to do.
 */
#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "base/opts.h"
#include "base/step.h"
#include "service/service.h"
#include "service/service_internal.h"

#define SERVICE_OPTS_FIRST 56 /* sizeof(fp_service_opts) as first published */
#define SERVICE_FLAGS \
	(LIBFP_SERVICE_MT_SAFE | LIBFP_SERVICE_WAKEABLE | LIBFP_SERVICE_NOT_READY)

struct fpi_services fpi_services;

static struct fpi_registry service_names = FPI_REGISTRY_INIT;

/* ---- what all share ---- */

void fpi_services_lock(void)
{
	uint32_t generation;

	fpi_lock_acquire(&fpi_services.lock);
	generation = fpi_fork_generation();
	if (fpi_services.generation == generation)
		return;
	/* A child: what is on the lists is the parent's and does not run here. */
	fpi_services.generation = generation;
	fpi_services.first = fpi_services.last = NULL;
	fpi_services.first_core = fpi_services.last_core = NULL;
	fpi_services.dying = NULL;
	fpi_services.biased = 0;
	fpi_services_note();
}

void fpi_services_unlock(void)
{
	fpi_lock_release(&fpi_services.lock);
}

void fpi_services_note(void)
{
	/* Relaxed: published by what follows, a snapshot or the lock. */
	FPI_STORE(&fpi_services.pending, fpi_services.dying || fpi_services.biased,
		  FPI_RELAXED);
}

int fpi_service_check(const fp_service *s)
{
	if (!s)
		return -EINVAL;
	return s->generation == fpi_fork_generation() ? 0 : -ECHILD;
}

const char *fpi_service_label(const fp_service *s)
{
	const char *name = fpi_registry_name(&s->name);

	return name ? name : "without a name";
}

/* ---- create ---- */

int fp_service_opts_init(fp_service_opts *opts, uint32_t size)
{
	return fpi_opts_init(opts, size, SERVICE_OPTS_FIRST);
}

static int read_opts(fp_service_opts *o, const fp_service_opts *opts)
{
	int err = fpi_opts_read(o, sizeof(*o), SERVICE_OPTS_FIRST, opts);

	if (err)
		return fpi_refuse(err,
				  "fp_service_create: options missing, misaligned or "
				  "of a size this library does not know");
	if (o->flags & ~(uint32_t)SERVICE_FLAGS)
		return fpi_refuse(-EOPNOTSUPP, "fp_service_create: unknown flags %#x",
				  o->flags);
	if (o->cycles > LIBFP_SERVICE_CYCLES_EXACT)
		return fpi_refuse(-EOPNOTSUPP, "fp_service_create: unknown cycles %u",
				  o->cycles);
	if (o->reserved0)
		return fpi_refuse(-EINVAL, "fp_service_create: reserved0 is not 0");
	if (!o->run)
		return fpi_refuse(-EINVAL, "fp_service_create: run is NULL");
	return fpi_allocator_check(o->allocator);
}

static void set_options(fp_service *s, const fp_service_opts *o)
{
	s->run = o->run;
	s->user = o->user;
	s->released = o->released;
	s->flags = o->flags;
	s->cycles = o->cycles;
	s->ready = !(o->flags & LIBFP_SERVICE_NOT_READY);
	s->generation = fpi_fork_generation();
	fpi_wakeup_init(&s->wakeup, FPI_WAKEUP_CORES, 0);
}

static void join_list(fp_service *s)
{
	fpi_services_lock();
	s->prev = fpi_services.last;
	if (s->prev)
		s->prev->next = s;
	else
		fpi_services.first = s;
	fpi_services.last = s;
	fpi_services_unlock();
}

static void leave_list(fp_service *s)
{
	if (s->prev)
		s->prev->next = s->next;
	else
		fpi_services.first = s->next;
	if (s->next)
		s->next->prev = s->prev;
	else
		fpi_services.last = s->prev;
}

int fpi_service_create(const fp_service_opts *opts, fp_service **out)
{
	struct fpi_mem mem = { 0 };
	fp_service_opts o;
	fp_service *s;
	int err = read_opts(&o, opts);

	if (err)
		return err;
	if (!out)
		return fpi_refuse(-EINVAL, "fp_service_create: out is NULL");
	fpi_services_finish(NULL);
	err = fpi_wakeup_ready();
	if (!err)
		err = fpi_mem_alloc(&mem, o.allocator, sizeof(*s), FPI_FALSE_SHARING, 0,
				    0);
	if (err)
		return fpi_refuse(err, "fp_service_create: no memory");
	s = mem.ptr;
	s->mem = mem;
	set_options(s, &o);
	err = fpi_registry_reserve(&service_names, &s->name, o.name, s);
	if (err) {
		fpi_refuse(err,
			   "fp_service_create: name '%.64s' is taken, empty or too long",
			   o.name);
		fpi_mem_free(&mem);
		return err;
	}
	join_list(s);
	*out = s;
	fpi_registry_publish(&s->name);
	return 0;
}

int fp_service_create(const fp_service_opts *opts, fp_service **out)
{
	return fpi_service_create(opts, out);
}

/* ---- destroy ---- */

/* Nobody is inside, nothing refers to it. Not under the lock. */
static void free_service(fp_service *s)
{
	fp_service_released_fn released = s->released;
	void *user = s->user;
	struct fpi_mem mem = s->mem;

	fpi_mem_free(&mem);
	if (released)
		released(user);
}

/* Under the lock: what cores still have of it says so no more. */
static void detach(fp_service *s)
{
	for (struct fpi_service_binding *b = s->bindings; b; b = b->next) {
		b->attached = 0;
		b->map = NULL;
	}
	s->bindings = NULL;
}

/* Under the lock: 0, or why it cannot be destroyed now. */
static int check_destroy(const fp_service *s, uint32_t flags, const char **why)
{
	*why = NULL;
	if (s->n_maps && !(flags & LIBFP_SERVICE_FORCE))
		*why = "it is mapped";
	else if (s->references)
		*why = "references by lookup are out";
	else if (s->waiters)
		*why = "another thread waits in its stop or unmap";
	else if (fpi_wakeup_in_use(&s->wakeup))
		*why = "objects are bound to its wake-up";
	return *why ? -EBUSY : 0;
}

/*
 * Under the lock: shuts it for good. -ENOMEM, -EBUSY: nothing has changed. With `later`
 * it goes to the dying, before the first core can pass.
 */
static int shut_for_good(fp_service *s, int later)
{
	int err = fpi_service_prepare(s, 0);

	if (!err && !s->dying) {
		err = fpi_registry_retire(&s->name, 0);
		if (err)
			fpi_service_cancel(s);
	}
	if (err)
		return err;
	if (!s->dying)
		leave_list(s);
	s->dying = 1;
	s->started = 0;
	FPI_STORE(&s->runnable, 0, FPI_MO(SERVICE_NEVER_RUNNABLE, RELEASE));
	if (later) {
		s->next = fpi_services.dying;
		fpi_services.dying = s;
		fpi_services_note();
	}
	fpi_service_shut(s);
	while (s->maps)
		fpi_map_remove(s->maps);
	return 0;
}

/* Under the lock: the dying that nobody is inside, taken off their list. */
static fp_service *take_dead(void)
{
	fp_service **link = &fpi_services.dying, *dead = NULL, *s;

	/* Partners: SERVICE_ENTER and the others of run_once. */
	FPI_FENCE(FPI_MO(SERVICE_DYING_FENCE, SEQ_CST));
	while ((s = *link) != NULL) {
		if (fpi_service_inside(s, NULL)) {
			link = &s->next;
			continue;
		}
		*link = s->next;
		detach(s);
		s->next = dead;
		dead = s;
	}
	fpi_services_note();
	return dead;
}

static int dying_need_barrier(void)
{
	for (fp_service *s = fpi_services.dying; s; s = s->next)
		if (fpi_service_needs_barrier(s))
			return 1;
	return 0;
}

FPI_COLD void fpi_services_finish_slow(fp_service_core *passed)
{
	fp_service *dead, *next;
	int barrier;

	fpi_services_lock();
	if (passed)
		fpi_core_reclaim(passed); /* its biases end */
	barrier = dying_need_barrier();
	if (barrier) {
		fpi_services_unlock();
		fpi_services_barrier();
		fpi_services_lock();
	}
	dead = take_dead();
	for (fp_service *s = fpi_services.dying; s; s = s->next)
		fpi_service_wake_inside(s);
	fpi_services_unlock();
	for (; dead; dead = next) {
		next = dead->next;
		free_service(dead);
	}
}

static int destroy_here(fp_service *s, uint32_t flags, uint64_t timeout_ns)
{
	char where[LIBFP_NAME_MAX + 64] = "", label[LIBFP_NAME_MAX + 1];
	const char *why;
	int err;

	(void)snprintf(label, sizeof(label), "%s", fpi_service_label(s));
	fpi_services_lock();
	err = check_destroy(s, flags, &why);
	if (!err)
		err = shut_for_good(s, fpi_thread.in_service);
	if (err) {
		fpi_services_unlock();
		return fpi_refuse(err, "fp_service_destroy: %s",
				  why		 ? why :
				  err == -ENOMEM ? "no memory for a snapshot" :
						   "references by lookup are out");
	}
	if (fpi_thread.in_service) {
		fpi_services_unlock();
		fpi_services_finish(NULL);
		return -EINPROGRESS;
	}
	err = fpi_service_wait(s, NULL, timeout_ns, where);
	if (!err)
		detach(s);
	fpi_services_unlock();
	if (err)
		return fpi_refuse(err, "fp_service_destroy: '%s' is still inside %s",
				  label, where);
	free_service(s);
	fpi_services_finish(NULL);
	return 0;
}

int fpi_service_destroy(fp_service *service, uint32_t flags, uint64_t timeout_ns)
{
	if (!service)
		return 0;
	if (flags & ~(uint32_t)LIBFP_SERVICE_FORCE)
		return fpi_refuse(-EOPNOTSUPP, "fp_service_destroy: unknown flags %#x",
				  flags);
	if (service->generation == fpi_fork_generation())
		return destroy_here(service, flags, timeout_ns);
	/* A child: nothing of it runs, and the lists are not the parent's. */
	fpi_registry_retire(&service->name, 1);
	free_service(service);
	return 0;
}

int fp_service_destroy(fp_service *service, uint32_t flags, uint64_t timeout_ns)
{
	return fpi_service_destroy(service, flags, timeout_ns);
}

/* ---- names ---- */

int fp_service_lookup(const char *name, fp_service **out)
{
	fp_service *s;
	void *object;
	int err;

	if (!name || !out)
		return -EINVAL;
	err = fpi_registry_lookup(&service_names, name, &object);
	if (err)
		return err;
	/* All references are counted in one place; the registry's holds it until then. */
	s = object;
	fpi_services_lock();
	s->references++;
	fpi_services_unlock();
	fpi_registry_unref(&s->name);
	*out = s;
	return 0;
}

int fp_service_unref(fp_service *service)
{
	int err = -EINVAL;

	if (!service)
		return err;
	fpi_services_lock();
	if (service->references) {
		service->references--;
		err = 0;
	}
	fpi_services_unlock();
	return err;
}

const char *fp_service_name(const fp_service *service)
{
	return service ? fpi_registry_name(&service->name) : NULL;
}

/* ---- wake-up and deadline ---- */

fp_wakeup *fpi_service_wakeup(fp_service *service)
{
	return service ? &service->wakeup : NULL;
}

fp_wakeup *fp_service_wakeup(fp_service *service)
{
	return fpi_service_wakeup(service);
}

int fpi_service_set_deadline(fp_service *service, uint64_t deadline_ns)
{
	int err = fpi_service_check(service);
	uint64_t old;

	if (err)
		return err;
	/* Release: as any publication before a signal. The core reads it after its barrier. */
	old = FPI_EXCHANGE(&service->deadline, deadline_ns,
			   FPI_MO(SERVICE_DEADLINE, RELEASE));
	if (!deadline_ns || deadline_ns == old)
		return 0;
	/* Cores that sleep know of the old one, unless it was over. */
	if (!old || deadline_ns < old || old <= fpi_now_ns())
		fpi_wakeup_signal(&service->wakeup);
	return 0;
}

int fp_service_set_deadline(fp_service *service, uint64_t deadline_ns)
{
	return fpi_service_set_deadline(service, deadline_ns);
}
