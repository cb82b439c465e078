/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * service_late.c - how late a deadline is kept: by a service that has announced it, beside
 * a thread that sleeps in futex(2), with the kernel's default slack of 50 us and with
 * 1 ns, or on a timerfd. All on the second core, in turn.
 *
 * libfp's own threads ask for 1 ns of slack. "margin": the core wakes 60 us early and
 * spins. "lent": the core runs on a thread of the bench, whose slack is left as it is.
 */
#include "service_contestant.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <libfp/service.h>

#define LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MARGIN_NS 60000
#define SAMPLES_MAX 200

static const struct ahead {
	const char *mode;
	uint64_t ns;
	unsigned batch, rounds;
} aheads[] = {
	{ "0.1 ms ahead", 100000, 50, 4 },
	{ "1 ms ahead", 1000000, 20, 8 },
	{ "20 ms ahead", 20000000, 5, 3 },
};

/* A batch of deadlines, one after the other. */
struct batch {
	uint64_t ahead_ns, deadline_ns;
	unsigned n, wanted;
	float values[SAMPLES_MAX];
	fp_service *service;
	fp_service_core *core;
	int cpu;
	unsigned long slack_ns;
	atomic_int done;
};

static void next_deadline(struct batch *t)
{
	t->deadline_ns = bench_now_ns() + t->ahead_ns;
}

static void note(struct batch *t)
{
	t->values[t->n++] = (float)((double)bench_now_ns() - (double)t->deadline_ns);
}

/* ---- the kernel's own ---- */

static struct timespec as_timespec(uint64_t ns)
{
	return (struct timespec){ (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
}

static void *futex_main(void *arg)
{
	struct batch *t = arg;
	uint32_t word = 0;

	bench_pin(t->cpu);
	prctl(PR_SET_TIMERSLACK, t->slack_ns, 0, 0, 0);
	while (t->n < t->wanted) {
		struct timespec until;

		next_deadline(t);
		until = as_timespec(t->deadline_ns);
		while (bench_now_ns() < t->deadline_ns)
			syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 0, &until,
				NULL, FUTEX_BITSET_MATCH_ANY);
		note(t);
	}
	return NULL;
}

static void *timerfd_main(void *arg)
{
	struct batch *t = arg;
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	uint64_t count;

	bench_pin(t->cpu);
	while (fd >= 0 && t->n < t->wanted) {
		struct itimerspec until = { 0 };

		next_deadline(t);
		until.it_value = as_timespec(t->deadline_ns);
		timerfd_settime(fd, TFD_TIMER_ABSTIME, &until, NULL);
		while (read(fd, &count, sizeof(count)) < 0 && errno == EINTR)
			;
		note(t);
	}
	close(fd);
	return NULL;
}

static void run_thread(struct batch *t, void *(*run)(void *))
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run, t))
		abort();
	pthread_join(thread, NULL);
}

static void run_futex(struct batch *t)
{
	t->slack_ns = 50000;
	run_thread(t, futex_main);
}

static void run_exact_futex(struct batch *t)
{
	t->slack_ns = 1;
	run_thread(t, futex_main);
}

static void run_timerfd(struct batch *t)
{
	run_thread(t, timerfd_main);
}

/* ---- services ---- */

static int32_t await_deadline(void *user)
{
	struct batch *t = user;

	if (t->n == t->wanted || bench_now_ns() < t->deadline_ns)
		return -EAGAIN;
	if (t->deadline_ns)
		note(t);
	if (t->n < t->wanted) {
		next_deadline(t);
		fp_service_set_deadline(t->service, t->deadline_ns);
	} else {
		fp_service_set_deadline(t->service, 0);
		atomic_store_explicit(&t->done, 1, memory_order_release);
	}
	return 1;
}

static void open_service(struct batch *t, uint64_t margin_ns)
{
	fp_service_core_opts core_opts = LIBFP_SERVICE_CORE_OPTS_INIT;
	fp_service_opts opts = LIBFP_SERVICE_OPTS_INIT;

	core_opts.flags = LIBFP_SERVICE_CORE_PIN;
	core_opts.cpu = (uint32_t)t->cpu;
	core_opts.late_margin_ns = margin_ns;
	opts.run = await_deadline;
	opts.user = t;
	opts.flags = LIBFP_SERVICE_WAKEABLE;
	if (fp_service_core_create(&core_opts, &t->core) ||
	    fp_service_create(&opts, &t->service) || fp_service_start(t->service) ||
	    fp_service_map(t->service, t->core))
		abort();
}

static void await_done(struct batch *t)
{
	while (!atomic_load_explicit(&t->done, memory_order_acquire))
		service_sleep(t->ahead_ns);
	fp_service_core_stop(t->core, LIBFP_FOREVER);
}

static void close_service(struct batch *t)
{
	fp_service_destroy(t->service, LIBFP_SERVICE_FORCE, LIBFP_FOREVER);
	fp_service_core_destroy(t->core);
}

static void run_own(struct batch *t, uint64_t margin_ns)
{
	open_service(t, margin_ns);
	if (fp_service_core_start(t->core))
		abort();
	await_done(t);
	close_service(t);
}

static void run_core(struct batch *t)
{
	run_own(t, 0);
}

static void run_margin(struct batch *t)
{
	run_own(t, MARGIN_NS);
}

static void *lent_main(void *arg)
{
	struct batch *t = arg;

	bench_pin(t->cpu);
	fp_service_core_run(t->core, LIBFP_FOREVER);
	return NULL;
}

static void run_lent(struct batch *t)
{
	pthread_t thread;

	open_service(t, 0);
	if (pthread_create(&thread, NULL, lent_main, t))
		abort();
	await_done(t);
	pthread_join(thread, NULL);
	close_service(t);
}

static const struct {
	const char *who;
	void (*run)(struct batch *t);
} methods[] = {
	{ "libfp", run_core },
	{ "libfp, margin", run_margin },
	{ "libfp, lent", run_lent },
	{ "futex", run_futex },
	{ "futex, slack 1 ns", run_exact_futex },
	{ "timerfd", run_timerfd },
};

static void measure(struct bench *b, const struct ahead *ahead)
{
	static struct batch batches[LEN(methods)];
	unsigned rounds = (unsigned)(ahead->rounds * bench_scale(b) + 0.5);

	rounds = rounds < 1 ? 1 : rounds > ahead->rounds ? ahead->rounds : rounds;
	for (unsigned m = 0; m < LEN(methods); m++)
		batches[m] =
			(struct batch){ .ahead_ns = ahead->ns, .cpu = bench_cpu(b, 1) };
	for (unsigned i = 0; i < rounds * LEN(methods); i++) {
		struct batch *t = &batches[i % LEN(methods)];

		bench_progress(b, "services, deadlines",
			       (double)i / (double)(rounds * LEN(methods)));
		t->wanted = t->n + ahead->batch;
		t->deadline_ns = 0;
		atomic_store(&t->done, 0);
		methods[i % LEN(methods)].run(t);
	}
	for (unsigned m = 0; m < LEN(methods); m++) {
		struct bench_case c = { .row = "service_late",
					.mode = ahead->mode,
					.who = methods[m].who,
					.unit = "ns" };

		bench_samples(b, &c, batches[m].values, batches[m].n);
	}
}

void service_late(struct bench *b)
{
	bench_pin(bench_cpu(b, 0));
	for (unsigned i = 0; i < LEN(aheads); i++)
		if (bench_wanted(b, "service_late", aheads[i].mode, 0, 0, 0))
			measure(b, &aheads[i]);
	bench_unpin(b);
}
