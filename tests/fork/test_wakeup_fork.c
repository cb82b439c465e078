/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a forked child may do with wake-ups and waiting rings of its parent: destroy them,
 * in any order, whoever sleeps on them in the parent. Signals do nothing, everything else
 * says -ECHILD, and the parent's sleepers and descriptor notice nothing.
 */
#include <fcntl.h>
#include <poll.h>

#include "child.h"
#include "wake_test.h"

/* A bound ring, one with its own wake-ups, and the bound one's wake-up, all in use. */
struct family {
	fp_wakeup *w;
	fp_ring *bound;
	fp_ring *own;
	int fd;
	struct wt_sleeper sleeper;
	struct wt_waiter waiter[2];
	uint32_t order; /* in which a child destroys: 0 to 5 */
};

static void make(struct family *f, const struct wt_mode *m, const struct rt_mode *ring,
		 uint32_t flags)
{
	f->w = wt_wakeup(m);
	f->bound = rt_ring(4, 8, ring, flags);
	f->own = rt_ring(4, 8, ring, flags | LIBFP_RING_WAIT);
	CHECK_EQ(fp_ring_set_wakeup(f->bound, LIBFP_RING_CONSUMER, f->w), 0);
	CHECK_EQ(fp_ring_set_wakeup(f->bound, LIBFP_RING_PRODUCER, f->w), 0);
	f->fd = fp_wakeup_fd(f->w);
	CHECK(f->fd >= 0);
	CHECK_EQ(fp_wakeup_arm(f->w), 0);
	wt_sleeper_start(&f->sleeper, f->w, LIBFP_FOREVER);
	wt_waiter_start(&f->waiter[0], f->bound, WT_DEQUEUE, 1, 1);
	wt_waiter_start(&f->waiter[1], f->own, WT_DEQUEUE, 1, 1);
}

static int readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

/* The parent's sleepers sleep, its descriptor is armed and open; then all are woken. */
static void untouched(struct family *f)
{
	CHECK_EQ(readable(f->fd), 0);
	CHECK_EQ(fcntl(f->fd, F_GETFD), FD_CLOEXEC);
	CHECK_EQ(wt_stats(f->w).fd_writes, 0);
	CHECK_EQ(wt_stats(f->w).interrupts, 0);
	CHECK_EQ(wt_stats(f->w).wakes, 0);
	CHECK_EQ(wt_stats(f->w).bound, 2);
	wt_still_waits(&f->waiter[0]);
	wt_still_waits(&f->waiter[1]);
	CHECK_EQ(fp_ring_is_closed(f->bound), 0);
	CHECK_EQ(fp_ring_enqueue_u64(f->bound, 1), 1);
	CHECK_EQ(fp_ring_enqueue_u64(f->own, 2), 1);
	CHECK_EQ(wt_sleeper_join(&f->sleeper), 0);
	CHECK_EQ(wt_waiter_join(&f->waiter[0]), 1);
	CHECK_EQ(f->waiter[0].elems[0], 1);
	CHECK_EQ(wt_waiter_join(&f->waiter[1]), 1);
	CHECK_EQ(f->waiter[1].elems[0], 2);
	CHECK_EQ(readable(f->fd), 1);
	CHECK_EQ(fp_wakeup_clear(f->w), 1);
}

static void unmake(struct family *f)
{
	CHECK_EQ(fp_ring_destroy(f->bound), 0);
	CHECK_EQ(fp_ring_destroy(f->own), 0);
	CHECK_EQ(fp_wakeup_destroy(f->w), 0);
	CHECK_EQ(fcntl(f->fd, F_GETFD), -1);
}

/* ---- in the child ---- */

static void destroy_all(void *arg)
{
	static const int orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
					  { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
	struct family *f = arg;

	for (int i = 0; i < 3; i++)
		switch (orders[f->order][i]) {
		case 0:
			CHECK_EQ(fp_wakeup_destroy(f->w), 0);
			break;
		case 1:
			CHECK_EQ(fp_ring_destroy(f->bound), 0);
			break;
		default:
			CHECK_EQ(fp_ring_destroy(f->own), 0);
		}
	/* The descriptor is the parent's as well. */
	CHECK_EQ(fcntl(f->fd, F_GETFD), FD_CLOEXEC);
}

static void refused(fp_ring *r)
{
	uint64_t e = 0;

	for (uint32_t side = 0; side < 2; side++) {
		CHECK_EQ(fp_ring_interrupt(r, side), -ECHILD);
		CHECK_EQ(fp_ring_set_wakeup(r, side, NULL), -ECHILD);
	}
	CHECK_EQ(fp_ring_wait_readable(r, 0), -ECHILD);
	CHECK_EQ(fp_ring_wait_readable(r, LIBFP_FOREVER), -ECHILD);
	CHECK_EQ(fp_ring_wait_writable(r, 0), -ECHILD);
	CHECK_EQ(fp_ring_dequeue_wait(r, &e, 1, 1, 0), -ECHILD);
	CHECK_EQ(fp_ring_dequeue_wait(r, &e, 0, 1, 0), -ECHILD);
	CHECK_EQ(fp_ring_enqueue_wait(r, &e, 1, 1, LIBFP_FOREVER), -ECHILD);
}

static void try_everything(void *arg)
{
	struct family *f = arg;
	uint64_t key = 7;
	fp_wakeup_stats s = { .size = sizeof(s) };
	fp_ring *fresh = rt_ring(4, 8, &rt_modes[3], 0);
	fp_wakeup *w = wt_wakeup(&wt_modes[1]);

	CHECK_EQ(fp_wakeup_signal(f->w), 0);
	CHECK_EQ(fp_wakeup_prepare(f->w, &key), -ECHILD);
	CHECK_EQ(fp_wakeup_cancel(f->w, 0), -ECHILD);
	CHECK_EQ(fp_wakeup_wait(f->w, 0, 0), -ECHILD);
	CHECK_EQ(fp_wakeup_wait(f->w, 0, LIBFP_FOREVER), -ECHILD);
	CHECK_EQ(fp_wakeup_interrupt(f->w), -ECHILD);
	CHECK_EQ(fp_wakeup_fd(f->w), -ECHILD);
	CHECK_EQ(fp_wakeup_arm(f->w), -ECHILD);
	CHECK_EQ(fp_wakeup_clear(f->w), -ECHILD);
	CHECK_EQ(key, 7);
	CHECK_EQ(readable(f->fd), 0);
	/* Looking is allowed. */
	CHECK(fp_wakeup_mode(f->w) > 0);
	CHECK_EQ(fp_wakeup_get_stats(f->w, &s), 0);
	CHECK_EQ(s.bound, 2);
	refused(f->bound);
	refused(f->own);
	/* Old and new do not go together, */
	CHECK_EQ(fp_ring_set_wakeup(fresh, LIBFP_RING_CONSUMER, f->w), -ECHILD);
	CHECK_EQ(fp_ring_set_wakeup(f->bound, LIBFP_RING_CONSUMER, w), -ECHILD);
	CHECK_EQ(wt_stats(w).bound, 0);
	/* new and new do. */
	CHECK_EQ(fp_ring_set_wakeup(fresh, LIBFP_RING_CONSUMER, w), 0);
	CHECK_EQ(fp_wakeup_prepare(w, &key), 0);
	CHECK_EQ(fp_ring_enqueue_u64(fresh, 1), 1);
	CHECK_EQ(fp_wakeup_wait(w, key, LIBFP_FOREVER), 0);
	CHECK_EQ(fp_ring_wait_readable(fresh, LIBFP_FOREVER), 1);
	CHECK_EQ(fp_ring_destroy(fresh), 0);
	CHECK_EQ(fp_wakeup_destroy(w), 0);
}

/* Rings that nobody was inside can be used: that wakes nobody of the parent. */
static void use_the_rings(void *arg)
{
	struct family *f = arg;
	uint64_t e = 0;

	for (int i = 0; i < 20; i++) {
		CHECK_EQ(fp_ring_enqueue_u64(f->bound, 5), 1);
		CHECK_EQ(fp_ring_dequeue_u64(f->bound, &e), 1);
		CHECK_EQ(fp_ring_enqueue_u64(f->own, 5), 1);
		CHECK_EQ(fp_ring_dequeue_u64(f->own, &e), 1);
	}
	CHECK_EQ(fp_ring_close(f->bound), 0);
	CHECK_EQ(fp_ring_close(f->own), 0);
	CHECK_EQ(readable(f->fd), 0);
	destroy_all(f);
}

static void *own_sleeper(void *arg)
{
	fp_ring *r = arg;
	uint64_t e = 0;

	CHECK_EQ(fp_ring_dequeue_wait(r, &e, 1, 1, LIBFP_FOREVER), 1);
	return NULL;
}

static void sleep_in_the_child(void *arg)
{
	WT_EACH_MODE(m)
	{
		fp_wakeup *w = wt_wakeup(m);
		fp_ring *r = rt_ring(4, 8, &rt_modes[3], 0);
		pthread_t t;

		CHECK_EQ(fp_ring_set_wakeup(r, LIBFP_RING_CONSUMER, w), 0);
		CHECK_EQ(pthread_create(&t, NULL, own_sleeper, r), 0);
		while (!wt_stats(w).sleeps)
			wt_pause();
		CHECK_EQ(fp_ring_enqueue_u64(r, 1), 1);
		CHECK_EQ(pthread_join(t, NULL), 0);
		CHECK_EQ(fp_ring_destroy(r), 0);
		CHECK_EQ(fp_wakeup_destroy(w), 0);
	}
	destroy_all(arg);
}

/* ---- the cases ---- */

static void with_families(void (*fn)(void *), uint32_t orders)
{
	WT_EACH_MODE(m)
	RT_EACH_MODE(ring)
	for (uint32_t flags = 0; flags <= LIBFP_CHECKED; flags += LIBFP_CHECKED) {
		struct family f;

		if (m->mode == LIBFP_WAKEUP_MODE_POLL)
			continue; /* its sleepers come and go by themselves */
		fpt_where("%s %s flags %u", m->name, ring->name, flags);
		make(&f, m, ring, flags);
		for (f.order = 0; f.order < orders; f.order++)
			fpt_in_child(fn, &f);
		f.order = 0;
		untouched(&f);
		unmake(&f);
	}
}

static void a_child_destroys_in_any_order(void)
{
	with_families(destroy_all, 6);
}

static void a_child_can_do_nothing_else(void)
{
	with_families(try_everything, 1);
}

static void what_a_child_does_with_a_ring_wakes_nobody(void)
{
	with_families(use_the_rings, 1);
}

static void a_child_sleeps_on_its_own(void)
{
#if FPT_CHILD_STARTS_THREADS
	with_families(sleep_in_the_child, 1);
#else
	printf("  not in this build: a child of threads cannot start threads\n");
	(void)sleep_in_the_child;
#endif
}

static void a_grandchild_is_a_child(void *arg)
{
	fpt_in_child(try_everything, arg);
	fpt_in_child(destroy_all, arg);
}

static void a_child_of_a_child_is_none_of_the_family(void)
{
	with_families(a_grandchild_is_a_child, 1);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(a_child_destroys_in_any_order),
		FPT_CASE(a_child_can_do_nothing_else),
		FPT_CASE(what_a_child_does_with_a_ring_wakes_nobody),
		FPT_CASE(a_child_sleeps_on_its_own),
		FPT_CASE(a_child_of_a_child_is_none_of_the_family),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
