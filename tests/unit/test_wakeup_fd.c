/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The descriptor of a wake-up: one eventfd, written once per arm, in each mode.
 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include "child.h"
#include "hold.h"
#include "wake_test.h"

static int readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && (p.revents & POLLIN);
}

static int open_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	CHECK(d != NULL);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void there_is_one_descriptor(void)
{
	WT_EACH_MODE(m)
	{
		fp_wakeup *w = wt_wakeup(m);
		int before = open_descriptors(), fd;

		fpt_where("%s", m->name);
		CHECK_EQ(fp_wakeup_arm(w), -ENXIO);
		CHECK_EQ(fp_wakeup_clear(w), -ENXIO);
		fd = fp_wakeup_fd(w);
		CHECK(fd >= 0);
		CHECK_EQ(fp_wakeup_fd(w), fd);
		CHECK_EQ(open_descriptors(), before + 1);
		CHECK(fcntl(fd, F_GETFL) & O_NONBLOCK);
		CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
		CHECK_EQ(readable(fd), 0);
		CHECK_EQ(fp_wakeup_destroy(w), 0);
		CHECK_EQ(fcntl(fd, F_GETFD), -1);
		CHECK_EQ(open_descriptors(), before);
	}
}

static void an_armed_wakeup_can_be_destroyed(void)
{
	WT_EACH_MODE(m)
	{
		fp_wakeup *w = wt_wakeup(m);
		int before = open_descriptors();

		CHECK(fp_wakeup_fd(w) >= 0);
		CHECK_EQ(fp_wakeup_arm(w), 0);
		CHECK_EQ(wt_stats(w).waiting, 0);
		CHECK_EQ(fp_wakeup_destroy(w), 0);
		CHECK_EQ(open_descriptors(), before);
	}
}

struct asker {
	fp_wakeup *w;
	pthread_barrier_t *together;
	int fd;
};

static void *ask(void *arg)
{
	struct asker *a = arg;

	pthread_barrier_wait(a->together);
	a->fd = fp_wakeup_fd(a->w);
	return NULL;
}

static void threads_that_ask_at_once_get_the_same(void)
{
	for (int round = 0; round < 100; round++) {
		fp_wakeup *w = wt_wakeup(&wt_modes[1]);
		int before = open_descriptors();
		pthread_barrier_t together;
		pthread_t t[4];
		struct asker a[4];

		pthread_barrier_init(&together, NULL, 4);
		for (int i = 0; i < 4; i++) {
			a[i] = (struct asker){ w, &together, -1 };
			CHECK_EQ(pthread_create(&t[i], NULL, ask, &a[i]), 0);
		}
		for (int i = 0; i < 4; i++) {
			pthread_join(t[i], NULL);
			CHECK(a[i].fd >= 0);
			CHECK_EQ(a[i].fd, a[0].fd);
		}
		pthread_barrier_destroy(&together);
		CHECK_EQ(open_descriptors(), before + 1);
		CHECK_EQ(fp_wakeup_destroy(w), 0);
		CHECK_EQ(open_descriptors(), before);
	}
}

/* ---- arm, signal, clear ---- */

static void a_descriptor_is_written_once_per_arm(void)
{
	WT_EACH_MODE(m)
	{
		fp_wakeup *w = wt_wakeup(m);
		int fd = fp_wakeup_fd(w);

		fpt_where("%s", m->name);
		/* not armed: not written */
		CHECK_EQ(fp_wakeup_signal(w), 0);
		CHECK_EQ(readable(fd), 0);
		CHECK_EQ(wt_stats(w).fd_writes, 0);
		for (uint64_t i = 1; i <= 5; i++) {
			CHECK_EQ(fp_wakeup_arm(w), 0);
			CHECK_EQ(readable(fd), 0);
			CHECK_EQ(fp_wakeup_signal(w), 1);
			CHECK_EQ(readable(fd), 1);
			for (int more = 0; more < 10; more++)
				CHECK_EQ(fp_wakeup_signal(w), 0);
			CHECK_EQ(wt_stats(w).fd_writes, i);
			CHECK_EQ(fp_wakeup_clear(w), 1);
			CHECK_EQ(readable(fd), 0);
		}
		/* armed and not signalled */
		CHECK_EQ(fp_wakeup_arm(w), 0);
		CHECK_EQ(fp_wakeup_clear(w), 0);
		CHECK_EQ(fp_wakeup_signal(w), 0);
		CHECK_EQ(readable(fd), 0);
		/* armed twice is armed */
		CHECK_EQ(fp_wakeup_arm(w), 0);
		CHECK_EQ(fp_wakeup_arm(w), 0);
		CHECK_EQ(fp_wakeup_signal(w), 1);
		CHECK_EQ(fp_wakeup_signal(w), 0);
		CHECK_EQ(fp_wakeup_clear(w), 1);
		CHECK_EQ(wt_stats(w).fd_writes, 6);
		CHECK_EQ(wt_stats(w).sleeps, 0);
		CHECK_EQ(fp_wakeup_destroy(w), 0);
	}
}

static void an_interrupt_writes_it_too(void)
{
	WT_EACH_MODE(m)
	{
		fp_wakeup *w = wt_wakeup(m);
		int fd = fp_wakeup_fd(w);

		fpt_where("%s", m->name);
		CHECK_EQ(fp_wakeup_interrupt(w), 0);
		CHECK_EQ(readable(fd), 0);
		CHECK_EQ(fp_wakeup_arm(w), 0);
		CHECK_EQ(fp_wakeup_interrupt(w), 0);
		CHECK_EQ(readable(fd), 1);
		CHECK_EQ(fp_wakeup_clear(w), 1);
		CHECK_EQ(fp_wakeup_destroy(w), 0);
	}
}

static void sleepers_and_the_descriptor_share_a_wakeup(void)
{
	WT_EACH_MODE(m)
	{
		fp_wakeup *w = wt_wakeup(m);
		struct wt_sleeper s[2];
		int fd = fp_wakeup_fd(w);

		fpt_where("%s", m->name);
		for (int i = 0; i < 2; i++)
			wt_sleeper_start(&s[i], w, LIBFP_FOREVER);
		CHECK_EQ(fp_wakeup_arm(w), 0);
		CHECK_EQ(fp_wakeup_signal(w), 1);
		CHECK_EQ(readable(fd), 1);
		for (int i = 0; i < 2; i++)
			CHECK_EQ(wt_sleeper_join(&s[i]), 0);
		CHECK_EQ(fp_wakeup_clear(w), 1);
		CHECK_EQ(fp_wakeup_destroy(w), 0);
	}
}

/* ---- a signaller that writes late ---- */

struct late {
	fp_wakeup *w;
	struct fpt_hold hold;
	int rc;
};

static void *signal_late(void *arg)
{
	struct late *l = arg;

	fpt_hold_me(&l->hold);
	l->rc = fp_wakeup_signal(l->w);
	fpt_hold_done(&l->hold);
	return NULL;
}

static void a_late_write_costs_one_poll_for_nothing(void)
{
	WT_EACH_MODE(m)
	{
		struct late l = { .w = wt_wakeup(m) };
		int fd = fp_wakeup_fd(l.w);
		pthread_t t;

		fpt_where("%s", m->name);
		fpt_hold_init(&l.hold, "WAKE_DISARMED");
		CHECK_EQ(fp_wakeup_arm(l.w), 0);
		CHECK_EQ(pthread_create(&t, NULL, signal_late, &l), 0);
		CHECK_EQ(fpt_hold_reached(&l.hold), 1);
		/* The signal came, but its write did not yet. */
		CHECK_EQ(readable(fd), 0);
		CHECK_EQ(fp_wakeup_clear(l.w), 1);
		CHECK_EQ(fp_wakeup_arm(l.w), 0);
		fpt_hold_release(&l.hold);
		pthread_join(t, NULL);
		fpt_hold_end(&l.hold);
		CHECK_EQ(l.rc, 1);
		/* For nothing, but this arm still works, */
		CHECK_EQ(readable(fd), 1);
		CHECK_EQ(fp_wakeup_signal(l.w), 1);
		CHECK_EQ(fp_wakeup_clear(l.w), 1);
		CHECK_EQ(readable(fd), 0);
		/* and so does the next. */
		CHECK_EQ(fp_wakeup_arm(l.w), 0);
		CHECK_EQ(readable(fd), 0);
		CHECK_EQ(fp_wakeup_signal(l.w), 1);
		CHECK_EQ(readable(fd), 1);
		CHECK_EQ(fp_wakeup_clear(l.w), 1);
		CHECK_EQ(fp_wakeup_destroy(l.w), 0);
	}
}

/* ---- threads that sleep on it ---- */

struct poller {
	struct wt_thread t;
	fp_wakeup *w;
	int epoll;
	int ready;
};

static void *sleep_on_fd(void *arg)
{
	struct poller *p = arg;
	struct epoll_event ev = { .events = EPOLLIN };
	struct pollfd pf = { .fd = fp_wakeup_fd(p->w), .events = POLLIN };
	int ep;

	wt_here(&p->t);
	CHECK_EQ(fp_wakeup_arm(p->w), 0);
	if (p->epoll) {
		ep = epoll_create1(EPOLL_CLOEXEC);
		CHECK(ep >= 0);
		CHECK_EQ(epoll_ctl(ep, EPOLL_CTL_ADD, pf.fd, &ev), 0);
		p->ready = epoll_wait(ep, &ev, 1, -1);
		close(ep);
	} else {
		p->ready = poll(&pf, 1, -1);
	}
	CHECK_EQ(fp_wakeup_clear(p->w), 1);
	wt_through(&p->t);
	return NULL;
}

static void a_signal_ends_poll_and_epoll(void)
{
	WT_EACH_MODE(m)
	for (int with_epoll = 0; with_epoll < 2; with_epoll++) {
		struct poller p = { .w = wt_wakeup(m), .epoll = with_epoll };

		fpt_where("%s epoll %d", m->name, with_epoll);
		CHECK(fp_wakeup_fd(p.w) >= 0);
		CHECK_EQ(pthread_create(&p.t.thread, NULL, sleep_on_fd, &p), 0);
		while (!(__atomic_load_n(&p.w->state.value, __ATOMIC_RELAXED) &
			 FPI_WAKEUP_ARMED))
			wt_pause();
		CHECK_EQ(wt_until_asleep(&p.t), 1);
		CHECK_EQ(fp_wakeup_signal(p.w), 1);
		pthread_join(p.t.thread, NULL);
		CHECK_EQ(p.ready, 1);
		CHECK_EQ(wt_stats(p.w).fd_writes, 1);
		CHECK_EQ(fp_wakeup_destroy(p.w), 0);
	}
}

/* A ring that is bound writes it once, however many elements come. */
static void a_ring_writes_it_once_per_arm(void)
{
	WT_EACH_MODE(m)
	RT_EACH_MODE(ring)
	{
		fp_wakeup *w = wt_wakeup(m);
		fp_ring *r = rt_ring(64, 8, ring, 0);
		int fd = fp_wakeup_fd(w);
		uint64_t e[64];

		fpt_where("%s %s", m->name, ring->name);
		CHECK_EQ(fp_ring_set_wakeup(r, LIBFP_RING_CONSUMER, w), 0);
		for (int round = 0; round < 3; round++) {
			CHECK_EQ(fp_wakeup_arm(w), 0);
			for (uint64_t i = 0; i < 20; i++)
				CHECK_EQ(fp_ring_enqueue_u64(r, i), 1);
			CHECK_EQ(readable(fd), 1);
			CHECK_EQ(fp_wakeup_clear(w), 1);
			CHECK_EQ(fp_ring_dequeue_burst(r, e, 64, NULL), 20);
			CHECK_EQ(wt_stats(w).fd_writes, round + 1);
		}
		CHECK_EQ(fp_wakeup_arm(w), 0);
		CHECK_EQ(fp_ring_close(r), 0);
		CHECK_EQ(readable(fd), 1);
		CHECK_EQ(fp_wakeup_clear(w), 1);
		CHECK_EQ(fp_ring_destroy(r), 0);
		CHECK_EQ(fp_wakeup_destroy(w), 0);
	}
}

/* ---- none left ---- */

static void without_descriptors(void *arg)
{
	fp_wakeup *w = wt_wakeup(&wt_modes[1]);
	struct rlimit none, was;

	(void)arg;
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &was), 0);
	none = was;
	none.rlim_cur = 0;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
	CHECK_EQ(fp_wakeup_fd(w), -EMFILE);
	CHECK_EQ(fp_wakeup_fd(w), -EMFILE);
	CHECK_EQ(fp_wakeup_arm(w), -ENXIO);
	CHECK_EQ(fp_wakeup_signal(w), 0);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &was), 0);
	CHECK(fp_wakeup_fd(w) >= 0);
	CHECK_EQ(fp_wakeup_arm(w), 0);
	CHECK_EQ(fp_wakeup_signal(w), 1);
	CHECK_EQ(fp_wakeup_destroy(w), 0);
}

static void without_descriptors_it_says_so(void)
{
#ifdef FPT_EMULATED
	printf("  not in this build: an emulator does not limit descriptors\n");
	(void)without_descriptors;
#else
	fpt_in_child(without_descriptors, NULL);
#endif
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(there_is_one_descriptor),
		FPT_CASE(an_armed_wakeup_can_be_destroyed),
		FPT_CASE(threads_that_ask_at_once_get_the_same),
		FPT_CASE(a_descriptor_is_written_once_per_arm),
		FPT_CASE(an_interrupt_writes_it_too),
		FPT_CASE(sleepers_and_the_descriptor_share_a_wakeup),
		FPT_CASE(a_late_write_costs_one_poll_for_nothing),
		FPT_CASE(a_signal_ends_poll_and_epoll),
		FPT_CASE(a_ring_writes_it_once_per_arm),
		FPT_CASE(without_descriptors_it_says_so),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
