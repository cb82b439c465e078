/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prepares a scenario of wake-ups, runs its letters and checks what came out; see
 * wakeup_scenario.h.
 */
#include "wakeup_scenario.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fork.h"
#include "model_system.h"

#define THINGS 2
#define HOUR_NS 3600000000000ull
#define PAYLOAD 77

static const struct wakeup_scenario *scenario;

static fp_wakeup wakeups[THINGS];
static struct thing {
	fpi_atomic_u32 there;
	uint32_t payload;
} things[THINGS];

/* Of an execution. */
static struct run {
	unsigned sleeps_for[EX_THREADS]; /* set of things; 0: does not sleep */
	int prepared[EX_THREADS];	 /* may not miss an interrupt from here on */
	int interrupted, cancelled;
	uint32_t flag; /* how many have prepared */
	int arms;
} run;

static fp_wakeup *wakeup_of(int thing)
{
	return &wakeups[scenario->kind == FPI_WAKEUP_CORES ? thing : 0];
}

/* Threads that begin with one of these. */
static unsigned threads_with(const char *letters)
{
	unsigned n = 0;

	for (int t = 0; t < EX_THREADS && scenario->threads[t]; t++)
		n += strchr(letters, *scenario->threads[t]) != NULL;
	return n;
}

/* ---- things ---- */

static void publish(int i)
{
	FPI_PLAIN_STORE(&things[i].payload, PAYLOAD);
	FPI_STORE(&things[i].there, 1, EX_RELEASE);
	fpi_wakeup_signal(wakeup_of(i));
}

/* A look at the things: whether all that are wanted are there. */
static int all_there(unsigned wanted)
{
	for (int i = 0; i < THINGS; i++) {
		if (!(wanted >> i & 1))
			continue;
		if (!FPI_LOAD(&things[i].there, EX_ACQUIRE))
			return 0;
		EX_CHECK(FPI_PLAIN_LOAD(&things[i].payload) == PAYLOAD);
	}
	return 1;
}

/* ---- sleeping by prepare and wait ---- */

static void raise_flag(int t)
{
	if (run.prepared[t]++ == 0)
		ex_rmw(&run.flag, sizeof(run.flag), EX_ADD, 1, EX_RELEASE, "prepared");
}

static void wait_until(int t, unsigned wanted, uint64_t timeout)
{
	int err = 0;

	run.sleeps_for[t] = wanted;
	while (!err && !all_there(wanted)) {
		uint64_t key;

		EX_CHECK(fp_wakeup_prepare(wakeups, &key) == 0);
		if (threads_with("x"))
			raise_flag(t);
		ex_plain(&wakeups[0].mem, sizeof(wakeups[0].mem), 0, "wake-up");
		if (all_there(wanted)) {
			EX_CHECK(fp_wakeup_cancel(wakeups, key) == 0);
			break;
		}
		err = fp_wakeup_wait(wakeups, key, timeout);
	}
	run.sleeps_for[t] = 0;
	if (err == -ECANCELED)
		run.cancelled++;
	EX_CHECK(err == 0 || (err == -ECANCELED && run.interrupted) ||
		 (err == -ETIMEDOUT && timeout == HOUR_NS));
}

/* Told of an interrupt although it does not sleep. */
static void poll_once(int t)
{
	uint64_t key;
	int err;

	EX_CHECK(fp_wakeup_prepare(wakeups, &key) == 0);
	raise_flag(t);
	err = fp_wakeup_wait(wakeups, key, 0);
	if (err == -ECANCELED)
		run.cancelled++;
	/* Ended by the epoch: it must know of the interrupt that moved it. */
	EX_CHECK(err == -ECANCELED || err == -ETIMEDOUT ||
		 (err == 0 && !threads_with("x")));
}

static void interrupt(void)
{
	ex_await(&run.flag, sizeof(run.flag), threads_with("abctz"), EX_ACQUIRE,
		 "prepared");
	run.interrupted = 1;
	EX_CHECK(fp_wakeup_interrupt(wakeups) == 0);
}

/* ---- sleeping by descriptor ---- */

static void poll_until(int t, unsigned wanted)
{
	run.sleeps_for[t] = wanted;
	if (scenario->new_fd)
		EX_CHECK(fp_wakeup_fd(wakeups) >= 0);
	while (!all_there(wanted)) {
		int polled = 0;

		EX_CHECK(fp_wakeup_arm(wakeups) == 0);
		run.arms++;
		if (!all_there(wanted)) {
			model_poll();
			polled = 1;
		}
		EX_CHECK(fp_wakeup_clear(wakeups) >= 0);
		EX_CHECK(!polled || !scenario->at_once || all_there(wanted));
	}
	run.sleeps_for[t] = 0;
}

/* ---- sleeping as a service core ---- */

static void core_until(int t, int core, unsigned wanted)
{
	uint32_t bit = fpi_wakeup_core_bit(scenario->one_bit ? 0 : (uint64_t)core);

	run.sleeps_for[t] = wanted;
	while (!all_there(wanted)) {
		uint32_t key = fpi_wakeup_cores_key();

		for (int i = 0; i < THINGS; i++)
			if (wanted >> i & 1)
				fpi_wakeup_cores_announce(wakeup_of(i), bit);
		fpi_wakeup_barrier(wakeups);
		if (!all_there(wanted))
			fpi_wakeup_cores_sleep(key, bit, FPI_NO_DEADLINE);
	}
	run.sleeps_for[t] = 0;
}

/* ---- letters ---- */

static void destroy(void)
{
	if (fpi_wakeup_in_use(wakeups))
		return;
	ex_plain(&wakeups[0].mem, sizeof(wakeups[0].mem), 1, "freed wake-up");
}

static void unbind(void)
{
	ex_plain(&wakeups[0].mem, sizeof(wakeups[0].mem), 0, "wake-up");
	fpi_wakeup_unbind(wakeups);
}

static void letter(int t, char op)
{
	switch (op) {
	case '0':
	case '1':
		publish(op - '0');
		break;
	case 's':
		fpi_wakeup_signal(wakeups);
		break;
	case 'x':
		interrupt();
		break;
	case 'a':
	case 'b':
	case 'c':
		wait_until(t, (unsigned)(op - 'a' + 1), LIBFP_FOREVER);
		break;
	case 't':
		wait_until(t, 1, HOUR_NS);
		break;
	case 'z':
		poll_once(t);
		break;
	case 'f':
	case 'g':
	case 'h':
		poll_until(t, (unsigned)(op - 'f' + 1));
		break;
	case 'A':
	case 'B':
	case 'C':
		core_until(t, 0, (unsigned)(op - 'A' + 1));
		break;
	case 'E':
	case 'F':
	case 'G':
		core_until(t, 1, (unsigned)(op - 'E' + 1));
		break;
	case 'u':
		unbind();
		break;
	case 'v':
		ex_await_not(&wakeups[0].state.value, sizeof(uint64_t), 0, EX_RELAXED,
			     "state");
		break;
	case 'D':
		destroy();
		break;
	}
}

static void thread(int t)
{
	for (const char *p = scenario->threads[t]; *p; p++)
		letter(t, *p);
}

/* ---- checks ---- */

static void finish(void)
{
	uint64_t state = wakeups[0].state.value & ~FPI_WAKEUP_FENCED;

	if (scenario->kind != FPI_WAKEUP_CORES)
		EX_CHECK(state == 0);
	EX_CHECK(wakeups[0].fd_writes.value <= (uint64_t)run.arms);
	EX_CHECK(run.cancelled <= 1 || scenario->kind == FPI_WAKEUP_ALL);
}

/* Nobody can run: whoever sleeps, sleeps for something that is not there. */
static int stuck(void)
{
	unsigned there = 0;

	for (int i = 0; i < THINGS; i++)
		there |= things[i].there.value << i;
	for (int t = 0; t < EX_THREADS; t++) {
		unsigned wanted = run.sleeps_for[t];

		EX_CHECK(!wanted || (wanted & ~there));
		EX_CHECK(!wanted || !run.interrupted);
	}
	return 1;
}

static void setup(void)
{
	memset(wakeups, 0, sizeof(wakeups));
	memset(things, 0, sizeof(things));
	memset(&run, 0, sizeof(run));
	model_eventfd_count = 0;
	for (int i = 0; i < THINGS; i++) {
		fp_wakeup *w = &wakeups[i];

		fpi_wakeup_init(w, scenario->kind, scenario->flags);
		w->bound.value = (uint64_t)scenario->bound;
		ex_statistic(&w->sleeps.value);
		ex_statistic(&w->wakes.value);
		ex_statistic(&w->spurious.value);
		ex_statistic(&w->fallback_polls.value);
		ex_statistic(&w->fd_writes.value);
	}
	if (!scenario->new_fd)
		fp_wakeup_fd(wakeups);
	ex_name(&wakeups[0].state.value, "state");
	ex_name(&wakeups[1].state.value, "state 1");
	ex_name(&wakeups[0].epoch.value, "epoch");
	ex_name(&things[0].there.value, "thing 0");
	ex_name(&things[1].there.value, "thing 1");
}

void wakeup_scenario_prepare(const struct wakeup_scenario *s, struct ex_test *test)
{
	scenario = s;
	model_membarrier_fails = s->no_membarrier;
	if (fpi_wakeup_ready()) {
		fprintf(stderr, "%s: cannot prepare\n", s->name);
		exit(2);
	}
	*test = (struct ex_test){ .name = s->name,
				  .setup = setup,
				  .thread = thread,
				  .finish = finish,
				  .stuck = stuck,
				  .timeouts = s->timeouts,
				  .asleep = s->asleep };
	while (test->threads < EX_THREADS && s->threads[test->threads])
		test->threads++;
}
