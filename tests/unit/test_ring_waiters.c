/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that wait for a ring: they keep it from being destroyed, hear of interrupts and
 * of a close, and several on one side are all served. What the calls return is in
 * test_ring_wait.c.
 */
#include "hold.h"
#include "wake_test.h"

static const uint32_t flags_of[] = { 0, LIBFP_CHECKED, LIBFP_STATS };

static uint64_t table[WT_ELEMS];

static void put(fp_ring *r, uint32_t n)
{
	CHECK_EQ(fp_ring_enqueue_bulk(r, table, n, NULL), n);
}

static void take(fp_ring *r, uint32_t n)
{
	CHECK_EQ(fp_ring_dequeue_bulk(r, table, n, NULL), n);
}

/* ---- who waits is not disturbed ---- */

static void a_ring_that_is_waited_for_stays_as_it_is(void)
{
	RT_EACH_MODE(m)
	for (size_t f = 0; f < FPT_LEN(flags_of); f++) {
		fp_ring *r = rt_ring(1, 8, m, flags_of[f] | LIBFP_RING_WAIT);
		fp_wakeup *w = wt_wakeup(&wt_modes[1]);
		struct wt_waiter x;

		fpt_where("%s flags %#x", m->name, flags_of[f]);
		for (uint32_t side = 0; side < 2; side++) {
			wt_waiter_start(&x, r, side ? WT_DEQUEUE : WT_ENQUEUE, 1, 1);
			if (!side) { /* it found room: now there is none */
				CHECK_EQ(wt_waiter_join(&x), 1);
				wt_waiter_start(&x, r, WT_ENQUEUE, 1, 1);
			}
			CHECK_EQ(fp_ring_destroy(r), -EBUSY);
			CHECK_EQ(fp_ring_reset(r), -EBUSY);
			CHECK_EQ(fp_ring_set_wakeup(r, side, w), -EBUSY);
			CHECK_EQ(fp_ring_set_wakeup(r, side, NULL), -EBUSY);
			CHECK_EQ(wt_stats(w).bound, 0);
			side ? put(r, 1) : take(r, 1);
			CHECK_EQ(wt_waiter_join(&x), 1);
			if (!side)
				take(r, 1);
		}
		CHECK_EQ(fp_ring_reset(r), 0);
		CHECK_EQ(fp_ring_destroy(r), 0);
		CHECK_EQ(fp_wakeup_destroy(w), 0);
	}
}

/* A wait that is over is over for whoever tries to destroy until it may. */
static void destroy_may_be_tried_until_nobody_waits(void)
{
	RT_EACH_MODE(m)
	for (int i = 0; i < 10; i++) {
		fp_ring *r = rt_ring(4, 8, m, LIBFP_RING_WAIT);
		struct wt_waiter x;

		fpt_where("%s", m->name);
		wt_waiter_start(&x, r, WT_DEQUEUE, 1, 1);
		put(r, 1);
		while (fp_ring_destroy(r))
			sched_yield();
		CHECK_EQ(wt_waiter_join(&x), 1);
	}
}

/* A thread that sleeps on a bound wake-up hears of room that a reset makes. */
static void a_reset_signals_producers(void)
{
	RT_EACH_MODE(m)
	{
		fp_ring *r = rt_ring(2, 8, m, 0);
		fp_wakeup *w = wt_wakeup(&wt_modes[1]);
		uint64_t key;

		fpt_where("%s", m->name);
		CHECK_EQ(fp_ring_set_wakeup(r, LIBFP_RING_PRODUCER, w), 0);
		put(r, 2);
		CHECK_EQ(fp_wakeup_prepare(w, &key), 0);
		CHECK_EQ(fp_ring_reset(r), 0);
		CHECK_EQ(fp_wakeup_wait(w, key, 0), 0);
		CHECK_EQ(fp_ring_destroy(r), 0);
		CHECK_EQ(fp_wakeup_destroy(w), 0);
	}
}

/* ---- interrupts ---- */

static void an_interrupt_ends_the_waits_of_one_side(void)
{
	RT_EACH_MODE(m)
	for (size_t f = 0; f < FPT_LEN(flags_of); f++)
		for (enum wt_call call = WT_DEQUEUE; call <= WT_WRITABLE; call++) {
			fp_ring *r = rt_ring(2, 8, m, flags_of[f] | LIBFP_RING_WAIT);
			uint32_t side = wt_side(call);
			struct wt_waiter x;

			fpt_where("%s flags %#x call %d", m->name, flags_of[f], call);
			if (side == LIBFP_RING_PRODUCER)
				put(r, 2);
			/* before: not affected */
			CHECK_EQ(fp_ring_interrupt(r, side), 0);
			wt_waiter_set(&x, r, call, 1, 2);
			x.timeout_ns = WT_MS;
			CHECK_EQ(wt_call(&x), 0);
			/* during; the other side's does nothing */
			wt_waiter_start(&x, r, call, 1, 2);
			CHECK_EQ(fp_ring_interrupt(r, 1 - side), 0);
			wt_still_waits(&x);
			CHECK_EQ(fp_ring_interrupt(r, side), 0);
			CHECK_EQ(wt_waiter_join(&x), -ECANCELED);
			CHECK_EQ(fp_ring_count(r), side ? 0 : 2);
			/* and not the next */
			wt_waiter_set(&x, r, call, 1, 2);
			x.timeout_ns = WT_MS;
			CHECK_EQ(wt_call(&x), 0);
			CHECK_EQ(fp_ring_destroy(r), 0);
		}
}

static void an_interrupt_of_a_bound_wakeup_ends_all_its_waits(void)
{
	WT_EACH_MODE(m)
	{
		fp_wakeup *w = wt_wakeup(m);
		fp_ring *r[2];
		struct wt_waiter x[2];
		struct wt_sleeper s;

		fpt_where("%s", m->name);
		for (int through_ring = 0; through_ring < 2; through_ring++) {
			for (int i = 0; i < 2; i++) {
				r[i] = rt_ring(2, 8, &rt_modes[3], 0);
				CHECK_EQ(fp_ring_set_wakeup(r[i], LIBFP_RING_CONSUMER, w),
					 0);
				wt_waiter_start(&x[i], r[i], WT_DEQUEUE, 1, 1);
			}
			wt_sleeper_start(&s, w, LIBFP_FOREVER);
			if (through_ring)
				CHECK_EQ(fp_ring_interrupt(r[0], LIBFP_RING_CONSUMER), 0);
			else
				CHECK_EQ(fp_wakeup_interrupt(w), 0);
			for (int i = 0; i < 2; i++) {
				CHECK_EQ(wt_waiter_join(&x[i]), -ECANCELED);
				CHECK_EQ(fp_ring_destroy(r[i]), 0);
			}
			wt_sleeper_join(
				&s); /* in mode POLL it may have come back before */
		}
		CHECK_EQ(fp_wakeup_destroy(w), 0);
	}
}

/* Held after it has announced itself and before it looks at what interrupts came. */
static void *wait_held(void *arg)
{
	struct fpt_hold *h = ((void **)arg)[0];
	struct wt_waiter *x = ((void **)arg)[1];

	fpt_hold_me(h);
	x->got = wt_call(x);
	fpt_hold_done(h);
	return NULL;
}

/* With a waiter held at each of its steps: interrupt it, or give it something. */
static void at_any_step(int interrupt, int32_t wanted)
{
	static const char *const steps[] = { "WAKE_ANNOUNCED", "WAKE_SLEEPING" };

	for (size_t i = 0; i < FPT_LEN(steps); i++)
		for (int skip = 0; skip < 2; skip++) {
			fp_ring *r = rt_ring(2, 8, &rt_modes[3], LIBFP_RING_WAIT);
			struct fpt_hold h;
			struct wt_waiter x;
			void *args[2] = { &h, &x };

			fpt_where("%s %d", steps[i], skip);
			wt_waiter_set(&x, r, WT_DEQUEUE, 1, 1);
			fpt_hold_init(&h, steps[i]);
			h.skip = skip;
			CHECK_EQ(pthread_create(&x.t.thread, NULL, wait_held, args), 0);
			CHECK_EQ(fpt_hold_reached(&h), 1);
			if (interrupt)
				CHECK_EQ(fp_ring_interrupt(r, LIBFP_RING_CONSUMER), 0);
			else
				put(r, 1);
			fpt_hold_release(&h);
			CHECK_EQ(wt_waiter_join(&x), wanted);
			fpt_hold_end(&h);
			CHECK_EQ(fp_ring_destroy(r), 0);
		}
}

static void an_interrupt_at_any_step_is_not_missed(void)
{
	at_any_step(1, -ECANCELED);
}

static void a_signal_at_any_step_is_not_missed(void)
{
	at_any_step(0, 1);
}

/* ---- several waiters ---- */

static void one_wakeup_per_element_is_enough_for_all(void)
{
	fp_ring *r = rt_ring(8, 8, &rt_modes[3], LIBFP_RING_WAIT);
	struct wt_waiter x[5];
	uint64_t sum = 0;

	for (size_t i = 0; i < FPT_LEN(x); i++)
		wt_waiter_start(&x[i], r, WT_DEQUEUE, 1, 1);
	/* One signal for five elements: who was woken hands on. */
	CHECK_EQ(fp_ring_enqueue_bulk(r, (uint64_t[]){ 1, 2, 3, 4, 5 }, 5, NULL), 5);
	for (size_t i = 0; i < FPT_LEN(x); i++) {
		CHECK_EQ(wt_waiter_join(&x[i]), 1);
		sum += x[i].elems[0];
	}
	CHECK_EQ(sum, 15);
	CHECK_EQ(fp_ring_destroy(r), 0);
}

static void waiters_of_different_needs_are_all_woken(void)
{
	fp_ring *r = rt_ring(8, 8, &rt_modes[3], LIBFP_RING_WAIT);
	struct wt_waiter greedy, readable, modest;

	wt_waiter_start(&greedy, r, WT_DEQUEUE, 4, 4);
	wt_waiter_start(&readable, r, WT_READABLE, 0, 0);
	wt_waiter_start(&modest, r, WT_DEQUEUE, 1, 1);
	put(r, 1);
	CHECK_EQ(wt_waiter_join(&modest), 1);
	put(r, 3);
	CHECK_EQ(wt_waiter_join(&readable), 1);
	wt_still_waits(&greedy);
	put(r, 1);
	CHECK_EQ(wt_waiter_join(&greedy), 4);
	CHECK_EQ(fp_ring_destroy(r), 0);
}

static void close_wakes_all_on_both_sides(void)
{
	RT_EACH_MODE(m)
	for (int bound = 0; bound < 2; bound++) {
		int n = m->producer == LIBFP_MT ? 3 : 1;
		int c = m->consumer == LIBFP_MT ? 3 : 1;
		fp_wakeup *w = wt_wakeup(&wt_modes[1]);
		fp_ring *r = rt_ring(2, 8, m, LIBFP_RING_WAIT);
		struct wt_waiter x[3];

		fpt_where("%s bound %d", m->name, bound);
		for (uint32_t side = 0; bound && side < 2; side++)
			CHECK_EQ(fp_ring_set_wakeup(r, side, w), 0);
		for (int i = 0; i < c; i++)
			wt_waiter_start(&x[i], r, i % 2 ? WT_READABLE : WT_DEQUEUE, 1, 1);
		CHECK_EQ(fp_ring_close(r), 0);
		for (int i = 0; i < c; i++)
			CHECK_EQ(wt_waiter_join(&x[i]), -EPIPE);
		CHECK_EQ(fp_ring_reset(r), 0);
		put(r, 2);
		/* An ST producer closes from the producing thread, which cannot wait. */
		for (int i = 0; n > 1 && i < n; i++)
			wt_waiter_start(&x[i], r, i % 2 ? WT_WRITABLE : WT_ENQUEUE, 1, 1);
		CHECK_EQ(fp_ring_close(r), 0);
		for (int i = 0; n > 1 && i < n; i++)
			CHECK_EQ(wt_waiter_join(&x[i]), -EPIPE);
		CHECK_EQ(fp_ring_destroy(r), 0);
		CHECK_EQ(fp_wakeup_destroy(w), 0);
	}
}

/*
 * Closed while a slot is claimed: nobody can be told yet. Then it is published, and one
 * takes it; the others must be told although only consumers have moved.
 */
static void close_is_told_to_all_once_the_last_slot_is_taken(void)
{
	for (int how = 0; how < 3; how++)
		for (int bound = 0; bound < 2; bound++) {
			fp_wakeup *w = wt_wakeup(&wt_modes[1]);
			fp_ring *r = rt_ring(4, 8, &rt_modes[3], LIBFP_RING_WAIT);
			struct wt_waiter x[3];
			fp_ring_span s;
			int taken = 0, told = 0;

			fpt_where("committed %d bound %d", how, bound);
			if (bound)
				CHECK_EQ(fp_ring_set_wakeup(r, LIBFP_RING_CONSUMER, w),
					 0);
			CHECK_EQ(fp_ring_reserve_enqueue(r, 2, 0, &s), 2);
			for (int i = 0; i < 3; i++)
				wt_waiter_start(&x[i], r, WT_DEQUEUE, 1, 1);
			CHECK_EQ(fp_ring_close(r), 0);
			for (int i = 0; i < 3; i++)
				wt_still_waits(&x[i]);
			CHECK_EQ(fp_ring_commit_enqueue(r, &s, (uint32_t)how), how);
			for (int i = 0; i < 3; i++) {
				int32_t got = wt_waiter_join(&x[i]);

				CHECK(got == 1 || got == -EPIPE);
				taken += got == 1;
				told += got == -EPIPE;
			}
			CHECK_EQ(taken, how);
			CHECK_EQ(told, 3 - how);
			CHECK_EQ(fp_ring_destroy(r), 0);
			CHECK_EQ(fp_wakeup_destroy(w), 0);
		}
}

/* The same with the elements taken by a thread that never waited. */
static void close_is_told_when_another_drains_the_ring(void)
{
	fp_ring *r = rt_ring(4, 8, &rt_modes[3], LIBFP_RING_WAIT);
	struct wt_waiter x;
	fp_ring_span s;

	wt_waiter_start(&x, r, WT_DEQUEUE, 4, 4);
	CHECK_EQ(fp_ring_reserve_enqueue(r, 2, 0, &s), 2);
	CHECK_EQ(fp_ring_close(r), 0);
	wt_still_waits(&x);
	CHECK_EQ(fp_ring_commit_enqueue(r, &s, 2), 2);
	/* Either may be faster. */
	if (fp_ring_dequeue_burst(r, table, 4, NULL) == 2)
		CHECK_EQ(wt_waiter_join(&x), -EPIPE);
	else
		CHECK_EQ(wt_waiter_join(&x), 2);
	CHECK_EQ(fp_ring_destroy(r), 0);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(a_ring_that_is_waited_for_stays_as_it_is),
		FPT_CASE(destroy_may_be_tried_until_nobody_waits),
		FPT_CASE(a_reset_signals_producers),
		FPT_CASE(an_interrupt_ends_the_waits_of_one_side),
		FPT_CASE(an_interrupt_of_a_bound_wakeup_ends_all_its_waits),
		FPT_CASE(an_interrupt_at_any_step_is_not_missed),
		FPT_CASE(a_signal_at_any_step_is_not_missed),
		FPT_CASE(one_wakeup_per_element_is_enough_for_all),
		FPT_CASE(waiters_of_different_needs_are_all_woken),
		FPT_CASE(close_wakes_all_on_both_sides),
		FPT_CASE(close_is_told_to_all_once_the_last_slot_is_taken),
		FPT_CASE(close_is_told_when_another_drains_the_ring),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
