/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The progress line: nothing during the first second (short runs stay quiet),
 * then twice a second packets, megabytes read, share of the file and rate.
 */
#include "progress.h"

#include <stdio.h>
#include <time.h>

#define FIRST_NS 1000000000u
#define EVERY_NS 500000000u

uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void progress_start(struct progress *p, int enabled)
{
	p->enabled = enabled;
	p->drawn = 0;
	p->start_ns = now_ns();
	p->next_ns = p->start_ns + FIRST_NS;
}

void progress_update(struct progress *p, uint64_t packets, uint64_t bytes, uint64_t total)
{
	uint64_t now;
	double seconds;

	if (!p->enabled)
		return;
	now = now_ns();
	if (now < p->next_ns)
		return;
	p->next_ns = now + EVERY_NS;
	p->drawn = 1;
	seconds = (double)(now - p->start_ns) / 1e9;
	fprintf(stderr, "\r\033[K%.1f M packets, %.0f MB", (double)packets / 1e6,
		(double)bytes / 1e6);
	if (total)
		fprintf(stderr, " (%.0f %%)", 100.0 * (double)bytes / (double)total);
	fprintf(stderr, ", %.2f M packets/s", (double)packets / seconds / 1e6);
	fflush(stderr);
}

void progress_end(struct progress *p)
{
	if (p->drawn)
		fputs("\r\033[K", stderr);
	p->drawn = 0;
}
