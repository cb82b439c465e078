/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timer_real.c - how late 10,000 timers fire that expire at random within 2 s, in real
 * time, and the CPU time that this takes. All on the second core, one after the other, for
 * the same times.
 *
 *   libfp              a wheel's service on a service core that sleeps
 *   timerfd, next      one timerfd, which a thread sets for the next of a sorted array:
 *                      what it costs to have the kernel and no timers of one's own
 *   timerfd, each      a timerfd for each, in one epoll
 */
#include "timer_contestant.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <libfp/service.h>
#include <libfp/timer.h>

#define LEN(a) (sizeof(a) / sizeof((a)[0]))
#define TIMERS 10000u
#define SPAN_US 2000000u
#define LEAD_US 100000u /* until the first one may expire */
#define EVENTS 64

struct real {
	uint64_t due_ns[TIMERS]; /* whole microseconds: ticks of the wheel */
	float late[TIMERS];
	unsigned fired;
	int cpu;
	uint64_t cpu_ns;
	uint64_t begin_ns;
};

static void note(struct real *r, uint64_t due_ns)
{
	uint64_t now = bench_now_ns();

	if (r->fired < TIMERS)
		r->late[r->fired++] = (float)((double)now - (double)due_ns);
}

static uint64_t clock_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Of all threads but this one. */
static uint64_t others_ns(void)
{
	uint64_t mine = clock_of(CLOCK_THREAD_CPUTIME_ID);

	return clock_of(CLOCK_PROCESS_CPUTIME_ID) - mine;
}

/* Times for a run that begins now. */
static void draw(struct real *r, uint64_t *seed)
{
	r->fired = 0;
	r->begin_ns = (bench_now_ns() / 1000 + LEAD_US) * 1000;
	for (unsigned i = 0; i < TIMERS; i++)
		r->due_ns[i] = r->begin_ns + 1000ull * timer_random_below(seed, SPAN_US);
}

/* ---- a wheel ---- */

static void fire(fp_timer_wheel *wheel, const fp_timer_record *expired, void *user)
{
	(void)wheel;
	note(user, 1000 * expired->expiry_tick);
}

static void sleep_over(void)
{
	struct timespec t = { (LEAD_US + SPAN_US + 50000) / 1000000,
			      (LEAD_US + SPAN_US + 50000) % 1000000 * 1000 };

	while (nanosleep(&t, &t))
		;
}

static void run_wheel(struct real *r, uint64_t *seed)
{
	fp_timer_wheel_opts opts = LIBFP_TIMER_WHEEL_OPTS_INIT;
	fp_service_core_opts core_opts = LIBFP_SERVICE_CORE_OPTS_INIT;
	uint64_t *ids = timer_alloc(TIMERS * sizeof(*ids));
	fp_timer_wheel *wheel;
	fp_service_core *core;
	fp_service *service;

	core_opts.flags = LIBFP_SERVICE_CORE_PIN;
	core_opts.cpu = (uint32_t)r->cpu;
	opts.capacity = TIMERS;
	if (fp_timer_wheel_create(&opts, &wheel) ||
	    fp_timer_wheel_service(wheel, &service) ||
	    fp_service_core_create(&core_opts, &core))
		abort();
	for (unsigned i = 0; i < TIMERS; i++)
		if (fp_timer_create(wheel, fire, r, &ids[i]))
			abort();
	if (fp_service_map(service, core) || fp_service_start(service) ||
	    fp_service_core_start(core))
		abort();
	draw(r, seed);
	for (unsigned i = 0; i < TIMERS; i++)
		fp_timer_arm(wheel, ids[i], r->due_ns[i] / 1000);
	r->cpu_ns = others_ns();
	sleep_over();
	r->cpu_ns = others_ns() - r->cpu_ns;
	fp_service_core_stop(core, LIBFP_FOREVER);
	fp_service_unmap(service, core, LIBFP_FOREVER);
	fp_service_core_destroy(core);
	fp_timer_wheel_destroy(wheel);
	free(ids);
}

/* ---- the kernel's ---- */

static struct itimerspec at_ns(uint64_t ns)
{
	return (struct itimerspec){ .it_value = { (time_t)(ns / 1000000000),
						  (long)(ns % 1000000000) } };
}

static int compare_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void *next_main(void *arg)
{
	struct real *r = arg;
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	uint64_t count;

	bench_pin(r->cpu);
	r->cpu_ns = clock_of(CLOCK_THREAD_CPUTIME_ID);
	while (fd >= 0 && r->fired < TIMERS) {
		struct itimerspec at = at_ns(r->due_ns[r->fired]);

		if (bench_now_ns() < r->due_ns[r->fired]) {
			timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, NULL);
			while (read(fd, &count, sizeof(count)) < 0 && errno == EINTR)
				;
		}
		note(r, r->due_ns[r->fired]);
	}
	r->cpu_ns = clock_of(CLOCK_THREAD_CPUTIME_ID) - r->cpu_ns;
	close(fd);
	return NULL;
}

static void *each_main(void *arg)
{
	struct real *r = arg;
	struct epoll_event events[EVENTS];
	int epoll = epoll_create1(EPOLL_CLOEXEC),
	    *fds = timer_alloc(TIMERS * sizeof(int));
	unsigned open;
	uint64_t count;
	int n;

	bench_pin(r->cpu);
	for (open = 0; open < TIMERS; open++) {
		struct epoll_event event = { .events = EPOLLIN, .data.u32 = open };
		struct itimerspec at = at_ns(r->due_ns[open]);

		fds[open] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
		if (fds[open] < 0)
			break;
		timerfd_settime(fds[open], TFD_TIMER_ABSTIME, &at, NULL);
		epoll_ctl(epoll, EPOLL_CTL_ADD, fds[open], &event);
	}
	r->cpu_ns = clock_of(CLOCK_THREAD_CPUTIME_ID);
	while (open == TIMERS && r->fired < TIMERS) {
		n = epoll_wait(epoll, events, EVENTS, -1);
		for (int i = 0; i < n; i++) {
			uint32_t timer = events[i].data.u32;

			if (read(fds[timer], &count, sizeof(count)) > 0)
				note(r, r->due_ns[timer]);
		}
	}
	r->cpu_ns = clock_of(CLOCK_THREAD_CPUTIME_ID) - r->cpu_ns;
	while (open)
		close(fds[--open]);
	close(epoll);
	free(fds);
	return NULL;
}

static void run_thread(struct real *r, void *(*run)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, r))
		abort();
	pthread_join(thread, NULL);
}

static void run_next(struct real *r, uint64_t *seed)
{
	draw(r, seed);
	qsort(r->due_ns, TIMERS, sizeof(r->due_ns[0]), compare_ns);
	run_thread(r, next_main);
}

static void run_each(struct real *r, uint64_t *seed)
{
	draw(r, seed);
	run_thread(r, each_main);
}

static const struct {
	const char *who;
	void (*run)(struct real *r, uint64_t *seed);
} ways[] = {
	{ "libfp", run_wheel },
	{ "timerfd, next", run_next },
	{ "timerfd, each", run_each },
};

void timer_real(struct bench *b)
{
	static struct real real;

	if (!bench_wanted(b, "timer_real", "2 s", 1, TIMERS, 0))
		return;
	if (!bench_two_cores(b)) {
		bench_skip(b, "timer_real", "needs two cores");
		return;
	}
	bench_pin(bench_cpu(b, 0));
	for (unsigned i = 0; i < LEN(ways); i++) {
		struct bench_case c = { .row = "timer_real",
					.mode = "2 s",
					.who = ways[i].who,
					.unit = "ns",
					.burst = 1,
					.capacity = TIMERS };
		uint64_t seed = 77777 + bench_process(b);

		bench_progress(b, "timers, real time", (double)i / LEN(ways));
		real.cpu = bench_cpu(b, 1);
		ways[i].run(&real, &seed);
		bench_samples(b, &c, real.late, real.fired);
		if (real.fired)
			bench_figure(b, "timer_real_cpu", ways[i].who, "us",
				     (double)real.cpu_ns / 1e3 / real.fired);
	}
	bench_unpin(b);
}
