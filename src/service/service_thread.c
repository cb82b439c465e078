/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The thread that a core makes for itself: signals, name, CPUs, policy, stack.
 *
 * CPUs and policy are best effort: the thread asks for them when it begins, so that a
 * refusal does not keep it from running, and says what it got. The start waits for that,
 * hence statistics are true when it returns. All signals are blocked before the thread
 * exists, because it inherits the mask of the thread that makes it.
 *
 * It is joined by whoever needs its end: a stop, the next start, destroy. Its hooks of
 * thread exit have then run, so pools have their caches back.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "base/futex.h"
#include "base/log.h"
#include "service/service_internal.h"

#define THREAD_NAME_MAX 15 /* the kernel's, without the NUL */

/* ---- on the thread ---- */

static void take_name(const fp_service_core *c)
{
	const char *name = fpi_registry_name(&c->name);
	char cut[THREAD_NAME_MAX + 1] = "";

	if (!name)
		return;
	memcpy(cut, name, strnlen(name, THREAD_NAME_MAX));
	pthread_setname_np(pthread_self(), cut);
}

static int system_policy(uint32_t policy)
{
	switch (policy) {
	case LIBFP_SERVICE_CORE_POLICY_FIFO:
		return SCHED_FIFO;
	case LIBFP_SERVICE_CORE_POLICY_RR:
		return SCHED_RR;
	case LIBFP_SERVICE_CORE_POLICY_BATCH:
		return SCHED_BATCH;
	case LIBFP_SERVICE_CORE_POLICY_IDLE:
		return SCHED_IDLE;
	default:
		return SCHED_OTHER;
	}
}

static uint32_t take_policy(const fp_service_core *c)
{
	int policy = system_policy(c->policy);
	int real_time = policy == SCHED_FIFO || policy == SCHED_RR;
	struct sched_param param = { .sched_priority = real_time ? c->priority : 0 };

	if (pthread_setschedparam(pthread_self(), policy, &param))
		return 0;
	/* Of a thread, on Linux: who 0 is the calling one. */
	if (!real_time && setpriority(PRIO_PROCESS, 0, c->priority))
		return 0;
	return LIBFP_SERVICE_CORE_GOT_POLICY;
}

static void set_up(fp_service_core *c)
{
	uint32_t granted = 0;

	take_name(c);
	if (c->has_cpus &&
	    !pthread_setaffinity_np(pthread_self(), sizeof(c->cpus), &c->cpus))
		granted |= LIBFP_SERVICE_CORE_GOT_CPUS;
	if (c->policy != LIBFP_SERVICE_CORE_POLICY_NONE)
		granted |= take_policy(c);
	fpi_services_lock();
	c->granted = granted;
	c->thread_id = fpi_thread_id();
	fpi_services_unlock();
	fpi_core_idle_begin(c, 1);
	FPI_STORE(&c->set_up, 1, FPI_RELAXED);
	fpi_futex_wake(&c->set_up.value, UINT32_MAX);
}

static void *core_thread(void *arg)
{
	fp_service_core *c = arg;

	set_up(c);
	fpi_thread.in_service = 1;
	fpi_core_loop(c, FPI_NO_DEADLINE);
	fpi_thread.in_service = 0;
	fpi_core_leave(c);
	return NULL;
}

/* ---- on who starts and joins it ---- */

static int make(fp_service_core *c, pthread_t *thread)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int err = pthread_attr_init(&attr);

	if (err)
		return -ENOMEM;
	if (c->stack_size)
		err = pthread_attr_setstacksize(&attr, c->stack_size);
	if (!err) {
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		err = pthread_create(thread, &attr, core_thread, c);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		err = err ? EAGAIN : 0;
	}
	pthread_attr_destroy(&attr);
	return -err;
}

int fpi_core_make_thread(fp_service_core *c)
{
	pthread_t thread = 0;
	int err = make(c, &thread);

	if (err)
		fpi_core_leave(c);
	while (!err && !FPI_LOAD(&c->set_up, FPI_RELAXED))
		fpi_futex_wait(&c->set_up.value, 0);
	/* Nobody starts it anew, joins its thread or destroys it until here. */
	fpi_services_lock();
	c->starting = 0;
	c->joinable = !err;
	c->thread = thread;
	fpi_services_unlock();
	if (err)
		return fpi_refuse(err,
				  "fp_service_core_start: no thread, or its stack is "
				  "too small");
	return 0;
}

void fpi_core_join(fp_service_core *c)
{
	int join;
	pthread_t thread;

	fpi_services_lock();
	join = c->joinable && c->state == LIBFP_SERVICE_CORE_STOPPED;
	thread = c->thread;
	if (join)
		c->joinable = 0;
	fpi_services_unlock();
	if (join)
		pthread_join(thread, NULL);
}
