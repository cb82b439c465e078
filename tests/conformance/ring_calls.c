/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls of rings that a conformance script can name: one function each,
 * which makes the call as the step says and tells what came of it. What the
 * script does not mention is checked here: a call that failed left its output
 * alone.
 */
#include "ring_calls.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct memory *memory_of(struct run *run, const json_t *step)
{
	return NAMED(((struct things *)run->things)->memories,
		     script_string(step, "mem", "m"));
}

static fp_ring_span *span_of(struct run *run, const json_t *step)
{
	struct span *span = NAMED(((struct things *)run->things)->spans,
				  script_string(step, "span", "s"));

	return &span->span;
}

/* ---- create and its kin ---- */

static uint32_t side(const struct run *run, const json_t *step, const char *key,
		     int which)
{
	const json_t *v = json_object_get(step, key);

	if (!v)
		return run->sides[which];
	if (json_is_integer(v))
		return (uint32_t)json_integer_value(v);
	return strcmp(script_string(step, key, ""), "st") ? LIBFP_MT : LIBFP_ST;
}

static const fp_ring_opts *options(const struct run *run, const json_t *step,
				   struct options *o)
{
	fp_ring_opts opts = LIBFP_RING_OPTS_INIT;

	opts.allocator = option_allocator(step, o);
	opts.size = option_size(step, sizeof(opts));
	opts.flags = option_flags(step) |
		     (script_integer(step, "wait", 0) ? LIBFP_RING_WAIT : 0);
	opts.name = script_string(step, "name", NULL);
	opts.capacity = (uint32_t)script_integer(step, "capacity", 0);
	opts.elem_size = (uint32_t)script_integer(step, "elem_size", 8);
	opts.producer = side(run, step, "producer", 0);
	opts.consumer = side(run, step, "consumer", 1);
	opts.reserved0 = (uint32_t)script_integer(step, "reserved0", 0);
	return options_of(step, o, &opts, sizeof(opts));
}

static void do_create(struct run *run, const json_t *step)
{
	fp_ring *ring = no_handle(run);
	struct options space;

	run->got = fp_ring_create(options(run, step, &space),
				  script_null(step, "out") ? NULL : &ring);
	keep(run, handle_named(run, step), ring);
}

static void do_memsize(struct run *run, const json_t *step)
{
	struct options space;

	run->got = fp_ring_memsize(options(run, step, &space));
}

static void do_opts_init(struct run *run, const json_t *step)
{
	fp_ring_opts opts, expected = LIBFP_RING_OPTS_INIT;

	expected.size = (uint32_t)script_integer(step, "size", 0);
	memset(&opts, UNTOUCHED, sizeof(opts));
	run->got = fp_ring_opts_init(script_null(step, "opts") ? NULL : &opts,
				     expected.size);
	check_opts_init(run, &opts, &expected, sizeof(opts), expected.size);
}

static void do_memory(struct run *run, const json_t *step)
{
	struct memory *m = memory_of(run, step);

	m->len = (uint64_t)script_integer(step, "len", 0);
	m->mem = aligned_alloc(LIBFP_RING_ALIGN, m->len);
	if (!m->mem)
		script_die("memory", "none left");
	memset(m->mem, 0, m->len);
	run->got = 0;
}

static void do_init_or_attach(struct run *run, const json_t *step)
{
	struct memory *m = memory_of(run, step);
	uint64_t offset = (uint64_t)script_integer(step, "offset", 0);
	uint64_t len = (uint64_t)script_integer(step, "len", (int64_t)(m->len - offset));
	void *mem = script_null(step, "mem") ? NULL : (char *)m->mem + offset;
	fp_ring *ring = no_handle(run);
	fp_ring **out = script_null(step, "out") ? NULL : &ring;
	struct options space;

	if (!strcmp(run->call, "attach"))
		run->got = fp_ring_attach(mem, len, out);
	else
		run->got = fp_ring_init(mem, len, options(run, step, &space), out);
	keep(run, handle_named(run, step), ring);
}

static void do_lookup(struct run *run, const json_t *step)
{
	fp_ring *ring = no_handle(run);

	run->got = fp_ring_lookup(lookup_name(step),
				  script_null(step, "out") ? NULL : &ring);
	keep(run, handle_named(run, step), ring);
}

static void do_end(struct run *run, const json_t *step)
{
	fp_ring *ring = handle_of(run, step);

	run->got =
		strcmp(run->call, "unref") ? fp_ring_destroy(ring) : fp_ring_unref(ring);
	drop(run, handle_named(run, step), ring);
}

/* ---- elements in and out ---- */

static void do_enqueue(struct run *run, const json_t *step)
{
	struct outcome *o = run->outcome;
	fp_ring *ring = handle_of(run, step);
	unsigned char *elem = script_zeroed(o->elem_size);

	if (!strcmp(run->call, "enqueue")) {
		script_element(json_object_get(step, "elem"), o->elem_size, elem);
		run->got = fp_ring_enqueue(ring, script_null(step, "elem") ? NULL : elem);
	} else {
		uint64_t value = 0;

		script_element(json_object_get(step, "elem"), 8, (unsigned char *)&value);
		run->got = fp_ring_enqueue_u64(ring, value);
	}
	free(elem);
}

static void do_enqueue_many(struct run *run, const json_t *step)
{
	struct outcome *o = run->outcome;
	fp_ring *ring = handle_of(run, step);
	size_t n;
	unsigned char *table =
		script_elements(json_object_get(step, "elems"), o->elem_size, &n);
	uint32_t count = (uint32_t)script_integer(step, "n", (int64_t)n);

	if (!strcmp(run->call, "enqueue_burst"))
		run->got = fp_ring_enqueue_burst(
			ring, script_null(step, "elems") ? NULL : table, count,
			&o->after);
	else
		run->got = fp_ring_enqueue_bulk(ring,
						script_null(step, "elems") ? NULL : table,
						count, &o->after);
	free(table);
}

static void do_dequeue(struct run *run, const json_t *step)
{
	struct outcome *o = run->outcome;
	fp_ring *ring = handle_of(run, step);
	void *elem = script_null(step, "elem") ? NULL : o->out;
	uint64_t value = 0;

	if (!strcmp(run->call, "dequeue")) {
		run->got = fp_ring_dequeue(ring, elem);
		return;
	}
	run->got = fp_ring_dequeue_u64(ring, elem ? &value : NULL);
	if (run->got == 1)
		memcpy(o->out, &value, sizeof(value));
	else if (value)
		fail(run, "no element, but changed its output");
}

static void do_dequeue_many(struct run *run, const json_t *step)
{
	struct outcome *o = run->outcome;
	fp_ring *ring = handle_of(run, step);
	uint32_t n = (uint32_t)script_integer(step, "n", 0);
	void *table = script_null(step, "elems") ? NULL : o->out;

	if (!strcmp(run->call, "peek"))
		run->got = fp_ring_peek(ring, table, n);
	else if (!strcmp(run->call, "dequeue_burst"))
		run->got = fp_ring_dequeue_burst(ring, table, n, &o->after);
	else
		run->got = fp_ring_dequeue_bulk(ring, table, n, &o->after);
}

/* ---- waiting ---- */

/* The number of a side; a script may also write a number that is none. */
static uint32_t side_of(const json_t *step)
{
	const json_t *v = json_object_get(step, "side");

	if (json_is_integer(v))
		return (uint32_t)json_integer_value(v);
	if (!strcmp(script_string(step, "side", ""), "producer"))
		return LIBFP_RING_PRODUCER;
	if (strcmp(script_string(step, "side", ""), "consumer"))
		script_die("side", "neither producer nor consumer");
	return LIBFP_RING_CONSUMER;
}

static struct handle *wakeup_named(struct run *run, const json_t *step)
{
	return NAMED(((struct things *)run->things)->wakeups,
		     script_string(step, "wakeup", "w"));
}

static void do_wait(struct run *run, const json_t *step)
{
	fp_ring *ring = handle_of(run, step);

	run->got = strcmp(run->call, "wait_readable") ?
			   fp_ring_wait_writable(ring, timeout_of(step)) :
			   fp_ring_wait_readable(ring, timeout_of(step));
}

static void do_dequeue_wait(struct run *run, const json_t *step)
{
	struct outcome *o = run->outcome;

	run->got = fp_ring_dequeue_wait(
		handle_of(run, step), script_null(step, "elems") ? NULL : o->out,
		(uint32_t)script_integer(step, "min", 1),
		(uint32_t)script_integer(step, "n", 0), timeout_of(step));
}

static void do_enqueue_wait(struct run *run, const json_t *step)
{
	struct outcome *o = run->outcome;
	fp_ring *ring = handle_of(run, step);
	size_t n;
	unsigned char *table =
		script_elements(json_object_get(step, "elems"), o->elem_size, &n);

	run->got = fp_ring_enqueue_wait(ring, script_null(step, "elems") ? NULL : table,
					(uint32_t)script_integer(step, "min", 1),
					(uint32_t)script_integer(step, "n", (int64_t)n),
					timeout_of(step));
	free(table);
}

static void do_interrupt(struct run *run, const json_t *step)
{
	run->got = fp_ring_interrupt(handle_of(run, step), side_of(step));
}

/* With `"wakeup": null` nothing is bound any more. */
static void do_set_wakeup(struct run *run, const json_t *step)
{
	fp_wakeup *wakeup = NULL;

	if (!json_is_null(json_object_get(step, "wakeup"))) {
		wakeup = wakeup_named(run, step)->handle;
		if (!wakeup)
			fail(run, "there is no such wake-up");
	}
	run->got = fp_ring_set_wakeup(handle_of(run, step), side_of(step), wakeup);
}

static void do_wakeup(struct run *run, const json_t *step)
{
	call_wakeup(run, wakeup_named(run, step));
}

/* ---- spans ---- */

/* Copies as many of n elements as the span holds into it, or out of it. */
static void copy_span(const fp_ring_span *s, uint32_t elem_size, unsigned char *table,
		      size_t n, int out)
{
	size_t n1 = n < s->n1 ? n : s->n1, n2 = n - n1 < s->n2 ? n - n1 : s->n2;
	unsigned char *behind = table + n1 * elem_size;

	if (n1)
		memcpy(out ? (void *)table : s->ptr1, out ? s->ptr1 : (void *)table,
		       n1 * elem_size);
	if (n2)
		memcpy(out ? (void *)behind : s->ptr2, out ? s->ptr2 : (void *)behind,
		       n2 * elem_size);
}

static void do_reserve(struct run *run, const json_t *step)
{
	struct outcome *o = run->outcome;
	fp_ring *ring = handle_of(run, step);
	uint32_t n = (uint32_t)script_integer(step, "n", 0);
	uint32_t flags = (uint32_t)script_integer(step, "flags", 0) |
			 (script_integer(step, "bulk", 0) ? LIBFP_RING_BULK : 0);
	fp_ring_span before, *span = script_null(step, "span") ? NULL : &o->span;

	memset(&o->span, UNTOUCHED, sizeof(o->span));
	before = o->span;
	if (!strcmp(run->call, "reserve_enqueue")) {
		run->got = fp_ring_reserve_enqueue(ring, n, flags, span);
	} else {
		run->got = fp_ring_reserve_dequeue(ring, n, flags, span);
		if (run->got > 0 && run->got <= TABLE_MAX)
			copy_span(&o->span, o->elem_size, o->out, (size_t)run->got, 1);
	}
	if (run->got >= 0 && run->got != (int64_t)o->span.n1 + o->span.n2)
		fail(run, "returned %" PRId64 ", but n1 + n2 is %" PRIu64, run->got,
		     (uint64_t)o->span.n1 + o->span.n2);
	if (run->got > 0)
		*span_of(run, step) = o->span;
	else if (run->got < 0 && memcmp(&o->span, &before, sizeof(before)))
		fail(run, "failed, but changed its output");
}

static void do_commit(struct run *run, const json_t *step)
{
	struct outcome *o = run->outcome;
	fp_ring *ring = handle_of(run, step);
	fp_ring_span *span = span_of(run, step);
	uint32_t k = (uint32_t)script_integer(step, "k", 0);
	fp_ring_span *argument = script_null(step, "span") ? NULL : span;

	if (!strcmp(run->call, "commit_enqueue")) {
		size_t n;
		unsigned char *table =
			script_elements(json_object_get(step, "elems"), o->elem_size, &n);

		copy_span(span, o->elem_size, table, n, 0);
		free(table);
		run->got = fp_ring_commit_enqueue(ring, argument, k);
	} else {
		run->got = fp_ring_commit_dequeue(ring, argument, k);
	}
	if (run->got >= 0 &&
	    (span->ptr1 || span->ptr2 || span->n1 || span->n2 || span->token))
		fail(run, "the span is not zero afterwards");
}

/* ---- inspection ---- */

static void do_plain(struct run *run, const json_t *step)
{
	static const struct {
		const char *call;
		int64_t (*wide)(const fp_ring *);
		int (*narrow)(const fp_ring *);
		int (*change)(fp_ring *);
	} table[] = {
		{ "count", fp_ring_count, 0, 0 },
		{ "free_count", fp_ring_free_count, 0, 0 },
		{ "capacity", fp_ring_capacity, 0, 0 },
		{ "elem_size", fp_ring_elem_size, 0, 0 },
		{ "producer_sync", 0, fp_ring_producer_sync, 0 },
		{ "consumer_sync", 0, fp_ring_consumer_sync, 0 },
		{ "is_full", 0, fp_ring_is_full, 0 },
		{ "is_empty", 0, fp_ring_is_empty, 0 },
		{ "is_closed", 0, fp_ring_is_closed, 0 },
		{ "close", 0, 0, fp_ring_close },
		{ "reset", 0, 0, fp_ring_reset },
	};
	fp_ring *ring = handle_of(run, step);

	for (size_t i = 0; i < LEN(table); i++)
		if (!strcmp(run->call, table[i].call))
			run->got = table[i].wide   ? table[i].wide(ring) :
				   table[i].narrow ? table[i].narrow(ring) :
						     table[i].change(ring);
}

static void do_name(struct run *run, const json_t *step)
{
	run->is_text = 1;
	run->text = fp_ring_name(handle_of(run, step));
}

static void do_stats(struct run *run, const json_t *step)
{
	struct outcome *o = run->outcome;
	o->stats.size = (uint32_t)script_integer(step, "size", sizeof(o->stats));
	run->got = fp_ring_get_stats(handle_of(run, step),
				     script_null(step, "io") ? NULL : &o->stats);
	run->stats = &o->stats;
}

/* ---- all of them ---- */

#define RING_KEYS "ring null "
#define OPTION_KEYS                                                                          \
	"capacity elem_size name stats checked wait producer consumer size flags reserved0 " \
	"tail odd_address allocator "

const struct call ring_calls[] = {
	{ "create", do_create, RING_KEYS OPTION_KEYS },
	{ "destroy", do_end, RING_KEYS },
	{ "lookup", do_lookup, RING_KEYS "name " },
	{ "unref", do_end, RING_KEYS },
	{ "close", do_plain, RING_KEYS },
	{ "reset", do_plain, RING_KEYS },
	{ "enqueue", do_enqueue, RING_KEYS "elem " },
	{ "enqueue_u64", do_enqueue, RING_KEYS "elem " },
	{ "enqueue_burst", do_enqueue_many, RING_KEYS "elems after n " },
	{ "enqueue_bulk", do_enqueue_many, RING_KEYS "elems after n " },
	{ "dequeue", do_dequeue, RING_KEYS "out " },
	{ "dequeue_u64", do_dequeue, RING_KEYS "out " },
	{ "dequeue_burst", do_dequeue_many, RING_KEYS "n out after " },
	{ "dequeue_bulk", do_dequeue_many, RING_KEYS "n out after " },
	{ "peek", do_dequeue_many, RING_KEYS "n out " },
	{ "wait_readable", do_wait, RING_KEYS "timeout " },
	{ "wait_writable", do_wait, RING_KEYS "timeout " },
	{ "dequeue_wait", do_dequeue_wait, RING_KEYS "min n timeout out " },
	{ "enqueue_wait", do_enqueue_wait, RING_KEYS "elems min n timeout " },
	{ "interrupt", do_interrupt, RING_KEYS "side " },
	{ "set_wakeup", do_set_wakeup, RING_KEYS "side wakeup " },
	{ "wakeup_create", do_wakeup, "wakeup " },
	{ "wakeup_arm", do_wakeup, "wakeup " },
	{ "wakeup_clear", do_wakeup, "wakeup " },
	{ "wakeup_destroy", do_wakeup, "wakeup " },
	{ "reserve_enqueue", do_reserve, RING_KEYS "span n bulk flags pieces " },
	{ "commit_enqueue", do_commit, RING_KEYS "span k elems " },
	{ "reserve_dequeue", do_reserve, RING_KEYS "span n bulk flags pieces out " },
	{ "commit_dequeue", do_commit, RING_KEYS "span k " },
	{ "count", do_plain, RING_KEYS },
	{ "free_count", do_plain, RING_KEYS },
	{ "capacity", do_plain, RING_KEYS },
	{ "elem_size", do_plain, RING_KEYS },
	{ "producer_sync", do_plain, RING_KEYS },
	{ "consumer_sync", do_plain, RING_KEYS },
	{ "is_full", do_plain, RING_KEYS },
	{ "is_empty", do_plain, RING_KEYS },
	{ "is_closed", do_plain, RING_KEYS },
	{ "name", do_name, RING_KEYS },
	{ "stats", do_stats, RING_KEYS "fields size " },
	{ "opts_init", do_opts_init, "null size " },
	{ "memory", do_memory, "mem len " },
	{ "memsize", do_memsize, "null " OPTION_KEYS },
	{ "init", do_init_or_attach, RING_KEYS "mem offset len " OPTION_KEYS },
	{ "attach", do_init_or_attach, RING_KEYS "mem offset len " },
	{ 0 },
};
