/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wake_latency.c - how long it takes from the beginning of a signal until the thread
 * that slept runs again, and how long the signaller's call takes.
 *
 * One thread sleeps on the second core, in one way after the other; this one signals
 * when it has slept for ASLEEP_NS. A round has one signal of each kind, so that whatever
 * the machine does happens to all. Most of the time is the interrupt to a halted core,
 * which nobody can save; so the figures are compared with those of a bare futex.
 */
#include "wake.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ASLEEP_NS 60000
#define SPIN_NS 50000 /* what a waiting call of a ring spins before it sleeps */
#define WARMUP 20
#define SECONDS 2.5

/* What all ways to sleep share. */
static struct {
	_Alignas(128) atomic_uint word; /* how many signals there were */
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	fp_wakeup *count, *polled; /* two: each way has a wake-up of its own */
	fp_ring *waiting, *spinning;
	int fd, polled_fd, epoll, epoll_count;
} s = { .mutex = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER };

static unsigned signals(void)
{
	return atomic_load_explicit(&s.word, memory_order_acquire);
}

static void signalled(void)
{
	atomic_fetch_add_explicit(&s.word, 1, memory_order_release);
}

/* ---- the ways; seen: the signals before this one ---- */

static void futex_sleep(unsigned seen)
{
	while (signals() == seen)
		syscall(SYS_futex, &s.word, FUTEX_WAIT_PRIVATE, seen, NULL);
}

static void futex_wake(void)
{
	signalled();
	syscall(SYS_futex, &s.word, FUTEX_WAKE_PRIVATE, 1);
}

static void cond_sleep(unsigned seen)
{
	pthread_mutex_lock(&s.mutex);
	while (signals() == seen)
		pthread_cond_wait(&s.cond, &s.mutex);
	pthread_mutex_unlock(&s.mutex);
}

static void cond_wake(void)
{
	pthread_mutex_lock(&s.mutex);
	signalled();
	pthread_mutex_unlock(&s.mutex);
	pthread_cond_signal(&s.cond);
}

static void drain_fd(int fd)
{
	uint64_t count;

	while (read(fd, &count, sizeof(count)) < 0 && errno == EINTR)
		;
}

static void write_fd(int fd)
{
	static const uint64_t one = 1;

	signalled();
	if (write(fd, &one, sizeof(one)) < 0)
		abort();
}

static void eventfd_sleep(unsigned seen)
{
	(void)seen;
	drain_fd(s.fd);
}

static void eventfd_wake(void)
{
	write_fd(s.fd);
}

static void epoll(int epoll)
{
	struct epoll_event e;

	while (epoll_wait(epoll, &e, 1, -1) != 1)
		;
}

static void epoll_sleep(unsigned seen)
{
	(void)seen;
	epoll(s.epoll);
	drain_fd(s.polled_fd);
}

static void epoll_wake(void)
{
	write_fd(s.polled_fd);
}

static void count_sleep(unsigned seen)
{
	uint64_t key;

	while (signals() == seen) {
		fp_wakeup_prepare(s.count, &key);
		if (signals() != seen) {
			fp_wakeup_cancel(s.count, key);
			break;
		}
		fp_wakeup_wait(s.count, key, LIBFP_FOREVER);
	}
}

static void count_wake(void)
{
	signalled();
	fp_wakeup_signal(s.count);
}

static void armed_sleep(unsigned seen)
{
	while (signals() == seen) {
		fp_wakeup_arm(s.polled);
		if (signals() == seen)
			epoll(s.epoll_count);
		fp_wakeup_clear(s.polled);
	}
}

static void armed_wake(void)
{
	signalled();
	fp_wakeup_signal(s.polled);
}

static void ring_sleep(unsigned seen)
{
	uint64_t object;

	(void)seen;
	while (fp_ring_dequeue_wait(s.waiting, &object, 1, 1, LIBFP_FOREVER) != 1)
		;
}

static void ring_wake(void)
{
	fp_ring_enqueue_u64(s.waiting, 1);
}

static void spin_sleep(unsigned seen)
{
	uint64_t object;

	(void)seen;
	while (fp_ring_dequeue_u64(s.spinning, &object) != 1)
		bench_relax();
}

static void spin_wake(void)
{
	fp_ring_enqueue_u64(s.spinning, 1);
}

static const struct way {
	const char *who;
	uint64_t spins;
	void (*sleep)(unsigned seen);
	void (*wake)(void);
} ways[] = {
	{ "futex", 0, futex_sleep, futex_wake },
	{ "libfp wake-up", 0, count_sleep, count_wake },
	{ "libfp ring", SPIN_NS, ring_sleep, ring_wake },
	{ "libfp descriptor, epoll", 0, armed_sleep, armed_wake },
	{ "eventfd", 0, eventfd_sleep, eventfd_wake },
	{ "eventfd, epoll", 0, epoll_sleep, epoll_wake },
	{ "condition variable", 0, cond_sleep, cond_wake },
	{ "ring, never sleeps", 0, spin_sleep, spin_wake },
};

#define WAYS (sizeof(ways) / sizeof(ways[0]))

/* ---- rounds ---- */

/* Numbers of signals, of both threads. */
static _Alignas(128) atomic_uint going;	  /* that the sleeper goes to sleep for */
static _Alignas(128) atomic_uint running; /* that it has woken for */
static uint64_t running_ns;
static unsigned last; /* signal of the row */

static void sleeper(void *arg)
{
	(void)arg;
	for (unsigned i = 1; i <= last; i++) {
		unsigned seen = signals();

		atomic_store_explicit(&going, i, memory_order_release);
		ways[(i - 1) % WAYS].sleep(seen);
		running_ns = bench_now_ns();
		atomic_store_explicit(&running, i, memory_order_release);
	}
}

static void open_ways(void)
{
	struct epoll_event e = { .events = EPOLLIN };

	s.count = wake_create(WAKE_MEMBARRIER);
	s.polled = wake_create(WAKE_MEMBARRIER);
	s.waiting = wake_ring(LIBFP_ST, LIBFP_RING_WAIT);
	s.spinning = wake_ring(LIBFP_ST, 0);
	s.fd = eventfd(0, EFD_CLOEXEC);
	s.polled_fd = eventfd(0, EFD_CLOEXEC);
	s.epoll = epoll_create1(EPOLL_CLOEXEC);
	s.epoll_count = epoll_create1(EPOLL_CLOEXEC);
	if (epoll_ctl(s.epoll, EPOLL_CTL_ADD, s.polled_fd, &e) ||
	    epoll_ctl(s.epoll_count, EPOLL_CTL_ADD, fp_wakeup_fd(s.polled), &e))
		abort();
}

static void close_ways(void)
{
	close(s.epoll_count);
	close(s.epoll);
	close(s.polled_fd);
	close(s.fd);
	fp_ring_destroy(s.spinning);
	fp_ring_destroy(s.waiting);
	fp_wakeup_destroy(s.polled);
	fp_wakeup_destroy(s.count);
}

static void write_way(struct bench *b, unsigned w, const char *mode, const float *values,
		      unsigned rounds)
{
	struct bench_case c = {
		.row = "wake_latency", .mode = mode, .who = ways[w].who, .unit = "ns"
	};

	bench_samples(b, &c, values + (size_t)w * rounds, rounds);
}

void wake_latency(struct bench *b)
{
	unsigned rounds = (unsigned)(SECONDS * bench_scale(b) * 1e9 /
				     (WAYS * (ASLEEP_NS + 45000.0)));
	float *latency = malloc(WAYS * rounds * sizeof(float));
	float *call = malloc(WAYS * rounds * sizeof(float));
	struct wake_thread t;

	if (!latency || !call)
		abort();
	if (!rounds || !bench_wanted(b, "wake_latency", "running", 0, 0, 0))
		goto out;
	open_ways();
	atomic_store(&going, 0);
	atomic_store(&running, 0);
	last = (rounds + WARMUP) * WAYS;
	bench_pin(bench_cpu(b, 0));
	wake_start(&t, b, sleeper, NULL);
	for (unsigned i = 1; i <= last; i++) {
		unsigned w = (i - 1) % WAYS, round = (i - 1) / WAYS;
		uint64_t begin, end;

		wake_await(&going, i);
		wake_spin(ASLEEP_NS + ways[w].spins);
		begin = bench_now_ns();
		ways[w].wake();
		end = bench_now_ns();
		wake_await(&running, i);
		if (round >= WARMUP) {
			size_t at = (size_t)w * rounds + round - WARMUP;

			latency[at] = (float)(running_ns - begin);
			call[at] = (float)(end - begin);
		}
		bench_progress(b, "wake-ups, latency", (double)i / last);
	}
	pthread_join(t.thread, NULL);
	bench_unpin(b);
	for (unsigned w = 0; w < WAYS; w++) {
		write_way(b, w, "running", latency, rounds);
		write_way(b, w, "call", call, rounds);
	}
	close_ways();
out:
	free(call);
	free(latency);
}
