/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that a test stops inside an operation, at a named step of
 * base/step.h:
 *
 *     struct fpt_hold h;
 *     fpt_hold_init(&h, "GENS_P_CLAIMED");   NULL: the first step it meets, or
 *     h.skip = 2;                            the third
 *     in the victim thread: fpt_hold_me(&h); fp_ring_enqueue(...); fpt_hold_done(&h);
 *     in the test: if (fpt_hold_reached(&h)) { ... } fpt_hold_release(&h);
 */
#ifndef FPT_HOLD_H
#define FPT_HOLD_H

#include <pthread.h>
#include <semaphore.h>

#include "base/step.h"
#include "check.h"

struct fpt_hold {
	sem_t reached; /* the victim stands at the step, or ended without meeting it */
	sem_t go;
	const char *step;
	const char *reached_step;
	int skip; /* steps to let pass */
	int held; /* written before reached is posted */
};

static _Thread_local struct fpt_hold *fpt_my_hold;

static inline void fpt_sem_wait(sem_t *s)
{
	while (sem_wait(s))
		; /* EINTR */
}

static inline void fpt_hold_step(const char *step)
{
	struct fpt_hold *h = fpt_my_hold;

	if (!h || (h->step && strcmp(h->step, step)) || h->skip-- > 0)
		return;
	fpt_my_hold = NULL;
	h->reached_step = step;
	h->held = 1;
	sem_post(&h->reached);
	fpt_sem_wait(&h->go);
}

static inline void fpt_hold_init(struct fpt_hold *h, const char *step)
{
	memset(h, 0, sizeof(*h));
	sem_init(&h->reached, 0, 0);
	sem_init(&h->go, 0, 0);
	h->step = step;
	__atomic_store_n(&fpi_test_step, fpt_hold_step, __ATOMIC_RELEASE);
}

/* The calling thread stops at the step from now on, once. */
static inline void fpt_hold_me(struct fpt_hold *h)
{
	fpt_my_hold = h;
}

/* The victim's operation is over; lets the test go on if it never stopped. */
static inline void fpt_hold_done(struct fpt_hold *h)
{
	if (fpt_my_hold == h) {
		fpt_my_hold = NULL;
		sem_post(&h->reached);
	}
}

/* Waits for the victim; 1 if it is held, 0 if it never came by the step. */
static inline int fpt_hold_reached(struct fpt_hold *h)
{
	fpt_sem_wait(&h->reached);
	return h->held;
}

static inline void fpt_hold_release(struct fpt_hold *h)
{
	if (h->held)
		sem_post(&h->go);
}

/*
 * Before and after a fork: a victim that met no step goes on to its end and must have
 * ended, since a child would wait for ever for the locks of AddressSanitizer's
 * allocator that an ending thread holds.
 */
static inline void fpt_join_unheld(struct fpt_hold *h, pthread_t victim)
{
	if (!h->held)
		pthread_join(victim, NULL);
}

static inline void fpt_join_held(struct fpt_hold *h, pthread_t victim)
{
	if (h->held)
		pthread_join(victim, NULL);
}

/* After the victim was joined. */
static inline void fpt_hold_end(struct fpt_hold *h)
{
	__atomic_store_n(&fpi_test_step, NULL, __ATOMIC_RELEASE);
	sem_destroy(&h->reached);
	sem_destroy(&h->go);
}

#endif
