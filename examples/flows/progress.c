/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The progress line: nothing during the first second (short runs stay quiet),
 * then twice a second packets, megabytes read, share of the file and rate.
 *
 * It is a service on a core of its own. The service announces when it wants to be called
 * next, so that the core sleeps in between and the reader never looks at a clock; while
 * the input pauses, the line goes on.
 */
#include "progress.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define FIRST_NS 1000000000u
#define EVERY_NS 500000000u

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void draw(struct progress *p, uint64_t now)
{
	uint64_t packets = atomic_load_explicit(&p->packets, memory_order_relaxed);
	uint64_t bytes = atomic_load_explicit(&p->bytes, memory_order_relaxed);
	double seconds = (double)(now - p->start_ns) / 1e9;

	p->drawn = 1;
	fprintf(stderr, "\r\033[K%.1f M packets, %.0f MB", (double)packets / 1e6,
		(double)bytes / 1e6);
	if (p->total)
		fprintf(stderr, " (%.0f %%)", 100.0 * (double)bytes / (double)p->total);
	fprintf(stderr, ", %.2f M packets/s", (double)packets / seconds / 1e6);
	fflush(stderr);
}

static int32_t run(void *user)
{
	struct progress *p = user;
	uint64_t now = now_ns();

	if (now < p->next_ns)
		return -EAGAIN;
	draw(p, now);
	p->next_ns = now + EVERY_NS;
	fp_service_set_deadline(p->service, p->next_ns);
	return 0;
}

static int make_service(struct progress *p)
{
	fp_service_opts service = LIBFP_SERVICE_OPTS_INIT;
	fp_service_core_opts core = LIBFP_SERVICE_CORE_OPTS_INIT;
	int rc;

	service.name = "progress";
	service.flags = LIBFP_SERVICE_WAKEABLE; /* by its deadlines alone */
	service.run = run;
	service.user = p;
	core.name = "progress";
	rc = fp_service_create(&service, &p->service);
	if (!rc)
		rc = fp_service_core_create(&core, &p->core);
	if (!rc)
		rc = fp_service_map(p->service, p->core);
	if (!rc)
		rc = fp_service_set_deadline(p->service, p->next_ns);
	if (!rc)
		rc = fp_service_start(p->service);
	if (!rc)
		rc = fp_service_core_start(p->core);
	return rc;
}

static void end_service(struct progress *p)
{
	fp_service_core_stop(p->core, LIBFP_FOREVER);
	fp_service_destroy(p->service, LIBFP_SERVICE_FORCE, LIBFP_FOREVER);
	fp_service_core_destroy(p->core);
	p->service = NULL;
	p->core = NULL;
}

void progress_start(struct progress *p, int enabled, uint64_t total)
{
	memset(p, 0, sizeof(*p));
	p->total = total;
	p->start_ns = now_ns();
	p->next_ns = p->start_ns + FIRST_NS;
	if (enabled && make_service(p))
		end_service(p);
}

void progress_end(struct progress *p)
{
	end_service(p);
	if (p->drawn)
		fputs("\r\033[K", stderr);
	p->drawn = 0;
}
