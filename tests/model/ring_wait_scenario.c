/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prepares a scenario of waiting for rings, runs its letters and checks what came out;
 * see ring_wait_scenario.h.
 *
 * Ring and wake-ups are made once per scenario, in memory of our own that is set back to
 * a snapshot before every execution.
 */
#include "ring_wait_scenario.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fork.h"
#include "model_system.h"
#include "ring/ring_internal.h"

#define ARENA_BYTES 16384
#define MAX_SPANS 4
#define MAX_ELEMENTS 8
#define HOUR_NS 3600000000000ull

/* What a thread is inside of, for who is found asleep. */
enum wait { NOTHING, ONE_ELEMENT, TWO_ELEMENTS, ONE_SLOT };

static struct world {
	const struct ring_wait_scenario *scenario;
	fp_ring *ring;
	fp_wakeup *wakeups[2]; /* bound ones */
	int any_destroy;
	fp_ring_span spans[MAX_SPANS];
} world;
static struct world *const w = &world;

/* Of an execution. */
static struct run {
	enum wait waits[EX_THREADS];
	int taken[MAX_ELEMENTS]; /* how often */
	uint32_t sent;		 /* elements with numbers below it may exist */
	int put[MAX_ELEMENTS];
	int closed;
	int interrupted[2]; /* [side] */
	int cancelled[2];
	int destroyed;
} run;

static _Alignas(4096) unsigned char arena[ARENA_BYTES];
static unsigned char snapshot[ARENA_BYTES];
static size_t arena_used;

/* ---- memory ---- */

static void *arena_alloc(void *ctx, uint64_t size, uint64_t align)
{
	size_t at = (arena_used + align - 1) & ~(size_t)(align - 1);

	(void)ctx;
	if (at + size > ARENA_BYTES) {
		fprintf(stderr, "%s: the arena is too small\n", w->scenario->name);
		exit(2);
	}
	arena_used = at + size;
	return arena + at;
}

/* Whoever used the memory must have happened before. */
static void arena_free(void *ctx, void *p, uint64_t size, uint64_t align)
{
	(void)ctx;
	(void)align;
	ex_plain(p, size < 1024 ? size : 1024, 1, "freed memory");
}

static const fp_allocator allocator = { sizeof(allocator), 0, arena_alloc, arena_free,
					NULL };

/* ---- letters ---- */

static void took(uint64_t element)
{
	EX_CHECK(element < run.sent && run.put[element]);
	EX_CHECK(run.taken[element]++ == 0);
}

/* What a wait returned; a thread that is through sleeps no more. */
static void ended(int t, int32_t got, int32_t wanted, enum fpi_ring_side_name side)
{
	run.waits[t] = NOTHING;
	if (got == -ECANCELED) {
		EX_CHECK(run.interrupted[side]);
		run.cancelled[side]++;
		return;
	}
	EX_CHECK(got == wanted || (got == -EPIPE && run.closed));
}

static void wait_for_elements(int t, uint32_t n, uint64_t timeout)
{
	uint64_t elements[2];
	int32_t got;

	run.waits[t] = n == 1 ? ONE_ELEMENT : TWO_ELEMENTS;
	got = fp_ring_dequeue_wait(w->ring, elements, n, n, timeout);
	for (int32_t i = 0; i < got; i++)
		took(elements[i]);
	if (got == 0)
		EX_CHECK(timeout != LIBFP_FOREVER);
	if (got >= 0 && (got == 1 || timeout != LIBFP_FOREVER))
		EX_CHECK(n == 1 || run.closed);
	ended(t, got == 0 || got == 1 ? (int32_t)n : got, (int32_t)n, FPI_RING_CONSUMER);
}

static void put(int t, int waits)
{
	uint64_t element = run.sent++;
	int32_t got;

	EX_CHECK(element < MAX_ELEMENTS);
	run.put[element] = 1;
	if (waits) {
		run.waits[t] = ONE_SLOT;
		got = fp_ring_enqueue_wait(w->ring, &element, 1, 1, LIBFP_FOREVER);
		ended(t, got, 1, FPI_RING_PRODUCER);
	} else {
		got = fp_ring_enqueue_u64(w->ring, element);
	}
	if (got != 1)
		run.put[element] = 0;
}

static void commit(int i)
{
	fp_ring_span span = w->spans[i]; /* commit clears it */
	uint64_t element = run.sent++;

	EX_CHECK(element < MAX_ELEMENTS);
	ex_plain(span.ptr1, sizeof(element), 1, "element");
	memcpy(span.ptr1, &element, sizeof(element));
	run.put[element] = 1;
	EX_CHECK(fp_ring_commit_enqueue(w->ring, &span, 1) == 1);
}

static void put_two(void)
{
	uint64_t elements[2] = { run.sent, run.sent + 1 };

	run.sent += 2;
	EX_CHECK(run.sent <= MAX_ELEMENTS);
	run.put[elements[0]] = run.put[elements[1]] = 1;
	EX_CHECK(fp_ring_enqueue_bulk(w->ring, elements, 2, NULL) == 2);
}

static void take_two(void)
{
	uint64_t elements[2];

	EX_CHECK(fp_ring_dequeue_bulk(w->ring, elements, 2, NULL) == 2);
	took(elements[0]);
	took(elements[1]);
}

/* Interrupts one whose announcement was seen: he may not sleep on. */
static void interrupt(enum fpi_ring_side_name side)
{
	fp_wakeup *wakeup = w->ring->wake[side];

	ex_await_not(&wakeup->state.value, sizeof(wakeup->state.value),
		     wakeup->mode == LIBFP_WAKEUP_MODE_FENCE ? FPI_WAKEUP_FENCED : 0,
		     EX_RELAXED, "state");
	run.interrupted[side] = 1;
	EX_CHECK(fp_ring_interrupt(w->ring, side) == 0);
}

static void destroy(void)
{
	int err = fp_ring_destroy(w->ring);

	EX_CHECK(err == 0 || err == -EBUSY);
	run.destroyed = err == 0;
}

static void letter(int t, char op)
{
	uint64_t element;

	switch (op) {
	case 'e':
	case 'p':
		put(t, op == 'p');
		break;
	case '0':
	case '1':
	case '2':
		commit(op - '0');
		break;
	case 'c':
		run.closed = 1;
		EX_CHECK(fp_ring_close(w->ring) == 0);
		break;
	case 'E':
		put_two();
		break;
	case 'T':
		take_two();
		break;
	case 'q':
		run.waits[t] = ONE_SLOT;
		ended(t, fp_ring_wait_writable(w->ring, LIBFP_FOREVER), 1,
		      FPI_RING_PRODUCER);
		break;
	case 'd':
		if (fp_ring_dequeue_u64(w->ring, &element) == 1)
			took(element);
		break;
	case 'w':
		wait_for_elements(t, 1, LIBFP_FOREVER);
		break;
	case 't':
		wait_for_elements(t, 1, HOUR_NS);
		break;
	case 'W':
		wait_for_elements(t, 2, LIBFP_FOREVER);
		break;
	case 'r':
		run.waits[t] = ONE_ELEMENT;
		ended(t, fp_ring_wait_readable(w->ring, LIBFP_FOREVER), 1,
		      FPI_RING_CONSUMER);
		break;
	case 'x':
		interrupt(FPI_RING_CONSUMER);
		break;
	case 'X':
		interrupt(FPI_RING_PRODUCER);
		break;
	case 'v':
		ex_await_not(&w->ring->waiting[FPI_RING_CONSUMER].value, sizeof(uint32_t),
			     0, EX_RELAXED, "waiting");
		break;
	case 'D':
		destroy();
		break;
	}
}

static void thread(int t)
{
	for (const char *p = w->scenario->threads[t]; *p; p++)
		letter(t, *p);
}

/* ---- checks at the end ---- */

static void check_elements(void)
{
	uint64_t element;

	while (fp_ring_dequeue_u64(w->ring, &element) == 1)
		took(element);
	for (uint32_t i = 0; i < run.sent; i++)
		EX_CHECK(run.taken[i] == run.put[i]);
}

static void finish(void)
{
	if (run.destroyed)
		return;
	for (int side = 0; side < 2; side++) {
		const fp_wakeup *wakeup = w->ring->wake[side];

		EX_CHECK((wakeup->state.value & ~FPI_WAKEUP_FENCED) == 0);
		EX_CHECK(w->ring->waiting[side].value == 0);
	}
	check_elements();
}

/* Nobody can run: whether all that sleep do so rightly. */
static int stuck(void)
{
	int64_t used = fp_ring_count(w->ring);

	EX_CHECK(!run.closed);
	for (int t = 0; t < EX_THREADS; t++) {
		switch (run.waits[t]) {
		case NOTHING:
			break;
		case ONE_ELEMENT:
			EX_CHECK(used == 0 && !run.interrupted[FPI_RING_CONSUMER]);
			break;
		case TWO_ELEMENTS:
			EX_CHECK(used < 2 && !run.interrupted[FPI_RING_CONSUMER]);
			break;
		case ONE_SLOT:
			EX_CHECK(used == w->scenario->capacity &&
				 !run.interrupted[FPI_RING_PRODUCER]);
			break;
		}
	}
	return 1;
}

/* ---- preparation ---- */

static void statistics_of(fp_wakeup *wakeup)
{
	ex_statistic(&wakeup->sleeps.value);
	ex_statistic(&wakeup->wakes.value);
	ex_statistic(&wakeup->spurious.value);
	ex_statistic(&wakeup->fallback_polls.value);
}

static void setup(void)
{
	static const char *const states[] = { "state of producers",
					      "state of consumers" };
	static const char *const epochs[] = { "epoch of producers",
					      "epoch of consumers" };

	memcpy(arena, snapshot, arena_used);
	memset(&run, 0, sizeof(run));
	for (run.sent = 0; run.sent < w->scenario->fill; run.sent++)
		run.put[run.sent] = 1;
	for (int side = 0; side < 2; side++) {
		fp_wakeup *wakeup = w->ring->wake[side];

		statistics_of(wakeup);
		if (!w->any_destroy)
			ex_statistic(&w->ring->waiting[side].value);
		ex_name(&wakeup->state.value, states[side]);
		ex_name(&wakeup->epoch.value, epochs[side]);
	}
	ex_statistic(&w->ring->state->spans.value);
	ex_name(&w->ring->prod->head.value, "prod.head");
	ex_name(&w->ring->cons->head.value, "cons.head");
}

static void must_be(int ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "%s: cannot prepare: %s\n", w->scenario->name, what);
		exit(2);
	}
}

static void bind(const struct ring_wait_scenario *s)
{
	fp_wakeup_opts o = LIBFP_WAKEUP_OPTS_INIT;

	o.allocator = &allocator;
	o.flags = s->bound == BOUND_FENCED ? LIBFP_WAKEUP_FENCE : 0;
	for (uint32_t side = 0; side < 2; side++) {
		must_be(fp_wakeup_create(&o, &w->wakeups[side]) == 0, "wake-up");
		must_be(fp_ring_set_wakeup(w->ring, side, w->wakeups[side]) == 0, "bind");
	}
}

void ring_wait_scenario_prepare(const struct ring_wait_scenario *s, struct ex_test *test)
{
	fp_ring_opts o = LIBFP_RING_OPTS_INIT;

	w->scenario = s;
	model_membarrier_fails = s->no_membarrier;
	arena_used = 0;
	memset(arena, 0, sizeof(arena));
	o.capacity = s->capacity;
	o.producer = s->producer;
	o.consumer = s->consumer;
	o.flags = s->bound == OWN_WAKEUPS ? LIBFP_RING_WAIT : 0;
	o.allocator = &allocator;
	must_be(fp_ring_create(&o, &w->ring) == 0, "create");
	if (s->bound != OWN_WAKEUPS)
		bind(s);
	for (uint64_t i = 0; i < s->fill; i++)
		must_be(fp_ring_enqueue_u64(w->ring, i) == 1, "fill");
	for (uint32_t i = 0; i < s->spans; i++)
		must_be(fp_ring_reserve_enqueue(w->ring, 1, 0, &w->spans[i]) == 1,
			"span");
	memcpy(snapshot, arena, arena_used);
	*test = (struct ex_test){ .name = s->name,
				  .setup = setup,
				  .thread = thread,
				  .finish = finish,
				  .stuck = stuck,
				  .timeouts = s->timeouts,
				  .asleep = s->asleep };
	w->any_destroy = 0;
	while (test->threads < EX_THREADS && s->threads[test->threads])
		w->any_destroy |= strchr(s->threads[test->threads++], 'D') != NULL;
}
