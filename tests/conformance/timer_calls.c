/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls of timer wheels and timers that a conformance script can name: one function
 * each, which makes the call as the step says and tells what came of it. What the script
 * does not mention is checked here: a call that failed left its output alone, and a
 * callback gets its own wheel and user.
 */
#include "timer_calls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct things *things(struct run *run)
{
	return run->things;
}

/* ---- what steps name ---- */

static const char *name_in(struct run *run, const json_t *step)
{
	const json_t *v = json_object_get(step, "timer");

	return v ? timer_name(run, v) : "t";
}

static uint64_t id_of(struct run *run, const char *name)
{
	return name ? timer_entry(run, name)->id : 0;
}

/* The ticks that the step has under this key. */
static uint64_t ticks(struct run *run, const json_t *step, const char *key)
{
	const json_t *v = json_object_get(step, key);

	if (!v)
		script_die(key, "missing");
	return tick_of(run, step, v);
}

static fp_timer_fn callback_of(const json_t *step)
{
	return script_integer(step, "callback", 0) ? timer_fired : NULL;
}

/* ---- wheels ---- */

static const fp_timer_wheel_opts *options(struct run *run, const json_t *step,
					  struct options *o)
{
	fp_timer_wheel_opts opts = LIBFP_TIMER_WHEEL_OPTS_INIT;
	const json_t *start = json_object_get(step, "start");
	const json_t *tick_ns = json_object_get(step, "tick_ns");

	opts.allocator = option_allocator(step, o);
	opts.size = option_size(step, sizeof(opts));
	opts.flags = option_flags(step) |
		     (script_integer(step, "wait", 0) ? LIBFP_WHEEL_WAIT : 0);
	if (!json_is_string(start)) {
		opts.flags |= LIBFP_WHEEL_START_AT;
		opts.start_tick = (uint64_t)json_integer_value(start);
	} else if (strcmp(json_string_value(start), "now")) {
		script_die("start", "neither a number nor now");
	}
	opts.name = script_string(step, "name", NULL);
	if (tick_ns)
		opts.tick_ns = tick_of(run, step, tick_ns);
	opts.capacity = (uint32_t)script_integer(step, "capacity", 0);
	opts.max_timers = (uint32_t)script_integer(step, "max_timers", 0);
	opts.reserved0 = (uint32_t)script_integer(step, "reserved0", 0);
	return options_of(step, o, &opts, sizeof(opts));
}

static void do_create(struct run *run, const json_t *step)
{
	fp_timer_wheel *wheel = no_handle(run);
	struct options space;

	run->got = fp_timer_wheel_create(options(run, step, &space),
					 script_null(step, "out") ? NULL : &wheel);
	keep(run, handle_named(run, step), wheel);
}

static void do_opts_init(struct run *run, const json_t *step)
{
	fp_timer_wheel_opts opts, expected = LIBFP_TIMER_WHEEL_OPTS_INIT;

	expected.size = (uint32_t)script_integer(step, "size", 0);
	memset(&opts, UNTOUCHED, sizeof(opts));
	run->got = fp_timer_wheel_opts_init(script_null(step, "opts") ? NULL : &opts,
					    expected.size);
	check_opts_init(run, &opts, &expected, sizeof(opts), expected.size);
}

static void do_end(struct run *run, const json_t *step)
{
	fp_timer_wheel *wheel = handle_of(run, step);

	run->got = strcmp(run->call, "unref") ? fp_timer_wheel_destroy(wheel) :
						fp_timer_wheel_unref(wheel);
	drop(run, handle_named(run, step), wheel);
}

static void do_lookup(struct run *run, const json_t *step)
{
	fp_timer_wheel *wheel = no_handle(run);

	run->got = fp_timer_wheel_lookup(lookup_name(step),
					 script_null(step, "out") ? NULL : &wheel);
	keep(run, handle_named(run, step), wheel);
}

static void do_name(struct run *run, const json_t *step)
{
	run->is_text = 1;
	run->text = fp_timer_wheel_name(handle_of(run, step));
}

/* Calls on nothing but a wheel. */
static void do_plain(struct run *run, const json_t *step)
{
	static const struct {
		const char *call;
		int64_t (*wide)(const fp_timer_wheel *);
		int64_t (*act)(fp_timer_wheel *);
		int (*narrow)(fp_timer_wheel *);
	} table[] = {
		{ "tick_ns", fp_timer_wheel_tick_ns, NULL, NULL },
		{ "count", fp_timer_wheel_count, NULL, NULL },
		{ "cancel_all", NULL, fp_timer_wheel_cancel_all, NULL },
		{ "reset_stats", NULL, NULL, fp_timer_wheel_reset_stats },
		{ "interrupt", NULL, NULL, fp_timer_wheel_interrupt },
	};
	fp_timer_wheel *wheel = handle_of(run, step);

	for (size_t i = 0; i < LEN(table); i++) {
		if (strcmp(run->call, table[i].call))
			continue;
		if (table[i].wide)
			run->got = table[i].wide(wheel);
		else if (table[i].act)
			run->got = table[i].act(wheel);
		else
			run->got = table[i].narrow(wheel);
	}
}

/* The tick is the result. */
static void do_clock(struct run *run, const json_t *step)
{
	struct outcome *o = run->outcome;
	const fp_timer_wheel *wheel = handle_of(run, step);
	uint64_t before = o->tick, *out = script_null(step, "out") ? NULL : &o->tick;

	if (!strcmp(run->call, "now"))
		run->got = fp_timer_wheel_now(wheel, out);
	else
		run->got =
			fp_timer_wheel_ticks_from_ns(wheel, ticks(run, step, "ns"), out);
	if (run->got == 0)
		run->got = (int64_t)o->tick;
	else if (o->tick != before)
		fail(run, "failed, but changed its output");
}

/* ---- polls ---- */

static uint32_t max_of(const json_t *step)
{
	return (uint32_t)script_integer(step, "max", LIBFP_WHEEL_NO_LIMIT);
}

static void do_poll(struct run *run, const json_t *step)
{
	run->got = fp_timer_wheel_poll(handle_of(run, step), ticks(run, step, "now"),
				       max_of(step));
}

static void do_poll_burst(struct run *run, const json_t *step)
{
	struct outcome *o = run->outcome;

	run->got = fp_timer_wheel_poll_burst(
		handle_of(run, step), ticks(run, step, "now"),
		script_null(step, "records") ? NULL : o->out,
		(uint32_t)script_integer(step, "n", RECORDS_MAX));
}

static void do_poll_many(struct run *run, const json_t *step)
{
	const json_t *names = json_object_get(step, "wheels"), *v;
	fp_timer_wheel *wheels[HANDLES_MAX] = { NULL };
	size_t i;

	if (json_array_size(names) > HANDLES_MAX)
		script_die("wheels", "too many");
	json_array_foreach((json_t *)names, i, v)
	{
		const struct handle *entry =
			json_is_null(v) ? NULL :
					  NAMED(run->handles, json_string_value(v));

		wheels[i] = entry ? entry->handle : NULL;
	}
	run->got = fp_timer_wheel_poll_many(script_null(step, "wheels") ? NULL : wheels,
					    (uint32_t)json_array_size(names),
					    ticks(run, step, "now"), max_of(step));
}

/* Not a call of the library: waits and polls by the clock until something has fired. */
static void do_await_fired(struct run *run, const json_t *step)
{
	fp_timer_wheel *wheel = handle_of(run, step);
	uint64_t now;

	do {
		run->got = fp_timer_wheel_wait(wheel, LIBFP_FOREVER);
		if (run->got == 0)
			run->got = fp_timer_wheel_now(wheel, &now);
		if (run->got == 0)
			run->got = fp_timer_wheel_poll(wheel, now, LIBFP_WHEEL_NO_LIMIT);
	} while (run->got == 0);
}

/* ---- looking around ---- */

static void do_next_expiry(struct run *run, const json_t *step)
{
	struct outcome *o = run->outcome;
	const json_t *not_after = json_object_get(step, "not_after");
	uint64_t before = o->tick;

	run->got = fp_timer_wheel_next_expiry(handle_of(run, step),
					      script_null(step, "out") ? NULL : &o->tick);
	if (run->got != 1 && o->tick != before)
		fail(run, "changed its output");
	if (not_after && o->tick > tick_of(run, step, not_after))
		fail(run, "it is %llu", (unsigned long long)o->tick);
}

static int shown(const fp_timer_info *info, void *user)
{
	struct outcome *o = user;

	if (o->n_infos < TIMERS_MAX)
		o->infos[o->n_infos++] = *info;
	return (int)o->stop;
}

static void do_for_each(struct run *run, const json_t *step)
{
	run->got = fp_timer_wheel_for_each(handle_of(run, step),
					   script_null(step, "fn") ? NULL : shown,
					   run->outcome);
}

static void do_stats(struct run *run, const json_t *step)
{
	struct outcome *o = run->outcome;

	o->stats.size = (uint32_t)script_integer(step, "size", sizeof(o->stats));
	run->got = fp_timer_wheel_get_stats(handle_of(run, step),
					    script_null(step, "io") ? NULL : &o->stats);
	run->stats = &o->stats;
}

/* ---- waiting: the wheel's, and the wake-ups, services and cores that it meets ---- */

static struct handle *wakeup_named(struct run *run, const json_t *step)
{
	return NAMED(things(run)->wakeups, script_string(step, "wakeup", "w"));
}

static void do_wait(struct run *run, const json_t *step)
{
	run->got = fp_timer_wheel_wait(handle_of(run, step), timeout_of(step));
}

static void do_set_wakeup(struct run *run, const json_t *step)
{
	fp_wakeup *wakeup = NULL;

	if (!json_is_null(json_object_get(step, "wakeup"))) {
		wakeup = wakeup_named(run, step)->handle;
		if (!wakeup)
			fail(run, "there is no such wake-up");
	}
	run->got = fp_timer_wheel_set_wakeup(handle_of(run, step), wakeup);
}

static void do_wakeup(struct run *run, const json_t *step)
{
	call_wakeup(run, wakeup_named(run, step));
}

static struct handle *service_named(struct run *run, const json_t *step)
{
	return NAMED(things(run)->services, handle_named(run, step)->name);
}

static void do_service(struct run *run, const json_t *step)
{
	struct handle *entry = service_named(run, step);
	fp_service *service = no_handle(run);

	run->got = fp_timer_wheel_service(handle_of(run, step),
					  script_null(step, "out") ? NULL : &service);
	if (run->got == 0 && entry->handle && entry->handle != service)
		fail(run, "another service the second time");
	keep(run, entry, service);
}

static struct handle *core_named(struct run *run, const json_t *step)
{
	return NAMED(things(run)->cores, script_string(step, "core", "c"));
}

static void do_service_calls(struct run *run, const json_t *step)
{
	fp_service *service = service_named(run, step)->handle;

	run->got = strcmp(run->call, "service_start") ?
			   fp_service_map(service, core_named(run, step)->handle) :
			   fp_service_start(service);
}

static void do_core(struct run *run, const json_t *step)
{
	struct handle *entry = core_named(run, step);

	if (!strcmp(run->call, "core_create")) {
		run->got =
			fp_service_core_create(NULL, (fp_service_core **)&entry->handle);
	} else if (!strcmp(run->call, "core_destroy")) {
		run->got = fp_service_core_destroy(entry->handle);
		drop(run, entry, entry->handle);
	} else {
		run->got = fp_service_core_run(entry->handle, 0);
	}
}

/* ---- timers ---- */

/* What the names stand for from now on. */
static void keep_timer(struct run *run, const json_t *step, const char *name, uint64_t id)
{
	struct timer *t = timer_entry(run, name);

	t->id = id;
	t->wheel = handle_named(run, step)->handle;
	t->inside = json_object_get(step, "inside");
}

static void *user_of(const json_t *v)
{
	return (void *)(uintptr_t)json_integer_value(v);
}

static void do_timer_create(struct run *run, const json_t *step)
{
	struct outcome *o = run->outcome;
	uint64_t before = o->tick, id = before;

	run->got = fp_timer_create(handle_of(run, step), callback_of(step),
				   user_of(json_object_get(step, "user")),
				   script_null(step, "out") ? NULL : &id);
	if (run->got == 0 && !id)
		fail(run, "the id is 0");
	if (run->got == 0)
		keep_timer(run, step, name_in(run, step), id);
	else if (id != before)
		fail(run, "failed, but changed its output");
}

static void do_arm(struct run *run, const json_t *step)
{
	run->got = fp_timer_arm(handle_of(run, step), id_of(run, name_in(run, step)),
				ticks(run, step, "expiry"));
}

static void do_arm_periodic(struct run *run, const json_t *step)
{
	run->got = fp_timer_arm_periodic(
		handle_of(run, step), id_of(run, name_in(run, step)),
		ticks(run, step, "first"), ticks(run, step, "period"),
		policy_of(json_object_get(step, "policy")));
}

static void do_touch(struct run *run, const json_t *step)
{
	run->got = fp_timer_touch(handle_of(run, step), id_of(run, name_in(run, step)),
				  ticks(run, step, "expiry"));
}

/* Calls on nothing but a timer. */
static void do_timer(struct run *run, const json_t *step)
{
	fp_timer_wheel *wheel = handle_of(run, step);
	uint64_t id = id_of(run, name_in(run, step));

	if (!strcmp(run->call, "timer_destroy"))
		run->got = fp_timer_destroy(wheel, id);
	else if (!strcmp(run->call, "cancel"))
		run->got = fp_timer_cancel(wheel, id);
	else if (!strcmp(run->call, "cancel_sync"))
		run->got = fp_timer_cancel_sync(wheel, id, timeout_of(step));
	else
		run->got = fp_timer_is_pending(wheel, id);
}

static void do_remaining(struct run *run, const json_t *step)
{
	struct outcome *o = run->outcome;
	const json_t *wanted = json_object_get(step, "ticks");
	uint64_t before = o->tick;

	run->got = fp_timer_remaining(
		handle_of(run, step), id_of(run, name_in(run, step)),
		ticks(run, step, "now"), script_null(step, "out") ? NULL : &o->tick);
	if (run->got != 1 && o->tick != before)
		fail(run, "changed its output");
	if (wanted && o->tick != tick_of(run, step, wanted))
		fail(run, "%llu ticks", (unsigned long long)o->tick);
}

/* ---- tables of timers ---- */

/* How many timers a table is said to have. */
static uint32_t table_size(const json_t *step)
{
	size_t n = json_array_size(json_object_get(step, "timers"));

	if (n > TIMERS_MAX)
		script_die("timers", "too many");
	return (uint32_t)script_integer(step, "n", (int64_t)n);
}

static void do_timer_create_bulk(struct run *run, const json_t *step)
{
	const json_t *names = json_object_get(step, "timers");
	const json_t *users = json_object_get(step, "users");
	void *table[TIMERS_MAX];
	uint64_t ids[TIMERS_MAX] = { 0 };

	for (size_t i = 0; i < TIMERS_MAX; i++)
		table[i] = user_of(json_array_get(users, i));
	run->got = fp_timer_create_bulk(
		handle_of(run, step), callback_of(step), users ? table : NULL,
		script_null(step, "ids") ? NULL : ids, table_size(step));
	for (size_t i = 0; i < TIMERS_MAX; i++)
		if ((int64_t)i < run->got)
			keep_timer(run, step, timer_name(run, json_array_get(names, i)),
				   ids[i]);
		else if (ids[i])
			fail(run, "wrote behind the ids of what it has made");
}

/* Compares `results`, and that nothing was written behind them or without need. */
static void check_results(struct run *run, const json_t *step)
{
	const struct outcome *o = run->outcome;
	const json_t *results = json_object_get(step, "results"), *v;
	size_t n = run->got < 0 ? 0 : json_array_size(results), i;
	int32_t untouched;

	memset(&untouched, UNTOUCHED, sizeof(untouched));
	for (i = n; i <= TIMERS_MAX; i++)
		if (o->results[i] != untouched)
			fail(run, "wrote result %zu of %zu", i, n);
	json_array_foreach((json_t *)results, i, v)
	{
		char what[32];

		snprintf(what, sizeof(what), "result %zu: ", i);
		script_compare(run, what, v, o->results[i]);
	}
}

static void do_bulk(struct run *run, const json_t *step)
{
	static const struct {
		const char *call;
		int32_t (*plain)(fp_timer_wheel *, const uint64_t *, uint32_t, int32_t *);
		int32_t (*timed)(fp_timer_wheel *, const uint64_t *, const uint64_t *,
				 uint32_t, int32_t *);
	} table[] = {
		{ "timer_destroy_bulk", fp_timer_destroy_bulk, NULL },
		{ "cancel_bulk", fp_timer_cancel_bulk, NULL },
		{ "arm_bulk", NULL, fp_timer_arm_bulk },
		{ "touch_bulk", NULL, fp_timer_touch_bulk },
	};
	struct outcome *o = run->outcome;
	fp_timer_wheel *wheel = handle_of(run, step);
	json_t *names = json_object_get(step, "timers"), *v;
	json_t *expiries = json_object_get(step, "expiries");
	uint64_t ids[TIMERS_MAX], at[TIMERS_MAX], *to = ids, *when = at;
	int32_t *results = json_object_get(step, "results") ? o->results : NULL;
	uint32_t n = table_size(step);
	size_t i;

	json_array_foreach(names, i, v) ids[i] = timer_id(run, v);
	if (expiries && json_array_size(expiries) != json_array_size(names))
		script_die("expiries", "not one for each timer");
	json_array_foreach(expiries, i, v) at[i] = tick_of(run, step, v);
	if (script_null(step, "ids"))
		to = NULL;
	if (script_null(step, "expiries"))
		when = NULL;
	for (i = 0; i < LEN(table); i++)
		if (!strcmp(run->call, table[i].call))
			run->got = table[i].plain ?
					   table[i].plain(wheel, to, n, results) :
					   table[i].timed(wheel, to, when, n, results);
	check_results(run, step);
}

/* ---- all of them ---- */

#define WHEEL_KEYS "wheel null "
#define TIMER_KEYS WHEEL_KEYS "timer "
#define TABLE_KEYS WHEEL_KEYS "timers n "

const struct call timer_calls[] = {
	{ "create", do_create,
	  WHEEL_KEYS "name start tick_ns capacity max_timers wait stats checked "
		     "size flags tail odd_address allocator reserved0 " },
	{ "destroy", do_end, WHEEL_KEYS },
	{ "lookup", do_lookup, WHEEL_KEYS "name " },
	{ "unref", do_end, WHEEL_KEYS },
	{ "name", do_name, WHEEL_KEYS },
	{ "now", do_clock, WHEEL_KEYS },
	{ "ticks_from_ns", do_clock, WHEEL_KEYS "ns " },
	{ "tick_ns", do_plain, WHEEL_KEYS },
	{ "poll", do_poll, WHEEL_KEYS "now max called " },
	{ "poll_burst", do_poll_burst, WHEEL_KEYS "now n out called " },
	{ "poll_many", do_poll_many, "wheels now max called null " },
	{ "await_fired", do_await_fired, WHEEL_KEYS },
	{ "next_expiry", do_next_expiry, WHEEL_KEYS "not_after " },
	{ "count", do_plain, WHEEL_KEYS },
	{ "cancel_all", do_plain, WHEEL_KEYS },
	{ "for_each", do_for_each, WHEEL_KEYS "infos stop " },
	{ "stats", do_stats, WHEEL_KEYS "fields size " },
	{ "reset_stats", do_plain, WHEEL_KEYS },
	{ "wait", do_wait, WHEEL_KEYS "timeout " },
	{ "interrupt", do_plain, WHEEL_KEYS },
	{ "set_wakeup", do_set_wakeup, WHEEL_KEYS "wakeup " },
	{ "wakeup_create", do_wakeup, "wakeup " },
	{ "wakeup_arm", do_wakeup, "wakeup " },
	{ "wakeup_clear", do_wakeup, "wakeup " },
	{ "wakeup_destroy", do_wakeup, "wakeup " },
	{ "service", do_service, WHEEL_KEYS },
	{ "service_map", do_service_calls, "wheel core " },
	{ "service_start", do_service_calls, "wheel " },
	{ "core_create", do_core, "core " },
	{ "core_run", do_core, "core " },
	{ "core_destroy", do_core, "core " },
	{ "timer_create", do_timer_create, TIMER_KEYS "user callback inside " },
	{ "timer_destroy", do_timer, TIMER_KEYS },
	{ "arm", do_arm, TIMER_KEYS "expiry " },
	{ "arm_periodic", do_arm_periodic, TIMER_KEYS "first period policy " },
	{ "touch", do_touch, TIMER_KEYS "expiry " },
	{ "cancel", do_timer, TIMER_KEYS },
	{ "cancel_sync", do_timer, TIMER_KEYS "timeout " },
	{ "is_pending", do_timer, TIMER_KEYS },
	{ "remaining", do_remaining, TIMER_KEYS "now ticks " },
	{ "timer_create_bulk", do_timer_create_bulk, TABLE_KEYS "users callback " },
	{ "timer_destroy_bulk", do_bulk, TABLE_KEYS "results " },
	{ "arm_bulk", do_bulk, TABLE_KEYS "expiries results " },
	{ "touch_bulk", do_bulk, TABLE_KEYS "expiries results " },
	{ "cancel_bulk", do_bulk, TABLE_KEYS "results " },
	{ "opts_init", do_opts_init, "null size " },
	{ 0 },
};
