/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * stages.c - the worker of stages.h.
 *
 * It reads and writes in place: a span of `in`, a span of `out` no longer than
 * that, the transformed elements straight from one into the other, and both
 * commits. So no element is ever outside of a ring, and the worker can be
 * stopped between any two bursts.
 */
#include "stages.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#define BURST 256
#define PATIENCE 64 /* idle looks before the worker sleeps */
#define NAP_NS 50000

struct stage {
	fp_ring *in, *out;
	uint32_t kind;
	atomic_int stop;
	pthread_t thread;
	/* The worker's until it has been joined. */
	uint64_t carried;
	int status;
};

static void transform(uint32_t kind, uint64_t *to, const uint64_t *from, uint32_t n)
{
	switch (kind) {
	case STAGE_COPY:
		for (uint32_t i = 0; i < n; i++)
			to[i] = from[i];
		break;
	case STAGE_INVERT:
		for (uint32_t i = 0; i < n; i++)
			to[i] = ~from[i];
		break;
	default:
		for (uint32_t i = 0; i < n; i++) {
			uint64_t x = from[i];

			x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
			x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
			to[i] = x ^ (x >> 31);
		}
	}
}

/* Element i of a span, and in *run how many lie in one piece from there on. */
static uint64_t *piece(const fp_ring_span *span, uint32_t i, uint32_t *run)
{
	if (i < span->n1) {
		*run = span->n1 - i;
		return (uint64_t *)span->ptr1 + i;
	}
	*run = span->n1 + span->n2 - i;
	return (uint64_t *)span->ptr2 + (i - span->n1);
}

/* The first n elements of `from`, transformed, into `to`. */
static void fill(uint32_t kind, const fp_ring_span *to, const fp_ring_span *from,
		 uint32_t n)
{
	for (uint32_t i = 0, part; i < n; i += part) {
		uint32_t room, there;
		uint64_t *put = piece(to, i, &room), *get = piece(from, i, &there);

		part = room < there ? room : there;
		transform(kind, put, get, part);
	}
}

/* Carries up to a burst. Returns how many, 0 if there is none or no room, or an error. */
static int32_t carry(const struct stage *s)
{
	fp_ring_span from, to;
	int32_t n = fp_ring_reserve_dequeue(s->in, BURST, 0, &from), room, err;

	if (n <= 0)
		return n;
	room = fp_ring_reserve_enqueue(s->out, (uint32_t)n, 0, &to);
	if (room > 0) {
		fill(s->kind, &to, &from, (uint32_t)room);
		room = fp_ring_commit_enqueue(s->out, &to, (uint32_t)room);
	}
	/* What did not get through stays in `in`. */
	err = fp_ring_commit_dequeue(s->in, &from, room > 0 ? (uint32_t)room : 0);
	return err < 0 ? err : room;
}

static void pause_a_little(unsigned *idle)
{
	const struct timespec nap = { .tv_nsec = NAP_NS };

	if (++*idle < PATIENCE)
		sched_yield();
	else
		nanosleep(&nap, NULL);
}

static void *work(void *arg)
{
	struct stage *s = arg;
	unsigned idle = 0;

	while (!atomic_load_explicit(&s->stop, memory_order_relaxed)) {
		int32_t n = carry(s);

		if (n > 0) {
			s->carried += (uint64_t)n;
			idle = 0;
		} else if (n == 0) {
			pause_a_little(&idle);
		} else if (n == -EPIPE && fp_ring_is_empty(s->in)) {
			fp_ring_close(s->out); /* `in` is closed and drained */
			break;
		} else {
			s->status = n;
			break;
		}
	}
	return NULL;
}

int stage_start(fp_ring *in, fp_ring *out, uint32_t kind, stage **out_stage)
{
	struct stage *s;
	int err;

	if (!in || !out || !out_stage || in == out || fp_ring_elem_size(in) != 8 ||
	    fp_ring_elem_size(out) != 8 || fp_ring_consumer_sync(in) != LIBFP_ST ||
	    fp_ring_producer_sync(out) != LIBFP_ST)
		return -EINVAL;
	if (kind > STAGE_MIX)
		return -EOPNOTSUPP;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->in = in;
	s->out = out;
	s->kind = kind;
	err = pthread_create(&s->thread, NULL, work, s);
	if (err) {
		free(s);
		return -err;
	}
	*out_stage = s;
	return 0;
}

int stage_stop(stage *s, uint64_t *carried)
{
	int status;

	if (!s)
		return 0;
	atomic_store_explicit(&s->stop, 1, memory_order_relaxed);
	pthread_join(s->thread, NULL);
	if (carried)
		*carried = s->carried;
	status = s->status;
	free(s);
	return status;
}
