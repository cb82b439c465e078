/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Gates and mappings: the changes of what a core calls. service_internal.h says what
 * bindings and snapshots are; all here but the public calls runs under the lock.
 *
 * A change has two halves. The first gets all memory that it needs: a snapshot for every
 * core concerned, a binding where one is called anew. If that fails nothing has changed.
 * The second retires bindings, makes others, and publishes, and cannot fail.
 *
 * Serialised services. The owner word says which thread may be inside. A service that one
 * core alone calls is bound directly and the word stays with that core (biased), so a
 * call takes no lock: the word is the lock, held for good. Before anybody else may call
 * it, the direct binding is retired and the core gets a serial one, whose entry takes the
 * word for each call. The bias falls when the core makes its first serial call, being
 * past the direct one then; or when somebody has seen that it is outside (fpi_binding_
 * left()), which every call that opens a gate or maps tries, since the core may sleep. It
 * never falls for another reason: that no binding is in use does not say that the core
 * has left it. Until then the others find the service busy and go on. A service goes
 * back to a direct binding by a stop and a start only, if nobody holds the word then and
 * no older bias is about.
 *
 * Signals. Who adds something to a core, or ends it, signals its wake-up after the
 * publication. Taking away needs none: a core that sleeps calls nothing.
 */
#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "base/step.h"
#include "service/service_internal.h"

/* ---- memory ---- */

int fpi_map_prepare(struct fpi_service_map *m, int bind)
{
	fp_service_core *c = m->core;
	uint64_t bytes = sizeof(struct fpi_service_snapshot) +
			 (c->n_maps + 1) * sizeof(struct fpi_service_binding *);

	if (!c->next_snapshot)
		c->next_snapshot = fpi_core_alloc(
			c, bytes, offsetof(struct fpi_service_snapshot, block),
			FPI_BLOCK_SNAPSHOT);
	if (!c->next_snapshot)
		return -ENOMEM;
	if (bind && !m->fresh)
		m->fresh = fpi_core_alloc(c, sizeof(struct fpi_service_binding),
					  offsetof(struct fpi_service_binding, block),
					  FPI_BLOCK_BINDING);
	return bind && !m->fresh ? -ENOMEM : 0;
}

void fpi_map_cancel(struct fpi_service_map *m)
{
	if (m->core->next_snapshot)
		fpi_core_free(m->core, &m->core->next_snapshot->block);
	m->core->next_snapshot = NULL;
	if (m->fresh)
		fpi_core_free(m->core, &m->fresh->block);
	m->fresh = NULL;
}

void fpi_service_cancel(fp_service *s)
{
	for (struct fpi_service_map *m = s->maps; m; m = m->next_of_service)
		fpi_map_cancel(m);
}

int fpi_service_prepare(fp_service *s, int bind)
{
	int err = 0;

	for (struct fpi_service_map *m = s->maps; m && !err; m = m->next_of_service)
		if (bind || m->binding)
			err = fpi_map_prepare(m, bind);
	if (err)
		fpi_service_cancel(s);
	return err;
}

void fpi_core_retire(fp_service_core *c, struct fpi_block *block)
{
	block->gen = c->gen;
	block->retired_next = c->retired;
	c->retired = block;
}

/* ---- bindings ---- */

/* Whether this core may call the function without asking: see above. */
static int may_be_direct(struct fpi_service_map *m)
{
	fp_service *s = m->service;
	uint64_t none = 0;

	if (s->flags & LIBFP_SERVICE_MT_SAFE)
		return 1;
	if (s->n_maps != 1)
		return 0;
	for (struct fpi_service_binding *b = s->bindings; b; b = b->next)
		if (b->biased && !fpi_binding_left(b))
			return 0;
	/* Acquire: what the last owner did. Partners: SERVICE_RELEASE_*. */
	return FPI_CAS(&s->owner, &none, (m->core->number + 1) | FPI_SERVICE_BIAS,
		       FPI_MO(SERVICE_BIAS, ACQUIRE));
}

static void bind(struct fpi_service_map *m, int serial)
{
	struct fpi_service_binding *b = m->fresh;
	fp_service *s = m->service;

	m->fresh = NULL;
	b->service = s;
	b->core = m->core;
	b->map = m;
	if (!serial && may_be_direct(m)) {
		b->biased = !(s->flags & LIBFP_SERVICE_MT_SAFE);
		b->run.value = (void *)s->run;
		b->arg = s->user;
	} else {
		b->run.value = (void *)fpi_service_serial;
		b->arg = b;
	}
	b->attached = 1;
	b->next = s->bindings;
	s->bindings = b;
	m->binding = b;
}

void fpi_map_retire(struct fpi_service_map *m)
{
	struct fpi_service_binding *b = m->binding;

	if (!b)
		return;
	m->binding = NULL;
	b->sequence = ++fpi_services.retired;
	if (b->biased)
		fpi_services.biased++;
	fpi_services_note();
	/* Release: `pending` to who passes. Partner: SERVICE_RUN. */
	FPI_STORE(&b->run, (void *)fpi_service_stub, FPI_MO(SERVICE_STUB, RELEASE));
	FPI_STEP(SERVICE_STUBBED);
	m->core->gen++;
	fpi_core_retire(m->core, &b->block);
}

/* ---- snapshots ---- */

struct fpi_service_snapshot *fpi_core_build(fp_service_core *c)
{
	struct fpi_service_snapshot *s = c->next_snapshot;

	c->next_snapshot = NULL;
	s->gen = c->gen;
	for (struct fpi_service_map *m = c->maps; m; m = m->next_of_core) {
		if (!m->binding)
			continue;
		s->b[s->n++] = m->binding;
		if (m->service->cycles == LIBFP_SERVICE_CYCLES_EXACT)
			s->flags |= FPI_SNAPSHOT_EXACT;
		else if (m->service->cycles == LIBFP_SERVICE_CYCLES_SAMPLED)
			s->flags |= FPI_SNAPSHOT_SAMPLED;
	}
	if (s->flags)
		c->cycles_on = 1;
	return s;
}

void fpi_core_publish(fp_service_core *c)
{
	struct fpi_service_snapshot *s = c->next_snapshot, *old;

	c->gen++;
	if (c->state == LIBFP_SERVICE_CORE_RUNNING) {
		s = fpi_core_build(c);
		old = FPI_LOAD(&c->snapshot, FPI_RELAXED);
		/* Release: all that it refers to. Partners: SERVICE_SNAPSHOT, SERVICE_PEEK. */
		FPI_STORE(&c->snapshot, (void *)s, FPI_MO(SERVICE_PUBLISH, RELEASE));
		FPI_STEP(SERVICE_PUBLISHED);
		fpi_core_retire(c, &old->block);
	} else {
		/* It does not run, or has been told to stop, which must stay the last word. */
		fpi_core_free(c, &s->block);
		c->next_snapshot = NULL;
	}
	fpi_core_reclaim(c);
}

static void binding_gone(struct fpi_service_binding *b)
{
	struct fpi_service_counters k = fpi_binding_counters(b);
	struct fpi_service_binding **link;

	fpi_binding_left(b);
	if (!b->attached)
		return;
	fpi_counters_add(&b->service->folded, &k);
	if (b->map)
		fpi_counters_add(&b->map->folded, &k);
	for (link = &b->service->bindings; *link != b; link = &(*link)->next)
		;
	*link = b->next;
}

void fpi_core_reclaim(fp_service_core *c)
{
	/* Acquire: the core's last use. Partner: SERVICE_ACK. */
	uint64_t ack = FPI_LOAD(&c->ack, FPI_MO(SERVICE_RECLAIM, ACQUIRE));
	struct fpi_block **link = &c->retired, *block;

	while ((block = *link) != NULL) {
		if (block->gen > ack) {
			link = &block->retired_next;
			continue;
		}
		*link = block->retired_next;
		if (block->kind == FPI_BLOCK_BINDING)
			binding_gone(
				(struct fpi_service_binding
					 *)(void *)((char *)block -
						    offsetof(struct fpi_service_binding,
							     block)));
		fpi_core_free(c, block);
	}
}

/* ---- opening and shutting ---- */

static void set_runnable(fp_service *s)
{
	/* Before the fence that follows when it is shut. Partner: SERVICE_RUNNABLE. */
	FPI_STORE(&s->runnable, s->ready && s->started,
		  FPI_MO(SERVICE_SET_RUNNABLE, RELEASE));
}

/* Begins to call it wherever it is mapped. Memory is prepared. */
static void open_all(fp_service *s)
{
	for (struct fpi_service_map *m = s->maps; m; m = m->next_of_service) {
		bind(m, 0);
		fpi_core_publish(m->core);
		fpi_wakeup_signal(&m->core->wakeup);
	}
}

void fpi_service_shut(fp_service *s)
{
	for (struct fpi_service_map *m = s->maps; m; m = m->next_of_service) {
		if (!m->binding)
			continue;
		fpi_map_retire(m);
		fpi_core_publish(m->core);
	}
}

/* Changes a gate to `open`. */
static int change_gate(fp_service *s, uint8_t *gate, uint8_t open)
{
	int other = gate == &s->ready ? s->started : s->ready, err = 0;

	if (open && (s->waiters || s->dying))
		return -EBUSY;
	if (*gate == open)
		return 0;
	if (other)
		err = fpi_service_prepare(s, open);
	if (err)
		return err;
	*gate = open;
	set_runnable(s);
	if (other && open)
		open_all(s);
	else if (other)
		fpi_service_shut(s);
	return 0;
}

/* After a gate was shut, under the lock, which it releases. */
static int wait_shut(fp_service *s, fp_service_core *c, uint64_t timeout_ns,
		     const char *call)
{
	char where[LIBFP_NAME_MAX + 64], label[LIBFP_NAME_MAX + 1];
	int err;

	if (fpi_thread.in_service) {
		fpi_services_unlock();
		return -EINPROGRESS;
	}
	err = fpi_service_wait(s, c, timeout_ns, where);
	if (err)
		(void)snprintf(label, sizeof(label), "%s", fpi_service_label(s));
	fpi_services_unlock();
	fpi_services_finish(NULL);
	if (err)
		fpi_refuse(err, "%s: '%s' is still inside %s", call, label, where);
	return err;
}

/* Says why a change did not come about; not under the lock, the log is the user's. */
static int refused(int err, const char *call)
{
	if (err == -EBUSY)
		fpi_refuse(err, "%s: the service is being stopped or destroyed", call);
	else if (err == -ENOMEM)
		fpi_refuse(err, "%s: no memory for a snapshot", call);
	return err;
}

int fpi_service_start_locked(fp_service *s)
{
	return change_gate(s, &s->started, 1);
}

int fp_service_start(fp_service *service)
{
	int err = fpi_service_check(service);

	if (err)
		return err;
	fpi_services_lock();
	err = fpi_service_start_locked(service);
	fpi_service_settle(service);
	fpi_services_unlock();
	return refused(err, "fp_service_start");
}

int fp_service_stop(fp_service *service, uint64_t timeout_ns)
{
	int err = fpi_service_check(service);

	if (err)
		return err;
	fpi_services_lock();
	err = change_gate(service, &service->started, 0);
	if (err) {
		fpi_services_unlock();
		return refused(err, "fp_service_stop");
	}
	return wait_shut(service, NULL, timeout_ns, "fp_service_stop");
}

int fp_service_set_ready(fp_service *service, uint32_t ready, uint64_t timeout_ns)
{
	int err = fpi_service_check(service);

	if (err || ready > 1)
		return err ? err : -EINVAL;
	fpi_services_lock();
	err = change_gate(service, &service->ready, (uint8_t)ready);
	if (err || ready) {
		fpi_service_settle(service);
		fpi_services_unlock();
		return refused(err, "fp_service_set_ready");
	}
	return wait_shut(service, NULL, timeout_ns, "fp_service_set_ready");
}

/* ---- mapping ---- */

struct fpi_service_map *fpi_map_find(const fp_service *s, const fp_service_core *c)
{
	struct fpi_service_map *m = s->maps;

	while (m && m->core != c)
		m = m->next_of_service;
	return m;
}

static void map_add(struct fpi_service_map *m)
{
	struct fpi_service_map **end = &m->service->maps;

	while (*end)
		end = &(*end)->next_of_service;
	*end = m;
	m->service->n_maps++;
	*m->core->maps_end = m;
	m->core->maps_end = &m->next_of_core;
	m->core->n_maps++;
}

void fpi_map_remove(struct fpi_service_map *m)
{
	fp_service_core *c = m->core;
	struct fpi_service_map **link;

	for (link = &m->service->maps; *link != m; link = &(*link)->next_of_service)
		;
	*link = m->next_of_service;
	m->service->n_maps--;
	for (link = &c->maps; *link != m; link = &(*link)->next_of_core)
		;
	*link = m->next_of_core;
	if (!m->next_of_core)
		c->maps_end = link;
	c->n_maps--;
	for (struct fpi_service_binding *b = m->service->bindings; b; b = b->next)
		if (b->map == m)
			b->map = NULL;
	fpi_core_free(c, &m->block);
}

/* The map whose core calls s directly, if any. */
static struct fpi_service_map *direct_map(fp_service *s)
{
	for (struct fpi_service_map *m = s->maps; m; m = m->next_of_service)
		if (m->binding && m->binding->biased)
			return m;
	return NULL;
}

/* Memory is prepared: the core goes on with a serial binding. */
static void make_serial(struct fpi_service_map *m)
{
	fpi_map_retire(m);
	bind(m, 1);
	fpi_core_publish(m->core);
}

int fpi_service_serialise(fp_service *s)
{
	struct fpi_service_map *direct = direct_map(s);

	if (!direct)
		return 0;
	if (fpi_map_prepare(direct, 1)) {
		fpi_map_cancel(direct);
		return -ENOMEM;
	}
	make_serial(direct);
	return 0;
}

int fpi_service_map_locked(fp_service *s, fp_service_core *c)
{
	int runs = s->ready && s->started, err;
	struct fpi_service_map *m, *direct = direct_map(s);

	if (fpi_map_find(s, c))
		return 0;
	if (s->waiters || s->dying)
		return -EBUSY;
	m = fpi_core_alloc(c, sizeof(*m), offsetof(struct fpi_service_map, block),
			   FPI_BLOCK_MAP);
	if (!m)
		return -ENOMEM;
	m->service = s;
	m->core = c;
	err = runs ? fpi_map_prepare(m, 1) : 0;
	if (!err && runs && direct) {
		err = fpi_map_prepare(direct, 1);
		if (err)
			fpi_map_cancel(direct);
	}
	if (err) {
		fpi_map_cancel(m);
		fpi_core_free(c, &m->block);
		return err;
	}
	map_add(m);
	if (runs) {
		if (direct)
			make_serial(direct);
		bind(m, 0);
		fpi_core_publish(c);
		fpi_wakeup_signal(&c->wakeup);
	}
	return 0;
}

static int check_pair(const fp_service *s, const fp_service_core *c)
{
	int err = fpi_service_check(s);

	return err ? err : fpi_core_check(c);
}

int fp_service_map(fp_service *service, fp_service_core *core)
{
	int err = check_pair(service, core);

	if (err)
		return err;
	fpi_services_lock();
	err = fpi_service_map_locked(service, core);
	fpi_service_settle(service);
	fpi_services_unlock();
	return refused(err, "fp_service_map");
}

int fp_service_unmap(fp_service *service, fp_service_core *core, uint64_t timeout_ns)
{
	int err = check_pair(service, core);
	struct fpi_service_map *m;

	if (err)
		return err;
	fpi_services_lock();
	m = fpi_map_find(service, core);
	if (m && m->binding) {
		if (fpi_map_prepare(m, 0)) {
			fpi_services_unlock();
			return refused(-ENOMEM, "fp_service_unmap");
		}
		fpi_map_retire(m);
		fpi_core_publish(core);
	}
	if (m)
		fpi_map_remove(m);
	return wait_shut(service, core, timeout_ns, "fp_service_unmap");
}

/* ---- questions ---- */

int fp_service_is_mapped(const fp_service *service, const fp_service_core *core)
{
	int rc = check_pair(service, core);

	if (rc)
		return rc;
	fpi_services_lock();
	rc = fpi_map_find(service, core) != NULL;
	fpi_services_unlock();
	return rc;
}

int fp_service_is_runnable(const fp_service *service)
{
	int rc = fpi_service_check(service);

	if (rc)
		return rc;
	fpi_services_lock();
	rc = service->ready && service->started && service->n_maps;
	fpi_services_unlock();
	return rc;
}
