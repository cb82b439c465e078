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

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

struct named *named_at(struct run *run, enum named_kind kind, int at)
{
	return &((struct things *)run->things)->named[kind][at];
}

struct named *named(struct run *run, enum named_kind kind, const char *name)
{
	for (int i = 0; i < NAMED_MAX; i++) {
		struct named *n = named_at(run, kind, i);

		if (!n->name[0])
			snprintf(n->name, sizeof(n->name), "%s", name);
		if (!strcmp(n->name, name))
			return n;
	}
	script_die(name, "too many objects in a case");
	return NULL;
}

static fp_ring *ring_of(struct run *run, const json_t *step)
{
	fp_ring *ring = named(run, RINGS, script_string(step, "ring", "r"))->ring;

	if (!ring)
		fail(run, "there is no such ring");
	return script_null(step, "ring") ? NULL : ring;
}

/* ---- create and its kin ---- */

static void *no_memory(void *ctx, uint64_t size, uint64_t align)
{
	(void)ctx, (void)size, (void)align;
	return NULL;
}

static void frees_nothing(void *ctx, void *ptr, uint64_t size, uint64_t align)
{
	(void)ctx, (void)ptr, (void)size, (void)align;
}

/* The options as they lie in memory, with what a newer caller may have behind them. */
struct options {
	uint64_t space[(sizeof(fp_ring_opts) + 64) / 8];
	fp_allocator allocator;
};

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
	unsigned char *at = (unsigned char *)o->space;
	const char *allocator = script_string(step, "allocator", NULL);
	int64_t tail = script_integer(step, "tail", 0);

	memset(o, 0, sizeof(*o));
	if (allocator) {
		o->allocator = (fp_allocator)LIBFP_ALLOCATOR_INIT;
		o->allocator.alloc = strcmp(allocator, "fails") ? NULL : no_memory;
		o->allocator.free = frees_nothing;
		opts.allocator = &o->allocator;
	}
	opts.size = (uint32_t)script_integer(step, "size", (int64_t)sizeof(opts) + tail);
	opts.flags = (uint32_t)script_integer(step, "flags", 0) |
		     (script_integer(step, "stats", 0) ? LIBFP_STATS : 0) |
		     (script_integer(step, "checked", 0) ? LIBFP_CHECKED : 0);
	opts.name = script_string(step, "name", NULL);
	opts.capacity = (uint32_t)script_integer(step, "capacity", 0);
	opts.elem_size = (uint32_t)script_integer(step, "elem_size", 8);
	opts.producer = side(run, step, "producer", 0);
	opts.consumer = side(run, step, "consumer", 1);
	opts.reserved0 = (uint32_t)script_integer(step, "reserved0", 0);
	if (script_integer(step, "odd_address", 0))
		at += 4;
	memcpy(at, &opts, sizeof(opts));
	memset(at + sizeof(opts), 1, (size_t)tail);
	return script_null(step, "opts") ? NULL : (void *)at;
}

/* Keeps a new ring under its name; a refused call must not have touched `out`. */
static void keep_ring(struct run *run, const json_t *step, struct outcome *o,
		      fp_ring *ring, const fp_ring *before)
{
	if (o->got == 0)
		named(run, RINGS, script_string(step, "ring", "r"))->ring = ring;
	else if (ring != before)
		fail(run, "failed, but changed its output");
}

static void do_create(struct run *run, const json_t *step, struct outcome *o)
{
	fp_ring *before = (void *)&run->step, *ring = before;
	struct options space;

	o->got = fp_ring_create(options(run, step, &space),
				script_null(step, "out") ? NULL : &ring);
	keep_ring(run, step, o, ring, before);
}

static void do_memsize(struct run *run, const json_t *step, struct outcome *o)
{
	struct options space;

	o->got = fp_ring_memsize(options(run, step, &space));
}

static void do_opts_init(struct run *run, const json_t *step, struct outcome *o)
{
	fp_ring_opts opts, expected = LIBFP_RING_OPTS_INIT;

	expected.size = (uint32_t)script_integer(step, "size", 0);
	memset(&opts, UNTOUCHED, sizeof(opts));
	o->got = fp_ring_opts_init(script_null(step, "opts") ? NULL : &opts,
				   expected.size);
	if (o->got == 0 &&
	    (expected.size > sizeof(opts) || memcmp(&opts, &expected, expected.size)))
		fail(run, "not what LIBFP_RING_OPTS_INIT is, as far as it is known");
}

static void do_memory(struct run *run, const json_t *step, struct outcome *o)
{
	struct named *m = named(run, MEMORIES, script_string(step, "mem", "m"));

	m->len = (uint64_t)script_integer(step, "len", 0);
	m->mem = aligned_alloc(LIBFP_RING_ALIGN, m->len);
	if (!m->mem)
		script_die("memory", "none left");
	memset(m->mem, 0, m->len);
	o->got = 0;
}

static void do_init_or_attach(struct run *run, const json_t *step, struct outcome *o)
{
	struct named *m = named(run, MEMORIES, script_string(step, "mem", "m"));
	uint64_t offset = (uint64_t)script_integer(step, "offset", 0);
	uint64_t len = (uint64_t)script_integer(step, "len", (int64_t)(m->len - offset));
	void *mem = script_null(step, "mem") ? NULL : (char *)m->mem + offset;
	fp_ring *before = (void *)&run->step, *ring = before;
	fp_ring **out = script_null(step, "out") ? NULL : &ring;
	struct options space;

	if (!strcmp(run->call, "attach"))
		o->got = fp_ring_attach(mem, len, out);
	else
		o->got = fp_ring_init(mem, len, options(run, step, &space), out);
	keep_ring(run, step, o, ring, before);
}

static void do_lookup(struct run *run, const json_t *step, struct outcome *o)
{
	fp_ring *before = (void *)&run->step, *ring = before;

	o->got = fp_ring_lookup(
		script_null(step, "name") ? NULL : script_string(step, "name", ""),
		script_null(step, "out") ? NULL : &ring);
	keep_ring(run, step, o, ring, before);
}

static void do_end(struct run *run, const json_t *step, struct outcome *o)
{
	fp_ring *ring = ring_of(run, step);

	o->got = strcmp(run->call, "unref") ? fp_ring_destroy(ring) : fp_ring_unref(ring);
	if (ring && o->got == 0)
		named(run, RINGS, script_string(step, "ring", "r"))->ring = NULL;
}

/* ---- elements in and out ---- */

static void do_enqueue(struct run *run, const json_t *step, struct outcome *o)
{
	fp_ring *ring = ring_of(run, step);
	unsigned char *elem = script_zeroed(o->elem_size);

	if (!strcmp(run->call, "enqueue")) {
		script_element(json_object_get(step, "elem"), o->elem_size, elem);
		o->got = fp_ring_enqueue(ring, script_null(step, "elem") ? NULL : elem);
	} else {
		uint64_t value = 0;

		script_element(json_object_get(step, "elem"), 8, (unsigned char *)&value);
		o->got = fp_ring_enqueue_u64(ring, value);
	}
	free(elem);
}

static void do_enqueue_many(struct run *run, const json_t *step, struct outcome *o)
{
	fp_ring *ring = ring_of(run, step);
	size_t n;
	unsigned char *table =
		script_elements(json_object_get(step, "elems"), o->elem_size, &n);
	uint32_t count = (uint32_t)script_integer(step, "n", (int64_t)n);

	if (!strcmp(run->call, "enqueue_burst"))
		o->got = fp_ring_enqueue_burst(ring,
					       script_null(step, "elems") ? NULL : table,
					       count, &o->after);
	else
		o->got = fp_ring_enqueue_bulk(ring,
					      script_null(step, "elems") ? NULL : table,
					      count, &o->after);
	free(table);
}

static void do_dequeue(struct run *run, const json_t *step, struct outcome *o)
{
	fp_ring *ring = ring_of(run, step);
	void *elem = script_null(step, "elem") ? NULL : o->out;
	uint64_t value = 0;

	if (!strcmp(run->call, "dequeue")) {
		o->got = fp_ring_dequeue(ring, elem);
		return;
	}
	o->got = fp_ring_dequeue_u64(ring, elem ? &value : NULL);
	if (o->got == 1)
		memcpy(o->out, &value, sizeof(value));
	else if (value)
		fail(run, "no element, but changed its output");
}

static void do_dequeue_many(struct run *run, const json_t *step, struct outcome *o)
{
	fp_ring *ring = ring_of(run, step);
	uint32_t n = (uint32_t)script_integer(step, "n", 0);
	void *table = script_null(step, "elems") ? NULL : o->out;

	if (!strcmp(run->call, "peek"))
		o->got = fp_ring_peek(ring, table, n);
	else if (!strcmp(run->call, "dequeue_burst"))
		o->got = fp_ring_dequeue_burst(ring, table, n, &o->after);
	else
		o->got = fp_ring_dequeue_bulk(ring, table, n, &o->after);
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

static void do_reserve(struct run *run, const json_t *step, struct outcome *o)
{
	fp_ring *ring = ring_of(run, step);
	uint32_t n = (uint32_t)script_integer(step, "n", 0);
	uint32_t flags = (uint32_t)script_integer(step, "flags", 0) |
			 (script_integer(step, "bulk", 0) ? LIBFP_RING_BULK : 0);
	fp_ring_span before, *span = script_null(step, "span") ? NULL : &o->span;

	memset(&o->span, UNTOUCHED, sizeof(o->span));
	before = o->span;
	if (!strcmp(run->call, "reserve_enqueue")) {
		o->got = fp_ring_reserve_enqueue(ring, n, flags, span);
	} else {
		o->got = fp_ring_reserve_dequeue(ring, n, flags, span);
		if (o->got > 0 && o->got <= TABLE_MAX)
			copy_span(&o->span, o->elem_size, o->out, (size_t)o->got, 1);
	}
	if (o->got >= 0 && o->got != (int64_t)o->span.n1 + o->span.n2)
		fail(run, "returned %" PRId64 ", but n1 + n2 is %" PRIu64, o->got,
		     (uint64_t)o->span.n1 + o->span.n2);
	if (o->got > 0)
		named(run, SPANS, script_string(step, "span", "s"))->span = o->span;
	else if (o->got < 0 && memcmp(&o->span, &before, sizeof(before)))
		fail(run, "failed, but changed its output");
}

static void do_commit(struct run *run, const json_t *step, struct outcome *o)
{
	fp_ring *ring = ring_of(run, step);
	fp_ring_span *span = &named(run, SPANS, script_string(step, "span", "s"))->span;
	uint32_t k = (uint32_t)script_integer(step, "k", 0);
	fp_ring_span *argument = script_null(step, "span") ? NULL : span;

	if (!strcmp(run->call, "commit_enqueue")) {
		size_t n;
		unsigned char *table =
			script_elements(json_object_get(step, "elems"), o->elem_size, &n);

		copy_span(span, o->elem_size, table, n, 0);
		free(table);
		o->got = fp_ring_commit_enqueue(ring, argument, k);
	} else {
		o->got = fp_ring_commit_dequeue(ring, argument, k);
	}
	if (o->got >= 0 &&
	    (span->ptr1 || span->ptr2 || span->n1 || span->n2 || span->token))
		fail(run, "the span is not zero afterwards");
}

/* ---- inspection ---- */

static void do_plain(struct run *run, const json_t *step, struct outcome *o)
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
	fp_ring *ring = ring_of(run, step);

	for (size_t i = 0; i < LEN(table); i++)
		if (!strcmp(run->call, table[i].call))
			o->got = table[i].wide	 ? table[i].wide(ring) :
				 table[i].narrow ? table[i].narrow(ring) :
						   table[i].change(ring);
}

static void do_name(struct run *run, const json_t *step, struct outcome *o)
{
	o->is_text = 1;
	o->text = fp_ring_name(ring_of(run, step));
}

static void do_stats(struct run *run, const json_t *step, struct outcome *o)
{
	o->stats.size = (uint32_t)script_integer(step, "size", sizeof(o->stats));
	o->got = fp_ring_get_stats(ring_of(run, step),
				   script_null(step, "io") ? NULL : &o->stats);
}

/* ---- all of them ---- */

#define RING_KEYS "ring null "
#define OPTION_KEYS                                                                          \
	"capacity elem_size name stats checked producer consumer size flags reserved0 tail " \
	"odd_address allocator "

static const struct call calls[] = {
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
};

const struct call *ring_call(const json_t *step)
{
	return script_call(calls, LEN(calls), step);
}
