/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The C driver of the timers' conformance script: runs timer.json on the library and
 * prints a line for each step that did not do what it should. README.md has the format.
 *
 *     timer_conformance timer.json
 *     timer_conformance --planted timer_planted.json
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "timer_calls.h"

static const struct field fields[] = {
	FIELD(fp_timer_wheel_stats, flags),
	FIELD(fp_timer_wheel_stats, timers),
	FIELD(fp_timer_wheel_stats, max_timers),
	FIELD(fp_timer_wheel_stats, arms),
	FIELD(fp_timer_wheel_stats, rearms),
	FIELD(fp_timer_wheel_stats, cancelled),
	FIELD(fp_timer_wheel_stats, fired),
	FIELD(fp_timer_wheel_stats, expired),
	FIELD(fp_timer_wheel_stats, overruns),
	FIELD(fp_timer_wheel_stats, late_max),
	FIELD(fp_timer_wheel_stats, polls),
	FIELD(fp_timer_wheel_stats, entries_moved),
	FIELD(fp_timer_wheel_stats, entries_moved_max),
	FIELD(fp_timer_wheel_stats, memory),
	FIELD(fp_timer_wheel_stats, memory_used),
	{ 0 },
};

/* ---- what steps name ---- */

const char *timer_name(struct run *run, const json_t *v)
{
	if (!json_is_string(v) && !json_is_null(v))
		script_die(run->call, "a timer that is neither a name nor null");
	return json_string_value(v);
}

struct timer *timer_entry(struct run *run, const char *name)
{
	return NAMED(((struct things *)run->things)->timers, name);
}

uint64_t timer_id(struct run *run, const json_t *v)
{
	const char *name = timer_name(run, v);

	return name ? timer_entry(run, name)->id : 0;
}

uint64_t tick_of(struct run *run, const json_t *step, const json_t *v)
{
	const char *text = json_string_value(v);
	char *end = NULL;
	uint64_t tick = 0, more;

	if (json_is_integer(v))
		return (uint64_t)json_integer_value(v);
	if (!text)
		script_die(run->call, "ticks that are neither a number nor a string");
	if (!strncmp(text, "now", 3)) {
		if (fp_timer_wheel_now(handle_named(run, step)->handle, &tick))
			fail(run, "there is no such wheel");
		text += 3;
	}
	more = strtoull(text, &end, 0);
	if (*end)
		script_die(text, "no ticks");
	return tick + more;
}

uint32_t policy_of(const json_t *v)
{
	static const char *const names[] = { "skip", "coalesce", "catch_up" };
	static const uint32_t policies[] = { LIBFP_TIMER_SKIP, LIBFP_TIMER_COALESCE,
					     LIBFP_TIMER_CATCH_UP };

	if (json_is_integer(v))
		return (uint32_t)json_integer_value(v);
	for (size_t i = 0; json_is_string(v) && i < LEN(names); i++)
		if (!strcmp(json_string_value(v), names[i]))
			return policies[i];
	script_die("policy", "no policy");
}

/* ---- callbacks ---- */

static struct run *running; /* the run whose step is at hand */

static void prepare(struct run *run, const json_t *step)
{
	struct outcome *o = run->outcome;

	running = run;
	memset(o->out, UNTOUCHED, sizeof(o->out));
	memset(o->results, UNTOUCHED, sizeof(o->results));
	memset(&o->tick, UNTOUCHED, sizeof(o->tick));
	o->stop = script_integer(step, "stop", 0);
}

void timer_fired(fp_timer_wheel *wheel, const fp_timer_record *expired, void *user)
{
	struct run *run = running;
	struct outcome *o = run->outcome;
	struct timer *t = ((struct things *)run->things)->timers, *end = t + TIMERS_MAX;
	const json_t *inside;

	while (t < end && t->id != expired->id)
		t++;
	if (t == end || t->wheel != wheel || expired->user != (uintptr_t)user) {
		fail(run, "a callback of another timer, wheel or user");
		return;
	}
	if (o->n_called < RECORDS_MAX)
		o->called[o->n_called++] = *expired;
	inside = t->inside;
	t->inside = NULL;
	if (inside)
		script_nested(run, inside);
}

/* ---- comparison ---- */

/* Compares a number of a struct with what the script has under this key, if it has. */
static void compare(struct run *run, const json_t *step, const json_t *wanted,
		    const char *key, uint64_t got)
{
	const json_t *v = json_object_get(wanted, key);
	uint64_t expected;

	if (!v)
		return;
	expected = json_is_boolean(v) ? json_is_true(v) : tick_of(run, step, v);
	if (expected != got)
		fail(run, "expected %s %" PRIu64 ", got %" PRIu64, key, expected, got);
}

/* ---- records ---- */

static void compare_record(struct run *run, const json_t *step, const json_t *wanted,
			   const fp_timer_record *got)
{
	const json_t *name =
		json_is_string(wanted) ? wanted : json_object_get(wanted, "timer");

	if (timer_id(run, name) != got->id)
		fail(run, "expected timer %s, got another one", json_string_value(name));
	compare(run, step, wanted, "user", got->user);
	compare(run, step, wanted, "expiry", got->expiry_tick);
	compare(run, step, wanted, "overruns", got->overruns);
	compare(run, step, wanted, "periodic", got->flags == LIBFP_TIMER_IS_PERIODIC);
	if (got->flags & ~(uint32_t)LIBFP_TIMER_IS_PERIODIC)
		fail(run, "unknown flags");
}

static void compare_records(struct run *run, const json_t *step, const char *key,
			    const fp_timer_record *got, size_t n)
{
	const json_t *all = json_object_get(step, key), *v;
	size_t i;

	if (all && json_array_size(all) != n)
		fail(run, "%s: expected %zu records, got %zu", key, json_array_size(all),
		     n);
	json_array_foreach((json_t *)all, i, v) if (i < n)
		compare_record(run, step, v, &got[i]);
}

/* What a burst has filled, and that nothing was written behind it. */
static void compare_out(struct run *run, const json_t *step)
{
	const struct outcome *o = run->outcome;
	size_t n = json_object_get(step, "out") && run->got > 0 ? (size_t)run->got : 0;
	fp_timer_record untouched;

	memset(&untouched, UNTOUCHED, sizeof(untouched));
	for (size_t i = n; i <= RECORDS_MAX; i++)
		if (memcmp(&o->out[i], &untouched, sizeof(untouched))) {
			fail(run, "wrote record %zu of %zu", i, n);
			return;
		}
	compare_records(run, step, "out", o->out, n);
}

/* ---- what for_each has shown ---- */

static void compare_info(struct run *run, const json_t *step, const json_t *wanted,
			 const fp_timer_info *got)
{
	const json_t *policy = json_object_get(wanted, "policy");

	compare(run, step, wanted, "user", got->user);
	compare(run, step, wanted, "armed", (got->flags & LIBFP_TIMER_IS_ARMED) != 0);
	compare(run, step, wanted, "expiry", got->expiry_tick);
	compare(run, step, wanted, "periodic",
		(got->flags & LIBFP_TIMER_IS_PERIODIC) != 0);
	compare(run, step, wanted, "period", got->period_ticks);
	if (policy && policy_of(policy) != got->policy)
		fail(run, "got policy %" PRIu32, got->policy);
}

static void compare_infos(struct run *run, const json_t *step)
{
	const struct outcome *o = run->outcome;
	const json_t *infos = json_object_get(step, "infos"), *v;
	size_t i, at;

	if (infos && json_array_size(infos) != o->n_infos)
		fail(run, "expected %zu timers, got %zu", json_array_size(infos),
		     o->n_infos);
	json_array_foreach((json_t *)infos, i, v)
	{
		const json_t *name = json_object_get(v, "timer");
		uint64_t id = timer_id(run, name);

		for (at = 0; at < o->n_infos && o->infos[at].id != id; at++)
			;
		if (at < o->n_infos)
			compare_info(run, step, v, &o->infos[at]);
		else
			fail(run, "timer %s is not shown", json_string_value(name));
	}
}

static void check(struct run *run, const json_t *step)
{
	const struct outcome *o = run->outcome;

	compare_out(run, step);
	compare_records(run, step, "called", o->called, o->n_called);
	compare_infos(run, step);
}

/* Wake-ups and cores outlive no case either. */
static void end(struct run *run)
{
	const struct things *t = run->things;

	for (int i = 0; i < HANDLES_MAX && !run->failed; i++) {
		if (t->wakeups[i].handle)
			fail(run, "the case ends, but wake-up %s is open",
			     t->wakeups[i].name);
		else if (t->cores[i].handle)
			fail(run, "the case ends, but core %s is open", t->cores[i].name);
	}
}

int main(int argc, char **argv)
{
	static const struct part part = {
		.name = "timer",
		.key = "wheel",
		.otherwise = "w",
		.calls = timer_calls,
		.fields = fields,
		.things = sizeof(struct things),
		.outcome = sizeof(struct outcome),
		.prepare = prepare,
		.check = check,
		.end = end,
	};

	return script_main(&part, argc, argv);
}
