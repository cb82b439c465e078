/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The search: every schedule and every choice of what a load reads, depth first.
 *
 * An execution is a sequence of steps; a step is a thread with the message that
 * it reads (or EX_WRITES). The trail records it. To go on with another choice,
 * the program runs again from its start along the trail.
 *
 * Sleep sets: once all executions that begin with step s from some point are
 * explored, s sleeps below its siblings until a step that does not commute with
 * it is made: then the execution would not be a new one. With stores that go to
 * the end of the modification order, a read of a *given* message commutes with
 * everything of other threads, so only writes to the same location (and
 * seq_cst steps among each other) wake anything. The fence of a membarrier does not
 * commute with any step of the thread that it falls on.
 *
 * Coroutines: a thread's stack is made with makecontext once; after that
 * _setjmp and _longjmp switch, because swapcontext makes a system call.
 */
#undef _FORTIFY_SOURCE /* its longjmp refuses to change stacks */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "explorer_internal.h"

#define STACK_BYTES 65536
#define LOCAL_BYTES 64
#define TRAIL 1024 /* steps; no program under test may run longer */

struct coroutine {
	ucontext_t context;
	jmp_buf top; /* where an execution begins */
	jmp_buf here;
	char *stack;
	int live;
	int choice;
	char local[LOCAL_BYTES]; /* while it does not run */
	struct ex_pending pending;
};

struct node {
	uint64_t open[EX_THREADS];  /* choices not explored yet */
	uint64_t sleep[EX_THREADS]; /* at entry, then grows with what is done */
	uint8_t thread;
	uint8_t choice;
};

enum outcome { COMPLETE, PRUNED, FAILED, RESTART };

int ex_me = -1;
uint64_t ex_run;
int ex_tracing;
int ex_no_pruning;

static const struct ex_test *test;
static struct coroutine coroutines[EX_THREADS];
static ucontext_t creator;
static jmp_buf scheduler;
static jmp_buf finish_failed;
static struct node trail[TRAIL];
static int trail_len, position;
static int failed, restart;
static char trace[32768];
static size_t trace_len;

/* ---- reporting ---- */

void ex_note(const char *format, ...)
{
	va_list ap;
	int n;

	if (!ex_tracing || trace_len > sizeof(trace) - 300)
		return;
	n = ex_me < 0 ? snprintf(trace + trace_len, 32, "  end: ") :
			snprintf(trace + trace_len, 32, "  T%d: ", ex_me);
	trace_len += (size_t)n;
	va_start(ap, format);
	n = vsnprintf(trace + trace_len, 250, format, ap);
	va_end(ap);
	trace_len += (size_t)(n < 250 ? n : 249);
	trace[trace_len++] = '\n';
	trace[trace_len] = '\0';
}

const char *ex_trace(void)
{
	return trace;
}

_Noreturn void ex_limit(const char *what)
{
	fprintf(stderr, "%s: too many %s for the explorer\n", test->name, what);
	exit(2);
}

static void to_scheduler(void)
{
	struct coroutine *c = &coroutines[ex_me];

	if (!_setjmp(c->here))
		_longjmp(scheduler, 1);
}

void ex_fail(const char *why, const char *file, int line)
{
	failed = 1;
	if (line)
		ex_note("FAILED %s (%s:%d)", why, file, line);
	else
		ex_note("FAILED %s: %s", why, file);
	if (ex_me < 0)
		_longjmp(finish_failed, 1);
	_longjmp(scheduler, 1);
}

void ex_restart(void)
{
	restart = 1;
	_longjmp(scheduler, 1);
}

int ex_step(const struct ex_pending *p)
{
	coroutines[ex_me].pending = *p;
	to_scheduler();
	return coroutines[ex_me].choice;
}

int ex_live(int thread)
{
	return coroutines[thread].live;
}

int ex_threads(void)
{
	return test->threads;
}

int ex_timeouts(void)
{
	return test->timeouts;
}

int ex_on_stack(const void *addr)
{
	uintptr_t a = (uintptr_t)addr, low = (uintptr_t)coroutines[ex_me].stack;

	return a - low < STACK_BYTES;
}

/* ---- coroutines ---- */

static void run_thread(int i)
{
	if (!_setjmp(coroutines[i].top))
		setcontext(&creator);
	test->thread(ex_me);
	coroutines[ex_me].live = 0;
	_longjmp(scheduler, 1);
}

static void create_coroutine(int i)
{
	struct coroutine *c = &coroutines[i];
	volatile int created = 0;

	c->stack = malloc(STACK_BYTES);
	if (!c->stack)
		ex_limit("stacks");
	getcontext(&c->context);
	c->context.uc_stack.ss_sp = c->stack;
	c->context.uc_stack.ss_size = STACK_BYTES;
	c->context.uc_link = NULL;
	makecontext(&c->context, (void (*)(void))run_thread, 1, i);
	getcontext(&creator);
	if (!created) {
		created = 1;
		setcontext(&c->context);
	}
}

/* Runs thread i up to its next step. */
static void resume(int i, int first)
{
	char local[LOCAL_BYTES];

	if (test->local) {
		memcpy(local, test->local, test->local_size);
		memcpy(test->local, coroutines[i].local, test->local_size);
	}
	ex_me = i;
	if (!_setjmp(scheduler)) {
		if (first)
			_longjmp(coroutines[i].top, 1);
		_longjmp(coroutines[i].here, 1);
	}
	ex_me = -1;
	if (test->local) {
		memcpy(coroutines[i].local, test->local, test->local_size);
		memcpy(test->local, local, test->local_size);
	}
}

/* ---- one execution along the trail, and on from its end ---- */

/* What sleeps after the step of node n. */
static void carry_sleep(const struct node *n, uint64_t *sleep)
{
	const struct ex_pending *done = &coroutines[n->thread].pending;

	for (int i = 0; i < test->threads; i++) {
		const struct ex_pending *p = &coroutines[i].pending;

		sleep[i] = i == n->thread ? 0 : n->sleep[i];
		if (n->choice == EX_WRITES && p->loc == done->loc)
			sleep[i] &= ~(1ull << EX_WRITES);
		if (done->sc && p->sc)
			sleep[i] = 0;
		if (done->kind == EX_BARRIER && n->choice == i)
			sleep[i] = 0;
		if (p->kind == EX_BARRIER)
			sleep[i] &= ~(1ull << n->thread | 1ull << EX_WRITES);
		/* A wake makes a thread one that is to be interrupted. */
		if (p->kind == EX_BARRIER &&
		    (done->kind == EX_UPDATE || done->kind == EX_SLEEP))
			sleep[i] = 0;
		if (ex_no_pruning)
			sleep[i] = 0;
	}
}

/* Takes the next open choice of a node: newest message first. */
static int pick(struct node *n)
{
	for (int i = 0; i < test->threads; i++)
		if (n->open[i]) {
			n->thread = (uint8_t)i;
			n->choice = (uint8_t)(63 - __builtin_clzll(n->open[i]));
			n->open[i] &= ~(1ull << n->choice);
			return 1;
		}
	return 0;
}

/* Fills in what can be done at a node; 0: nothing. */
static int find_choices(struct node *n, const uint64_t *sleep,
			uint64_t (*choices_of)(int, const struct ex_pending *))
{
	uint64_t any = 0;

	for (int i = 0; i < test->threads; i++) {
		uint64_t choices =
			coroutines[i].live ? choices_of(i, &coroutines[i].pending) : 0;

		any |= choices;
		n->sleep[i] = sleep[i];
		n->open[i] = choices & ~sleep[i];
	}
	return any != 0;
}

/* ex_test.asleep: the step to make until all of these sleep; 0: they do. */
static int pick_before_all(struct node *n)
{
	static const uint64_t nothing[EX_THREADS];
	int t = 0;

	while (t < test->asleep && ex_calls_asleep(t))
		t++;
	if (t == test->asleep)
		return 0;
	find_choices(n, nothing, ex_memory_choices);
	if (!n->open[t])
		find_choices(n, nothing, ex_calls_last_choices);
	if (!n->open[t] || !coroutines[t].live) {
		failed = 1;
		ex_note("FAILED T%d does not fall asleep at the start", t);
		return 1;
	}
	n->thread = (uint8_t)t;
	n->choice = (uint8_t)(63 - __builtin_clzll(n->open[t]));
	memset(n->open, 0, sizeof(n->open));
	return 1;
}

/* Adds a node; 0: everything sleeps, -1: nothing can run. */
static int extend(const uint64_t *sleep)
{
	struct node *n = &trail[trail_len];

	if (trail_len == TRAIL)
		ex_limit("steps in one execution");
	if (pick_before_all(n)) {
		trail_len++;
		return 1;
	}
	if (!find_choices(n, sleep, ex_memory_choices) &&
	    !find_choices(n, sleep, ex_calls_last_choices))
		return -1;
	if (!pick(n))
		return 0;
	trail_len++;
	return 1;
}

/* Nothing can run: whether the test says that this is right. */
static int may_be_stuck(void)
{
	volatile int right = 0;

	if (!test->stuck)
		return 0;
	ex_memory_end();
	if (!_setjmp(finish_failed))
		right = test->stuck();
	return right;
}

static int anyone_live(void)
{
	for (int i = 0; i < test->threads; i++)
		if (coroutines[i].live)
			return 1;
	return 0;
}

static enum outcome execute(void)
{
	uint64_t sleep[EX_THREADS] = { 0 };

	ex_run++;
	position = 0;
	failed = restart = 0;
	trace_len = 0;
	test->setup();
	ex_memory_begin(test->threads);
	for (int i = 0; i < test->threads && !failed && !restart; i++) {
		coroutines[i].live = 1;
		if (test->local)
			memcpy(coroutines[i].local, test->local, test->local_size);
		resume(i, 1);
	}
	while (!failed && !restart && anyone_live()) {
		if (position == trail_len) {
			int r = extend(sleep);

			if (r == 0)
				return PRUNED;
			if (r < 0 && may_be_stuck())
				return COMPLETE;
			if (r < 0) {
				failed = 1;
				ex_note("FAILED deadlock");
				break;
			}
		}
		if (failed)
			break;
		struct node *n = &trail[position++];

		carry_sleep(n, sleep);
		coroutines[n->thread].choice = n->choice;
		resume(n->thread, 0);
	}
	if (restart)
		return RESTART;
	if (!failed) {
		ex_memory_end();
		if (!_setjmp(finish_failed))
			test->finish();
	}
	return failed ? FAILED : COMPLETE;
}

/* Turns the trail to the next unexplored choice; 0: there is none. */
static int backtrack(void)
{
	while (trail_len) {
		struct node *n = &trail[trail_len - 1];

		n->sleep[n->thread] |= 1ull << n->choice;
		if (pick(n))
			return 1;
		trail_len--;
	}
	return 0;
}

int ex_explore(const struct ex_test *t, uint64_t limit, struct ex_result *res)
{
	enum outcome o;

	test = t;
	if (t->local_size > LOCAL_BYTES)
		ex_limit("bytes of thread-local memory");
	memset(res, 0, sizeof(*res));
	ex_memory_reset();
	trail_len = 0;
	for (int i = 0; i < t->threads; i++)
		if (!coroutines[i].stack)
			create_coroutine(i);
	do {
		o = execute();
		if (o == RESTART) {
			res->restarts++;
			res->complete = res->pruned = 0;
			trail_len = 0;
			continue;
		}
		if (o == PRUNED)
			res->pruned++;
		else
			res->complete++;
		if (o == FAILED) {
			ex_tracing = 1;
			execute();
			ex_tracing = 0;
			res->failed = 1;
			return 1;
		}
		if (res->complete + res->pruned >= limit) {
			res->cut = 1;
			return 0;
		}
	} while (o == RESTART || backtrack());
	return 0;
}
