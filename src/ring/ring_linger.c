/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The second look of a refused call.
 *
 * A consumer faster than its producer finds the ring empty after each burst. If
 * it polls on, every look takes the producer's line away just when it is needed
 * for the next publication, and both sides go at the pace of that line. A call
 * that would be refused therefore pauses about a microsecond and looks once
 * more: meanwhile the other side works undisturbed, and the look brings a batch.
 * The same holds for a producer that finds the ring full.
 *
 * It must cost nothing where it brings nothing: a thread that drains what it
 * put in itself, a poller of many quiet rings, elements that come one by one
 * and want low latency. So
 *   - only the first refusal at a position lingers, idle polls do not;
 *   - a second look counts as worth it if it finds a batch, fpi_ring_worth();
 *     if not, the next 1, 3, 7 ... 1023 times are passed over, and one that was
 *     worth it ends that.
 *
 * The fields are hints on the side's own lines: relaxed, and racing writers of
 * an MT side can only make a pause too many or too few.
 *
 * Source: the temporal slipping of FastForward (Giacomoni, Moseley,
 * Vachharajani, 2008), made adaptive.
 */
#include "ring/ring_internal.h"

#ifndef FPI_RING_LINGER	   /* 0: never; the models see two calls instead of one */
#define FPI_RING_LINGER 24 /* pauses: 0.2 to 1 us */
#endif
#define PASSED_OVER_MAX 1023

int fpi_ring_linger(struct fpi_ring_side *s, uint64_t at)
{
	uint32_t skip;

	if (FPI_RING_LINGER == 0 || FPI_LOAD(&s->refused_at, FPI_RELAXED) == at)
		return 0;
	FPI_STORE(&s->refused_at, at, FPI_RELAXED);
	skip = FPI_LOAD(&s->linger_skip, FPI_RELAXED);
	if (skip) {
		FPI_STORE(&s->linger_skip, skip - 1, FPI_RELAXED);
		return 0;
	}
	for (int i = 0; i < FPI_RING_LINGER; i++)
		fpi_cpu_relax();
	return 1;
}

void fpi_ring_lingered(struct fpi_ring_side *s, int worth_it)
{
	uint32_t pass = 0;

	if (!worth_it) {
		pass = 2 * FPI_LOAD(&s->linger_pass, FPI_RELAXED) + 1;
		if (pass > PASSED_OVER_MAX)
			pass = PASSED_OVER_MAX;
	}
	FPI_STORE(&s->linger_pass, pass, FPI_RELAXED);
	FPI_STORE(&s->linger_skip, pass, FPI_RELAXED);
}
