/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * timer_timerfd.c - the kernel's timers: a timerfd for each, all of them in one epoll.
 * What is DUE was so for up to a second when it was armed. An expiry is an event of the
 * epoll and a read.
 */
#include "timer_contestant.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define EVENTS 64

static int holds;

static int *fds(const struct timer_set *set)
{
	return set->timers;
}

static int epoll_of(const struct timer_set *set)
{
	return (int)(intptr_t)set->owner;
}

static void settime(int fd, uint64_t ns)
{
	struct itimerspec at = { .it_value = { (time_t)(ns / 1000000000),
					       (long)(ns % 1000000000) } };

	timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, NULL);
}

static void close_all(struct timer_set *set)
{
	for (uint32_t i = 0; i < set->n; i++)
		if (fds(set)[i] >= 0)
			close(fds(set)[i]);
	close(epoll_of(set));
	free(set->timers);
}

/* As many as the process may have open. */
static int open_all(struct timer_set *set)
{
	int all = 1;

	set->timers = timer_alloc(set->n * sizeof(int));
	set->owner = (void *)(intptr_t)epoll_create1(EPOLL_CLOEXEC);
	for (uint32_t i = 0; i < set->n; i++) {
		struct epoll_event event = { .events = EPOLLIN, .data.u32 = i };
		int fd = all ? timerfd_create(CLOCK_MONOTONIC,
					      TFD_CLOEXEC | TFD_NONBLOCK) :
			       -1;

		fds(set)[i] = fd;
		all = fd >= 0 && !epoll_ctl(epoll_of(set), EPOLL_CTL_ADD, fd, &event);
	}
	if (!all)
		close_all(set);
	return all;
}

static void load(struct timer_set *set, const struct timer_plan *plan)
{
	uint64_t base = bench_now_ns() / 1000;

	if (plan->when == TIMER_DUE)
		base -= TIMER_SPREAD_US;
	else
		base += timer_ahead_us(plan->when);
	for (uint32_t k = 0; k < set->n; k++) {
		set->handles[k] = (uint64_t)fds(set)[plan->order[k]];
		set->expiries[k] = 1000 * (base + plan->us[plan->order[k]]);
	}
}

static void arm(struct timer_set *set)
{
	for (uint32_t k = 0; k < set->n; k++)
		settime((int)set->handles[k], set->expiries[k]);
}

static void cancel(struct timer_set *set)
{
	for (uint32_t k = 0; k < set->n; k++)
		settime((int)set->handles[k], 0);
}

static void expire(struct timer_set *set)
{
	struct epoll_event events[EVENTS];
	uint64_t base = bench_now_ns() + 1000ull * TIMER_AHEAD_US, count;
	int n;

	while ((n = epoll_wait(epoll_of(set), events, EVENTS, 0)) > 0)
		for (int i = 0; i < n; i++) {
			uint32_t timer = events[i].data.u32;

			if (read(fds(set)[timer], &count, sizeof(count)) > 0)
				set->fired++;
			if (holds)
				settime(fds(set)[timer], base + 1000ull * set->us[timer]);
		}
}

static void hold(struct timer_set *set)
{
	holds = 1;
	expire(set);
	holds = 0;
}

const struct timer_contestant timer_timerfd = {
	.who = "timerfd",
	.most = 10000,
	.every = 8,
	.open = open_all,
	.close = close_all,
	.load = load,
	.steps = { [TIMER_ARM] = arm,
		   [TIMER_REARM] = arm,
		   [TIMER_PUT_OFF] = arm,
		   [TIMER_CANCEL] = cancel,
		   [TIMER_EXPIRE] = expire,
		   [TIMER_EXPIRE_COLD] = expire,
		   [TIMER_HOLD] = hold },
};
