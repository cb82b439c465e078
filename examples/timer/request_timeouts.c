/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * request-timeouts - one thread sends requests and arms a timer for each; every other one
 * is answered, which cancels its timer; the main thread sleeps until something expires,
 * and polls. However answer and expiry race, each request ends exactly once: by its
 * answer if fp_timer_cancel() says 1, by its time-out if the callback runs.
 *
 * A periodic timer counts how long it took. Prints the counts.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <libfp.h>

#define REQUESTS 1000
#define TIMEOUT_NS 20000000u
#define BEAT_NS 5000000u

static fp_timer_wheel *wheel;
static struct {
	uint64_t timer;
	atomic_int ends; /* 1 in the end */
} requests[REQUESTS];
static atomic_int answered;
static int timed_out, sent_all; /* the polling thread's */
static uint64_t beats;
static uint64_t beat_timer, sent_timer;

static void on_time_out(fp_timer_wheel *w, const fp_timer_record *expired, void *user)
{
	(void)w;
	(void)expired;
	requests[(uintptr_t)user].ends++;
	timed_out++;
}

static void on_beat(fp_timer_wheel *w, const fp_timer_record *expired, void *user)
{
	(void)w;
	(void)user;
	beats += 1 + expired->overruns; /* periods that a late poll left out */
}

static void on_sent_all(fp_timer_wheel *w, const fp_timer_record *expired, void *user)
{
	(void)w;
	(void)expired;
	(void)user;
	sent_all = 1;
}

static void *send_requests(void *arg)
{
	uint64_t now, timeout;

	fp_timer_wheel_ticks_from_ns(wheel, TIMEOUT_NS, &timeout);
	for (int i = 0; i < REQUESTS; i++) {
		fp_timer_wheel_now(wheel, &now);
		fp_timer_arm(wheel, requests[i].timer, now + timeout);
	}
	for (int i = 0; i < REQUESTS; i += 2) /* the answers come */
		if (fp_timer_cancel(wheel, requests[i].timer) == 1) {
			requests[i].ends++;
			answered++;
		}
	fp_timer_arm(wheel, sent_timer, 0); /* at once: wakes the polling thread */
	return arg;
}

static int create(void)
{
	fp_timer_wheel_opts opts = LIBFP_TIMER_WHEEL_OPTS_INIT;
	uint64_t now, period;
	int err;

	opts.flags = LIBFP_WHEEL_WAIT;
	opts.capacity = REQUESTS + 2;
	err = fp_timer_wheel_create(&opts, &wheel);
	for (uintptr_t i = 0; !err && i < REQUESTS; i++)
		err = fp_timer_create(wheel, on_time_out, (void *)i, &requests[i].timer);
	if (!err)
		err = fp_timer_create(wheel, on_sent_all, NULL, &sent_timer);
	if (!err)
		err = fp_timer_create(wheel, on_beat, NULL, &beat_timer);
	if (err)
		return err;
	fp_timer_wheel_now(wheel, &now);
	fp_timer_wheel_ticks_from_ns(wheel, BEAT_NS, &period);
	return fp_timer_arm_periodic(wheel, beat_timer, now + period, period,
				     LIBFP_TIMER_SKIP);
}

static int poll_until_all_have_ended(void)
{
	while (!sent_all || answered + timed_out < REQUESTS) {
		uint64_t now;
		int64_t fired;
		int err = fp_timer_wheel_wait(wheel, LIBFP_FOREVER);

		if (err)
			return err;
		fp_timer_wheel_now(wheel, &now);
		fired = fp_timer_wheel_poll(wheel, now, LIBFP_WHEEL_NO_LIMIT);
		if (fired < 0)
			return (int)fired;
	}
	return 0;
}

int main(void)
{
	pthread_t sender;
	int err = create();

	if (err || pthread_create(&sender, NULL, send_requests, NULL)) {
		fprintf(stderr, "request-timeouts: %s\n",
			err ? fp_strerror(err) : "no thread");
		return 1;
	}
	err = poll_until_all_have_ended();
	pthread_join(sender, NULL);
	for (int i = 0; !err && i < REQUESTS; i++)
		if (requests[i].ends != 1) {
			fprintf(stderr, "request-timeouts: request %d ended %d times\n",
				i, requests[i].ends);
			return 1;
		}
	printf("%d answered, %d timed out, %" PRIu64 " beats\n", answered, timed_out,
	       beats);
	if (!err)
		err = fp_timer_wheel_destroy(wheel);
	if (err)
		fprintf(stderr, "request-timeouts: %s\n", fp_strerror(err));
	return err != 0;
}
