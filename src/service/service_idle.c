/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a core does without work: the idle ladder. The loop calls fpi_core_idle() after
 * every pass over the services in which none has worked; each call is one step, and the
 * next pass is the look that has to follow it.
 *
 *     spin    pause, for spin_ns
 *     yield   sched_yield, for ever (LIBFP_SERVICE_CORE_YIELD)
 *     nap     announce, fence; a pass; sleep for nap_ns at most
 *     sleep   announce, membarrier; a pass; sleep
 *
 * Work, a signal and a change of the mapping lead back to the first rung. A nap needs no
 * membarrier, see fpi_wakeup_nap_barrier(); neither does the sleep of a core with a
 * service that nobody wakes, which is as short.
 *
 * Announcing: the key of the cores' epoch, then this core's bit into its own wake-up and
 * into that of every service of the snapshot, then the barrier (wakeup_cores.c has the
 * argument). The pass that follows is the second look at what services poll, and its
 * first act is the second look at the snapshot, which control changes before it signals.
 * Deadlines are read after that pass, because services set them; one that is set later
 * finds the bit. A deadline that was over when the pass began has been met by it.
 *
 * A pass that found a serialised service busy has not looked for it. Who is inside may
 * have looked before the announcement, so the core naps and looks again, as long as that
 * lasts; without membarriers, which would disturb who works.
 *
 * cur. While a core touches wake-ups and deadlines of services, cur names the core
 * itself. It does so only if its snapshot is still the latest after that was published:
 * then whoever takes a service away has either not begun, and waits until cur is
 * another, or its snapshot is seen here. Asleep, cur is NULL: a stop need not wake it.
 *
 * Late: the kernel adds its slack to a sleep. The library's own threads have none; a lent
 * one wakes so much earlier. late_margin_ns is spent spinning before a deadline.
 */
#include <errno.h>
#include <sys/prctl.h>

#include "base/step.h"
#include "service/service_internal.h"

#define LOOKS_PER_CLOCK 8 /* of the spin */
#define LATE_NS 1000000u  /* after a deadline: counted */

void fpi_core_idle_begin(fp_service_core *c, int own)
{
	int slack;

	c->idle = (struct fpi_core_idle){ 0 };
	if (own) {
		prctl(PR_SET_TIMERSLACK, 1ul, 0ul, 0ul, 0ul);
		return;
	}
	slack = prctl(PR_GET_TIMERSLACK, 0ul, 0ul, 0ul, 0ul);
	c->idle.slack = slack > 0 ? (uint64_t)slack : 0;
}

/*
 * Says that services are being looked at. 0: the snapshot is not the latest, do not.
 * Either way end_look() follows.
 */
static int begin_look(fp_service_core *c, const struct fpi_service_snapshot *s)
{
	/* Partner: SERVICE_FENCE, or the membarrier, before control reads cur. */
	(void)FPI_EXCHANGE(&c->cur, (void *)c, FPI_MO(SERVICE_LOOK, SEQ_CST));
	FPI_STEP(SERVICE_LOOKS);
	if (FPI_LOAD(&c->snapshot, FPI_MO(SERVICE_LOOK_SNAPSHOT, SEQ_CST)) !=
	    (const void *)s)
		return 0;
	FPI_STEP(SERVICE_LOOKING);
	return 1;
}

static void end_look(fp_service_core *c)
{
	/* Release: the look is over. Partner: SERVICE_CUR_SEEN. */
	FPI_STORE(&c->cur, NULL, FPI_MO(SERVICE_LOOKED, RELEASE));
}

static int is_wakeable(const fp_service *s)
{
	return (FPI_PLAIN_LOAD(&s->flags) & LIBFP_SERVICE_WAKEABLE) ||
	       fpi_wakeup_is_bound(&s->wakeup);
}

static int all_wakeable(const struct fpi_service_snapshot *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (!is_wakeable(s->b[i]->service))
			return 0;
	return 1;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void announce(fp_service_core *c, const struct fpi_service_snapshot *s, int busy)
{
	struct fpi_core_idle *idle = &c->idle;

	if (!begin_look(c, s)) {
		end_look(c);
		return;
	}
	idle->key = fpi_wakeup_cores_key();
	fpi_wakeup_cores_announce(&c->wakeup, c->bit);
	for (uint32_t i = 0; i < s->n; i++)
		fpi_wakeup_cores_announce(&s->b[i]->service->wakeup, c->bit);
	if (!c->nap_ns)
		idle->napped = 1;
	if (busy)
		idle->limit = LIBFP_SERVICE_CORE_NAP_DEFAULT;
	else if (!idle->napped)
		idle->limit = c->nap_ns;
	else if (!all_wakeable(s))
		idle->limit = c->unwakeable_ns;
	else
		idle->limit = FPI_NO_DEADLINE;
	if (idle->limit != FPI_NO_DEADLINE) {
		fpi_wakeup_nap_barrier();
	} else {
		fpi_wakeup_barrier(&c->wakeup);
		idle->limit = fpi_wakeup_limit(&c->wakeup);
	}
	end_look(c);
	idle->announced_at = fpi_now_ns();
}

/* The earliest deadline after the pass began. */
static uint64_t earliest_deadline(const struct fpi_service_snapshot *s, uint64_t after)
{
	uint64_t first = FPI_NO_DEADLINE;

	for (uint32_t i = 0; i < s->n; i++) {
		uint64_t d = FPI_LOAD(&s->b[i]->service->deadline, FPI_RELAXED);

		if (d > after)
			first = least(first, d);
	}
	return first;
}

/* Sleeps. deadline is a service's, wake_at when to wake. */
static void sleep_until(fp_service_core *c, uint64_t wake_at, uint64_t deadline)
{
	struct fpi_core_idle *idle = &c->idle;
	int err;

	fpi_count(&c->sleeps, 1);
	fpi_count(&c->naps, !idle->napped);
	FPI_STORE(&c->asleep, 1, FPI_RELAXED);
	err = fpi_wakeup_cores_sleep(idle->key, c->bit, wake_at);
	FPI_STORE(&c->asleep, 0, FPI_RELAXED);
	idle->announced_at = 0;
	idle->napped = 1;
	if (deadline != FPI_NO_DEADLINE && fpi_now_ns() > deadline + LATE_NS)
		fpi_count(&c->late_wakes, 1);
	if (err == -ETIMEDOUT)
		return;
	/* Also for no reason: it looks the same. */
	fpi_count(&c->wakes, 1);
	fpi_core_worked(c);
}

static void go_to_sleep(fp_service_core *c, const struct fpi_service_snapshot *s,
			int busy, uint64_t until)
{
	struct fpi_core_idle *idle = &c->idle;
	uint64_t now, deadline, wake_at, limit = idle->limit;
	int wakeable;

	if (!begin_look(c, s)) {
		end_look(c);
		idle->announced_at = 0;
		return;
	}
	deadline = earliest_deadline(s, idle->announced_at);
	wakeable = all_wakeable(s);
	end_look(c);

	if (busy)
		limit = least(limit, LIBFP_SERVICE_CORE_NAP_DEFAULT);
	if (!wakeable)
		limit = least(limit, c->unwakeable_ns);
	if (c->max_sleep_ns)
		limit = least(limit, c->max_sleep_ns);
	now = fpi_now_ns();
	wake_at = deadline;
	if (deadline != FPI_NO_DEADLINE) {
		uint64_t early = fpi_deadline(idle->slack, c->late_margin_ns);

		wake_at = deadline > early ? deadline - early : 0;
		if (wake_at <= now) {
			/* Near: the rest of the way is spun. */
			idle->spin_until = deadline;
			idle->announced_at = 0;
			return;
		}
	}
	if (limit != FPI_NO_DEADLINE)
		wake_at = least(wake_at, fpi_deadline(now, limit));
	wake_at = least(wake_at, until);
	if (wake_at > now) {
		sleep_until(c, wake_at, deadline);
	} else {
		idle->announced_at = 0;
		idle->napped = 1;
	}
}

/* Whether it is time for the next rung. */
static int spun_enough(fp_service_core *c)
{
	struct fpi_core_idle *idle = &c->idle;
	uint64_t now;

	if (idle->napped && !idle->spin_until)
		return 1;
	fpi_cpu_relax();
	if (idle->since && idle->looks++ < LOOKS_PER_CLOCK)
		return 0;
	idle->looks = 0;
	now = fpi_now_ns();
	if (!idle->since)
		idle->since = now;
	if (now < idle->spin_until)
		return 0;
	idle->spin_until = 0;
	return idle->napped || now - idle->since >= c->spin_ns;
}

void fpi_core_idle(fp_service_core *c, const struct fpi_service_snapshot *s, int busy,
		   uint64_t until)
{
	if (c->idle.announced_at) {
		go_to_sleep(c, s, busy, until);
	} else if (!spun_enough(c)) {
		return;
	} else if (c->idle_policy == LIBFP_SERVICE_CORE_YIELD) {
		c->idle.napped = 1; /* no clock any more until there is work */
		sched_yield();
	} else {
		announce(c, s, busy);
	}
}
