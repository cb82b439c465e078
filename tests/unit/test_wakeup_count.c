/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The event count of a wake-up: prepare, cancel, wait, signal, interrupt, in each of its
 * three modes; its options, errors and counters. The descriptor has test_wakeup_fd.c.
 */
#include <signal.h>

#include "wake_test.h"

#define UNTOUCHED ((fp_wakeup *)(uintptr_t)0x1234)

/* ---- create and destroy ---- */

static void options_are_checked(void)
{
	struct {
		fp_wakeup_opts o;
		uint64_t tail;
	} newer = { LIBFP_WAKEUP_OPTS_INIT, 0 };
	fp_allocator half = LIBFP_ALLOCATOR_INIT;
	unsigned char raw[64] __attribute__((aligned(8)));
	fp_wakeup_opts o = LIBFP_WAKEUP_OPTS_INIT;
	fp_wakeup *w = UNTOUCHED;

	CHECK_EQ(sizeof(fp_wakeup_opts), 16);
	CHECK_EQ(fp_wakeup_create(NULL, NULL), -EINVAL);
	CHECK_EQ(fp_wakeup_create(&o, NULL), -EINVAL);
	o.size = 8;
	CHECK_EQ(fp_wakeup_create(&o, &w), -EINVAL);
	o.size = 0;
	CHECK_EQ(fp_wakeup_create(&o, &w), -EINVAL);
	o.size = sizeof(o);
	memcpy(raw + 4, &o, sizeof(o));
	CHECK_EQ(fp_wakeup_create((const fp_wakeup_opts *)(const void *)(raw + 4), &w),
		 -EINVAL);
	for (int bit = 0; bit < 32; bit++) {
		o.flags = 1u << bit;
		if (o.flags != LIBFP_WAKEUP_FENCE)
			CHECK_EQ(fp_wakeup_create(&o, &w), -EOPNOTSUPP);
	}
	o.flags = 0;
	half.free = NULL;
	half.alloc = fpt_heap_alloc;
	o.allocator = &half;
	CHECK_EQ(fp_wakeup_create(&o, &w), -EINVAL);
	newer.o.size = sizeof(newer);
	newer.tail = 1;
	CHECK_EQ(fp_wakeup_create(&newer.o, &w), -E2BIG);
	CHECK(w == UNTOUCHED);
	newer.tail = 0;
	CHECK_EQ(fp_wakeup_create(&newer.o, &w), 0);
	CHECK_EQ(fp_wakeup_destroy(w), 0);
	CHECK_EQ(fp_wakeup_create(NULL, &w), 0);
	CHECK_EQ(fp_wakeup_destroy(w), 0);
}

static void opts_init_fills_what_the_caller_knows(void)
{
	fp_wakeup_opts o;

	memset(&o, 0xff, sizeof(o));
	CHECK_EQ(fp_wakeup_opts_init(&o, sizeof(o)), 0);
	CHECK_EQ(o.size, sizeof(o));
	CHECK_EQ(o.flags, 0);
	CHECK(o.allocator == NULL);
	CHECK_EQ(fp_wakeup_opts_init(NULL, sizeof(o)), -EINVAL);
	CHECK_EQ(fp_wakeup_opts_init(&o, 15), -EINVAL);
	CHECK_EQ(fp_wakeup_opts_init(&o, (1u << 20) + 1), -E2BIG);
}

static void a_refusal_says_why(void)
{
	fp_wakeup_opts o = LIBFP_WAKEUP_OPTS_INIT;
	fp_wakeup *w = wt_wakeup(&wt_modes[1]), *none = UNTOUCHED;
	uint64_t key;

	fpt_log_begin();
	o.flags = 1;
	CHECK_EQ(fp_wakeup_create(&o, &none), -EOPNOTSUPP);
	CHECK_EQ(fpt_log.lines, 1);
	CHECK(strstr(fpt_log.last, "fp_wakeup_create"));
	CHECK_EQ(fp_wakeup_prepare(w, &key), 0);
	CHECK_EQ(fp_wakeup_destroy(w), -EBUSY);
	CHECK_EQ(fpt_log.lines, 2);
	CHECK(strstr(fpt_log.last, "fp_wakeup_destroy"));
	fpt_log_end();
	CHECK_EQ(fp_wakeup_cancel(w, key), 0);
	CHECK_EQ(fp_wakeup_destroy(w), 0);
}

static void memory_comes_from_the_allocator(void)
{
	struct fpt_heap heap = { .fail_at = -1 };
	fp_allocator a = fpt_heap_allocator(&heap);
	fp_wakeup_opts o = LIBFP_WAKEUP_OPTS_INIT;
	fp_wakeup *w = NULL;
	uint64_t key;

	o.allocator = &a;
	CHECK_EQ(fp_wakeup_create(&o, &w), 0);
	CHECK_EQ(heap.live, 1);
	/* Its memory is not zero: every counter was set. */
	CHECK_EQ(wt_stats(w).sleeps + wt_stats(w).wakes + wt_stats(w).interrupts, 0);
	CHECK_EQ(wt_stats(w).waiting + wt_stats(w).bound + wt_stats(w).fd_writes, 0);
	CHECK_EQ(fp_wakeup_signal(w), 0);
	CHECK_EQ(fp_wakeup_prepare(w, &key), 0);
	CHECK_EQ(fp_wakeup_wait(w, key, 0), -ETIMEDOUT);
	CHECK_EQ(fp_wakeup_destroy(w), 0);
	CHECK_EQ(heap.live, 0);
	CHECK_EQ(heap.bad, 0);
}

static void ten_thousand_come_and_go(void)
{
	for (int i = 0; i < 10000; i++) {
		fp_wakeup *w = wt_wakeup(&wt_modes[i % 3 ? 1 : 2]);

		CHECK_EQ(fp_wakeup_destroy(w), 0);
	}
}

static void null_handles_are_errors(void)
{
	fp_wakeup_stats s = { .size = sizeof(s) };
	uint64_t key = 77;

	CHECK_EQ(fp_wakeup_destroy(NULL), 0);
	CHECK_EQ(fp_wakeup_mode(NULL), -EINVAL);
	CHECK_EQ(fp_wakeup_prepare(NULL, &key), -EINVAL);
	CHECK_EQ(fp_wakeup_cancel(NULL, 0), -EINVAL);
	CHECK_EQ(fp_wakeup_wait(NULL, 0, 0), -EINVAL);
	CHECK_EQ(fp_wakeup_signal(NULL), -EINVAL);
	CHECK_EQ(fp_wakeup_interrupt(NULL), -EINVAL);
	CHECK_EQ(fp_wakeup_fd(NULL), -EINVAL);
	CHECK_EQ(fp_wakeup_arm(NULL), -EINVAL);
	CHECK_EQ(fp_wakeup_clear(NULL), -EINVAL);
	CHECK_EQ(fp_wakeup_get_stats(NULL, &s), -EINVAL);
	CHECK_EQ(key, 77);
}

static void stats_are_as_long_as_the_caller_asks(void)
{
	fp_wakeup *w = wt_wakeup(&wt_modes[1]);
	fp_wakeup_stats s;
	uint64_t key;

	CHECK_EQ(fp_wakeup_get_stats(w, NULL), -EINVAL);
	s.size = 7;
	CHECK_EQ(fp_wakeup_get_stats(w, &s), -EINVAL);
	CHECK_EQ(fp_wakeup_prepare(w, &key), 0);
	CHECK_EQ(fp_wakeup_prepare(w, &key), 0);
	memset(&s, 0xee, sizeof(s));
	s.size = 16;
	CHECK_EQ(fp_wakeup_get_stats(w, &s), 0);
	CHECK_EQ(s.size, 16);
	CHECK_EQ(s.flags, 0);
	CHECK_EQ(s.waiting, 2);
	CHECK_EQ(s.bound, 0xeeeeeeeeeeeeeeee);
	s.size = 4096;
	CHECK_EQ(fp_wakeup_get_stats(w, &s), 0);
	CHECK_EQ(s.size, sizeof(s));
	CHECK_EQ(fp_wakeup_cancel(w, key), 0);
	CHECK_EQ(fp_wakeup_cancel(w, key), 0);
	CHECK_EQ(fp_wakeup_destroy(w), 0);
}

/* ---- keys ---- */

static void a_signal_after_prepare_ends_the_wait(void)
{
	static const uint64_t timeouts[] = { 0, 1, WT_MS, LIBFP_FOREVER - 1,
					     LIBFP_FOREVER };

	WT_EACH_MODE(m)
	for (size_t i = 0; i < FPT_LEN(timeouts); i++) {
		fp_wakeup *w = wt_wakeup(m);
		uint64_t key;

		fpt_where("%s timeout %" PRIu64, m->name, timeouts[i]);
		CHECK_EQ(fp_wakeup_prepare(w, &key), 0);
		CHECK_EQ(fp_wakeup_signal(w), 1);
		CHECK_EQ(fp_wakeup_wait(w, key, timeouts[i]), 0);
		CHECK_EQ(wt_stats(w).sleeps, 0);
		CHECK_EQ(wt_stats(w).waiting, 0);
		CHECK_EQ(fp_wakeup_destroy(w), 0);
	}
}

static void a_signal_before_prepare_is_not_remembered(void)
{
	WT_EACH_MODE(m)
	{
		fp_wakeup *w = wt_wakeup(m);
		uint64_t key;

		fpt_where("%s", m->name);
		CHECK_EQ(fp_wakeup_signal(w), 0);
		CHECK_EQ(fp_wakeup_prepare(w, &key), 0);
		CHECK_EQ(fp_wakeup_wait(w, key, 0), -ETIMEDOUT);
		CHECK_EQ(fp_wakeup_prepare(w, &key), 0);
		CHECK_EQ(fp_wakeup_wait(w, key, 1), -ETIMEDOUT);
		CHECK_EQ(fp_wakeup_prepare(w, &key), 0);
		CHECK_EQ(fp_wakeup_wait(w, key, WT_MS), -ETIMEDOUT);
		CHECK_EQ(wt_stats(w).wakes, 0);
		CHECK_EQ(wt_stats(w).fallback_polls, 0);
		CHECK_EQ(fp_wakeup_destroy(w), 0);
	}
}

static void cancel_takes_the_announcement_back(void)
{
	WT_EACH_MODE(m)
	{
		fp_wakeup *w = wt_wakeup(m);
		uint64_t key, second;

		fpt_where("%s", m->name);
		CHECK_EQ(fp_wakeup_prepare(w, &key), 0);
		CHECK_EQ(wt_stats(w).waiting, 1);
		CHECK_EQ(fp_wakeup_cancel(w, key), 0);
		CHECK_EQ(wt_stats(w).waiting, 0);
		CHECK_EQ(fp_wakeup_signal(w), 0);
		/* of two announcements one */
		CHECK_EQ(fp_wakeup_prepare(w, &key), 0);
		CHECK_EQ(fp_wakeup_prepare(w, &second), 0);
		CHECK_EQ(fp_wakeup_cancel(w, key), 0);
		CHECK_EQ(fp_wakeup_signal(w), 1);
		CHECK_EQ(fp_wakeup_wait(w, second, LIBFP_FOREVER), 0);
		CHECK_EQ(fp_wakeup_destroy(w), 0);
	}
}

static void what_was_not_prepared_is_refused(void)
{
	WT_EACH_MODE(m)
	{
		fp_wakeup *w = wt_wakeup(m);
		uint64_t key;

		fpt_where("%s", m->name);
		CHECK_EQ(fp_wakeup_prepare(w, NULL), -EINVAL);
		CHECK_EQ(fp_wakeup_cancel(w, 0), -EINVAL);
		CHECK_EQ(fp_wakeup_wait(w, 0, LIBFP_FOREVER), -EINVAL);
		CHECK_EQ(fp_wakeup_prepare(w, &key), 0);
		CHECK_EQ(fp_wakeup_cancel(w, key), 0);
		CHECK_EQ(fp_wakeup_cancel(w, key), -EINVAL);
		CHECK_EQ(fp_wakeup_wait(w, key, LIBFP_FOREVER), -EINVAL);
		CHECK_EQ(wt_stats(w).waiting, 0);
		CHECK_EQ(fp_wakeup_destroy(w), 0);
	}
}

static void a_key_stays_good_when_the_epoch_wraps(void)
{
	WT_EACH_MODE(m)
	{
		fp_wakeup *w = wt_wakeup(m);
		uint64_t key;

		fpt_where("%s", m->name);
		w->epoch.value = UINT32_MAX - 2;
		w->interrupts.value = UINT32_MAX - 1;
		for (int i = 0; i < 6; i++) {
			CHECK_EQ(fp_wakeup_prepare(w, &key), 0);
			CHECK_EQ(fp_wakeup_signal(w), 1);
			CHECK_EQ(fp_wakeup_wait(w, key, LIBFP_FOREVER), 0);
			CHECK_EQ(fp_wakeup_prepare(w, &key), 0);
			CHECK_EQ(fp_wakeup_wait(w, key, 0), -ETIMEDOUT);
			CHECK_EQ(fp_wakeup_prepare(w, &key), 0);
			CHECK_EQ(fp_wakeup_interrupt(w), 0);
			CHECK_EQ(fp_wakeup_wait(w, key, LIBFP_FOREVER), -ECANCELED);
		}
		CHECK_EQ(fp_wakeup_destroy(w), 0);
	}
}

static void too_many_waiters_are_refused(void)
{
	fp_wakeup *w = wt_wakeup(&wt_modes[1]);
	uint64_t key = 5, most = FPI_WAKEUP_WAITERS_MAX / 2;

	w->state.value += most - 1;
	CHECK_EQ(fp_wakeup_prepare(w, &key), 0);
	key = 5;
	CHECK_EQ(fp_wakeup_prepare(w, &key), -EAGAIN);
	CHECK_EQ(key, 5);
	CHECK_EQ(wt_stats(w).waiting, most);
	w->state.value -= most;
	CHECK_EQ(fp_wakeup_destroy(w), 0);
}

/* ---- threads ---- */

static void a_signal_wakes_who_sleeps(void)
{
	WT_EACH_MODE(m)
	{
		fp_wakeup *w = wt_wakeup(m);
		struct wt_sleeper s;

		fpt_where("%s", m->name);
		wt_sleeper_start(&s, w, LIBFP_FOREVER);
		if (m->mode != LIBFP_WAKEUP_MODE_POLL) {
			CHECK_EQ(wt_is_through(&s.t), 0);
			CHECK_EQ(fp_wakeup_signal(w), 1);
		}
		CHECK_EQ(wt_sleeper_join(&s), 0);
		CHECK_EQ(wt_stats(w).waiting, 0);
		CHECK_EQ(wt_stats(w).fallback_polls, m->mode == LIBFP_WAKEUP_MODE_POLL);
		if (m->mode != LIBFP_WAKEUP_MODE_POLL)
			CHECK(wt_stats(w).wakes >= 1);
		CHECK_EQ(fp_wakeup_destroy(w), 0);
	}
}

static void a_signal_wakes_all(void)
{
	WT_EACH_MODE(m)
	{
		fp_wakeup *w = wt_wakeup(m);
		struct wt_sleeper s[7];

		fpt_where("%s", m->name);
		for (size_t i = 0; i < FPT_LEN(s); i++)
			wt_sleeper_start(&s[i], w, LIBFP_FOREVER);
		fp_wakeup_signal(w);
		for (size_t i = 0; i < FPT_LEN(s); i++)
			CHECK_EQ(wt_sleeper_join(&s[i]), 0);
		CHECK_EQ(wt_stats(w).waiting, 0);
		CHECK_EQ(fp_wakeup_signal(w), 0);
		CHECK_EQ(fp_wakeup_destroy(w), 0);
	}
}

/* Where nothing signals, mode POLL looks again by itself; the others do not. */
static void only_mode_poll_comes_back_by_itself(void)
{
	fp_wakeup *w = wt_wakeup(&wt_modes[2]);
	uint64_t key;

	for (uint64_t i = 1; i <= 3; i++) {
		CHECK_EQ(fp_wakeup_prepare(w, &key), 0);
		CHECK_EQ(fp_wakeup_wait(w, key, LIBFP_FOREVER), 0);
		CHECK_EQ(wt_stats(w).fallback_polls, i);
	}
	CHECK_EQ(fp_wakeup_prepare(w, &key), 0);
	CHECK_EQ(fp_wakeup_wait(w, key, WT_MS), -ETIMEDOUT);
	CHECK_EQ(wt_stats(w).fallback_polls, 3);
	CHECK_EQ(fp_wakeup_destroy(w), 0);
}

/* A filter installed later may forbid what worked at create. */
static void a_membarrier_that_fails_later_limits_the_sleep(void)
{
	fp_wakeup *w;
	uint64_t key;

	if (!wt_mode_exists(&wt_modes[0]))
		return;
	w = wt_wakeup(&wt_modes[0]);
	fpi_test_no_membarrier = 1;
	CHECK_EQ(fp_wakeup_prepare(w, &key), 0);
	CHECK_EQ(fp_wakeup_wait(w, key, LIBFP_FOREVER), 0);
	fpi_test_no_membarrier = 0;
	CHECK_EQ(wt_stats(w).fallback_polls, 1);
	CHECK_EQ(fp_wakeup_mode(w), LIBFP_WAKEUP_MODE_POLL);
	CHECK_EQ(fp_wakeup_destroy(w), 0);
}

/* ---- interrupts ---- */

static void an_interrupt_ends_what_was_prepared_before_it(void)
{
	WT_EACH_MODE(m)
	{
		fp_wakeup *w = wt_wakeup(m);
		uint64_t key, other;

		fpt_where("%s", m->name);
		/* before prepare: not affected */
		CHECK_EQ(fp_wakeup_interrupt(w), 0);
		CHECK_EQ(fp_wakeup_prepare(w, &key), 0);
		CHECK_EQ(fp_wakeup_wait(w, key, 0), -ETIMEDOUT);
		/* between prepare and wait, whatever the time-out */
		CHECK_EQ(fp_wakeup_prepare(w, &key), 0);
		CHECK_EQ(fp_wakeup_prepare(w, &other), 0);
		CHECK_EQ(fp_wakeup_interrupt(w), 0);
		CHECK_EQ(fp_wakeup_wait(w, key, 0), -ECANCELED);
		CHECK_EQ(fp_wakeup_wait(w, other, LIBFP_FOREVER), -ECANCELED);
		/* a signal as well, before and after: still told */
		CHECK_EQ(fp_wakeup_prepare(w, &key), 0);
		CHECK_EQ(fp_wakeup_signal(w), 1);
		CHECK_EQ(fp_wakeup_interrupt(w), 0);
		CHECK_EQ(fp_wakeup_signal(w), 1);
		CHECK_EQ(fp_wakeup_wait(w, key, LIBFP_FOREVER), -ECANCELED);
		/* and later waits are not */
		CHECK_EQ(fp_wakeup_prepare(w, &key), 0);
		CHECK_EQ(fp_wakeup_wait(w, key, 1), -ETIMEDOUT);
		CHECK_EQ(wt_stats(w).interrupts, 3);
		CHECK_EQ(fp_wakeup_destroy(w), 0);
	}
}

static void an_interrupt_wakes_who_sleeps(void)
{
	WT_EACH_MODE(m)
	{
		fp_wakeup *w = wt_wakeup(m);
		struct wt_sleeper s[3];

		fpt_where("%s", m->name);
		for (size_t i = 0; i < FPT_LEN(s); i++)
			wt_sleeper_start(&s[i], w, LIBFP_FOREVER);
		CHECK_EQ(fp_wakeup_interrupt(w), 0);
		for (size_t i = 0; i < FPT_LEN(s); i++) {
			int err = wt_sleeper_join(&s[i]);

			/* in mode POLL it may have come back before */
			CHECK(err == -ECANCELED ||
			      (err == 0 && m->mode == LIBFP_WAKEUP_MODE_POLL));
		}
		CHECK_EQ(fp_wakeup_destroy(w), 0);
	}
}

/* ---- what may not be done ---- */

static void destroy_waits_for_nobody_and_refuses(void)
{
	WT_EACH_MODE(m)
	{
		fp_wakeup *w = wt_wakeup(m);
		fp_ring *r = rt_ring(4, 8, &rt_modes[3], 0);
		struct wt_sleeper s;
		uint64_t key;

		fpt_where("%s", m->name);
		CHECK_EQ(fp_wakeup_prepare(w, &key), 0);
		CHECK_EQ(fp_wakeup_destroy(w), -EBUSY);
		CHECK_EQ(fp_wakeup_cancel(w, key), 0);
		if (m->mode != LIBFP_WAKEUP_MODE_POLL) {
			wt_sleeper_start(&s, w, LIBFP_FOREVER);
			CHECK_EQ(fp_wakeup_destroy(w), -EBUSY);
			CHECK_EQ(fp_wakeup_signal(w), 1);
			CHECK_EQ(wt_sleeper_join(&s), 0);
		}
		CHECK_EQ(fp_ring_set_wakeup(r, LIBFP_RING_CONSUMER, w), 0);
		CHECK_EQ(fp_wakeup_destroy(w), -EBUSY);
		CHECK_EQ(fp_ring_set_wakeup(r, LIBFP_RING_CONSUMER, NULL), 0);
		CHECK_EQ(fp_wakeup_destroy(w), 0);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

/* Who is told "busy" may ask again until it is not; TSan sees what orders the two. */
static void destroy_may_be_tried_until_the_sleeper_is_gone(void)
{
	WT_EACH_MODE(m)
	for (int i = 0; i < 20; i++) {
		fp_wakeup *w = wt_wakeup(m);
		struct wt_sleeper s;

		fpt_where("%s", m->name);
		wt_sleeper_start(&s, w, LIBFP_FOREVER);
		fp_wakeup_signal(w);
		while (fp_wakeup_destroy(w))
			sched_yield();
		CHECK_EQ(wt_sleeper_join(&s), 0);
	}
}

/* As a service's: nobody but its cores may sleep on it. */
static void a_wakeup_of_a_service_is_signalled_only(void)
{
	static fp_wakeup cores;
	fp_ring *r = rt_ring(4, 8, &rt_modes[3], 0);
	uint64_t key = 5, e = 1;

	fpi_wakeup_init(&cores, FPI_WAKEUP_CORES, 0);
	CHECK_EQ(fp_wakeup_prepare(&cores, &key), -EOPNOTSUPP);
	CHECK_EQ(fp_wakeup_cancel(&cores, 0), -EOPNOTSUPP);
	CHECK_EQ(fp_wakeup_wait(&cores, 0, 0), -EOPNOTSUPP);
	CHECK_EQ(fp_wakeup_interrupt(&cores), -EOPNOTSUPP);
	CHECK_EQ(fp_wakeup_fd(&cores), -EOPNOTSUPP);
	CHECK_EQ(fp_wakeup_arm(&cores), -EOPNOTSUPP);
	CHECK_EQ(fp_wakeup_clear(&cores), -EOPNOTSUPP);
	CHECK_EQ(fp_wakeup_destroy(&cores), -EOPNOTSUPP);
	CHECK_EQ(fp_wakeup_signal(&cores), 0);
	CHECK_EQ(key, 5);
	for (uint32_t side = 0; side < 2; side++)
		CHECK_EQ(fp_ring_set_wakeup(r, side, &cores), 0);
	CHECK_EQ(fp_ring_wait_readable(r, 0), -EOPNOTSUPP);
	CHECK_EQ(fp_ring_wait_writable(r, LIBFP_FOREVER), -EOPNOTSUPP);
	CHECK_EQ(fp_ring_dequeue_wait(r, &e, 1, 1, 0), -EOPNOTSUPP);
	CHECK_EQ(fp_ring_enqueue_wait(r, &e, 1, 1, 0), -EOPNOTSUPP);
	CHECK_EQ(fp_ring_interrupt(r, LIBFP_RING_CONSUMER), -EOPNOTSUPP);
	CHECK_EQ(fp_ring_destroy(r), 0);
	CHECK_EQ(cores.bound.value, 0);
}

/* ---- signals, cancellation, errno ---- */

static fp_wakeup *from_handler;
static int handled;

static void count_only(int sig)
{
	(void)sig;
	__atomic_add_fetch(&handled, 1, __ATOMIC_RELAXED);
}

static void signal_it(int sig)
{
	(void)sig;
	fp_wakeup_signal(from_handler);
}

static void on_signal(void (*handler)(int))
{
	struct sigaction a = { .sa_handler = handler };

	CHECK_EQ(sigaction(SIGUSR1, &a, NULL), 0);
}

static void a_signal_handler_does_not_end_the_wait(void)
{
	WT_EACH_MODE(m)
	{
		fp_wakeup *w;
		struct wt_sleeper s;
		int sent = 0;

		if (m->mode == LIBFP_WAKEUP_MODE_POLL)
			continue; /* comes back by itself */
		fpt_where("%s", m->name);
		w = wt_wakeup(m);
		on_signal(count_only);
		wt_sleeper_start(&s, w, LIBFP_FOREVER);
		while (sent < 50) {
			int before = __atomic_load_n(&handled, __ATOMIC_RELAXED);

			CHECK_EQ(pthread_kill(s.t.thread, SIGUSR1), 0);
			while (__atomic_load_n(&handled, __ATOMIC_RELAXED) == before)
				sched_yield();
			sent++;
		}
		CHECK_EQ(wt_until_asleep(&s.t), 1);
		CHECK_EQ(wt_stats(w).wakes, 0);
		CHECK_EQ(fp_wakeup_signal(w), 1);
		CHECK_EQ(wt_sleeper_join(&s), 0);
		CHECK_EQ(fp_wakeup_destroy(w), 0);
	}
}

static void a_signal_handler_may_signal(void)
{
	WT_EACH_MODE(m)
	{
		uint64_t key;

		fpt_where("%s", m->name);
		from_handler = wt_wakeup(m);
		on_signal(signal_it);
		CHECK_EQ(fp_wakeup_prepare(from_handler, &key), 0);
		raise(SIGUSR1);
		CHECK_EQ(fp_wakeup_wait(from_handler, key, LIBFP_FOREVER), 0);
		CHECK_EQ(fp_wakeup_destroy(from_handler), 0);
	}
}

static void a_wait_is_no_cancellation_point(void)
{
	WT_EACH_MODE(m)
	{
		fp_wakeup *w = wt_wakeup(m);
		struct wt_sleeper s;

		fpt_where("%s", m->name);
		wt_sleeper_start(&s, w, LIBFP_FOREVER);
		pthread_cancel(s.t.thread);
		fp_wakeup_signal(w);
		CHECK_EQ(wt_sleeper_join(&s), 0);
		CHECK_EQ(wt_is_through(&s.t), 1);
		CHECK_EQ(wt_stats(w).waiting, 0);
		CHECK_EQ(fp_wakeup_destroy(w), 0);
	}
}

static void errno_is_left_alone(void)
{
	WT_EACH_MODE(m)
	{
		fp_wakeup *w = wt_wakeup(m);
		uint64_t key;

		fpt_where("%s", m->name);
		errno = 1234;
		fp_wakeup_signal(w);
		fp_wakeup_prepare(w, &key);
		fp_wakeup_wait(w, key, 1);
		fp_wakeup_prepare(w, &key);
		fp_wakeup_interrupt(w);
		fp_wakeup_wait(w, key, LIBFP_FOREVER);
		fp_wakeup_arm(w);
		fp_wakeup_fd(w);
		fp_wakeup_arm(w);
		fp_wakeup_signal(w);
		fp_wakeup_clear(w);
		fp_wakeup_clear(w);
		fp_wakeup_prepare(w, &key);
		fp_wakeup_destroy(w);
		fp_wakeup_cancel(w, key);
		fp_wakeup_destroy(w);
		CHECK_EQ(errno, 1234);
	}
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(options_are_checked),
		FPT_CASE(opts_init_fills_what_the_caller_knows),
		FPT_CASE(a_refusal_says_why),
		FPT_CASE(memory_comes_from_the_allocator),
		FPT_CASE(ten_thousand_come_and_go),
		FPT_CASE(null_handles_are_errors),
		FPT_CASE(stats_are_as_long_as_the_caller_asks),
		FPT_CASE(a_signal_after_prepare_ends_the_wait),
		FPT_CASE(a_signal_before_prepare_is_not_remembered),
		FPT_CASE(cancel_takes_the_announcement_back),
		FPT_CASE(what_was_not_prepared_is_refused),
		FPT_CASE(a_key_stays_good_when_the_epoch_wraps),
		FPT_CASE(too_many_waiters_are_refused),
		FPT_CASE(a_signal_wakes_who_sleeps),
		FPT_CASE(a_signal_wakes_all),
		FPT_CASE(only_mode_poll_comes_back_by_itself),
		FPT_CASE(a_membarrier_that_fails_later_limits_the_sleep),
		FPT_CASE(an_interrupt_ends_what_was_prepared_before_it),
		FPT_CASE(an_interrupt_wakes_who_sleeps),
		FPT_CASE(destroy_waits_for_nobody_and_refuses),
		FPT_CASE(destroy_may_be_tried_until_the_sleeper_is_gone),
		FPT_CASE(a_wakeup_of_a_service_is_signalled_only),
		FPT_CASE(a_signal_handler_does_not_end_the_wait),
		FPT_CASE(a_signal_handler_may_signal),
		FPT_CASE(a_wait_is_no_cancellation_point),
		FPT_CASE(errno_is_left_alone),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
