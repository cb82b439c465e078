/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whom a ring wakes: every call that makes an element or a slot signals the other side's
 * wake-up, its own (LIBFP_RING_WAIT) or a bound one; binding and unbinding. What the
 * waiting calls return is in test_ring_wait.c, threads that wait in test_ring_waiters.c.
 *
 * That a call signals is seen by the epoch of a wake-up on which this very thread has
 * announced itself: no second thread, no time.
 */
#include "wake_test.h"

static const uint32_t flags_of[] = { 0, LIBFP_CHECKED, LIBFP_STATS };

/* ---- each call signals ---- */

/* A side under watch: prepared, so that the next signal moves the epoch. */
struct watch {
	fp_wakeup *w;
	uint64_t key;
};

static void watch(struct watch *x, fp_wakeup *w)
{
	x->w = w;
	CHECK_EQ(fp_wakeup_prepare(w, &x->key), 0);
}

static int signalled(struct watch *x)
{
	int err = fp_wakeup_wait(x->w, x->key, 0);

	CHECK(err == 0 || err == -ETIMEDOUT);
	return err == 0;
}

static uint64_t table[WT_ELEMS];

typedef void call_fn(fp_ring *r);

static void enqueue_single(fp_ring *r)
{
	CHECK_EQ(fp_ring_enqueue(r, table), 1);
}

static void enqueue_u64(fp_ring *r)
{
	CHECK_EQ(fp_ring_enqueue_u64(r, 1), 1);
}

static void enqueue_burst(fp_ring *r)
{
	CHECK_EQ(fp_ring_enqueue_burst(r, table, 2, NULL), 2);
}

static void enqueue_long_burst(fp_ring *r)
{
	uint32_t left;

	CHECK_EQ(fp_ring_enqueue_burst(r, table, 20, &left), 20);
}

static void enqueue_bulk(fp_ring *r)
{
	CHECK_EQ(fp_ring_enqueue_bulk(r, table, 3, NULL), 3);
}

static void enqueue_span(fp_ring *r)
{
	fp_ring_span s;

	CHECK_EQ(fp_ring_reserve_enqueue(r, 3, LIBFP_RING_BULK, &s), 3);
	CHECK_EQ(fp_ring_commit_enqueue(r, &s, 3), 3);
}

static void enqueue_part_of_a_span(fp_ring *r)
{
	fp_ring_span s;

	CHECK_EQ(fp_ring_reserve_enqueue(r, 3, 0, &s), 3);
	CHECK_EQ(fp_ring_commit_enqueue(r, &s, 1), 1);
}

static void enqueue_waiting(fp_ring *r)
{
	CHECK_EQ(fp_ring_enqueue_wait(r, table, 1, 2, LIBFP_FOREVER), 2);
}

static void close_it(fp_ring *r)
{
	CHECK_EQ(fp_ring_close(r), 0);
}

static void dequeue_single(fp_ring *r)
{
	CHECK_EQ(fp_ring_dequeue(r, table), 1);
}

static void dequeue_u64(fp_ring *r)
{
	CHECK_EQ(fp_ring_dequeue_u64(r, table), 1);
}

static void dequeue_burst(fp_ring *r)
{
	CHECK_EQ(fp_ring_dequeue_burst(r, table, 2, NULL), 2);
}

static void dequeue_long_burst(fp_ring *r)
{
	CHECK_EQ(fp_ring_dequeue_burst(r, table, 20, NULL), 20);
}

static void dequeue_bulk(fp_ring *r)
{
	uint32_t left;

	CHECK_EQ(fp_ring_dequeue_bulk(r, table, 3, &left), 3);
}

static void dequeue_span(fp_ring *r)
{
	fp_ring_span s;

	CHECK_EQ(fp_ring_reserve_dequeue(r, 3, LIBFP_RING_BULK, &s), 3);
	CHECK_EQ(fp_ring_commit_dequeue(r, &s, 3), 3);
}

static void dequeue_waiting(fp_ring *r)
{
	CHECK_EQ(fp_ring_dequeue_wait(r, table, 2, 2, LIBFP_FOREVER), 2);
}

static const struct signalling_call {
	const char *name;
	call_fn *call;
} enqueues[] = {
	{ "enqueue", enqueue_single },
	{ "enqueue_u64", enqueue_u64 },
	{ "burst", enqueue_burst },
	{ "long burst", enqueue_long_burst },
	{ "bulk", enqueue_bulk },
	{ "span", enqueue_span },
	{ "part of a span", enqueue_part_of_a_span },
	{ "enqueue_wait", enqueue_waiting },
	{ "close", close_it },
}, dequeues[] = {
	{ "dequeue", dequeue_single },
	{ "dequeue_u64", dequeue_u64 },
	{ "burst", dequeue_burst },
	{ "long burst", dequeue_long_burst },
	{ "bulk", dequeue_bulk },
	{ "span", dequeue_span },
	{ "dequeue_wait", dequeue_waiting },
	{ "close", close_it },
};

/* Binds a wake-up of this mode, or (NULL) uses the ring's own; both are watched. */
static void signals(const struct rt_mode *m, uint32_t flags, const struct wt_mode *bound,
		    uint32_t side, const struct signalling_call *c)
{
	fp_wakeup *w = bound ? wt_wakeup(bound) : NULL;
	fp_ring *r = rt_ring(40, 8, m, bound ? flags : flags | LIBFP_RING_WAIT);
	struct watch x;

	fpt_where("%s flags %#x %s: %s", m->name, flags, bound ? bound->name : "own",
		  c->name);
	for (uint32_t s = 0; bound && s < 2; s++)
		CHECK_EQ(fp_ring_set_wakeup(r, s, w), 0);
	if (side == LIBFP_RING_PRODUCER)
		CHECK_EQ(fp_ring_enqueue_bulk(r, table, 25, NULL), 25);
	for (int round = 0; round < 2; round++) {
		watch(&x, r->wake[side]);
		CHECK_EQ(signalled(&x), 0);
		if (c->call == close_it && round)
			continue; /* it is closed for good */
		watch(&x, r->wake[side]);
		c->call(r);
		CHECK_EQ(signalled(&x), 1);
		if (side == LIBFP_RING_CONSUMER)
			fp_ring_dequeue_burst(r, table, 40, NULL);
		else
			fp_ring_enqueue_burst(r, table, 25, NULL);
	}
	CHECK_EQ(fp_ring_destroy(r), 0);
	CHECK_EQ(fp_wakeup_destroy(w), 0);
}

static void each_call_signals(uint32_t side, const struct signalling_call *calls,
			      size_t n)
{
	RT_EACH_MODE(m)
	for (size_t f = 0; f < FPT_LEN(flags_of); f++)
		for (size_t c = 0; c < n; c++) {
			signals(m, flags_of[f], NULL, side, &calls[c]);
			WT_EACH_MODE(bound)
			signals(m, flags_of[f], bound, side, &calls[c]);
		}
}

static void every_enqueue_signals_consumers(void)
{
	each_call_signals(LIBFP_RING_CONSUMER, enqueues, FPT_LEN(enqueues));
}

static void every_dequeue_signals_producers(void)
{
	each_call_signals(LIBFP_RING_PRODUCER, dequeues, FPT_LEN(dequeues));
}

/* ---- calls that free slots without delivering anything ---- */

static void look_burst(fp_ring *r)
{
	CHECK_EQ(fp_ring_dequeue_burst(r, table, 4, NULL), 0);
}

static void look_u64(fp_ring *r)
{
	CHECK_EQ(fp_ring_dequeue_u64(r, table), 0);
}

static void look_bulk(fp_ring *r)
{
	CHECK_EQ(fp_ring_dequeue_bulk(r, table, 2, NULL), 0);
}

static void look_span(fp_ring *r)
{
	fp_ring_span s;

	CHECK_EQ(fp_ring_reserve_dequeue(r, 4, 0, &s), 0);
}

static void look_readable(fp_ring *r)
{
	CHECK_EQ(fp_ring_wait_readable(r, 0), 0);
}

static void look_waiting(fp_ring *r)
{
	CHECK_EQ(fp_ring_dequeue_wait(r, table, 1, 4, 0), 0);
}

static void look_peek(fp_ring *r)
{
	CHECK_EQ(fp_ring_peek(r, table, 4), r->ops.peek ? 0 : -EOPNOTSUPP);
	if (!r->ops.peek)
		look_u64(r);
}

/* Behind the voids at the head is "element, void, element": a bulk of 2 is divided. */
static void look_divided_span(fp_ring *r)
{
	fp_ring_span s;

	CHECK_EQ(fp_ring_enqueue_u64(r, 1), 1);
	CHECK_EQ(fp_ring_reserve_enqueue(r, 1, 0, &s), 1);
	CHECK_EQ(fp_ring_commit_enqueue(r, &s, 0), 0);
	CHECK_EQ(fp_ring_enqueue_u64(r, 2), 1);
	CHECK_EQ(fp_ring_reserve_dequeue(r, 2, LIBFP_RING_BULK, &s), -EAGAIN);
}

static const struct signalling_call looks[] = {
	{ "burst", look_burst },       { "u64", look_u64 },
	{ "bulk", look_bulk },	       { "span", look_span },
	{ "readable", look_readable }, { "dequeue_wait", look_waiting },
	{ "peek", look_peek },	       { "divided span", look_divided_span },
};

static void voids_that_are_passed_signal_producers(void)
{
	RT_EACH_MODE(m)
	for (size_t f = 0; f < FPT_LEN(flags_of); f++)
		for (size_t c = 0; c < FPT_LEN(looks); c++) {
			fp_ring *r;
			struct watch x;
			fp_ring_span s;

			if (m->producer == LIBFP_ST)
				continue; /* has no voids */
			fpt_where("%s flags %#x %s", m->name, flags_of[f], looks[c].name);
			r = rt_ring(8, 8, m, flags_of[f] | LIBFP_RING_WAIT);
			CHECK_EQ(fp_ring_reserve_enqueue(r, 4, 0, &s), 4);
			CHECK_EQ(fp_ring_commit_enqueue(r, &s, 0), 0);
			watch(&x, r->wake[LIBFP_RING_PRODUCER]);
			looks[c].call(r);
			CHECK_EQ(signalled(&x), 1);
			CHECK_EQ(rt_stats(r).void_pending,
				 looks[c].call == look_divided_span);
			CHECK_EQ(fp_ring_destroy(r), 0);
		}
}

/*
 * Its own side is not told, and nobody when nothing moved: else two threads that look in
 * vain and sleep on one wake-up would wake each other for ever.
 */
static void a_look_in_vain_and_its_own_side_signal_nobody(void)
{
	RT_EACH_MODE(m)
	for (size_t f = 0; f < FPT_LEN(flags_of); f++) {
		fp_ring *r = rt_ring(1, 8, m, flags_of[f] | LIBFP_RING_WAIT);
		struct watch own, other;

		fpt_where("%s flags %#x", m->name, flags_of[f]);
		watch(&own, r->wake[LIBFP_RING_CONSUMER]);
		watch(&other, r->wake[LIBFP_RING_PRODUCER]);
		for (size_t c = 0; c < FPT_LEN(looks) - 1; c++)
			if (looks[c].call != look_bulk) /* more than there can be */
				looks[c].call(r);
		CHECK_EQ(signalled(&own), 0);
		CHECK_EQ(signalled(&other), 0);
		watch(&own, r->wake[LIBFP_RING_PRODUCER]);
		enqueue_u64(r);
		CHECK_EQ(signalled(&own), 0);
		watch(&own, r->wake[LIBFP_RING_PRODUCER]);
		watch(&other, r->wake[LIBFP_RING_CONSUMER]);
		CHECK_EQ(fp_ring_enqueue_u64(r, 1), 0);
		CHECK_EQ(fp_ring_enqueue_burst(r, table, 3, NULL), 0);
		CHECK_EQ(fp_ring_enqueue_wait(r, table, 1, 3, 0), 0);
		CHECK_EQ(fp_ring_wait_writable(r, 0), 0);
		CHECK_EQ(signalled(&own), 0);
		CHECK_EQ(signalled(&other), 0);
		watch(&own, r->wake[LIBFP_RING_CONSUMER]);
		dequeue_u64(r);
		CHECK_EQ(signalled(&own), 0);
		close_it(r);
		watch(&other, r->wake[LIBFP_RING_CONSUMER]);
		CHECK_EQ(fp_ring_enqueue_u64(r, 1), -EPIPE);
		CHECK_EQ(signalled(&other), 0);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

/* One wake-up on both sides, and each side waits for the other: they sleep. */
static void both_sides_may_share_a_wakeup(void)
{
	RT_EACH_MODE(m)
	for (size_t f = 0; f < FPT_LEN(flags_of); f++) {
		fp_wakeup *w = wt_wakeup(&wt_modes[1]);
		fp_ring *r = rt_ring(4, 8, m, flags_of[f]);
		struct wt_waiter in, out;
		uint64_t epoch;

		fpt_where("%s flags %#x", m->name, flags_of[f]);
		for (uint32_t side = 0; side < 2; side++)
			CHECK_EQ(fp_ring_set_wakeup(r, side, w), 0);
		enqueue_burst(r);
		wt_waiter_start(&in, r, WT_ENQUEUE, 3, 3);
		wt_waiter_start(&out, r, WT_DEQUEUE, 3, 3);
		epoch = FPI_LOAD(&w->epoch, FPI_RELAXED);
		wt_still_waits(&in);
		wt_still_waits(&out);
		CHECK_EQ(FPI_LOAD(&w->epoch, FPI_RELAXED), epoch);
		CHECK_EQ(fp_wakeup_interrupt(w), 0);
		CHECK_EQ(wt_waiter_join(&in), -ECANCELED);
		CHECK_EQ(wt_waiter_join(&out), -ECANCELED);
		CHECK_EQ(fp_ring_destroy(r), 0);
		CHECK_EQ(fp_wakeup_destroy(w), 0);
	}
}

/* ---- binding ---- */

static void set_wakeup_checks_its_arguments(void)
{
	fp_ring *r = rt_ring(4, 8, &rt_modes[3], 0);
	fp_wakeup *w = wt_wakeup(&wt_modes[1]);

	CHECK_EQ(fp_ring_set_wakeup(NULL, 0, w), -EINVAL);
	CHECK_EQ(fp_ring_set_wakeup(r, 2, w), -EINVAL);
	CHECK_EQ(fp_ring_set_wakeup(r, UINT32_MAX, NULL), -EINVAL);
	CHECK_EQ(wt_stats(w).bound, 0);
	CHECK_EQ(fp_ring_destroy(r), 0);
	CHECK_EQ(fp_wakeup_destroy(w), 0);
}

static void bindings_are_counted(void)
{
	RT_EACH_MODE(m)
	for (uint32_t flags = 0; flags <= LIBFP_RING_WAIT; flags += LIBFP_RING_WAIT) {
		fp_wakeup *w = wt_wakeup(&wt_modes[1]), *v = wt_wakeup(&wt_modes[1]);
		fp_ring *r = rt_ring(4, 8, m, flags);

		fpt_where("%s flags %#x", m->name, flags);
		CHECK_EQ(fp_ring_set_wakeup(r, LIBFP_RING_PRODUCER, NULL), 0);
		CHECK_EQ(fp_ring_set_wakeup(r, LIBFP_RING_PRODUCER, w), 0);
		CHECK_EQ(fp_ring_set_wakeup(r, LIBFP_RING_CONSUMER, w), 0);
		CHECK_EQ(wt_stats(w).bound, 2);
		CHECK_EQ(fp_ring_set_wakeup(r, LIBFP_RING_CONSUMER, w), 0);
		CHECK_EQ(wt_stats(w).bound, 2);
		CHECK_EQ(fp_wakeup_destroy(w), -EBUSY);
		/* another in its place */
		CHECK_EQ(fp_ring_set_wakeup(r, LIBFP_RING_CONSUMER, v), 0);
		CHECK_EQ(wt_stats(w).bound, 1);
		CHECK_EQ(wt_stats(v).bound, 1);
		CHECK_EQ(fp_ring_set_wakeup(r, LIBFP_RING_PRODUCER, NULL), 0);
		CHECK_EQ(fp_ring_set_wakeup(r, LIBFP_RING_PRODUCER, NULL), 0);
		CHECK_EQ(fp_wakeup_destroy(w), 0);
		/* destroying the ring unbinds */
		CHECK_EQ(fp_wakeup_destroy(v), -EBUSY);
		CHECK_EQ(fp_ring_destroy(r), 0);
		CHECK_EQ(wt_stats(v).bound, 0);
		CHECK_EQ(fp_wakeup_destroy(v), 0);
	}
}

/* Unbound, a ring is as it was made: with its own wake-ups, or with none. */
static void unbinding_restores_what_was(void)
{
	RT_EACH_MODE(m)
	for (size_t f = 0; f < FPT_LEN(flags_of); f++)
		for (uint32_t side = 0; side < 2; side++) {
			fp_wakeup *w = wt_wakeup(&wt_modes[1]);
			fp_ring *own = rt_ring(4, 8, m, flags_of[f] | LIBFP_RING_WAIT);
			fp_ring *plain = rt_ring(4, 8, m, flags_of[f]);
			uint8_t kinds[2] = { plain->prod_kind, plain->cons_kind };
			struct watch x;

			fpt_where("%s flags %#x side %u", m->name, flags_of[f], side);
			enqueue_burst(own); /* so that both calls move something */
			CHECK_EQ(fp_ring_set_wakeup(own, side, w), 0);
			CHECK_EQ(fp_ring_set_wakeup(plain, side, w), 0);
			watch(&x, &own->own[side]);
			side ? enqueue_u64(own) : dequeue_u64(own);
			CHECK_EQ(signalled(&x), 0); /* not its own any more */
			CHECK_EQ(fp_ring_set_wakeup(own, side, NULL), 0);
			CHECK_EQ(fp_ring_set_wakeup(plain, side, NULL), 0);
			CHECK_EQ(wt_stats(w).bound, 0);
			watch(&x, &own->own[side]);
			side ? enqueue_u64(own) : dequeue_u64(own);
			CHECK_EQ(signalled(&x), 1);
			CHECK_EQ(plain->prod_kind, kinds[0]);
			CHECK_EQ(plain->cons_kind, kinds[1]);
			CHECK(plain->wake[0] == &fpi_wakeup_nobody);
			CHECK(plain->wake[1] == &fpi_wakeup_nobody);
			CHECK_EQ(fp_ring_wait_readable(plain, 0), -ENXIO);
			CHECK_EQ(fp_ring_destroy(own), 0);
			CHECK_EQ(fp_ring_destroy(plain), 0);
			CHECK_EQ(fp_wakeup_destroy(w), 0);
		}
}

/* Several rings and sides share one wake-up: a wait set. */
static void a_wait_set_is_woken_by_each_of_its_rings(void)
{
	WT_EACH_MODE(m)
	{
		fp_wakeup *w = wt_wakeup(m);
		fp_ring *r[FPT_LEN(rt_modes)];
		struct watch x;

		for (size_t i = 0; i < FPT_LEN(rt_modes); i++) {
			r[i] = rt_ring(4, 8, &rt_modes[i], i % 2 ? LIBFP_RING_WAIT : 0);
			CHECK_EQ(fp_ring_set_wakeup(r[i], LIBFP_RING_CONSUMER, w), 0);
			CHECK_EQ(fp_ring_set_wakeup(r[i], LIBFP_RING_PRODUCER, w), 0);
		}
		CHECK_EQ(wt_stats(w).bound, 2 * FPT_LEN(rt_modes));
		for (size_t i = 0; i < FPT_LEN(rt_modes); i++) {
			struct wt_sleeper s;

			fpt_where("%s %s", m->name, rt_modes[i].name);
			watch(&x, w);
			enqueue_u64(r[i]);
			CHECK_EQ(signalled(&x), 1);
			watch(&x, w);
			dequeue_u64(r[i]);
			CHECK_EQ(signalled(&x), 1);
			wt_sleeper_start(&s, w, LIBFP_FOREVER);
			enqueue_u64(r[i]);
			CHECK_EQ(wt_sleeper_join(&s), 0);
			/* The ring's own calls wait on it as well. */
			CHECK_EQ(fp_ring_wait_readable(r[i], LIBFP_FOREVER), 1);
		}
		for (size_t i = 0; i < FPT_LEN(rt_modes); i++)
			CHECK_EQ(fp_ring_destroy(r[i]), 0);
		CHECK_EQ(fp_wakeup_destroy(w), 0);
	}
}

/* Handles on one memory have wake-ups of their own; init and attach. */
static void a_handle_signals_its_own_bindings_only(void)
{
	RT_EACH_MODE(m)
	{
		fp_ring_opts o = rt_opts(4, 8, m, 0);
		size_t size = (size_t)fp_ring_memsize(&o);
		void *mem = aligned_alloc(LIBFP_RING_ALIGN, size);
		fp_ring *first = NULL, *second = NULL;
		fp_wakeup *w = wt_wakeup(&wt_modes[1]);
		struct watch x;

		fpt_where("%s", m->name);
		CHECK(mem != NULL);
		CHECK_EQ(fp_ring_init(mem, size, &o, &first), 0);
		CHECK_EQ(fp_ring_attach(mem, size, &second), 0);
		CHECK_EQ(fp_ring_set_wakeup(second, LIBFP_RING_CONSUMER, w), 0);
		watch(&x, w);
		enqueue_u64(first);
		CHECK_EQ(signalled(&x), 0);
		watch(&x, w);
		enqueue_u64(second);
		CHECK_EQ(signalled(&x), 1);
		CHECK_EQ(fp_ring_dequeue_wait(second, table, 2, 2, LIBFP_FOREVER), 2);
		CHECK_EQ(fp_ring_destroy(second), 0);
		CHECK_EQ(fp_wakeup_destroy(w), 0);
		CHECK_EQ(fp_ring_destroy(first), 0);
		free(mem);
	}
}

static void elements_of_any_size_signal(void)
{
	static unsigned char wide[64];

	RT_EACH_MODE(m)
	for (uint32_t size = 4; size <= 64; size *= 4) {
		fp_ring *r = rt_ring(4, size, m, LIBFP_RING_WAIT);
		struct watch x;

		watch(&x, r->wake[LIBFP_RING_CONSUMER]);
		CHECK_EQ(fp_ring_enqueue(r, wide), 1);
		CHECK_EQ(signalled(&x), 1);
		watch(&x, r->wake[LIBFP_RING_PRODUCER]);
		CHECK_EQ(fp_ring_dequeue_wait(r, wide, 1, 1, LIBFP_FOREVER), 1);
		CHECK_EQ(signalled(&x), 1);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(every_enqueue_signals_consumers),
		FPT_CASE(every_dequeue_signals_producers),
		FPT_CASE(voids_that_are_passed_signal_producers),
		FPT_CASE(a_look_in_vain_and_its_own_side_signal_nobody),
		FPT_CASE(both_sides_may_share_a_wakeup),
		FPT_CASE(set_wakeup_checks_its_arguments),
		FPT_CASE(bindings_are_counted),
		FPT_CASE(unbinding_restores_what_was),
		FPT_CASE(a_wait_set_is_woken_by_each_of_its_rings),
		FPT_CASE(a_handle_signals_its_own_bindings_only),
		FPT_CASE(elements_of_any_size_signal),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
