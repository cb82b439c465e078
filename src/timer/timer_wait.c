/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sleeping until a wheel has work: its wake-up, fp_timer_wheel_wait(), and the service.
 *
 * A sleeper announces itself, runs the wake-up's barrier, and only then reads `pending` and
 * `next`. Who arms for earlier than `next` signals after it has published the arming, and
 * reads `next` after it has found a sleeper: either the sleeper sees the arming, or who
 * arms sees the sleeper and the `next` that it sleeps for. While a poll takes in lanes
 * `next` is 0, which says nothing: whoever then finds a sleeper signals.
 *
 * The wheel's service is an ordinary one (src/service): its wake-up is bound to the wheel,
 * and each run announces the next expiry as the service's deadline.
 *
 * Progress: blocking; arming pays one load while nobody sleeps.
 */
#include <errno.h>

#include "base/clock.h"
#include "base/fork.h"
#include "base/log.h"
#include "service/service.h"
#include "timer/timer_internal.h"

#define SERVICE_BURST 256 /* callbacks of one run: other services wait for no more */

FPI_COLD void fpi_wheel_wake_slow(fp_timer_wheel *w, uint64_t state, uint64_t exp)
{
	uint64_t next;

	/*
	 * The sleeper's barrier orders `next` too; where it has none (fence mode) this does:
	 * the arming before, `next` after. Partner: WAKE_BARRIER in wakeup_count.c.
	 */
	FPI_FENCE(FPI_MO(TIMER_WAKE, SEQ_CST));
	next = FPI_LOAD(&w->next, FPI_RELAXED);
	if (exp <= next || next == 0)
		fpi_wakeup_signal_slow(w->wake, state);
}

/* ---- binding ---- */

static fp_wakeup *own_wakeup(const fp_timer_wheel *w)
{
	return w->own ? w->own : &fpi_wakeup_nobody;
}

static int is_foreign(const fp_timer_wheel *w)
{
	return w->wake != own_wakeup(w);
}

static int is_waited_for(const fp_timer_wheel *w)
{
	return w->own && fpi_wakeup_in_use(w->own);
}

int fp_timer_wheel_set_wakeup(fp_timer_wheel *wheel, fp_wakeup *wakeup)
{
	int err = fpi_wheel_check(wheel);

	if (err)
		return err;
	if (wheel->service)
		return fpi_refuse(-EBUSY, "fp_timer_wheel_set_wakeup: it has a service");
	if (is_waited_for(wheel))
		return fpi_refuse(-EBUSY, "fp_timer_wheel_set_wakeup: a thread waits");
	if (wakeup && fpi_wakeup_bind(wakeup))
		return -ECHILD;
	if (is_foreign(wheel))
		fpi_wakeup_unbind(wheel->wake);
	wheel->wake = wakeup ? wakeup : own_wakeup(wheel);
	return 0;
}

/* ---- waiting ---- */

/* A tick on the clock; 0 for at once, never for later. */
static uint64_t tick_to_ns(const fp_timer_wheel *w, uint64_t tick)
{
	return tick > FPI_NO_DEADLINE / w->tick_ns ? FPI_NO_DEADLINE : tick * w->tick_ns;
}

/* When the wheel has work, in ns; FPI_NO_DEADLINE: nothing is armed. */
static uint64_t work_ns(const fp_timer_wheel *w)
{
	uint64_t tick = fpi_wheel_work_tick(w);

	return tick == UINT64_MAX ? FPI_NO_DEADLINE : tick_to_ns(w, tick);
}

static int check_wait(const fp_timer_wheel *w)
{
	int err = fpi_wheel_check(w);

	return err ? err : fpi_wakeup_check(w->wake);
}

/* Sleeps once. Returns as fp_timer_wheel_wait(). */
static int sleep_once(fp_timer_wheel *w, uint64_t deadline)
{
	uint64_t key =
		fpi_wakeup_announce(w->wake, FPI_WAKEUP_WAITER | FPI_WAKEUP_FOR_ALL);
	uint64_t until, work;
	int rc = -ETIMEDOUT;

	fpi_wakeup_barrier(w->wake);
	work = work_ns(w);
	until = work < deadline ? work : deadline;
	if (until > fpi_now_ns())
		rc = fpi_wakeup_sleep(w->wake, key, until, fpi_wakeup_limit(w->wake),
				      NULL);
	fpi_wakeup_leave(w->wake, FPI_WAKEUP_WAITER | FPI_WAKEUP_FOR_ALL);
	if (rc == -ETIMEDOUT)
		return until == work ? 0 : rc;
	return rc;
}

int fp_timer_wheel_wait(fp_timer_wheel *wheel, uint64_t timeout_ns)
{
	uint64_t now, deadline;
	int err = check_wait(wheel);

	if (err)
		return err;
	now = fpi_now_ns();
	if (work_ns(wheel) <= now)
		return 0;
	if (!timeout_ns)
		return -ETIMEDOUT;
	deadline = fpi_deadline(now, timeout_ns);
	return sleep_once(wheel, deadline);
}

int fp_timer_wheel_interrupt(fp_timer_wheel *wheel)
{
	int err = check_wait(wheel);

	if (!err)
		fpi_wakeup_interrupt(wheel->wake);
	return err;
}

/* ---- the service ---- */

static int32_t run_service(void *user)
{
	fp_timer_wheel *w = user;
	uint64_t tick = fpi_now_ns() / w->tick_ns, work;
	int64_t fired = 0;

	if (fpi_wheel_work_tick(w) <= tick)
		fired = fpi_wheel_poll(w, tick, SERVICE_BURST);
	work = work_ns(w);
	/* 0 means none there: what is due at once is due since the clock began. */
	if (work == 0)
		work = 1;
	if (work == FPI_NO_DEADLINE)
		work = 0;
	if (work != w->announced_ns) {
		w->announced_ns = work;
		fpi_service_set_deadline(w->service, work);
	}
	return fired > 0 ? 0 : -EAGAIN;
}

static int make_service(fp_timer_wheel *w)
{
	fp_service_opts o = LIBFP_SERVICE_OPTS_INIT;
	int err;

	o.run = run_service;
	o.user = w;
	if (w->allocator.alloc)
		o.allocator = &w->allocator;
	err = fpi_service_create(&o, &w->service);
	if (err)
		return err;
	w->wake = fpi_service_wakeup(w->service);
	return fpi_wakeup_bind(w->wake);
}

int fp_timer_wheel_service(fp_timer_wheel *wheel, fp_service **service)
{
	int err = fpi_wheel_check(wheel);

	if (err || !service)
		return err ? err : -EINVAL;
	if (!wheel->service) {
		if (is_foreign(wheel) || is_waited_for(wheel))
			return fpi_refuse(-EBUSY, "fp_timer_wheel_service: a wake-up is "
						  "bound, or a thread waits");
		err = make_service(wheel);
		if (err)
			return err;
	}
	*service = wheel->service;
	return 0;
}

static int drop_service(fp_timer_wheel *w)
{
	int err;

	if (fpi_thread.in_service)
		return -EBUSY;
	fpi_wakeup_unbind(w->wake);
	err = fpi_service_destroy(w->service, 0, 0);
	if (err) {
		fpi_wakeup_bind(w->wake);
		return -EBUSY;
	}
	w->service = NULL;
	w->wake = own_wakeup(w);
	return 0;
}

int fpi_wheel_unwait(fp_timer_wheel *w)
{
	if (is_waited_for(w))
		return fpi_refuse(-EBUSY, "fp_timer_wheel_destroy: a thread waits");
	if (w->service) {
		if (drop_service(w))
			return fpi_refuse(-EBUSY,
					  "fp_timer_wheel_destroy: its service is "
					  "mapped, or inside a call");
	} else if (is_foreign(w)) {
		fpi_wakeup_unbind(w->wake);
		w->wake = own_wakeup(w);
	}
	return 0;
}
