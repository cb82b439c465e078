/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Waiting for a ring: what dequeue_wait, enqueue_wait, wait_readable and wait_writable
 * return, take and leave. Whom they wake is in test_ring_wakes.c. The rows of the field
 * that ask for a timed wait, an end without an element, a blocking enqueue, a wait that
 * takes nothing and a time-out 0 that asks nobody are all here (users-and-peers 43, 44).
 */
#include "hold.h"
#include "wake_test.h"

static const uint32_t flags_of[] = {
	LIBFP_RING_WAIT,
	LIBFP_RING_WAIT | LIBFP_CHECKED,
	LIBFP_RING_WAIT | LIBFP_STATS,
};

/* One kind of ring after the other, of 8 bytes an element, and elements for it. */
struct each {
	const struct rt_mode *m;
	size_t flags;
	uint32_t capacity;
	fp_ring *r;
	uint64_t e[WT_ELEMS];
};

static void each_make(struct each *a)
{
	a->r = NULL;
	if (a->m == rt_modes + FPT_LEN(rt_modes))
		return;
	fpt_where("%s flags %#x", a->m->name, flags_of[a->flags]);
	a->r = rt_ring(a->capacity, 8, a->m, flags_of[a->flags]);
	rt_fill(a->e, 8, 0, WT_ELEMS);
}

static struct each each_first(uint32_t capacity)
{
	struct each a = { .m = rt_modes, .capacity = capacity };

	each_make(&a);
	return a;
}

static void each_next(struct each *a)
{
	CHECK_EQ(wt_stats(&a->r->own[0]).waiting, 0);
	CHECK_EQ(wt_stats(&a->r->own[1]).waiting, 0);
	CHECK_EQ(fp_ring_destroy(a->r), 0);
	if (++a->flags == FPT_LEN(flags_of)) {
		a->flags = 0;
		a->m++;
	}
	each_make(a);
}

#define EACH_RING(a, capacity) \
	for (struct each a = each_first(capacity); a.r; each_next(&a))

/* ---- arguments ---- */

static void bad_arguments_are_refused(void)
{
	EACH_RING(a, 4)
	{
		fp_ring *r = a.r;
		uint64_t *e = a.e;

		CHECK_EQ(fp_ring_wait_readable(NULL, 0), -EINVAL);
		CHECK_EQ(fp_ring_wait_writable(NULL, 0), -EINVAL);
		CHECK_EQ(fp_ring_interrupt(NULL, LIBFP_RING_CONSUMER), -EINVAL);
		CHECK_EQ(fp_ring_interrupt(r, 2), -EINVAL);
		CHECK_EQ(fp_ring_dequeue_wait(NULL, e, 1, 1, 0), -EINVAL);
		CHECK_EQ(fp_ring_enqueue_wait(NULL, e, 1, 1, 0), -EINVAL);
		CHECK_EQ(fp_ring_dequeue_wait(r, NULL, 0, 1, 0), -EINVAL);
		CHECK_EQ(fp_ring_enqueue_wait(r, NULL, 1, 1, 0), -EINVAL);
		CHECK_EQ(fp_ring_dequeue_wait(r, e, 3, 2, 0), -EINVAL);
		CHECK_EQ(fp_ring_enqueue_wait(r, e, 3, 2, 0), -EINVAL);
		CHECK_EQ(fp_ring_dequeue_wait(r, e, 1, 0x80000000u, 0), -EINVAL);
		CHECK_EQ(fp_ring_enqueue_wait(r, e, 1, 0x80000000u, 0), -EINVAL);
		CHECK_EQ(fp_ring_dequeue_wait(r, e, 5, 8, LIBFP_FOREVER), -EINVAL);
		CHECK_EQ(fp_ring_enqueue_wait(r, e, 5, 8, LIBFP_FOREVER), -EINVAL);
		CHECK_EQ(fp_ring_dequeue_wait(r, NULL, 0, 0, LIBFP_FOREVER), 0);
		CHECK_EQ(fp_ring_enqueue_wait(r, NULL, 0, 0, LIBFP_FOREVER), 0);
		CHECK_EQ(fp_ring_count(r), 0);
	}
}

static void nobody_waits_for_a_ring_without_wakeups(fp_ring *r, uint32_t side)
{
	uint64_t e[2] = { 1, 2 };

	if (side == LIBFP_RING_CONSUMER) {
		CHECK_EQ(fp_ring_wait_readable(r, 0), -ENXIO);
		CHECK_EQ(fp_ring_wait_readable(r, LIBFP_FOREVER), -ENXIO);
		CHECK_EQ(fp_ring_dequeue_wait(r, e, 1, 2, 0), -ENXIO);
		CHECK_EQ(fp_ring_dequeue_wait(r, e, 1, 2, LIBFP_FOREVER), -ENXIO);
	} else {
		CHECK_EQ(fp_ring_wait_writable(r, 0), -ENXIO);
		CHECK_EQ(fp_ring_wait_writable(r, LIBFP_FOREVER), -ENXIO);
		CHECK_EQ(fp_ring_enqueue_wait(r, e, 1, 2, 0), -ENXIO);
		CHECK_EQ(fp_ring_enqueue_wait(r, e, 1, 2, LIBFP_FOREVER), -ENXIO);
	}
	CHECK_EQ(fp_ring_interrupt(r, side), -ENXIO);
	CHECK_EQ(fp_ring_count(r), 0);
}

static void a_ring_without_wakeups_cannot_be_waited_for(void)
{
	RT_EACH_MODE(m)
	for (uint32_t flags = 0; flags < 4; flags++) {
		fp_ring *r = rt_ring(4, 8, m, flags);
		fp_wakeup *w = wt_wakeup(&wt_modes[1]);

		fpt_where("%s flags %u", m->name, flags);
		nobody_waits_for_a_ring_without_wakeups(r, LIBFP_RING_CONSUMER);
		nobody_waits_for_a_ring_without_wakeups(r, LIBFP_RING_PRODUCER);
		/* One side bound: still not the other, and neither after that. */
		for (uint32_t side = 0; side < 2; side++) {
			CHECK_EQ(fp_ring_set_wakeup(r, side, w), 0);
			nobody_waits_for_a_ring_without_wakeups(r, 1 - side);
			CHECK_EQ(fp_ring_interrupt(r, side), 0);
			CHECK_EQ(fp_ring_set_wakeup(r, side, NULL), 0);
			nobody_waits_for_a_ring_without_wakeups(r, side);
		}
		CHECK_EQ(fp_ring_destroy(r), 0);
		CHECK_EQ(fp_wakeup_destroy(w), 0);
	}
}

/* LIBFP_RING_WAIT belongs to the handle that was made with it. */
static void another_handle_has_no_wakeups(void)
{
	RT_EACH_MODE(m)
	{
		fp_ring_opts o = rt_opts(4, 8, m, LIBFP_RING_WAIT);
		size_t size = (size_t)fp_ring_memsize(&o);
		void *mem = aligned_alloc(LIBFP_RING_ALIGN, size);
		fp_ring *r = NULL, *second = NULL;
		uint64_t e = 7;

		fpt_where("%s", m->name);
		CHECK(mem != NULL);
		CHECK_EQ(fp_ring_init(mem, size, &o, &r), 0);
		CHECK_EQ(fp_ring_attach(mem, size, &second), 0);
		nobody_waits_for_a_ring_without_wakeups(second, LIBFP_RING_CONSUMER);
		CHECK_EQ(fp_ring_enqueue_u64(second, e), 1);
		CHECK_EQ(fp_ring_wait_readable(r, LIBFP_FOREVER), 1);
		CHECK_EQ(fp_ring_dequeue_wait(r, &e, 1, 1, LIBFP_FOREVER), 1);
		CHECK_EQ(e, 7);
		CHECK_EQ(fp_ring_destroy(second), 0);
		CHECK_EQ(fp_ring_destroy(r), 0);
		free(mem);
	}
}

/* ---- without sleeping ---- */

static void timeout_0_looks_once(void)
{
	EACH_RING(a, 4)
	{
		fp_ring *r = a.r;
		uint64_t *e = a.e;

		CHECK_EQ(fp_ring_wait_readable(r, 0), 0);
		CHECK_EQ(fp_ring_wait_writable(r, 0), 1);
		CHECK_EQ(fp_ring_dequeue_wait(r, e, 1, 4, 0), 0);
		CHECK_EQ(fp_ring_enqueue_wait(r, e, 1, 3, 0), 3);
		CHECK_EQ(fp_ring_wait_readable(r, 0), 1);
		CHECK_EQ(fp_ring_enqueue_wait(r, e + 3, 2, 2, 0), 0);
		CHECK_EQ(fp_ring_enqueue_wait(r, e + 3, 1, 2, 0), 1);
		CHECK_EQ(fp_ring_wait_writable(r, 0), 0);
		CHECK_EQ(fp_ring_enqueue_wait(r, e, 1, 1, 0), 0);
		CHECK_EQ(fp_ring_dequeue_wait(r, e, 4, 4, 0), 4);
		CHECK_EQ(rt_right(e, 8, 0, 4), 4);
		CHECK_EQ(wt_stats(&r->own[0]).sleeps + wt_stats(&r->own[1]).sleeps, 0);
	}
}

static void min_0_is_a_burst(void)
{
	EACH_RING(a, 4)
	{
		fp_ring *r = a.r;
		uint64_t *e = a.e;

		CHECK_EQ(fp_ring_dequeue_wait(r, e, 0, 4, LIBFP_FOREVER), 0);
		CHECK_EQ(fp_ring_enqueue_wait(r, e, 0, 3, LIBFP_FOREVER), 3);
		CHECK_EQ(fp_ring_enqueue_wait(r, e + 3, 0, 3, LIBFP_FOREVER), 1);
		CHECK_EQ(fp_ring_enqueue_wait(r, e, 0, 3, LIBFP_FOREVER), 0);
		memset(e, 0, sizeof(a.e));
		CHECK_EQ(fp_ring_dequeue_wait(r, e, 0, 10, LIBFP_FOREVER), 4);
		CHECK_EQ(rt_right(e, 8, 0, 4), 4);
		CHECK_EQ(fp_ring_close(r), 0);
		CHECK_EQ(fp_ring_dequeue_wait(r, e, 0, 4, LIBFP_FOREVER), -EPIPE);
		CHECK_EQ(fp_ring_enqueue_wait(r, e, 0, 4, LIBFP_FOREVER), -EPIPE);
		CHECK_EQ(wt_stats(&r->own[0]).sleeps + wt_stats(&r->own[1]).sleeps, 0);
	}
}

/* At least min and up to n, in order, for each min and n and fill. */
static void what_is_there_comes_without_sleep(void)
{
	EACH_RING(a, 12)
	{
		fp_ring *r = a.r;
		uint64_t *e = a.e;

		uint64_t put = 0;
		uint64_t got = 0;

		for (uint32_t min = 1; min <= 12; min++)
			for (uint32_t n = min; n <= 14; n += 1 + n / 4)
				for (uint32_t fill = min; fill <= 12; fill++) {
					uint32_t take = n < fill ? n : fill;

					rt_fill(e, 8, put, fill);
					CHECK_EQ(fp_ring_enqueue_wait(r, e, min, fill,
								      LIBFP_FOREVER),
						 fill);
					put += fill;
					memset(e, 0, sizeof(a.e));
					CHECK_EQ(fp_ring_dequeue_wait(r, e, min, n,
								      LIBFP_FOREVER),
						 take);
					CHECK_EQ(rt_right(e, 8, got, take), take);
					CHECK_EQ(e[take], 0);
					got += take;
					got += (uint64_t)fp_ring_dequeue_wait(
						r, e, 0, 14, LIBFP_FOREVER);
					CHECK_EQ(got, put);
				}
		CHECK_EQ(wt_stats(&r->own[0]).sleeps + wt_stats(&r->own[1]).sleeps, 0);
	}
}

/* ---- time-outs ---- */

static void a_timeout_takes_nothing(void)
{
	static const uint64_t timeouts[] = { 1, 60000, WT_MS };

	for (size_t t = 0; t < FPT_LEN(timeouts); t++)
		EACH_RING(a, 4)
		{
			fp_ring *r = a.r;
			uint64_t *e = a.e;

			uint64_t ns = timeouts[t];

			CHECK_EQ(fp_ring_wait_readable(r, ns), 0);
			CHECK_EQ(fp_ring_dequeue_wait(r, e, 1, 4, ns), 0);
			CHECK_EQ(fp_ring_enqueue_bulk(r, e, 3, NULL), 3);
			CHECK_EQ(fp_ring_dequeue_wait(r, e + 8, 4, 4, ns), 0);
			CHECK_EQ(fp_ring_enqueue_wait(r, e, 2, 4, ns), 0);
			CHECK_EQ(fp_ring_count(r), 3);
			CHECK_EQ(fp_ring_enqueue_u64(r, e[3]), 1);
			CHECK_EQ(fp_ring_enqueue_wait(r, e, 1, 4, ns), 0);
			CHECK_EQ(fp_ring_wait_writable(r, ns), 0);
			CHECK_EQ(fp_ring_dequeue_wait(r, e + 16, 4, 4, ns), 4);
			CHECK_EQ(rt_right(e + 16, 8, 0, 4), 4);
			CHECK_EQ(rt_right(e + 8, 8, 8, 4), 4);
		}
}

/* A sleep in mode POLL ends after 10 ms; the wait goes on. */
static void mode_poll_waits_on_until_the_timeout(void)
{
	fp_ring *r;
	struct wt_waiter x;

	fpi_test_no_membarrier = 1;
	r = rt_ring(4, 8, &rt_modes[3], LIBFP_RING_WAIT);
	fpi_test_no_membarrier = 0;
	CHECK_EQ(fp_wakeup_mode(&r->own[0]), LIBFP_WAKEUP_MODE_POLL);
	CHECK_EQ(fp_ring_wait_readable(r, 25 * WT_MS), 0);
	CHECK(wt_stats(r->wake[1]).fallback_polls >= 1);
	wt_waiter_start(&x, r, WT_DEQUEUE, 1, 1);
	while (wt_stats(r->wake[1]).fallback_polls < 5)
		wt_pause();
	CHECK_EQ(wt_is_through(&x.t), 0);
	CHECK_EQ(fp_ring_enqueue_u64(r, 9), 1);
	CHECK_EQ(wt_waiter_join(&x), 1);
	CHECK_EQ(x.elems[0], 9);
	CHECK_EQ(fp_ring_destroy(r), 0);
}

/* ---- threads that sleep ---- */

static void a_dequeue_waits_for_min_together(void)
{
	EACH_RING(a, 4)
	{
		fp_ring *r = a.r;
		uint64_t *e = a.e;

		struct wt_waiter x;

		wt_waiter_start(&x, r, WT_DEQUEUE, 3, 4);
		for (uint64_t i = 0; i < 2; i++) {
			CHECK_EQ(fp_ring_enqueue_u64(r, e[i]), 1);
			wt_still_waits(&x);
			CHECK_EQ(fp_ring_count(r), i + 1);
		}
		CHECK_EQ(fp_ring_enqueue_bulk(r, e + 2, 2, NULL), 2);
		CHECK_EQ(wt_waiter_join(&x), 4);
		CHECK_EQ(rt_right(x.elems, 8, 0, 4), 4);
	}
}

static void an_enqueue_waits_for_room_for_min_together(void)
{
	EACH_RING(a, 4)
	{
		fp_ring *r = a.r;
		uint64_t *e = a.e;

		struct wt_waiter x;
		uint64_t out;

		CHECK_EQ(fp_ring_enqueue_bulk(r, e, 4, NULL), 4);
		wt_waiter_start(&x, r, WT_ENQUEUE, 3, 4);
		for (int64_t i = 1; i <= 2; i++) {
			CHECK_EQ(fp_ring_dequeue_u64(r, &out), 1);
			wt_still_waits(&x);
			CHECK_EQ(fp_ring_count(r), 4 - i);
		}
		CHECK_EQ(fp_ring_dequeue_u64(r, &out), 1);
		CHECK_EQ(wt_waiter_join(&x), 3);
		CHECK_EQ(fp_ring_dequeue_u64(r, &out), 1);
		CHECK_EQ(out, e[3]);
		CHECK_EQ(fp_ring_dequeue_bulk(r, e, 3, NULL), 3);
		CHECK_EQ(rt_right(e, 8, 0, 3), 3);
	}
}

static void a_whole_ring_can_be_waited_for(void)
{
	EACH_RING(a, 5)
	{
		fp_ring *r = a.r;
		uint64_t *e = a.e;

		struct wt_waiter x;

		wt_waiter_start(&x, r, WT_DEQUEUE, 5, 5);
		CHECK_EQ(fp_ring_enqueue_bulk(r, e, 4, NULL), 4);
		wt_still_waits(&x);
		CHECK_EQ(fp_ring_enqueue_u64(r, e[4]), 1);
		CHECK_EQ(wt_waiter_join(&x), 5);
		CHECK_EQ(rt_right(x.elems, 8, 0, 5), 5);
		CHECK_EQ(fp_ring_enqueue_u64(r, 1), 1);
		wt_waiter_start(&x, r, WT_ENQUEUE, 5, 5);
		wt_still_waits(&x);
		CHECK_EQ(fp_ring_dequeue_u64(r, e), 1);
		CHECK_EQ(wt_waiter_join(&x), 5);
	}
}

static void waits_for_readable_and_writable_take_nothing(void)
{
	EACH_RING(a, 2)
	{
		fp_ring *r = a.r;
		uint64_t *e = a.e;

		struct wt_waiter x;

		wt_waiter_start(&x, r, WT_READABLE, 0, 0);
		CHECK_EQ(fp_ring_enqueue_u64(r, e[0]), 1);
		CHECK_EQ(wt_waiter_join(&x), 1);
		CHECK_EQ(fp_ring_count(r), 1);
		CHECK_EQ(fp_ring_enqueue_u64(r, e[1]), 1);
		wt_waiter_start(&x, r, WT_WRITABLE, 0, 0);
		CHECK_EQ(fp_ring_dequeue_u64(r, e), 1);
		CHECK_EQ(wt_waiter_join(&x), 1);
		CHECK_EQ(fp_ring_count(r), 1);
	}
}

/* ---- slots that hold no element ---- */

/* A producer in the middle of its call: used, but not readable. */
static void *enqueue_held(void *arg)
{
	struct fpt_hold *h = ((void **)arg)[0];
	fp_ring *r = ((void **)arg)[1];
	uint64_t e[2] = { 1, 2 };

	fpt_hold_me(h);
	CHECK_EQ(fp_ring_enqueue_burst(r, e, 2, NULL), 2);
	fpt_hold_done(h);
	return NULL;
}

static void what_is_not_published_is_not_readable(void)
{
	EACH_RING(a, 4)
	{
		fp_ring *r = a.r;
		uint64_t *e = a.e;

		struct fpt_hold h;
		void *args[2] = { &h, r };
		struct wt_waiter x;
		pthread_t t;

		fpt_hold_init(&h, r->gens ? "GENS_P_COPIED" : "SPSC_P_COPIED");
		CHECK_EQ(pthread_create(&t, NULL, enqueue_held, args), 0);
		CHECK_EQ(fpt_hold_reached(&h), 1);
		CHECK_EQ(fp_ring_wait_readable(r, 0), 0);
		CHECK_EQ(fp_ring_wait_readable(r, WT_MS), 0);
		CHECK_EQ(fp_ring_dequeue_wait(r, e, 1, 4, WT_MS), 0);
		if (a.m->producer == LIBFP_MT) {
			/* What stands behind it is not readable either. */
			CHECK_EQ(fp_ring_enqueue_u64(r, 3), 1);
			CHECK_EQ(fp_ring_wait_readable(r, 0), 0);
		}
		wt_waiter_start(&x, r, WT_READABLE, 0, 0);
		fpt_hold_release(&h);
		pthread_join(t, NULL);
		CHECK_EQ(wt_waiter_join(&x), 1);
		fpt_hold_end(&h);
		CHECK_EQ(fp_ring_dequeue_wait(r, e, 2, 2, LIBFP_FOREVER), 2);
	}
}

/* Room that a consumer has claimed but not given back. */
static void what_is_not_given_back_is_not_writable(void)
{
	EACH_RING(a, 4)
	{
		fp_ring *r = a.r;
		uint64_t *e = a.e;

		struct wt_waiter x;
		fp_ring_span s;

		CHECK_EQ(fp_ring_enqueue_bulk(r, e, 4, NULL), 4);
		CHECK_EQ(fp_ring_reserve_dequeue(r, 4, 0, &s), 4);
		CHECK_EQ(fp_ring_wait_writable(r, 0), 0);
		CHECK_EQ(fp_ring_enqueue_wait(r, e, 1, 1, WT_MS), 0);
		/* On an MT side they are gone, on an ST side still there. */
		CHECK_EQ(fp_ring_wait_readable(r, 0), a.m->consumer == LIBFP_ST);
		wt_waiter_start(&x, r, WT_ENQUEUE, 2, 2);
		CHECK_EQ(fp_ring_commit_dequeue(r, &s, 4), 4);
		CHECK_EQ(wt_waiter_join(&x), 2);
		CHECK_EQ(fp_ring_wait_readable(r, 0), 1);
	}
}

/* On every lap: generations of other laps say nothing. */
static void claimed_elements_are_not_readable_on_any_lap(void)
{
	EACH_RING(a, 3)
	{
		fp_ring *r = a.r;
		uint64_t *e = a.e;

		fp_ring_span s;

		for (int lap = 0; a.m->consumer == LIBFP_MT && lap < 200; lap++) {
			CHECK_EQ(fp_ring_wait_readable(r, 0), 0);
			CHECK_EQ(fp_ring_enqueue_bulk(r, e, 3, NULL), 3);
			CHECK_EQ(fp_ring_wait_readable(r, 0), 1);
			CHECK_EQ(fp_ring_reserve_dequeue(r, 3, 0, &s), 3);
			CHECK_EQ(fp_ring_wait_readable(r, 0), 0);
			CHECK_EQ(fp_ring_commit_dequeue(r, &s, 3), 3);
		}
	}
}

static void voids_are_not_readable_but_what_follows_is(void)
{
	EACH_RING(a, 4)
	{
		fp_ring *r = a.r;
		uint64_t *e = a.e;

		fp_ring_span s;
		struct wt_waiter x;

		if (a.m->producer == LIBFP_ST)
			continue;
		CHECK_EQ(fp_ring_reserve_enqueue(r, 2, 0, &s), 2);
		CHECK_EQ(fp_ring_commit_enqueue(r, &s, 0), 0);
		CHECK_EQ(fp_ring_wait_readable(r, 0), 0);
		wt_waiter_start(&x, r, WT_READABLE, 0, 0);
		CHECK_EQ(fp_ring_reserve_enqueue(r, 1, 0, &s), 1);
		CHECK_EQ(fp_ring_commit_enqueue(r, &s, 0), 0);
		wt_still_waits(&x);
		CHECK_EQ(fp_ring_enqueue_u64(r, e[0]), 1);
		CHECK_EQ(wt_waiter_join(&x), 1);
		CHECK_EQ(fp_ring_dequeue_u64(r, e + 1), 1);
		CHECK_EQ(e[1], e[0]);
		/* Only voids are left when it is closed: nothing will come. */
		CHECK_EQ(fp_ring_reserve_enqueue(r, 3, 0, &s), 3);
		CHECK_EQ(fp_ring_commit_enqueue(r, &s, 0), 0);
		CHECK_EQ(fp_ring_close(r), 0);
		CHECK_EQ(fp_ring_wait_readable(r, LIBFP_FOREVER), -EPIPE);
	}
}

/* The consumer waits for an element, the producer for the room that voids take. */
static void voids_do_not_hold_up_both_sides(void)
{
	EACH_RING(a, 4)
	{
		fp_ring *r = a.r;
		uint64_t *e = a.e;

		fp_ring_span s;
		struct wt_waiter reader;
		struct wt_waiter writer;

		if (a.m->producer == LIBFP_ST)
			continue;
		for (enum wt_call call = WT_DEQUEUE; call <= WT_READABLE; call += 2) {
			wt_waiter_start(&reader, r, call, 1, 1);
			CHECK_EQ(fp_ring_reserve_enqueue(r, 4, 0, &s), 4);
			wt_waiter_start(&writer, r, WT_ENQUEUE, 1, 1);
			CHECK_EQ(fp_ring_commit_enqueue(r, &s, 0), 0);
			CHECK_EQ(wt_waiter_join(&writer), 1);
			CHECK_EQ(wt_waiter_join(&reader), 1);
			CHECK_EQ(fp_ring_dequeue_burst(r, e, 4, NULL),
				 call == WT_READABLE);
		}
	}
}

/* ---- closed rings ---- */

static void a_closed_ring_gives_its_rest_below_min(void)
{
	EACH_RING(a, 8)
	{
		fp_ring *r = a.r;
		uint64_t *e = a.e;

		CHECK_EQ(fp_ring_enqueue_bulk(r, e, 7, NULL), 7);
		CHECK_EQ(fp_ring_close(r), 0);
		CHECK_EQ(fp_ring_wait_writable(r, LIBFP_FOREVER), -EPIPE);
		CHECK_EQ(fp_ring_enqueue_wait(r, e, 1, 1, LIBFP_FOREVER), -EPIPE);
		CHECK_EQ(fp_ring_enqueue_wait(r, e, 1, 1, 0), -EPIPE);
		CHECK_EQ(fp_ring_wait_readable(r, LIBFP_FOREVER), 1);
		CHECK_EQ(fp_ring_dequeue_wait(r, e, 5, 5, LIBFP_FOREVER), 5);
		CHECK_EQ(rt_right(e, 8, 0, 5), 5);
		CHECK_EQ(fp_ring_dequeue_wait(r, e, 5, 8, LIBFP_FOREVER), 2);
		CHECK_EQ(rt_right(e, 8, 5, 2), 2);
		CHECK_EQ(fp_ring_dequeue_wait(r, e, 1, 8, LIBFP_FOREVER), -EPIPE);
		CHECK_EQ(fp_ring_dequeue_wait(r, e, 1, 8, 0), -EPIPE);
		CHECK_EQ(fp_ring_wait_readable(r, 0), -EPIPE);
	}
}

static void a_close_gives_the_rest_to_who_waits_for_more(void)
{
	EACH_RING(a, 8)
	{
		fp_ring *r = a.r;
		uint64_t *e = a.e;

		struct wt_waiter x;

		CHECK_EQ(fp_ring_enqueue_bulk(r, e, 3, NULL), 3);
		wt_waiter_start(&x, r, WT_DEQUEUE, 5, 8);
		CHECK_EQ(fp_ring_close(r), 0);
		CHECK_EQ(wt_waiter_join(&x), 3);
		CHECK_EQ(rt_right(x.elems, 8, 0, 3), 3);
		CHECK_EQ(fp_ring_dequeue_wait(r, e, 1, 1, LIBFP_FOREVER), -EPIPE);
	}
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(bad_arguments_are_refused),
		FPT_CASE(a_ring_without_wakeups_cannot_be_waited_for),
		FPT_CASE(another_handle_has_no_wakeups),
		FPT_CASE(timeout_0_looks_once),
		FPT_CASE(min_0_is_a_burst),
		FPT_CASE(what_is_there_comes_without_sleep),
		FPT_CASE(a_timeout_takes_nothing),
		FPT_CASE(mode_poll_waits_on_until_the_timeout),
		FPT_CASE(a_dequeue_waits_for_min_together),
		FPT_CASE(an_enqueue_waits_for_room_for_min_together),
		FPT_CASE(a_whole_ring_can_be_waited_for),
		FPT_CASE(waits_for_readable_and_writable_take_nothing),
		FPT_CASE(what_is_not_published_is_not_readable),
		FPT_CASE(what_is_not_given_back_is_not_writable),
		FPT_CASE(claimed_elements_are_not_readable_on_any_lap),
		FPT_CASE(voids_are_not_readable_but_what_follows_is),
		FPT_CASE(a_closed_ring_gives_its_rest_below_min),
		FPT_CASE(a_close_gives_the_rest_to_who_waits_for_more),
		FPT_CASE(voids_do_not_hold_up_both_sides),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
