/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls of wake-ups that a conformance script can name: one function each, which
 * makes the call as the step says and tells what came of it. What the script does not
 * mention is checked here: a call that failed left its output alone, and a wake-up has
 * one descriptor.
 */
#include "wakeup_calls.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

static struct key *key_named(struct run *run, const json_t *step)
{
	return NAMED(((struct things *)run->things)->keys,
		     script_string(step, "key", "k"));
}

/* ---- create and its kin ---- */

static const fp_wakeup_opts *options(const json_t *step, struct options *o)
{
	fp_wakeup_opts opts = LIBFP_WAKEUP_OPTS_INIT;

	opts.allocator = option_allocator(step, o);
	opts.size = option_size(step, sizeof(opts));
	opts.flags = option_flags(step) |
		     (script_integer(step, "fence", 0) ? LIBFP_WAKEUP_FENCE : 0);
	return options_of(step, o, &opts, sizeof(opts));
}

static void do_create(struct run *run, const json_t *step)
{
	fp_wakeup *wakeup = no_handle(run);
	struct options space;

	run->got = fp_wakeup_create(options(step, &space),
				    script_null(step, "out") ? NULL : &wakeup);
	keep(run, handle_named(run, step), wakeup);
}

static void do_opts_init(struct run *run, const json_t *step)
{
	fp_wakeup_opts opts, expected = LIBFP_WAKEUP_OPTS_INIT;

	expected.size = (uint32_t)script_integer(step, "size", 0);
	memset(&opts, UNTOUCHED, sizeof(opts));
	run->got = fp_wakeup_opts_init(script_null(step, "opts") ? NULL : &opts,
				       expected.size);
	check_opts_init(run, &opts, &expected, sizeof(opts), expected.size);
}

static void do_destroy(struct run *run, const json_t *step)
{
	fp_wakeup *wakeup = handle_of(run, step);

	run->got = fp_wakeup_destroy(wakeup);
	drop(run, handle_named(run, step), wakeup);
}

/* ---- sleeping ---- */

static void do_prepare(struct run *run, const json_t *step)
{
	uint64_t untouched, key;

	memset(&untouched, UNTOUCHED, sizeof(untouched));
	key = untouched;
	run->got = fp_wakeup_prepare(handle_of(run, step),
				     script_null(step, "key") ? NULL : &key);
	if (run->got == 0)
		key_named(run, step)->key = key;
	else if (key != untouched)
		fail(run, "failed, but changed its output");
}

static void do_cancel(struct run *run, const json_t *step)
{
	run->got = fp_wakeup_cancel(handle_of(run, step), key_named(run, step)->key);
}

static void do_wait(struct run *run, const json_t *step)
{
	run->got = fp_wakeup_wait(handle_of(run, step), key_named(run, step)->key,
				  timeout_of(step));
}

/* ---- the descriptor ---- */

static void do_fd(struct run *run, const json_t *step)
{
	fp_wakeup *wakeup = handle_of(run, step);

	run->got = fp_wakeup_fd(wakeup);
	if (run->got >= 0 && fp_wakeup_fd(wakeup) != run->got)
		fail(run, "another descriptor the second time");
}

/* Not a call of the library: what poll() says. */
static void do_is_readable(struct run *run, const json_t *step)
{
	struct pollfd p = { fp_wakeup_fd(handle_of(run, step)), POLLIN, 0 };

	run->got = poll(&p, 1, 0);
}

/* ---- the rest ---- */

static void do_plain(struct run *run, const json_t *step)
{
	static const struct {
		const char *call;
		int (*call_it)(fp_wakeup *);
	} table[] = {
		{ "signal", fp_wakeup_signal },
		{ "interrupt", fp_wakeup_interrupt },
		{ "arm", fp_wakeup_arm },
		{ "clear", fp_wakeup_clear },
	};
	fp_wakeup *wakeup = handle_of(run, step);

	for (size_t i = 0; i < LEN(table); i++)
		if (!strcmp(run->call, table[i].call))
			run->got = table[i].call_it(wakeup);
}

/* With a membarrier or, where the kernel refuses it, without: the machine's choice. */
static void do_is_fenced(struct run *run, const json_t *step)
{
	int mode = fp_wakeup_mode(handle_of(run, step));

	run->got = mode < 0 ? mode : mode == LIBFP_WAKEUP_MODE_FENCE;
	if (mode > LIBFP_WAKEUP_MODE_POLL)
		fail(run, "no mode");
}

static void do_stats(struct run *run, const json_t *step)
{
	struct outcome *o = run->outcome;

	o->stats.size = (uint32_t)script_integer(step, "size", sizeof(o->stats));
	run->got = fp_wakeup_get_stats(handle_of(run, step),
				       script_null(step, "io") ? NULL : &o->stats);
	run->stats = &o->stats;
}

/* ---- all of them ---- */

#define WAKEUP_KEYS "wakeup null "

const struct call wakeup_calls[] = {
	{ "create", do_create,
	  WAKEUP_KEYS "fence size flags tail odd_address allocator " },
	{ "destroy", do_destroy, WAKEUP_KEYS },
	{ "is_fenced", do_is_fenced, WAKEUP_KEYS },
	{ "prepare", do_prepare, WAKEUP_KEYS "key " },
	{ "cancel", do_cancel, WAKEUP_KEYS "key " },
	{ "wait", do_wait, WAKEUP_KEYS "key timeout " },
	{ "signal", do_plain, WAKEUP_KEYS },
	{ "interrupt", do_plain, WAKEUP_KEYS },
	{ "fd", do_fd, WAKEUP_KEYS },
	{ "is_readable", do_is_readable, WAKEUP_KEYS },
	{ "arm", do_plain, WAKEUP_KEYS },
	{ "clear", do_plain, WAKEUP_KEYS },
	{ "stats", do_stats, WAKEUP_KEYS "fields size " },
	{ "opts_init", do_opts_init, "null size " },
	{ 0 },
};
