/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fp_service_run_once(): the function of a service on a thread of the caller's.
 *
 *     caller                                     control, stopping the service
 *     enter (RMW, seq_cst)                       runnable = 0
 *     runnable (seq_cst)? run                    fence (seq_cst)
 *     leave (release)                            entered and not left: somebody is inside
 *
 * Store buffering: either the caller sees that it is shut, or control sees the caller.
 * Entering is: of a serialised service, taking the owner word; of others, counting in
 * `enters`. Leaving is giving the word back, or counting in `leaves`, which is at the
 * same time the number of calls (but for the refused).
 *
 * The first call finds the word biased towards the core that calls the service directly,
 * and has the binding exchanged for a serial one (service_map.c). It does not wait for
 * that core: if it is inside, the service is busy.
 *
 * Progress: of a service that is not biased, that of its function; else blocking.
 */
#include <errno.h>

#include "base/log.h"
#include "base/step.h"
#include "service/service_internal.h"

/* ---- the bias ---- */

static FPI_COLD int end_bias(fp_service *s)
{
	int err;

	fpi_services_lock();
	err = fpi_service_serialise(s);
	if (!err)
		fpi_service_settle(s);
	fpi_services_unlock();
	if (err)
		return fpi_refuse(err, "fp_service_run_once: no memory for a binding");
	return 0;
}

/* ---- one call ---- */

/* Several threads may be here with a service that is MT_SAFE. */
static void count_cycles(fp_service *s, uint64_t cycles, uint64_t scale)
{
	uint64_t longest = FPI_LOAD(&s->app_longest, FPI_RELAXED);

	FPI_FETCH_ADD(&s->app_cycles, cycles * scale, FPI_RELAXED);
	while (cycles > longest &&
	       !FPI_CAS(&s->app_longest, &longest, cycles, FPI_RELAXED))
		;
}

static FPI_NOINLINE int32_t measured_call(fp_service *s, uint64_t number)
{
	int exact = s->cycles == LIBFP_SERVICE_CYCLES_EXACT;
	uint64_t begin;
	int32_t rc;

	if (!exact && number % FPI_SERVICE_SAMPLE)
		return s->run(s->user);
	begin = fpi_cycles();
	rc = s->run(s->user);
	count_cycles(s, fpi_cycles() - begin, exact ? 1 : FPI_SERVICE_SAMPLE);
	return rc;
}

/* Few stores: the RMW that follows waits for all of them. */
FPI_INLINE int32_t call(fp_service *s, uint64_t number)
{
	uint8_t was = fpi_thread.in_service;
	int32_t rc;

	fpi_thread.in_service = 1;
	if (FPI_LIKELY(s->cycles == LIBFP_SERVICE_CYCLES_OFF))
		rc = s->run(s->user);
	else
		rc = measured_call(s, number);
	fpi_thread.in_service = was;
	return rc;
}

static int run_serialised(fp_service *s, int32_t *rc)
{
	uint64_t owner = FPI_LOAD(&s->owner, FPI_RELAXED);
	int err = 0;

	if (owner & FPI_SERVICE_BIAS) {
		err = end_bias(s);
		owner = FPI_LOAD(&s->owner, FPI_RELAXED);
	}
	if (err)
		return err;
	/*
	 * Acquire: what the last owner did; partners SERVICE_RELEASE_*. Seq_cst: before
	 * the look at the gates; partner SERVICE_STOP_FENCE.
	 */
	if (owner ||
	    !FPI_CAS(&s->owner, &owner, FPI_SERVICE_APP, FPI_MO(SERVICE_ENTER, SEQ_CST)))
		return -EBUSY;
	FPI_STEP(SERVICE_ENTERED);
	if (FPI_LOAD(&s->runnable, FPI_MO(SERVICE_RUNNABLE, SEQ_CST))) {
		*rc = call(s, FPI_LOAD(&s->leaves, FPI_RELAXED));
		if (*rc == -EAGAIN)
			fpi_count(&s->app_idle, 1);
		else if (*rc < 0)
			fpi_count(&s->app_errors, 1);
		fpi_count(&s->leaves, 1);
	} else {
		err = -ESHUTDOWN;
	}
	/* Release: to the next owner, and to who sees nobody. Partner: SERVICE_APP_SEEN. */
	FPI_STORE(&s->owner, 0, FPI_MO(SERVICE_RELEASE_APP, RELEASE));
	return err;
}

static int run_parallel(fp_service *s, int32_t *rc)
{
	/* Seq_cst: before the look at the gates. Partner: SERVICE_STOP_FENCE. */
	uint64_t number =
		FPI_FETCH_ADD(&s->enters, 1, FPI_MO(SERVICE_ENTER_PARALLEL, SEQ_CST));
	int err = 0;

	FPI_STEP(SERVICE_ENTERED);
	if (FPI_LOAD(&s->runnable, FPI_MO(SERVICE_RUNNABLE_PARALLEL, SEQ_CST))) {
		*rc = call(s, number);
		if (*rc == -EAGAIN)
			FPI_FETCH_ADD(&s->app_idle, 1, FPI_RELAXED);
		else if (*rc < 0)
			FPI_FETCH_ADD(&s->app_errors, 1, FPI_RELAXED);
	} else {
		FPI_FETCH_ADD(&s->refused, 1, FPI_RELAXED);
		err = -ESHUTDOWN;
	}
	/* Release: to who sees that nobody is inside. Partner: SERVICE_LEFT. */
	FPI_FETCH_ADD(&s->leaves, 1, FPI_MO(SERVICE_LEAVE, RELEASE));
	return err;
}

int fp_service_run_once(fp_service *service, uint32_t flags, int32_t *result)
{
	int err = fpi_service_check(service);
	int32_t rc = 0;

	if (err)
		return err;
	if (flags)
		return fpi_refuse(-EOPNOTSUPP, "fp_service_run_once: unknown flags %#x",
				  flags);
	/* Relaxed: who finds it open looks again inside. */
	if (!FPI_LOAD(&service->runnable, FPI_RELAXED))
		return -ESHUTDOWN;
	if (service->flags & LIBFP_SERVICE_MT_SAFE)
		err = run_parallel(service, &rc);
	else
		err = run_serialised(service, &rc);
	/* The service may be gone from here on: its function may have destroyed it. */
	if (!err && result)
		*result = rc;
	fpi_services_finish(NULL);
	return err;
}
