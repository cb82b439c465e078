/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread stopped in the middle of an operation, at each of its steps in turn:
 * everybody else goes on. Other producers fill the ring until it is really
 * full, consumers get all that is before the hole, and once the victim goes on
 * everything arrives, once and in order.
 */
#include <pthread.h>

#include "ring_checker.h"
#include "hold.h"
#include "ring_test.h"

enum op { U64, SINGLE, BURST3, BULK3, SPAN3, SPAN_PART, OPS };

struct victim {
	fp_ring *r;
	enum op op;
	int consumer;
	int may_be_closed;
	struct fpt_hold hold;
	struct rc_tally accepted;
	struct rc_consumer checker;
	pthread_t thread;
};

/* Producer 1; the test's thread is producer 0. */
static void victim_enqueue(struct victim *v)
{
	uint64_t e[3];
	fp_ring_span s;
	int32_t got;

	for (uint64_t i = 0; i < 3; i++)
		e[i] = rc_head(1, i);
	if (v->op == U64)
		got = fp_ring_enqueue_u64(v->r, e[0]);
	else if (v->op == SINGLE)
		got = fp_ring_enqueue(v->r, e);
	else if (v->op == BURST3)
		got = fp_ring_enqueue_burst(v->r, e, 3, NULL);
	else if (v->op == BULK3)
		got = fp_ring_enqueue_bulk(v->r, e, 3, NULL);
	else {
		got = fp_ring_reserve_enqueue(v->r, 3, 0, &s);
		for (int32_t i = 0; i < got; i++)
			memcpy(rt_span_at(&s, 8, (uint32_t)i), &e[i], 8);
		if (got > 0)
			got = fp_ring_commit_enqueue(
				v->r, &s,
				v->op == SPAN_PART ? (uint32_t)got - 1 : (uint32_t)got);
	}
	CHECK(got <= 3 && (got >= 0 || (got == -EPIPE && v->may_be_closed)));
	for (int32_t i = 0; i < got; i++)
		rc_count(&v->accepted, 1, (uint64_t)i);
}

static void victim_dequeue(struct victim *v)
{
	uint64_t e[3];
	fp_ring_span s;
	int32_t got;

	if (v->op == U64)
		got = fp_ring_dequeue_u64(v->r, e);
	else if (v->op == SINGLE)
		got = fp_ring_dequeue(v->r, e);
	else if (v->op == BURST3)
		got = fp_ring_dequeue_burst(v->r, e, 3, NULL);
	else if (v->op == BULK3)
		got = fp_ring_dequeue_bulk(v->r, e, 3, NULL);
	else {
		got = fp_ring_reserve_dequeue(v->r, 3, 0, &s);
		for (int32_t i = 0; i < got; i++)
			memcpy(&e[i], rt_span_at(&s, 8, (uint32_t)i), 8);
		if (got > 0)
			CHECK_EQ(fp_ring_commit_dequeue(v->r, &s, (uint32_t)got), got);
	}
	CHECK(got >= 0 && got <= 3);
	for (int32_t i = 0; i < got; i++)
		rc_take(&v->checker, &e[i], 8);
}

static void *victim_main(void *arg)
{
	struct victim *v = arg;

	fpt_hold_me(&v->hold);
	if (v->consumer)
		victim_dequeue(v);
	else
		victim_enqueue(v);
	fpt_hold_done(&v->hold);
	return NULL;
}

struct healthy {
	fp_ring *r;
	uint64_t number;
	struct rc_tally accepted;
	struct rc_consumer checker;
};

/* Enqueues until the ring says full; never more than it can hold. */
static uint32_t fill_up(struct healthy *h, uint32_t most)
{
	uint32_t n = 0;

	while (n < most) {
		int32_t got = fp_ring_enqueue_u64(h->r, rc_head(0, h->number));

		CHECK(got == 0 || got == 1);
		if (!got)
			break;
		rc_count(&h->accepted, 0, h->number++);
		n++;
	}
	CHECK(n <= h->r->capacity);
	return n;
}

static uint32_t drain(struct healthy *h)
{
	uint32_t n = 0;
	uint64_t e;
	int32_t got;

	while ((got = fp_ring_dequeue_u64(h->r, &e)) == 1) {
		rc_take(&h->checker, &e, 8);
		n++;
	}
	CHECK_EQ(got, 0);
	return n;
}

static void start(struct victim *v, struct healthy *h, const struct rt_mode *m,
		  uint32_t cap, uint32_t inside, uint32_t moved, enum op op, int step)
{
	uint64_t e;

	memset(v, 0, sizeof(*v));
	memset(h, 0, sizeof(*h));
	v->r = h->r = rt_ring(cap, 8, m, 0);
	v->op = op;
	for (uint32_t i = 0; i < moved; i++) { /* somewhere before the wrap */
		CHECK_EQ(fp_ring_enqueue_u64(v->r, 0), 1);
		CHECK_EQ(fp_ring_dequeue_u64(v->r, &e), 1);
	}
	CHECK_EQ(fill_up(h, inside), inside);
	fpt_hold_init(&v->hold, NULL);
	v->hold.skip = step;
}

static void let_go(struct victim *v, struct healthy *h)
{
	struct rc_tally in = { 0, 0 }, out = { 0, 0 };

	fpt_hold_release(&v->hold);
	pthread_join(v->thread, NULL);
	fpt_hold_end(&v->hold);
	drain(h);
	rc_add(&in, &h->accepted);
	rc_add(&in, &v->accepted);
	rc_add(&out, &h->checker.tally);
	rc_add(&out, &v->checker.tally);
	rc_conserved(&in, &out);
	/* the whole ring works again */
	CHECK_EQ(fp_ring_count(v->r), 0);
	CHECK_EQ(fill_up(h, UINT32_MAX), v->r->capacity);
	CHECK_EQ(drain(h), v->r->capacity);
	CHECK_EQ(fp_ring_destroy(v->r), 0);
}

/* Returns whether the operation has such a step. */
static int stalled_producer(const struct rt_mode *m, uint32_t cap, uint32_t inside,
			    uint32_t moved, enum op op, int step)
{
	static struct victim v;
	static struct healthy h;
	int held, st = m->producer == LIBFP_ST;
	uint32_t hole, put, got;
	fp_ring_stats s;

	fpt_where("%s capacity %u inside %u moved %u op %d step %d", m->name, cap, inside,
		  moved, op, step);
	start(&v, &h, m, cap, inside, moved, op, step);
	CHECK_EQ(pthread_create(&v.thread, NULL, victim_main, &v), 0);
	held = fpt_hold_reached(&v.hold);
	if (held) {
		fpt_where("%s capacity %u inside %u moved %u op %d step %d %s", m->name,
			  cap, inside, moved, op, step, v.hold.reached_step);
		put = st ? 0 : fill_up(&h, UINT32_MAX);
		s = rt_stats(v.r);
		hole = (uint32_t)s.unpublished;
		CHECK(hole <= 3);
		if (!st) { /* really full: no slot is left unused */
			CHECK_EQ(fp_ring_is_full(v.r), 1);
			CHECK_EQ(s.enqueued + s.void_pending + hole - moved, cap);
		}
		got = drain(&h); /* all before the hole */
		if (hole) {
			CHECK(got >= inside);
			CHECK(rt_stats(v.r).flags & LIBFP_RING_STATS_BLOCKED);
		} else {
			CHECK(got >= inside + put);
		}
		if (!st) { /* and what was freed can be filled again */
			CHECK(fill_up(&h, UINT32_MAX) >= got);
			CHECK_EQ(fp_ring_is_full(v.r), 1);
		}
		got = drain(&h);
		if (hole)
			CHECK_EQ(got, 0);
	}
	let_go(&v, &h);
	return held;
}

static int stalled_consumer(const struct rt_mode *m, uint32_t cap, uint32_t inside,
			    uint32_t moved, enum op op, int step)
{
	static struct victim v;
	static struct healthy h;
	int held, st = m->consumer == LIBFP_ST;
	uint32_t put, got = 0;

	start(&v, &h, m, cap, inside, moved, op, step);
	v.consumer = 1;
	CHECK_EQ(pthread_create(&v.thread, NULL, victim_main, &v), 0);
	held = fpt_hold_reached(&v.hold);
	if (held) {
		fpt_where("%s capacity %u inside %u moved %u op %d step %d %s", m->name,
			  cap, inside, moved, op, step, v.hold.reached_step);
		if (!st) {
			got = drain(&h);
			CHECK(got + 3 >= inside);
		}
		/* up to the slot that the victim has not given back */
		put = fill_up(&h, UINT32_MAX);
		CHECK(put >= cap - inside);
		if (!st) {
			CHECK_EQ(drain(&h), put);
			CHECK_EQ(fp_ring_count(v.r), 0);
		}
	}
	let_go(&v, &h);
	return held;
}

/* Each operation at each step, on a ring that wraps in it and one that does not. */
static void every_step(int (*one)(const struct rt_mode *, uint32_t, uint32_t, uint32_t,
				  enum op, int),
		       int least)
{
	static const uint32_t caps[] = { 8, 7 };

	RT_EACH_MODE(m)
	for (size_t c = 0; c < FPT_LEN(caps); c++)
		for (uint32_t moved = 0; moved < caps[c]; moved += 2)
			for (int op = 0; op < OPS; op++) {
				int step = 0;

				while (one(m, caps[c], 3, moved, (enum op)op, step))
					step++;
				CHECK(step >= least);
			}
}

static void a_producer_stopped_at_each_step(void)
{
	every_step(stalled_producer, 1);
}

static void a_consumer_stopped_at_each_step(void)
{
	every_step(stalled_consumer, 1);
}

/* The step between claim and publication is among them, by name. */
static void the_hole_is_reached(void)
{
	for (int i = 2; i < 4; i++) {
		static struct victim v;
		static struct healthy h;

		fpt_where("%s", rt_modes[i].name);
		start(&v, &h, &rt_modes[i], 8, 3, 0, BULK3, 0);
		v.hold.step = "GENS_P_CLAIMED";
		CHECK_EQ(pthread_create(&v.thread, NULL, victim_main, &v), 0);
		CHECK_EQ(fpt_hold_reached(&v.hold), 1);
		CHECK_EQ(rt_stats(v.r).unpublished, 3);
		CHECK_EQ(fill_up(&h, UINT32_MAX), 2);
		CHECK_EQ(fp_ring_is_full(v.r), 1);
		CHECK_EQ(drain(&h), 3);
		CHECK_EQ(fill_up(&h, UINT32_MAX), 3);
		CHECK_EQ(drain(&h), 0);
		CHECK_EQ(fp_ring_is_empty(v.r), 0);
		let_go(&v, &h);
	}
}

/* Close with a producer stopped at each step: all or -EPIPE, nothing between. */
static void close_with_a_producer_stopped_at_each_step(void)
{
	for (int i = 2; i < 4; i++)
		for (int op = 0; op < SPAN3; op++)
			for (int step = 0, held = 1; held; step++) {
				fp_ring *r = rt_ring(8, 8, &rt_modes[i], 0);
				uint64_t mine[8];
				struct victim v;
				int32_t got, end;

				memset(&v, 0, sizeof(v));
				v.r = r;
				v.op = (enum op)op;
				v.may_be_closed = 1;
				fpt_hold_init(&v.hold, NULL);
				v.hold.skip = step;
				fpt_where("%s op %d step %d", rt_modes[i].name, op, step);
				CHECK_EQ(fp_ring_enqueue_u64(r, rc_head(0, 0)), 1);
				CHECK_EQ(pthread_create(&v.thread, NULL, victim_main, &v),
					 0);
				held = fpt_hold_reached(&v.hold);
				CHECK_EQ(fp_ring_close(r), 0);
				CHECK_EQ(fp_ring_enqueue_u64(r, rc_head(0, 1)), -EPIPE);
				got = fp_ring_dequeue_burst(r, mine, 8, NULL);
				CHECK(got >= 1);
				end = fp_ring_dequeue_burst(r, mine, 8, NULL);
				CHECK(end == 0 || end == -EPIPE);
				fpt_hold_release(&v.hold);
				pthread_join(v.thread, NULL);
				fpt_hold_end(&v.hold);
				/* refused if the end was told, delivered if it returned n */
				if (end == -EPIPE && held)
					CHECK_EQ(v.accepted.count, (uint64_t)got - 1);
				if (end == 0)
					CHECK_EQ(fp_ring_dequeue_burst(r, mine, 8, NULL),
						 (int32_t)v.accepted.count + 1 - got);
				CHECK_EQ(fp_ring_dequeue_burst(r, mine, 8, NULL), -EPIPE);
				CHECK_EQ(fp_ring_destroy(r), 0);
			}
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(a_producer_stopped_at_each_step),
		FPT_CASE(a_consumer_stopped_at_each_step),
		FPT_CASE(the_hole_is_reached),
		FPT_CASE(close_with_a_producer_stopped_at_each_step),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
