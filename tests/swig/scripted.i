/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions of services and callbacks of timers for the tests of Java and Perl, which have
 * none of their own: C functions that return what they were told to, in turn, and count
 * their calls; a callback that keeps its records. Built as a module of its own, for each
 * language, beside that of libfp.i.
 *
 * All functions are found by number, from 0 on, and live as long as the process: a service may still
 * call one when its test has forgotten it.
 */
%module Scripted

%{
#include <stdint.h>

#include <libfp.h>

#define SCRIPTED_MAX 256
#define RESULTS_MAX 8

static struct scripted {
	int32_t results[RESULTS_MAX];
	uint64_t n; /* results: the last one again and again */
	uint64_t calls, released; /* atomic */
} scripted[SCRIPTED_MAX];
static int scripted_n;

static int32_t run(void *user)
{
	struct scripted *s = user;
	uint64_t call = __atomic_fetch_add(&s->calls, 1, __ATOMIC_ACQ_REL);

	return s->n ? s->results[call < s->n ? call : s->n - 1] : 0;
}

static void released(void *user)
{
	struct scripted *s = user;

	__atomic_add_fetch(&s->released, 1, __ATOMIC_RELEASE);
}

/* The number of a new one; -1: there are too many. */
static int scripted_new(void)
{
	return scripted_n < SCRIPTED_MAX ? scripted_n++ : -1;
}

static void scripted_returns(int number, int status)
{
	struct scripted *s = &scripted[number];

	if (s->n < RESULTS_MAX)
		s->results[s->n++] = status;
}

/* What the options of a service have for run, released and user. */
static long long scripted_run(void)
{
	return (long long)(intptr_t)run;
}

static long long scripted_released(void)
{
	return (long long)(intptr_t)released;
}

static long long scripted_user(int number)
{
	return (long long)(intptr_t)&scripted[number];
}

static long long scripted_calls(int number)
{
	return (long long)__atomic_load_n(&scripted[number].calls, __ATOMIC_ACQUIRE);
}

static long long scripted_releases(int number)
{
	return (long long)__atomic_load_n(&scripted[number].released, __ATOMIC_ACQUIRE);
}

/* ---- the callback of all timers, on the thread of the test ---- */

static fp_timer_record fired[SCRIPTED_MAX];
static int fired_n;

static void keep_record(fp_timer_wheel *wheel, const fp_timer_record *expired, void *user)
{
	(void)wheel, (void)user;
	if (fired_n < SCRIPTED_MAX)
		fired[fired_n++] = *expired;
}

static long long scripted_timer(void)
{
	return (long long)(intptr_t)keep_record;
}

/* How many records there are since the last call. They stay until the next. */
static int scripted_fired(void)
{
	int n = fired_n;

	fired_n = 0;
	return n;
}

/* Word 0 to 3 of the record at this place, as it lies in memory. */
static long long scripted_record(int at, int word)
{
	long long words[4];

	_Static_assert(sizeof(words) == sizeof(fired[0]), "a record has four words");
	__builtin_memcpy(words, &fired[at], sizeof(words));
	return words[word];
}
%}

int scripted_new(void);
void scripted_returns(int number, int status);
long long scripted_run(void);
long long scripted_released(void);
long long scripted_user(int number);
long long scripted_calls(int number);
long long scripted_releases(int number);
long long scripted_timer(void);
int scripted_fired(void);
long long scripted_record(int at, int word);
