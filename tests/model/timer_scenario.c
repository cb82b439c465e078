/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prepares a scenario of timers, runs its letters and checks what came out; see
 * timer_scenario.h.
 *
 * The wheel is made once per scenario, in memory of our own that is set back to a snapshot
 * before every execution; timers take none.
 */
#include "timer_scenario.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timer/timer_internal.h"

#define MAIN EX_THREADS /* "thread" of preparation and of the last poll */
#define FIRST_ID 100
#define ARENA_BYTES (128 * 1024)
#define TIMERS 2
#define MADE 2 /* index of what letter m makes */
#define NOW 10

static const struct timer_scenario *scenario;
static fp_timer_wheel *wheel;
static uint64_t ids[TIMERS];

/* What happened to a timer, in this execution. */
static struct tally {
	uint32_t datum; /* plain */
	int arms, fired, cancelled, gone;
} tally[TIMERS + 1], tally_at_start[TIMERS + 1];

static _Alignas(FPI_FALSE_SHARING) unsigned char arena[ARENA_BYTES];
static unsigned char arena_at_start[ARENA_BYTES];
static size_t used;

/* ---- who runs, and memory ---- */

static void become(int t)
{
	uint32_t generation = fpi_fork_generation();

	fpi_thread = (struct fpi_thread){ .generation = generation,
					  .id_generation = generation,
					  .id = FIRST_ID + t,
					  .slot = FPI_NO_SLOT };
}

static void must_be(int right, const char *what)
{
	if (right)
		return;
	fprintf(stderr, "%s: cannot prepare: %s\n", scenario->name, what);
	exit(2);
}

static void *arena_alloc(void *ctx, uint64_t size, uint64_t align)
{
	size_t at = (used + align - 1) & ~(size_t)(align - 1);

	(void)ctx;
	must_be(at + size <= ARENA_BYTES, "the arena is too small");
	used = at + size;
	return arena + at;
}

static void arena_free(void *ctx, void *p, uint64_t size, uint64_t align)
{
	(void)ctx;
	(void)p;
	(void)size;
	(void)align;
}

static const fp_allocator allocator = { sizeof(allocator), 0, arena_alloc, arena_free,
					NULL };

/* ---- timers ---- */

/* The word of a timer is the caller's. */
static void owns(uint64_t which)
{
	if (!scenario->shared)
		ex_plain(&tally[which].datum, sizeof(tally[which].datum), 1, "datum");
}

static void has_fired(uint64_t which)
{
	EX_CHECK(!tally[which].gone);
	tally[which].fired++;
}

static void callback(fp_timer_wheel *w, const fp_timer_record *r, void *user)
{
	uint64_t which = (uint64_t)(uintptr_t)user;

	EX_CHECK(r->expiry_tick <= NOW + (uint64_t)scenario->rearm);
	ex_plain(&tally[which].datum, sizeof(tally[which].datum), 1, "callback");
	has_fired(which);
	if (scenario->rearm && which == 0 && tally[0].fired == 1) {
		int was = fp_timer_arm(w, r->id, NOW + 1);

		tally[0].arms += was == 0;
		EX_CHECK(was >= 0 || was == -ESTALE);
	}
}

static void arm(uint64_t which, uint64_t tick)
{
	int was = fp_timer_arm(wheel, ids[which], tick);

	EX_CHECK(was == 0 || was == 1 || was == -ESTALE);
	tally[which].arms += was == 0;
}

static void touch(void)
{
	int armed = fp_timer_touch(wheel, ids[0], 9);

	EX_CHECK(armed == 0 || armed == 1 || armed == -ESTALE);
}

/* What a cancel that revoked an arming of the running callback says. */
static void cancelled(int rc)
{
	tally[0].cancelled += rc == 1;
	if (rc == -EINPROGRESS && scenario->rearm)
		tally[0].cancelled = -100; /* not known: no account is kept */
}

static void cancel(void)
{
	int rc = fp_timer_cancel(wheel, ids[0]);

	EX_CHECK(rc == 0 || rc == 1 || rc == -EINPROGRESS || rc == -ESTALE);
	cancelled(rc);
	if (rc >= 0)
		owns(0);
}

static void cancel_sync(void)
{
	int rc = fp_timer_cancel_sync(wheel, ids[0], 0);

	EX_CHECK(rc == 0 || rc == 1 || rc == -ETIMEDOUT || rc == -ESTALE);
	if (rc == -ETIMEDOUT)
		rc = scenario->rearm ? -EINPROGRESS : rc;
	else
		owns(0);
	cancelled(rc);
}

static void destroy(int wait)
{
	int rc = fp_timer_destroy(wheel, ids[0]);

	EX_CHECK(rc == 0 || rc == 1 || rc == -EINPROGRESS || rc == -ESTALE);
	cancelled(rc);
	if (wait && rc == -EINPROGRESS)
		rc = fp_timer_cancel_sync(wheel, ids[0], 0) == -ESTALE ? 0 : rc;
	if (rc != 0 && rc != 1)
		return;
	owns(0);
	tally[0].gone = 1;
}

/* ---- polls ---- */

static void poll(void)
{
	int64_t n = fp_timer_wheel_poll(wheel, NOW, LIBFP_WHEEL_NO_LIMIT);

	EX_CHECK(n >= 0 || n == -EBUSY);
}

static void poll_burst(void)
{
	fp_timer_record r[TIMERS + 1];
	int32_t n = fp_timer_wheel_poll_burst(wheel, NOW, r, TIMERS + 1);

	EX_CHECK(n >= 0 || n == -EBUSY);
	for (int32_t i = 0; i < n; i++)
		has_fired(r[i].user);
}

static void sleep_and_poll(void)
{
	int rc = fp_timer_wheel_wait(wheel, LIBFP_FOREVER);

	EX_CHECK(rc == 0);
	EX_CHECK(fp_timer_wheel_poll(wheel, NOW, LIBFP_WHEEL_NO_LIMIT) >= 0);
}

static void ask_next(void)
{
	uint64_t tick;

	if (fp_timer_is_pending(wheel, ids[1]) == 1 && !tally[1].fired)
		EX_CHECK(fp_timer_wheel_next_expiry(wheel, &tick) == 1 && tick <= 5);
}

static int look_at(const fp_timer_info *info, void *user)
{
	(void)user;
	EX_CHECK(info->id != 0);
	return 0;
}

static void look(void)
{
	EX_CHECK(fp_timer_wheel_count(wheel) >= 0);
	EX_CHECK(fp_timer_wheel_for_each(wheel, look_at, NULL) == 0);
}

static void make(void)
{
	uint64_t id;

	EX_CHECK(fp_timer_create(wheel, callback, (void *)MADE, &id) == 0);
	EX_CHECK(fp_timer_arm(wheel, id, 5) == 0);
	tally[MADE].arms++;
}

/* clang-format off */
static void letter(char op)
{
	switch (op) {
	case 'a': arm(0, 5); break;
	case 'b': arm(1, 5); break;
	case 'e': arm(0, 1); break;
	case 'l': arm(0, 9); break;
	case 'L': arm(1, 9); break;
	case 't': touch(); break;
	case 'c': cancel(); break;
	case 's': cancel_sync(); break;
	case 'd': destroy(0); break;
	case 'D': destroy(1); break;
	case 'p': poll(); break;
	case 'q': poll_burst(); break;
	case 'w': sleep_and_poll(); break;
	case 'n': arm(1, 5); ask_next(); break;
	case 'm': make(); break;
	case 'k': look(); break;
	default: ex_fail("unknown operation", scenario->name, 0);
	}
}
/* clang-format on */

static void thread(int t)
{
	become(t);
	for (const char *p = scenario->threads[t]; *p; p++)
		letter(*p);
}

/* Nobody can run: right if there is nothing to be woken for. */
static int stuck(void)
{
	for (int i = 0; i <= TIMERS; i++)
		if (tally[i].arms != tally[i].fired + tally[i].cancelled)
			return 0;
	return 1;
}

static void finish(void)
{
	become(MAIN);
	EX_CHECK(fp_timer_wheel_poll(wheel, NOW + 1, LIBFP_WHEEL_NO_LIMIT) >= 0);
	EX_CHECK(fp_timer_wheel_count(wheel) == 0);
	for (int i = 0; i <= TIMERS; i++)
		EX_CHECK(tally[i].cancelled < 0 ||
			 tally[i].arms == tally[i].fired + tally[i].cancelled);
}

/* ---- preparation ---- */

static void setup(void)
{
	become(MAIN);
	memcpy(arena, arena_at_start, used);
	memcpy(tally, tally_at_start, sizeof(tally));
	ex_name(&wheel->lock.value, "wheel lock");
	ex_name(&wheel->pending.value, "pending");
	ex_name(&wheel->next.value, "next");
	ex_name(&wheel->running.value, "running");
	ex_name(&wheel->records[0].word.value, "word X");
	ex_name(&wheel->records[1].word.value, "word Y");
	ex_statistic(&wheel->fired.value);
	ex_statistic(&wheel->expired.value);
	ex_statistic(&wheel->late_max.value);
	ex_statistic(&wheel->polls.value);
	ex_statistic(&wheel->moved.value);
	ex_statistic(&wheel->moved_max.value);
	ex_statistic(&wheel->chunks_used.value);
	if (wheel->own)
		ex_statistic(&wheel->own->sleeps.value);
}

static void make_wheel(void)
{
	fp_timer_wheel_opts o = LIBFP_TIMER_WHEEL_OPTS_INIT;

	o.flags = LIBFP_WHEEL_START_AT;
	for (int t = 0; t < EX_THREADS && scenario->threads[t]; t++)
		if (strchr(scenario->threads[t], 'w'))
			o.flags |= LIBFP_WHEEL_WAIT;
	o.tick_ns = 1;
	o.max_timers = TIMERS + 1;
	o.allocator = &allocator;
	must_be(fp_timer_wheel_create(&o, &wheel) == 0, "wheel");
	if (scenario->fence)
		fpi_wakeup_init(wheel->own, FPI_WAKEUP_ALL, LIBFP_WAKEUP_FENCE);
}

void timer_scenario_prepare(const struct timer_scenario *s, struct ex_test *test)
{
	scenario = s;
	fpi_fork_register(); /* a first generation, for become() */
	become(MAIN);
	memset(arena, 0, sizeof(arena));
	memset(tally, 0, sizeof(tally));
	used = 0;
	make_wheel();
	for (uintptr_t i = 0; i < TIMERS; i++) {
		must_be(fp_timer_create(wheel, callback, (void *)i, &ids[i]) == 0,
			"timer");
		if (s->armed[i])
			arm(i, s->armed[i]);
	}
	wheel->owner.value = FIRST_ID + (uint64_t)s->owner;
	memcpy(arena_at_start, arena, used);
	memcpy(tally_at_start, tally, sizeof(tally));
	*test = (struct ex_test){ .name = s->name,
				  .setup = setup,
				  .thread = thread,
				  .finish = finish,
				  .stuck = stuck,
				  .local = &fpi_thread,
				  .local_size = sizeof(fpi_thread),
				  .asleep = s->asleep };
	while (test->threads < EX_THREADS && s->threads[test->threads])
		test->threads++;
}
