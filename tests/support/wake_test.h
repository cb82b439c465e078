/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the tests of wake-ups and of waiting rings share: the three modes, threads that
 * sleep, and waiting until they really do. Nothing here waits for a length of time: a
 * thread is asleep when the wake-up counts it and the kernel says so.
 */
#ifndef FPT_WAKE_TEST_H
#define FPT_WAKE_TEST_H

#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <libfp/wakeup.h>

#include "base/membarrier.h"
#include "ring_test.h"
#include "thread_state.h"
#include "wakeup/wakeup.h"

#define WT_MS 1000000u /* ns */

extern int fpi_test_no_membarrier; /* src/base/membarrier.c */

struct wt_mode {
	const char *name;
	uint32_t flags;
	int no_membarrier;
	int mode;
};

static const struct wt_mode wt_modes[] = {
	{ "membarrier", 0, 0, LIBFP_WAKEUP_MODE_MEMBARRIER },
	{ "fence", LIBFP_WAKEUP_FENCE, 0, LIBFP_WAKEUP_MODE_FENCE },
	{ "poll", 0, 1, LIBFP_WAKEUP_MODE_POLL },
};

/* Leaves out, aloud, the mode that this kernel or emulator does not have. */
static inline int wt_mode_exists(const struct wt_mode *m)
{
	static int said;

	if (m->mode != LIBFP_WAKEUP_MODE_MEMBARRIER || !fpi_membarrier_register())
		return 1;
	if (!said++)
		printf("  without mode membarrier, which this kernel does not have\n");
	return 0;
}

#define WT_EACH_MODE(m)                                                                 \
	for (const struct wt_mode *m = wt_modes; m < wt_modes + FPT_LEN(wt_modes); m++) \
		if (wt_mode_exists(m))

static inline fp_wakeup *wt_wakeup(const struct wt_mode *m)
{
	fp_wakeup_opts o = LIBFP_WAKEUP_OPTS_INIT;
	fp_wakeup *w = NULL;

	o.flags = m->flags;
	fpi_test_no_membarrier = m->no_membarrier;
	CHECK_EQ(fp_wakeup_create(&o, &w), 0);
	fpi_test_no_membarrier = 0;
	CHECK_EQ(fp_wakeup_mode(w), m->mode);
	return w;
}

static inline fp_wakeup_stats wt_stats(const fp_wakeup *w)
{
	fp_wakeup_stats s = { .size = sizeof(s) };

	CHECK_EQ(fp_wakeup_get_stats(w, &s), 0);
	CHECK_EQ(s.size, sizeof(s));
	return s;
}

/* ---- threads that sleep ---- */

/* A thread of a test: its kernel id, 0 until it runs, and whether it is through. */
struct wt_thread {
	pthread_t thread;
	int tid;
	int done;
};

static inline void wt_pause(void)
{
	struct timespec t = { 0, 50000 };

	nanosleep(&t, NULL);
}

static inline void wt_here(struct wt_thread *t)
{
	__atomic_store_n(&t->tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
}

static inline void wt_through(struct wt_thread *t)
{
	__atomic_store_n(&t->done, 1, __ATOMIC_RELEASE);
}

static inline int wt_is_through(struct wt_thread *t)
{
	return __atomic_load_n(&t->done, __ATOMIC_ACQUIRE);
}

/* Waits until it sleeps; returns 0 if it came through instead. */
static inline int wt_until_asleep(struct wt_thread *t)
{
	int tid;

	for (;;) {
		if (wt_is_through(t))
			return 0;
		tid = __atomic_load_n(&t->tid, __ATOMIC_ACQUIRE);
		if (tid && fpt_thread_state(tid) == 'S')
			return 1;
		wt_pause();
	}
}

/* One wait on a wake-up, from prepare on. */
struct wt_sleeper {
	struct wt_thread t;
	fp_wakeup *w;
	uint64_t timeout_ns;
	int err;
};

static inline void *wt_sleep(void *arg)
{
	struct wt_sleeper *s = arg;
	uint64_t key;

	wt_here(&s->t);
	CHECK_EQ(fp_wakeup_prepare(s->w, &key), 0);
	s->err = fp_wakeup_wait(s->w, key, s->timeout_ns);
	wt_through(&s->t);
	return NULL;
}

/* Starts a sleeper; it sleeps, or has come through, when this returns. */
static inline void wt_sleeper_start(struct wt_sleeper *s, fp_wakeup *w,
				    uint64_t timeout_ns)
{
	uint64_t before = wt_stats(w).waiting;

	memset(s, 0, sizeof(*s));
	s->w = w;
	s->timeout_ns = timeout_ns;
	s->err = 1;
	CHECK_EQ(pthread_create(&s->t.thread, NULL, wt_sleep, s), 0);
	while (wt_stats(w).waiting == before && !wt_is_through(&s->t))
		wt_pause();
	wt_until_asleep(&s->t);
}

static inline int wt_sleeper_join(struct wt_sleeper *s)
{
	CHECK_EQ(pthread_join(s->t.thread, NULL), 0);
	return s->err;
}

/* ---- threads that wait for a ring ---- */

enum wt_call { WT_DEQUEUE, WT_ENQUEUE, WT_READABLE, WT_WRITABLE };

#define WT_ELEMS 64

/* One waiting call of an 8-byte ring. */
struct wt_waiter {
	struct wt_thread t;
	fp_ring *r;
	enum wt_call call;
	uint32_t min, n;
	uint64_t timeout_ns;
	int32_t got;
	uint64_t elems[WT_ELEMS];
};

static inline int32_t wt_call(struct wt_waiter *x)
{
	switch (x->call) {
	case WT_DEQUEUE:
		return fp_ring_dequeue_wait(x->r, x->elems, x->min, x->n, x->timeout_ns);
	case WT_ENQUEUE:
		return fp_ring_enqueue_wait(x->r, x->elems, x->min, x->n, x->timeout_ns);
	case WT_READABLE:
		return fp_ring_wait_readable(x->r, x->timeout_ns);
	default:
		return fp_ring_wait_writable(x->r, x->timeout_ns);
	}
}

static inline uint32_t wt_side(enum wt_call call)
{
	return call == WT_DEQUEUE || call == WT_READABLE ? LIBFP_RING_CONSUMER :
							   LIBFP_RING_PRODUCER;
}

static inline void *wt_wait(void *arg)
{
	struct wt_waiter *x = arg;

	wt_here(&x->t);
	x->got = wt_call(x);
	wt_through(&x->t);
	return NULL;
}

static inline void wt_waiter_set(struct wt_waiter *x, fp_ring *r, enum wt_call call,
				 uint32_t min, uint32_t n)
{
	memset(x, 0, sizeof(*x));
	x->r = r;
	x->call = call;
	x->min = min;
	x->n = n;
	x->timeout_ns = LIBFP_FOREVER;
	x->got = INT32_MIN;
	rt_fill(x->elems, 8, 0, WT_ELEMS);
}

/*
 * Starts a waiter. When this returns it is behind its spin and its nap and sleeps in the
 * kernel, or it has come through.
 */
static inline void wt_waiter_start(struct wt_waiter *x, fp_ring *r, enum wt_call call,
				   uint32_t min, uint32_t n)
{
	const fp_wakeup *w = r->wake[wt_side(call)];
	uint64_t before = wt_stats(w).sleeps;

	wt_waiter_set(x, r, call, min, n);
	CHECK_EQ(pthread_create(&x->t.thread, NULL, wt_wait, x), 0);
	while (wt_stats(w).sleeps == before && !wt_is_through(&x->t))
		wt_pause();
	wt_until_asleep(&x->t);
}

static inline int32_t wt_waiter_join(struct wt_waiter *x)
{
	CHECK_EQ(pthread_join(x->t.thread, NULL), 0);
	return x->got;
}

/* Still inside its call, after another sleep. */
static inline void wt_still_waits(struct wt_waiter *x)
{
	CHECK_EQ(wt_until_asleep(&x->t), 1);
	CHECK(!wt_is_through(&x->t));
}

#endif
