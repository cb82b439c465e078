/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that a test stops inside an operation, at a named step of
 * base/step.h:
 *
 *     struct rt_hold h;
 *     rt_hold_init(&h, "GENS_P_CLAIMED");    NULL: the first step it meets, or
 *     h.skip = 2;                            the third
 *     in the victim thread: rt_hold_me(&h); fp_ring_enqueue(...); rt_hold_done(&h);
 *     in the test: if (rt_hold_reached(&h)) { ... } rt_hold_release(&h);
 */
#ifndef FPT_RING_HOLD_H
#define FPT_RING_HOLD_H

#include <semaphore.h>

#include "ring_test.h"

struct rt_hold {
	sem_t reached; /* the victim stands at the step, or ended without meeting it */
	sem_t go;
	const char *step;
	const char *reached_step;
	int skip; /* steps to let pass */
	int held; /* written before reached is posted */
};

static _Thread_local struct rt_hold *rt_my_hold;

static inline void rt_sem_wait(sem_t *s)
{
	while (sem_wait(s))
		; /* EINTR */
}

static inline void rt_hold_step(const char *step)
{
	struct rt_hold *h = rt_my_hold;

	if (!h || (h->step && strcmp(h->step, step)) || h->skip-- > 0)
		return;
	rt_my_hold = NULL;
	h->reached_step = step;
	h->held = 1;
	sem_post(&h->reached);
	rt_sem_wait(&h->go);
}

static inline void rt_hold_init(struct rt_hold *h, const char *step)
{
	memset(h, 0, sizeof(*h));
	sem_init(&h->reached, 0, 0);
	sem_init(&h->go, 0, 0);
	h->step = step;
	fpi_test_step = rt_hold_step;
}

/* The calling thread stops at the step from now on, once. */
static inline void rt_hold_me(struct rt_hold *h)
{
	rt_my_hold = h;
}

/* The victim's operation is over; lets the test go on if it never stopped. */
static inline void rt_hold_done(struct rt_hold *h)
{
	if (rt_my_hold == h) {
		rt_my_hold = NULL;
		sem_post(&h->reached);
	}
}

/* Waits for the victim; 1 if it is held, 0 if it never came by the step. */
static inline int rt_hold_reached(struct rt_hold *h)
{
	rt_sem_wait(&h->reached);
	return h->held;
}

static inline void rt_hold_release(struct rt_hold *h)
{
	if (h->held)
		sem_post(&h->go);
}

/* After the victim was joined. */
static inline void rt_hold_end(struct rt_hold *h)
{
	fpi_test_step = NULL;
	sem_destroy(&h->reached);
	sem_destroy(&h->go);
}

#endif
