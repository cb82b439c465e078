/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls of services and cores that a conformance script can name: one function each,
 * which makes the call as the step says and tells what came of it. What the script does
 * not mention is checked here: a call that failed left its output alone.
 */
#include "service_calls.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

/* ---- what steps name ---- */

static struct things *things(struct run *run)
{
	return run->things;
}

static struct function *function_of(struct run *run, const json_t *step)
{
	return NAMED(things(run)->functions,
		     script_string(step, run->part->key, run->part->otherwise));
}

static struct handle *core_named(struct run *run, const char *name)
{
	return NAMED(things(run)->cores, name);
}

static fp_service_core *core_of(struct run *run, const json_t *step)
{
	fp_service_core *core = core_named(run, script_string(step, "core", "c"))->handle;

	if (!core)
		fail(run, "there is no such core");
	return script_null(step, "core") ? NULL : core;
}

/* ---- the function of a service ---- */

static int32_t function(void *user)
{
	struct function *f = user;
	uint64_t call = __atomic_load_n(&f->calls, __ATOMIC_RELAXED);

	if (call == 0 && f->inside)
		script_nested(f->run, f->inside);
	__atomic_add_fetch(&f->calls, 1, __ATOMIC_RELEASE);
	return f->results[call < f->n ? call : f->n - 1];
}

static void released(void *user)
{
	struct function *f = user;

	__atomic_add_fetch(&f->released, 1, __ATOMIC_RELEASE);
}

static struct function *new_function(struct run *run, const json_t *step)
{
	struct function *f = function_of(run, step);
	const json_t *returns = json_object_get(step, "returns"), *v;
	size_t i;

	f->run = run;
	f->inside = json_object_get(step, "inside");
	f->calls = f->released = 0;
	f->n = json_array_size(returns);
	if (f->n > RESULTS_MAX)
		script_die("returns", "too many");
	json_array_foreach((json_t *)returns, i, v) f->results[i] = status_of(v);
	if (!f->n)
		f->results[f->n++] = 0;
	return f;
}

/* Not calls of the library: how often the functions were called. */
static void do_calls(struct run *run, const json_t *step)
{
	const struct function *f = function_of(run, step);

	run->got = (int64_t)__atomic_load_n(
		strcmp(run->call, "calls") ? &f->released : &f->calls, __ATOMIC_ACQUIRE);
}

/* Not a call of the library: waits until there were n calls. */
static void do_await_calls(struct run *run, const json_t *step)
{
	const struct function *f = function_of(run, step);
	uint64_t n = (uint64_t)script_integer(step, "n", 1);

	while (__atomic_load_n(&f->calls, __ATOMIC_ACQUIRE) < n)
		sched_yield();
	run->got = 0;
}

/* ---- create and its kin ---- */

static uint32_t cycles_of(const json_t *step)
{
	const json_t *v = json_object_get(step, "cycles");
	const char *word = json_string_value(v);

	if (!word)
		return (uint32_t)json_integer_value(v);
	if (!strcmp(word, "exact"))
		return LIBFP_SERVICE_CYCLES_EXACT;
	if (strcmp(word, "sampled"))
		script_die(word, "no way to count cycles");
	return LIBFP_SERVICE_CYCLES_SAMPLED;
}

static const fp_service_opts *options(struct run *run, const json_t *step,
				      struct options *o)
{
	fp_service_opts opts = LIBFP_SERVICE_OPTS_INIT;

	opts.allocator = option_allocator(step, o);
	opts.size = option_size(step, sizeof(opts));
	opts.flags = option_flags(step) |
		     (run->sides[0] == LIBFP_MT ? LIBFP_SERVICE_MT_SAFE : 0) |
		     (script_integer(step, "wakeable", 0) ? LIBFP_SERVICE_WAKEABLE : 0) |
		     (script_integer(step, "not_ready", 0) ? LIBFP_SERVICE_NOT_READY : 0);
	opts.name = script_string(step, "name", NULL);
	opts.run = script_null(step, "run") ? NULL : function;
	opts.user = new_function(run, step);
	opts.released = script_null(step, "released") ? NULL : released;
	opts.cycles = cycles_of(step);
	opts.reserved0 = (uint32_t)script_integer(step, "reserved0", 0);
	return options_of(step, o, &opts, sizeof(opts));
}

static void do_create(struct run *run, const json_t *step)
{
	fp_service *service = no_handle(run);
	struct options space;

	run->got = fp_service_create(options(run, step, &space),
				     script_null(step, "out") ? NULL : &service);
	keep(run, handle_named(run, step), service);
}

static void do_opts_init(struct run *run, const json_t *step)
{
	fp_service_opts opts, expected = LIBFP_SERVICE_OPTS_INIT;

	expected.size = (uint32_t)script_integer(step, "size", 0);
	memset(&opts, UNTOUCHED, sizeof(opts));
	run->got = fp_service_opts_init(script_null(step, "opts") ? NULL : &opts,
					expected.size);
	check_opts_init(run, &opts, &expected, sizeof(opts), expected.size);
}

/* -EINPROGRESS: the handle is gone all the same. */
static void do_destroy(struct run *run, const json_t *step)
{
	struct handle *entry = handle_named(run, step);
	fp_service *service = handle_of(run, step);
	uint32_t flags = (uint32_t)script_integer(step, "flags", 0) |
			 (script_integer(step, "force", 0) ? LIBFP_SERVICE_FORCE : 0);

	run->got = fp_service_destroy(service, flags, timeout_of(step));
	if (service && (run->got == 0 || run->got == -EINPROGRESS))
		entry->handle = NULL;
}

static void do_lookup(struct run *run, const json_t *step)
{
	fp_service *service = no_handle(run);

	run->got = fp_service_lookup(lookup_name(step),
				     script_null(step, "out") ? NULL : &service);
	keep(run, handle_named(run, step), service);
}

static void do_unref(struct run *run, const json_t *step)
{
	fp_service *service = handle_of(run, step);

	run->got = fp_service_unref(service);
	drop(run, handle_named(run, step), service);
}

static void do_name(struct run *run, const json_t *step)
{
	run->is_text = 1;
	run->text = strcmp(run->call, "name") ? fp_service_core_name(core_of(run, step)) :
						fp_service_name(handle_of(run, step));
}

/* The services, or cores, that there are, or that a core has; references are given back. */
static void do_list(struct run *run, const json_t *step)
{
	int cores = !strcmp(run->call, "core_list");
	uint32_t n = (uint32_t)script_integer(step, "n", HANDLES_MAX);
	void *list[HANDLES_MAX] = { NULL };
	void *to = script_null(step, "list") ? NULL : list;

	if (cores)
		run->got = fp_service_core_list(to, n);
	else if (!strcmp(run->call, "list"))
		run->got = fp_service_list(to, n);
	else
		run->got = fp_service_core_services(core_of(run, step), to, n);
	for (int i = 0; i < HANDLES_MAX && list[i]; i++)
		if (i >= (int)n || i >= run->got ||
		    (cores ? fp_service_core_unref(list[i]) : fp_service_unref(list[i])))
			fail(run, "handle %d of the list is no reference", i);
}

/* ---- gates, mapping, running ---- */

static void do_gate(struct run *run, const json_t *step)
{
	fp_service *service = handle_of(run, step);

	if (!strcmp(run->call, "start"))
		run->got = fp_service_start(service);
	else if (!strcmp(run->call, "stop"))
		run->got = fp_service_stop(service, timeout_of(step));
	else
		run->got = fp_service_set_ready(
			service, (uint32_t)script_integer(step, "ready", 0),
			timeout_of(step));
}

static void do_map(struct run *run, const json_t *step)
{
	fp_service *service = handle_of(run, step);
	fp_service_core *core = core_of(run, step);

	if (!strcmp(run->call, "map"))
		run->got = fp_service_map(service, core);
	else if (!strcmp(run->call, "unmap"))
		run->got = fp_service_unmap(service, core, timeout_of(step));
	else
		run->got = fp_service_is_mapped(service, core);
}

static void do_start_defaults(struct run *run, const json_t *step)
{
	const json_t *names = json_object_get(step, "cores"), *v;
	fp_service_core *cores[CORES_MAX] = { NULL };
	size_t i;

	if (json_array_size(names) > CORES_MAX)
		script_die("cores", "too many");
	json_array_foreach((json_t *)names, i, v) if (!json_is_null(v)) cores[i] =
		core_named(run, json_string_value(v))->handle;
	run->got = fp_service_start_defaults(script_null(step, "cores") ? NULL : cores,
					     (uint32_t)json_array_size(names));
}

static void do_run_once(struct run *run, const json_t *step)
{
	struct outcome *o = run->outcome;
	const json_t *result = json_object_get(step, "result");
	int32_t untouched;

	memset(&untouched, UNTOUCHED, sizeof(untouched));
	o->result = untouched;
	run->got = fp_service_run_once(handle_of(run, step),
				       (uint32_t)script_integer(step, "flags", 0),
				       script_null(step, "result") ? NULL : &o->result);
	run->outcome = o;
	if (result && o->result != status_of(result))
		fail(run, "the function returned %d", o->result);
	if (run->got && o->result != untouched)
		fail(run, "failed, but changed its output");
}

static void do_is(struct run *run, const json_t *step)
{
	fp_service *service = handle_of(run, step);

	run->got = strcmp(run->call, "is_runnable") ? fp_service_is_active(service) :
						      fp_service_is_runnable(service);
}

static void do_set_deadline(struct run *run, const json_t *step)
{
	run->got = fp_service_set_deadline(handle_of(run, step),
					   (uint64_t)script_integer(step, "deadline", 0));
}

/* The wake-up of a service, or of a core if the step names one. */
static void do_wakeup(struct run *run, const json_t *step)
{
	fp_wakeup *wakeup = json_object_get(step, "core") ?
				    fp_service_core_wakeup(core_of(run, step)) :
				    fp_service_wakeup(handle_of(run, step));
	uint64_t key;

	if (!strcmp(run->call, "wakeup_signal"))
		run->got = fp_wakeup_signal(wakeup);
	else if (!strcmp(run->call, "wakeup_prepare"))
		run->got = fp_wakeup_prepare(wakeup, &key);
	else
		run->got = fp_wakeup_destroy(wakeup);
}

/* ---- statistics ---- */

static void do_stats(struct run *run, const json_t *step)
{
	struct outcome *o = run->outcome;

	o->stats.size = (uint32_t)script_integer(step, "size", sizeof(o->stats));
	run->got = fp_service_get_stats(handle_of(run, step),
					script_null(step, "io") ? NULL : &o->stats);
	run->stats = &o->stats;
}

static void do_map_stats(struct run *run, const json_t *step)
{
	struct outcome *o = run->outcome;

	o->map_stats.size = (uint32_t)script_integer(step, "size", sizeof(o->map_stats));
	run->got =
		fp_service_get_map_stats(handle_of(run, step), core_of(run, step),
					 script_null(step, "io") ? NULL : &o->map_stats);
	run->stats = &o->map_stats;
	run->fields = service_map_fields;
}

static void do_core_stats(struct run *run, const json_t *step)
{
	struct outcome *o = run->outcome;

	o->core_stats.size =
		(uint32_t)script_integer(step, "size", sizeof(o->core_stats));
	run->got = fp_service_core_get_stats(
		core_of(run, step), script_null(step, "io") ? NULL : &o->core_stats);
	run->stats = &o->core_stats;
	run->fields = service_core_fields;
}

static void do_reset_stats(struct run *run, const json_t *step)
{
	run->got = strcmp(run->call, "reset_stats") ?
			   fp_service_core_reset_stats(core_of(run, step)) :
			   fp_service_reset_stats(handle_of(run, step));
}

/* ---- cores ---- */

static uint32_t idle_of(const json_t *step)
{
	const json_t *v = json_object_get(step, "idle");
	const char *word = json_string_value(v);

	if (!word)
		return (uint32_t)json_integer_value(v);
	if (!strcmp(word, "spin"))
		return LIBFP_SERVICE_CORE_SPIN;
	if (strcmp(word, "yield"))
		script_die(word, "no way to be idle");
	return LIBFP_SERVICE_CORE_YIELD;
}

static const fp_service_core_opts *core_options(const json_t *step, struct options *o)
{
	fp_service_core_opts opts = LIBFP_SERVICE_CORE_OPTS_INIT;

	opts.allocator = option_allocator(step, o);
	opts.size = option_size(step, sizeof(opts));
	opts.flags = option_flags(step);
	opts.name = script_string(step, "name", NULL);
	opts.cpu = (uint32_t)script_integer(step, "cpu", 0);
	opts.policy = (uint32_t)script_integer(step, "policy", 0);
	opts.priority = (int32_t)script_integer(step, "priority", 0);
	opts.idle = idle_of(step);
	opts.stack_size = (uint64_t)script_integer(step, "stack_size", 0);
	return options_of(step, o, &opts, sizeof(opts));
}

static void do_core_create(struct run *run, const json_t *step)
{
	fp_service_core *core = no_handle(run);
	struct options space;

	run->got = fp_service_core_create(core_options(step, &space),
					  script_null(step, "out") ? NULL : &core);
	keep(run, core_named(run, script_string(step, "core", "c")), core);
}

static void do_core_opts_init(struct run *run, const json_t *step)
{
	fp_service_core_opts opts, expected = LIBFP_SERVICE_CORE_OPTS_INIT;

	expected.size = (uint32_t)script_integer(step, "size", 0);
	memset(&opts, UNTOUCHED, sizeof(opts));
	run->got = fp_service_core_opts_init(script_null(step, "opts") ? NULL : &opts,
					     expected.size);
	check_opts_init(run, &opts, &expected, sizeof(opts), expected.size);
}

static void do_core_lookup(struct run *run, const json_t *step)
{
	fp_service_core *core = no_handle(run);

	run->got = fp_service_core_lookup(lookup_name(step),
					  script_null(step, "out") ? NULL : &core);
	keep(run, core_named(run, script_string(step, "core", "c")), core);
}

static void do_core_end(struct run *run, const json_t *step)
{
	fp_service_core *core = core_of(run, step);

	run->got = strcmp(run->call, "core_unref") ? fp_service_core_destroy(core) :
						     fp_service_core_unref(core);
	drop(run, core_named(run, script_string(step, "core", "c")), core);
}

static void do_core_set_cpus(struct run *run, const json_t *step)
{
	const json_t *numbers = json_object_get(step, "cpus"), *v;
	uint32_t cpus[4] = { 0 };
	size_t i;

	json_array_foreach((json_t *)numbers, i, v) if (i < LEN(cpus)) cpus[i] =
		(uint32_t)json_integer_value(v);
	run->got = fp_service_core_set_cpus(core_of(run, step),
					    script_null(step, "cpus") ? NULL : cpus,
					    (uint32_t)json_array_size(numbers));
}

static void do_core_run(struct run *run, const json_t *step)
{
	fp_service_core *core = core_of(run, step);

	if (!strcmp(run->call, "core_start"))
		run->got = fp_service_core_start(core);
	else if (!strcmp(run->call, "core_stop"))
		run->got = fp_service_core_stop(core, timeout_of(step));
	else
		run->got = fp_service_core_run(core, timeout_of(step));
}

/* ---- all of them ---- */

#define SERVICE_KEYS "service null "
#define CORE_KEYS "core null "
#define BOTH_KEYS SERVICE_KEYS "core "
#define RAW_KEYS "size flags tail odd_address allocator "

const struct call service_calls[] = {
	{ "create", do_create,
	  SERVICE_KEYS "name returns inside wakeable not_ready cycles "
		       "reserved0 " RAW_KEYS },
	{ "destroy", do_destroy, SERVICE_KEYS "force flags timeout " },
	{ "lookup", do_lookup, SERVICE_KEYS "name " },
	{ "unref", do_unref, SERVICE_KEYS },
	{ "name", do_name, SERVICE_KEYS },
	{ "list", do_list, "n null " },
	{ "calls", do_calls, "service " },
	{ "released", do_calls, "service " },
	{ "await_calls", do_await_calls, "service n " },
	{ "set_ready", do_gate, SERVICE_KEYS "ready timeout " },
	{ "start", do_gate, SERVICE_KEYS },
	{ "stop", do_gate, SERVICE_KEYS "timeout " },
	{ "is_runnable", do_is, SERVICE_KEYS },
	{ "is_active", do_is, SERVICE_KEYS },
	{ "map", do_map, BOTH_KEYS },
	{ "unmap", do_map, BOTH_KEYS "timeout " },
	{ "is_mapped", do_map, BOTH_KEYS },
	{ "run_once", do_run_once, SERVICE_KEYS "flags result " },
	{ "set_deadline", do_set_deadline, SERVICE_KEYS "deadline " },
	{ "stats", do_stats, SERVICE_KEYS "fields size " },
	{ "map_stats", do_map_stats, BOTH_KEYS "fields size " },
	{ "reset_stats", do_reset_stats, SERVICE_KEYS },
	{ "start_defaults", do_start_defaults, "cores null " },
	{ "wakeup_signal", do_wakeup, BOTH_KEYS },
	{ "wakeup_prepare", do_wakeup, BOTH_KEYS },
	{ "wakeup_destroy", do_wakeup, BOTH_KEYS },
	{ "core_create", do_core_create,
	  CORE_KEYS "name cpu policy priority idle stack_size " RAW_KEYS },
	{ "core_destroy", do_core_end, CORE_KEYS },
	{ "core_lookup", do_core_lookup, CORE_KEYS "name " },
	{ "core_unref", do_core_end, CORE_KEYS },
	{ "core_name", do_name, CORE_KEYS },
	{ "core_list", do_list, "n null " },
	{ "core_services", do_list, CORE_KEYS "n " },
	{ "core_set_cpus", do_core_set_cpus, CORE_KEYS "cpus " },
	{ "core_start", do_core_run, CORE_KEYS },
	{ "core_stop", do_core_run, CORE_KEYS "timeout " },
	{ "core_run", do_core_run, CORE_KEYS "timeout " },
	{ "core_stats", do_core_stats, CORE_KEYS "fields size " },
	{ "core_reset_stats", do_reset_stats, CORE_KEYS },
	{ "opts_init", do_opts_init, "null size " },
	{ "core_opts_init", do_core_opts_init, "null size " },
	{ 0 },
};
