/* SPDX-License-Identifier: BSD-2-Clause */
/* partner.c - see partner.h. */
#include "partner.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define HANDOFF_GROUPS 5  /* the median of these ... */
#define HANDOFF_ROUNDS 12 /* ... averages of so many round trips */

long partner_switches(void)
{
	struct rusage u;

	getrusage(RUSAGE_THREAD, &u);
	return u.ru_nivcsw;
}

/* Throws back every ball that partner_handoff_ns() throws. */
static void return_balls(atomic_uint *ball)
{
	for (unsigned i = 1; i < 2 * HANDOFF_GROUPS * HANDOFF_ROUNDS; i += 2) {
		while (atomic_load_explicit(ball, memory_order_acquire) != i)
			;
		atomic_store_explicit(ball, i + 1, memory_order_release);
	}
}

static void *partner_main(void *arg)
{
	struct partner *p = arg;
	unsigned seq = 0;

	bench_pin(p->cpu);
	for (;;) {
		long before;

		while (atomic_load_explicit(&p->order_seq, memory_order_acquire) == seq)
			bench_relax();
		seq++;
		before = partner_switches();
		if (p->order == PARTNER_HANDOFF)
			return_balls(&p->ball);
		else if (p->order == PARTNER_FEED)
			p->fed = p->feed->feed(p->feed->object, p->feed->burst, p->units);
		p->switches = partner_switches() - before;
		atomic_store_explicit(&p->done_seq, seq, memory_order_release);
		if (p->order == PARTNER_QUIT)
			return NULL;
	}
}

static void give(struct partner *p, enum partner_order order)
{
	p->order = order;
	atomic_store_explicit(&p->order_seq, ++p->seq, memory_order_release);
}

void partner_wait(struct partner *p)
{
	while (atomic_load_explicit(&p->done_seq, memory_order_acquire) != p->seq)
		bench_relax();
}

void partner_feed(struct partner *p, const struct bench_case *c, uint64_t units)
{
	p->feed = c;
	p->units = units;
	give(p, PARTNER_FEED);
}

int partner_start(struct partner *p, int cpu)
{
	memset(p, 0, sizeof(*p));
	p->cpu = cpu;
	return pthread_create(&p->thread, NULL, partner_main, p);
}

void partner_stop(struct partner *p)
{
	give(p, PARTNER_QUIT);
	pthread_join(p->thread, NULL);
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double partner_handoff_ns(struct partner *p)
{
	double group[HANDOFF_GROUPS];
	unsigned ball = 0;

	atomic_store_explicit(&p->ball, 0, memory_order_relaxed);
	give(p, PARTNER_HANDOFF);
	for (int g = 0; g < HANDOFF_GROUPS; g++) {
		uint64_t start = bench_now_ns();

		for (int i = 0; i < HANDOFF_ROUNDS; i++, ball += 2) {
			atomic_store_explicit(&p->ball, ball + 1, memory_order_release);
			while (atomic_load_explicit(&p->ball, memory_order_acquire) !=
			       ball + 2)
				;
		}
		group[g] = (double)(bench_now_ns() - start) / HANDOFF_ROUNDS / 2;
	}
	partner_wait(p);
	qsort(group, HANDOFF_GROUPS, sizeof(group[0]), compare_doubles);
	return group[HANDOFF_GROUPS / 2];
}
