/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench_wakeup.c - what wake-ups cost those who signal and those who sleep. Writes
 * JSON lines to stdout; bench/run starts it several times and makes the report.
 *
 *   wake_two_threads  a producer and a consumer that never sleeps, on two cores: rings
 *                     that nothing is bound to beside rings with a wake-up
 *   wake_one_thread   the same on one thread, which hides a fence
 *   wake_fd           a consumer in epoll: a descriptor that is written once per arm
 *                     beside an eventfd that is written for every object
 *   wake_latency      from signal to running, beside what the system has (wake_latency.c)
 *   wake_barrier, wake_victim, wake_gaps, wake_idle
 *                     what sleepers cost themselves and others (wake_cost.c)
 *
 * The timed loops of the first two are those of the rings' own rows (ring_fp.c).
 */
#include "wake.h"

#include "ring_contestant.h"

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

unsigned char ring_source[RING_BURST_MAX * RING_ELEM_MAX] __attribute__((aligned(64)));
unsigned char ring_target[RING_BURST_MAX * RING_ELEM_MAX] __attribute__((aligned(64)));

const char *const wake_mode_names[WAKE_MODES] = { "membarrier", "fence", "poll" };

static void die(const char *why)
{
	fprintf(stderr, "bench_wakeup: %s\n", why);
	exit(2);
}

fp_wakeup *wake_create(enum wake_mode mode)
{
	fp_wakeup_opts opts = LIBFP_WAKEUP_OPTS_INIT;
	fp_wakeup *wakeup;
	int err;

	if (mode == WAKE_FENCE)
		opts.flags = LIBFP_WAKEUP_FENCE;
	wake_refuse_membarrier(mode == WAKE_POLL);
	err = fp_wakeup_create(&opts, &wakeup);
	wake_refuse_membarrier(0);
	if (err)
		die("cannot create a wake-up");
	return wakeup;
}

fp_ring *wake_ring(uint32_t sync, uint32_t flags)
{
	fp_ring_opts opts = LIBFP_RING_OPTS_INIT;
	fp_ring *ring;

	opts.capacity = WAKE_CAPACITY;
	opts.producer = sync;
	opts.consumer = sync;
	opts.flags = flags;
	if (fp_ring_create(&opts, &ring))
		die("cannot create a ring");
	return ring;
}

static void *thread_main(void *arg)
{
	struct wake_thread *t = arg;

	bench_pin(t->cpu);
	t->run(t->arg);
	return NULL;
}

void wake_start(struct wake_thread *t, struct bench *b, void (*run)(void *), void *arg)
{
	*t = (struct wake_thread){ .cpu = bench_cpu(b, 1), .run = run, .arg = arg };
	if (pthread_create(&t->thread, NULL, thread_main, t))
		die("cannot create a thread");
}

/* ---- nobody asleep ---- */

/* The consumer's side of a ring, as the rows have it. */
static const struct bound {
	const char *who;
	enum wake_mode mode;
	uint32_t flags;
} bounds[] = {
	{ "nothing bound", WAKE_MODES, 0 },
	{ "membarrier", WAKE_MEMBARRIER, 0 },
	{ "fence", WAKE_FENCE, 0 },
	{ "LIBFP_RING_WAIT", WAKE_MODES, LIBFP_RING_WAIT },
};

struct pair {
	fp_ring *ring;
	fp_wakeup *wakeup;
};

static void close_pair(struct pair *p)
{
	fp_ring_destroy(p->ring);
	fp_wakeup_destroy(p->wakeup);
}

static int wanted(const struct bench *b, const struct bench_case *c)
{
	return bench_wanted(b, c->row, c->mode, c->burst, c->capacity, c->elem);
}

static void nobody_asleep(struct bench *b, int two)
{
	static const uint32_t bursts[] = { 1, 32 };
	struct pair pairs[2 * LEN(bounds) * LEN(bursts)];
	unsigned n = 0;

	for (uint32_t mt = 0; mt < 2; mt++) {
		struct ring_shape shape = { mt ? RING_MT : RING_ST, WAKE_CAPACITY, 8 };

		for (unsigned i = 0; i < LEN(bursts) * LEN(bounds); i++) {
			const struct bound *bound = &bounds[i % LEN(bounds)];
			uint32_t burst = bursts[i / LEN(bounds)];
			const struct ring_loops *loops =
				ring_fp.contestants[0].loops(&shape, burst);
			struct pair *p = &pairs[n];
			struct bench_case c = {
				.row = two ? "wake_two_threads" : "wake_one_thread",
				.mode = mt ? "MT" : "ST",
				.who = bound->who,
				.unit = two ? "M/s" : "ns",
				.burst = burst,
				.capacity = WAKE_CAPACITY,
				.elem = 8,
			};

			if (!wanted(b, &c))
				continue;
			p->ring = wake_ring(mt ? LIBFP_MT : LIBFP_ST, bound->flags);
			p->wakeup = NULL;
			if (bound->mode != WAKE_MODES) {
				p->wakeup = wake_create(bound->mode);
				fp_ring_set_wakeup(p->ring, LIBFP_RING_CONSUMER,
						   p->wakeup);
			}
			c.object = p->ring;
			if (two) {
				c.feed = loops->feed;
				c.drain = loops->drain;
			} else {
				c.one = loops->pair;
			}
			bench_add(b, &c);
			n++;
		}
	}
	bench_run(b, two ? "wake-ups, nobody asleep" : "wake-ups, one thread",
		  two ? 3 : 0.5);
	while (n)
		close_pair(&pairs[--n]);
}

/* ---- a consumer in epoll ---- */

#define FD_BURST 32
/* Slices of 16 rings full and more: of one that the ring has room for, all may be in
 * before the clock starts. */
#define FD_STEP WAKE_CAPACITY

struct fd_pair {
	struct pair pair;
	int fd, epoll;
};

static void open_fd_pair(struct fd_pair *p, int fd)
{
	struct epoll_event e = { .events = EPOLLIN };

	p->fd = fd;
	p->epoll = epoll_create1(0);
	if (fd < 0 || p->epoll < 0 || epoll_ctl(p->epoll, EPOLL_CTL_ADD, fd, &e))
		die("cannot poll an eventfd");
}

static void await_fd(const struct fd_pair *p)
{
	struct epoll_event e;

	while (epoll_wait(p->epoll, &e, 1, -1) != 1)
		;
}

static uint64_t armed_feed(void *object, uint32_t burst, uint64_t units)
{
	struct fd_pair *p = object;

	(void)burst;
	for (uint64_t left = units; left; left--)
		while (fp_ring_enqueue_u64(p->pair.ring, left) != 1)
			bench_relax();
	return units;
}

static uint64_t armed_drain(void *object, uint32_t burst, uint64_t units)
{
	struct fd_pair *p = object;
	uint64_t table[FD_BURST], out = 0;

	(void)burst;
	while (out < units) {
		int32_t n = fp_ring_dequeue_burst(p->pair.ring, table, FD_BURST, NULL);

		if (n == 0) {
			fp_wakeup_arm(p->pair.wakeup);
			n = fp_ring_dequeue_burst(p->pair.ring, table, FD_BURST, NULL);
			if (n == 0)
				await_fd(p);
			fp_wakeup_clear(p->pair.wakeup);
		}
		out += (uint64_t)n;
	}
	return out;
}

static uint64_t each_feed(void *object, uint32_t burst, uint64_t units)
{
	static const uint64_t one = 1;
	struct fd_pair *p = object;

	(void)burst;
	for (uint64_t left = units; left; left--) {
		while (fp_ring_enqueue_u64(p->pair.ring, left) != 1)
			bench_relax();
		if (write(p->fd, &one, sizeof(one)) != sizeof(one))
			return 0;
	}
	return units;
}

static uint64_t each_drain(void *object, uint32_t burst, uint64_t units)
{
	struct fd_pair *p = object;
	uint64_t table[FD_BURST], out = 0, count;

	(void)burst;
	while (out < units) {
		int32_t n = fp_ring_dequeue_burst(p->pair.ring, table, FD_BURST, NULL);

		if (n == 0) {
			await_fd(p);
			if (read(p->fd, &count, sizeof(count)) != sizeof(count))
				return 0;
		}
		out += (uint64_t)n;
	}
	return out;
}

static void descriptors(struct bench *b)
{
	struct fd_pair armed, each;
	struct bench_case c = {
		.row = "wake_fd",
		.mode = "ST",
		.unit = "M/s",
		.burst = 1,
		.capacity = WAKE_CAPACITY,
		.elem = 8,
		.step = FD_STEP,
	};

	if (!wanted(b, &c))
		return;
	armed.pair.ring = wake_ring(LIBFP_ST, 0);
	armed.pair.wakeup = wake_create(WAKE_MEMBARRIER);
	fp_ring_set_wakeup(armed.pair.ring, LIBFP_RING_CONSUMER, armed.pair.wakeup);
	open_fd_pair(&armed, fp_wakeup_fd(armed.pair.wakeup));
	each.pair = (struct pair){ wake_ring(LIBFP_ST, 0), NULL };
	open_fd_pair(&each, eventfd(0, EFD_CLOEXEC));

	c.who = "armed descriptor";
	c.object = &armed;
	c.feed = armed_feed;
	c.drain = armed_drain;
	bench_add(b, &c);
	c.who = "eventfd, each object";
	c.object = &each;
	c.feed = each_feed;
	c.drain = each_drain;
	bench_add(b, &c);
	bench_run(b, "wake-ups, descriptors", 1);

	close(armed.epoll);
	close(each.epoll);
	close(each.fd);
	close_pair(&armed.pair);
	close_pair(&each.pair);
}

int main(int argc, char **argv)
{
	struct bench *b = bench_start(argc, argv);
	static const char *const two_cores[] = { "wake_two_threads", "wake_fd",
						 "wake_latency",     "wake_barrier",
						 "wake_victim",	     "wake_gaps" };

	bench_describe(b, NULL, 0);
	nobody_asleep(b, 0);
	if (bench_two_cores(b)) {
		nobody_asleep(b, 1);
		descriptors(b);
		wake_latency(b);
		wake_cost(b);
	} else {
		for (unsigned i = 0; i < LEN(two_cores); i++)
			bench_skip(b, two_cores[i], "needs two cores");
	}
	wake_idle(b);
	bench_finish(b);
	return 0;
}
