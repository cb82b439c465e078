/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the kernel does for threads under test: futexes, polling, membarrier.
 *
 * A futex call is a step on its word as a write is one, so that the search tries it
 * before and after each write and each other call. It reads the word's last value: the
 * kernel compares and queues under a lock that a wake takes after the store, so one that
 * compares with an old value is in time for the wake. Sleeping and waking order nothing:
 * the kernel's locks would, but nobody promises that.
 *
 * A sleep that ends because nobody can run any more has lasted long: the thread then sees
 * all that was written.
 *
 * A membarrier is a fence in the caller, one in every other thread at some moment, and
 * another one in the caller; the moments are chosen one by one. All at the same moment
 * would be too strong (litmus.c has a program that tells the difference). A thread that
 * sleeps or has ended went through the kernel's own barrier when it left its CPU. The
 * caller does nothing meanwhile, hence its first fence may fall together with the first
 * of the others, and its second one with the last.
 */
#include <string.h>

#include "explorer_internal.h"

#define ANY UINT32_MAX

static struct {
	const void *word; /* that it sleeps on; NULL: awake */
	uint32_t bits;
	int timeouts; /* so far */
	int slept;    /* without a deadline */
} threads[EX_THREADS];
static int sleepers[EX_THREADS], n_sleepers; /* in order */

void ex_calls_begin(void)
{
	memset(threads, 0, sizeof(threads));
	n_sleepers = 0;
}

/* A thread that a membarrier has to interrupt. */
static int running(int thread)
{
	return ex_live(thread) && !threads[thread].word;
}

uint64_t ex_calls_choices(int thread, const struct ex_pending *p)
{
	int may;

	if (p->kind == EX_BARRIER) {
		uint64_t due = 0;

		for (int t = 0; t < ex_threads(); t++)
			if (t != thread && running(t))
				due |= 1ull << t;
		due &= ~p->value;
		return due ? due : 1ull << EX_WRITES;
	}
	if (p->kind == EX_POLL)
		may = p->loc->message[p->loc->n - 1].value != 0;
	else
		may = !threads[thread].word ||
		      (p->value && threads[thread].timeouts < ex_timeouts());
	return may ? 1ull << EX_WRITES : 0;
}

uint64_t ex_calls_last_choices(int thread, const struct ex_pending *p)
{
	int may = p->kind == EX_SLEEP && p->value && ex_timeouts() != EX_NEVER;

	(void)thread;
	return may ? 1ull << EX_WRITES : 0;
}

int ex_calls_asleep(int thread)
{
	return threads[thread].slept;
}

/* ---- futexes ---- */

static void remove_sleeper(int thread)
{
	int left = 0;

	for (int i = 0; i < n_sleepers; i++)
		if (sleepers[i] != thread)
			sleepers[left++] = sleepers[i];
	n_sleepers = left;
	threads[thread].word = NULL;
}

enum ex_slept ex_futex_wait_bits(const void *addr, size_t size, uint64_t expected,
				 uint32_t bits, int deadline, const char *what)
{
	struct ex_pending p = { EX_UPDATE, NULL, 0, 0 };

	p.loc = ex_location(addr, size, what);
	ex_choose(&p, EX_RELAXED);
	if (ex_read_message(p.loc, p.loc->n - 1, EX_RELAXED) != expected) {
		ex_note("futex wait %s: not %#llx", ex_name_of(p.loc),
			(unsigned long long)expected);
		return EX_DIFFERS;
	}
	ex_note("futex wait %s: sleeps", ex_name_of(p.loc));
	threads[ex_me].word = addr;
	threads[ex_me].bits = bits;
	threads[ex_me].slept |= !deadline;
	sleepers[n_sleepers++] = ex_me;
	p.kind = EX_SLEEP;
	p.value = deadline != 0;
	ex_choose(&p, EX_RELAXED);
	if (!threads[ex_me].word)
		return EX_WOKEN;
	if (threads[ex_me].timeouts++ >= ex_timeouts())
		ex_see_all();
	remove_sleeper(ex_me);
	ex_note("futex wait %s: timed out", ex_name_of(p.loc));
	return EX_TIMED_OUT;
}

void ex_futex_wait(const void *addr, size_t size, uint64_t expected, const char *what)
{
	ex_futex_wait_bits(addr, size, expected, ANY, 0, what);
}

static void wake(const void *addr, size_t size, uint32_t n, uint32_t bits,
		 const char *what)
{
	struct ex_pending p = { EX_UPDATE, NULL, 0, 0 };

	if (ex_me < 0)
		return;
	p.loc = ex_location(addr, size, what);
	ex_choose(&p, EX_RELAXED);
	for (int i = 0; i < n_sleepers && n;) {
		int t = sleepers[i];

		if (threads[t].word == addr && (threads[t].bits & bits)) {
			n--;
			remove_sleeper(t);
			ex_note("futex wake %s: T%d", ex_name_of(p.loc), t);
		} else {
			i++;
		}
	}
}

void ex_futex_wake(const void *addr, size_t size, uint32_t n, const char *what)
{
	wake(addr, size, n, ANY, what);
}

void ex_futex_wake_bits(const void *addr, size_t size, uint32_t bits, const char *what)
{
	wake(addr, size, UINT32_MAX, bits, what);
}

/* ---- the others ---- */

void ex_poll(const void *addr, size_t size, const char *what)
{
	struct ex_pending p = { EX_POLL, NULL, 0, 0 };

	p.loc = ex_location(addr, size, what);
	ex_choose(&p, EX_RELAXED);
	ex_read_message(p.loc, p.loc->n - 1, EX_RELAXED);
	ex_note("poll  %s", ex_name_of(p.loc));
}

void ex_membarrier(void)
{
	struct ex_pending p = { EX_BARRIER, NULL, 0, 1 };
	int choice, left;

	if (ex_me < 0)
		return;
	do {
		choice = ex_step(&p);
		if (!p.value)
			ex_sc_fence(ex_me);
		p.value |= 1ull << ex_me;
		left = 0;
		for (int t = 0; t < ex_threads(); t++) {
			if (p.value >> t & 1)
				continue;
			if (t == choice || !running(t)) {
				ex_note("membarrier: fence in T%d", t);
				ex_sc_fence(t);
				p.value |= 1ull << t;
			} else {
				left++;
			}
		}
	} while (left);
	ex_sc_fence(ex_me);
	ex_note("membarrier: done");
}
