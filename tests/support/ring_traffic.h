/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Traffic for the ring stress tests: producers and consumers that mix single
 * calls, bursts, bulks and spans at random and check every element with
 * ring_checker.h. When the ring is full or empty they look a few times more,
 * then yield, so the tests run on one core too.
 */
#ifndef FPT_RING_TRAFFIC_H
#define FPT_RING_TRAFFIC_H

#include <pthread.h>
#include <sched.h>

#include "ring_checker.h"

#define RT_BURST 40 /* most elements of one call */

struct rt_producer {
	fp_ring *r;
	uint32_t id;
	uint64_t seed;
	uint64_t number; /* of the next element: how many were accepted */
	struct rc_tally accepted;
	int closed; /* -EPIPE was seen */
	unsigned char *buf;
};

struct rt_consumer {
	fp_ring *r;
	uint64_t seed;
	struct rc_consumer checker;
	int closed;
	unsigned char *buf;
};

static inline void rt_producer_init(struct rt_producer *p, fp_ring *r, uint32_t id,
				    uint64_t seed)
{
	memset(p, 0, sizeof(*p));
	p->r = r;
	p->id = id;
	p->seed = seed | 1;
	p->buf = malloc((size_t)RT_BURST * r->elem_size);
	CHECK(p->buf != NULL);
}

static inline void rt_consumer_init(struct rt_consumer *c, fp_ring *r, uint64_t seed)
{
	memset(c, 0, sizeof(*c));
	c->r = r;
	c->seed = seed | 1;
	c->buf = malloc((size_t)RT_BURST * r->elem_size);
	CHECK(c->buf != NULL);
}

/* After a call that moved `got` elements: gives the other side time. */
static inline void rt_back_off(uint32_t *tries, int32_t got)
{
	if (got)
		*tries = 0;
	else if (++*tries % 64)
		fpi_cpu_relax();
	else
		sched_yield();
}

/* A ring never says that it holds less than nothing or more than it can. */
static inline void rt_sane(const fp_ring *r)
{
	int64_t used = fp_ring_count(r);

	CHECK(used >= 0 && used <= r->capacity);
}

static inline uint32_t rt_some(uint64_t *seed, const fp_ring *r)
{
	uint32_t most = r->capacity < RT_BURST ? r->capacity : RT_BURST;

	return 1 + (uint32_t)(fpt_random(seed) >> 20) % most;
}

/* One call; returns what it returned. At most `most` elements. */
static inline int32_t rt_produce(struct rt_producer *p, uint64_t most)
{
	uint32_t size = p->r->elem_size, how = (uint32_t)(fpt_random(&p->seed) >> 40) % 5;
	uint32_t n = rt_some(&p->seed, p->r), after = 0;
	int32_t got;

	if (n > most)
		n = (uint32_t)most;
	if (how < 2)
		n = 1;
	if (how < 4)
		for (uint32_t i = 0; i < n; i++)
			rc_make(p->buf + (size_t)i * size, size, p->id, p->number + i);
	if (how == 0 && size == 8)
		got = fp_ring_enqueue_u64(p->r, rc_head(p->id, p->number));
	else if (how < 2)
		got = fp_ring_enqueue(p->r, p->buf);
	else if (how == 2)
		got = fp_ring_enqueue_burst(p->r, p->buf, n, &after);
	else if (how == 3)
		got = fp_ring_enqueue_bulk(p->r, p->buf, n, &after);
	else {
		uint32_t bulk = (uint32_t)(fpt_random(&p->seed) >> 40) & 1;
		fp_ring_span s;

		got = fp_ring_reserve_enqueue(p->r, n, bulk, &s);
		if (got > 0) {
			uint32_t k = (uint32_t)got;

			if (fpt_random(&p->seed) >> 62 == 0)
				k = (uint32_t)(fpt_random(&p->seed) >> 33) % (k + 1);
			for (uint32_t i = 0; i < k; i++)
				rc_make(rt_span_at(&s, size, i), size, p->id,
					p->number + i);
			got = fp_ring_commit_enqueue(p->r, &s, k);
			CHECK(got == (int32_t)k ||
			      (got == -EPIPE && p->r->state->producer == LIBFP_ST));
		}
	}
	CHECK(got <= (int32_t)n && (got >= 0 || got == -EPIPE));
	CHECK(after <= p->r->capacity);
	if (how == 3)
		CHECK(got <= 0 || got == (int32_t)n);
	for (int32_t i = 0; i < got; i++)
		rc_count(&p->accepted, p->id, p->number++);
	if (got == -EPIPE)
		p->closed = 1;
	rt_sane(p->r);
	return got;
}

static inline int32_t rt_consume_span(struct rt_consumer *c, uint32_t n)
{
	uint32_t bulk = (uint32_t)(fpt_random(&c->seed) >> 40) & 1, k;
	fp_ring_span s;
	int32_t got = fp_ring_reserve_dequeue(c->r, n, bulk, &s);

	if (got == -EPIPE && bulk && n > 1)
		return 0; /* fewer than n remain */
	if (got == -EAGAIN && bulk)
		return 0; /* void slots divide them */
	if (got <= 0)
		return got;
	k = (uint32_t)got;
	if (c->r->state->consumer == LIBFP_ST)
		k = (uint32_t)(fpt_random(&c->seed) >> 33) % (k + 1);
	for (uint32_t i = 0; i < k; i++)
		rc_take(&c->checker, rt_span_at(&s, c->r->elem_size, i), c->r->elem_size);
	CHECK_EQ(fp_ring_commit_dequeue(c->r, &s, k), k);
	return (int32_t)k;
}

/* One call; returns how many elements came, or -EPIPE: there are no more. */
static inline int32_t rt_consume(struct rt_consumer *c)
{
	uint32_t size = c->r->elem_size, how = (uint32_t)(fpt_random(&c->seed) >> 40) % 5;
	uint32_t n = rt_some(&c->seed, c->r), after = 0;
	int32_t got;

	if (how == 0 && size == 8)
		got = fp_ring_dequeue_u64(c->r, (uint64_t *)(void *)c->buf);
	else if (how < 2)
		got = fp_ring_dequeue(c->r, c->buf);
	else if (how == 2)
		got = fp_ring_dequeue_burst(c->r, c->buf, n, &after);
	else if (how == 3) {
		got = fp_ring_dequeue_bulk(c->r, c->buf, n, &after);
		CHECK(got <= 0 || got == (int32_t)n);
		if (got == -EPIPE && n > 1)
			got = 0; /* fewer than n remain: another call gets them */
	} else {
		got = rt_consume_span(c, n);
	}
	CHECK(got <= (int32_t)n && (got >= 0 || got == -EPIPE));
	CHECK(after <= c->r->capacity);
	if (how < 4)
		for (int32_t i = 0; i < got; i++)
			rc_take(&c->checker, c->buf + (size_t)i * size, size);
	if (got == -EPIPE)
		c->closed = 1;
	rt_sane(c->r);
	return got;
}

/* Takes until the ring says that there is nothing at the head. */
static inline uint64_t rt_consume_all(struct rt_consumer *c)
{
	uint64_t n = 0;
	int32_t got;

	while ((got = fp_ring_dequeue(c->r, c->buf)) == 1) {
		rc_take(&c->checker, c->buf, c->r->elem_size);
		n++;
	}
	CHECK(got == 0 || got == -EPIPE);
	return n;
}

#endif
