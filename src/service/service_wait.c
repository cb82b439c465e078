/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The handshake of stop, unmap and destroy: when is nobody inside a function whose
 * bindings are retired? For each such binding, when its core
 *
 *   has acknowledged a snapshot without it (ack >= its generation): conclusive by itself;
 *   or has said in `cur`, after a barrier, that it is in something else. The barrier is a
 *   membarrier that was begun after `run` became the stub: by then the core has either
 *   said that it is inside, or will load the stub (service_loop.c). For cores that say it
 *   by an exchange a seq_cst fence will do.
 *
 * `cur` may also name the core itself, which is then looking at wake-ups of services, this
 * one perhaps; that counts as inside (service_idle.c).
 *
 * A membarrier takes 10 us and disturbs every thread that runs, so for FIRST_NS only acks
 * count: a core whose loop is short passes sooner. Every retired binding has a number,
 * and the services know the last number before the last barrier, so that one barrier
 * serves all. What was seen once (`left`) stays true.
 *
 * Threads in fp_service_run_once() count in `enters` and `leaves`, or hold the owner
 * word; they look at `runnable` in between (service_run_once.c).
 *
 * A wait holds the lock only to look. It cannot be confused by an object that dies
 * meanwhile or by an address that is used again: it looks at the service's list, from
 * which a dying core takes its bindings, and the service cannot die while a thread waits.
 *
 * Progress: blocking. Who is inside another service is not waited for.
 */
#include <errno.h>
#include <stdio.h>

#include "base/futex.h"
#include "base/membarrier.h"
#include "base/step.h"
#include "service/service_internal.h"

#define FIRST_NS 5000u
#define SPIN_NS 50000u
#define SLEEP_NS 50000u

static int is_fenced(const struct fpi_service_binding *b)
{
	return b->sequence <= fpi_services.fenced[!b->core->exchanges];
}

static void drop_bias(struct fpi_service_binding *b)
{
	uint64_t bias = (b->core->number + 1) | FPI_SERVICE_BIAS;

	b->biased = 0;
	fpi_services.biased--;
	fpi_services_note();
	if (!b->attached)
		return;
	/*
	 * Unless its core has done so. Release: what it did inside, which this thread has
	 * seen, to the next owner. Partners: SERVICE_TAKE, SERVICE_BIAS, SERVICE_ENTER.
	 */
	FPI_CAS(&b->service->owner, &bias, 0, FPI_MO(SERVICE_RELEASE_BIAS, RELEASE));
}

int fpi_binding_left(struct fpi_service_binding *b)
{
	fp_service_core *c = b->core;
	void *cur;

	if (!b->block.gen)
		return 0; /* in use */
	if (b->left)
		return 1;
	/* Acquire: the last call. Partner: SERVICE_ACK. */
	if (FPI_LOAD(&c->ack, FPI_MO(SERVICE_ACK_SEEN, ACQUIRE)) < b->block.gen) {
		if (!is_fenced(b))
			return 0;
		/* Acquire: partners SERVICE_CUR, SERVICE_CUR_NULL, SERVICE_LOOKED. */
		cur = FPI_LOAD(&c->cur, FPI_MO(SERVICE_CUR_SEEN, ACQUIRE));
		if (cur == b->service || cur == c)
			return 0;
	}
	b->left = 1;
	if (b->biased)
		drop_bias(b);
	return 1;
}

static int app_inside(const fp_service *s)
{
	uint64_t leaves;

	if (!(s->flags & LIBFP_SERVICE_MT_SAFE))
		/* Acquire: partner SERVICE_RELEASE_APP. */
		return FPI_LOAD(&s->owner, FPI_MO(SERVICE_APP_SEEN, ACQUIRE)) ==
		       FPI_SERVICE_APP;
	/* In this order: equal means that nobody was in between. Partner: SERVICE_LEAVE. */
	leaves = FPI_LOAD(&s->leaves, FPI_MO(SERVICE_LEFT, ACQUIRE));
	return FPI_LOAD(&s->enters, FPI_RELAXED) != leaves;
}

static struct fpi_service_binding *inside_binding(fp_service *s, const fp_service_core *c)
{
	struct fpi_service_binding *inside = NULL;

	/* To the end: every look may drop a bias. */
	for (struct fpi_service_binding *b = s->bindings; b; b = b->next)
		if (b->block.gen && !fpi_binding_left(b) && (!c || b->core == c))
			inside = b;
	return inside;
}

int fpi_service_inside(fp_service *s, const fp_service_core *c)
{
	return inside_binding(s, c) || (!c && app_inside(s));
}

int fpi_service_needs_barrier(const fp_service *s)
{
	for (const struct fpi_service_binding *b = s->bindings; b; b = b->next)
		if (b->block.gen && !b->left && !is_fenced(b))
			return 1;
	return 0;
}

/* A membarrier was refused: cores must come and acknowledge. */
static void wake_all_cores(void)
{
	for (fp_service_core *c = fpi_services.first_core; c; c = c->next)
		if (c->retired)
			fpi_wakeup_signal(&c->wakeup);
}

void fpi_services_barrier(void)
{
	uint64_t retired;
	int err;

	fpi_services_lock();
	retired = fpi_services.retired;
	fpi_services_unlock();
	FPI_STEP(SERVICE_BARRIER);
	err = fpi_membarrier();
	/* Between the stub and the look at cur. Partner: SERVICE_CUR_EXCHANGE. */
	FPI_FENCE(FPI_MO(SERVICE_FENCE, SEQ_CST));
	fpi_services_lock();
	if (fpi_services.fenced[0] < retired)
		fpi_services.fenced[0] = retired;
	if (!err && fpi_services.fenced[1] < retired)
		fpi_services.fenced[1] = retired;
	if (err)
		wake_all_cores();
	fpi_services_unlock();
}

/* Whether an older bias keeps others out. Drops those of cores that have left. */
static int has_old_bias(fp_service *s)
{
	int has = 0;

	for (struct fpi_service_binding *b = s->bindings; b; b = b->next)
		has |= b->biased && b->block.gen && !fpi_binding_left(b);
	return has;
}

/*
 * One that was seen looking at wake-ups may go to sleep after it, with the old snapshot
 * and as far as others know inside. It is told to come by.
 */
void fpi_service_wake_inside(fp_service *s)
{
	for (struct fpi_service_binding *b = s->bindings; b; b = b->next)
		if (b->block.gen && !b->left)
			fpi_wakeup_signal(&b->core->wakeup);
}

void fpi_service_settle(fp_service *s)
{
	if (!has_old_bias(s))
		return;
	if (fpi_service_needs_barrier(s)) {
		fpi_services_unlock();
		fpi_services_barrier();
		fpi_services_lock();
	}
	if (has_old_bias(s))
		fpi_service_wake_inside(s);
}

void fpi_services_settle(void)
{
	int barrier = 0;

	for (fp_service *s = fpi_services.first; s; s = s->next)
		barrier |= has_old_bias(s) && fpi_service_needs_barrier(s);
	if (barrier) {
		fpi_services_unlock();
		fpi_services_barrier();
		fpi_services_lock();
	}
	for (fp_service *s = fpi_services.first; s; s = s->next)
		if (has_old_bias(s))
			fpi_service_wake_inside(s);
}

void fpi_service_pause(uint64_t waited_ns)
{
	uint32_t nobody = 0;

	if (waited_ns < FIRST_NS + SPIN_NS)
		fpi_cpu_relax();
	else /* not a cancellation point, as the calls of libc that sleep are */
		fpi_futex_wait_until(&nobody, 0, FPI_FUTEX_ANY, fpi_now_ns() + SLEEP_NS);
}

static void describe(fp_service *s, const fp_service_core *c, char *where, size_t size)
{
	const struct fpi_service_binding *b = inside_binding(s, c);

	if (b)
		(void)snprintf(where, size, "on core '%s', thread %lld",
			       fpi_core_label(b->core), (long long)b->core->thread_id);
	else
		(void)snprintf(where, size, "in fp_service_run_once()");
}

int fpi_service_wait(fp_service *s, fp_service_core *c, uint64_t timeout_ns,
		     char where[LIBFP_NAME_MAX + 64])
{
	uint64_t begin = 0, waited = 0;
	int fenced = 0, err = 0;

	/* `runnable` before the look at who entered. Partner: SERVICE_RUNNABLE. */
	FPI_FENCE(FPI_MO(SERVICE_STOP_FENCE, SEQ_CST));
	s->waiters++;
	while (fpi_service_inside(s, c)) {
		int barrier = !fenced && fpi_service_needs_barrier(s);

		if (!begin)
			begin = fpi_now_ns();
		waited = fpi_now_ns() - begin;
		if (barrier && (waited >= FIRST_NS || waited >= timeout_ns)) {
			fenced = 1;
			fpi_services_unlock();
			fpi_services_barrier();
			fpi_services_lock();
			continue;
		}
		if (waited >= timeout_ns) {
			describe(s, c, where, LIBFP_NAME_MAX + 64);
			err = -ETIMEDOUT;
			break;
		}
		fpi_services_unlock();
		FPI_STEP(SERVICE_WAITS);
		fpi_service_pause(waited);
		fpi_services_lock();
	}
	s->waiters--;
	return err;
}

int fpi_service_active(fp_service *s)
{
	int active, barrier;

	fpi_services_lock();
	FPI_FENCE(FPI_MO(SERVICE_ACTIVE_FENCE, SEQ_CST));
	active = fpi_service_inside(s, NULL);
	barrier = active && fpi_service_needs_barrier(s);
	if (barrier) {
		fpi_services_unlock();
		fpi_services_barrier();
		fpi_services_lock();
		active = fpi_service_inside(s, NULL);
	}
	for (struct fpi_service_map *m = s->maps; m && !active; m = m->next_of_service)
		active = m->binding &&
			 FPI_LOAD(&m->core->cur, FPI_MO(SERVICE_CUR_ASKED, RELAXED)) == s;
	fpi_services_unlock();
	return active;
}

int fp_service_is_active(const fp_service *service)
{
	int err = fpi_service_check(service);

	/* Not const: a look may drop a bias. */
	return err ? err : fpi_service_active((fp_service *)service);
}
