/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The calls of pools that a conformance script can name: one function each, which
 * makes the call as the step says and tells what came of it. What the script does
 * not mention is checked here: a call that failed left its output alone, and no
 * object comes out that is out already.
 */
#include "mempool_calls.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- arguments ---- */

static struct things *things(struct run *run)
{
	return run->things;
}

static struct handle *cache_named(struct run *run, const json_t *step)
{
	return NAMED(things(run)->caches, script_string(step, "cache", "c"));
}

static fp_mempool_cache *cache_of(struct run *run, const json_t *step)
{
	fp_mempool_cache *cache = cache_named(run, step)->handle;

	if (!cache)
		fail(run, "there is no such cache");
	return script_null(step, "cache") ? NULL : cache;
}

static int has_cache(const json_t *step)
{
	return json_object_get(step, "cache") != NULL;
}

/* The one object of a step; `offset` is for what is not the start of one. */
static void *argument(struct run *run, const json_t *step, const fp_mempool *pool)
{
	const json_t *v = json_object_get(step, "object");
	char *object;

	if (!v)
		script_die(run->call, "no object");
	if (script_null(step, "object"))
		return NULL;
	object = object_of(run, pool, json_string_value(v), json_integer_value(v));
	if (!object)
		script_die(run->call, "an object that never came out");
	return object + script_integer(step, "offset", 0);
}

/* ---- who is out ---- */

static void hold(struct run *run, void *object)
{
	struct things *t = things(run);

	for (size_t i = 0; i < t->n_held; i++)
		if (t->held[i] == object)
			fail(run, "an object came out that is out already");
	if (t->n_held == OBJECTS_MAX)
		script_die(run->call, "too many objects are out");
	t->held[t->n_held++] = object;
}

static void let_go(struct run *run, void *const *objects, int64_t n)
{
	struct things *t = things(run);

	for (int64_t k = 0; k < n; k++)
		for (size_t i = 0; i < t->n_held; i++)
			if (t->held[i] == objects[k])
				t->held[i--] = t->held[--t->n_held];
}

/* ---- create and its kin ---- */

/* A walk over all objects, by the constructor or by for_each. */
struct walk {
	int64_t stop; /* what the object with index 1 returns */
	uint32_t calls;
	int wrong;
};

/* The constructor, and what for_each calls. Fills the object with its index. */
static int visit(void *object, uint32_t index, void *user)
{
	struct walk *walk = user;

	walk->wrong |= index != walk->calls++;
	*(unsigned char *)object = (unsigned char)index;
	return index == 1 ? (int)walk->stop : 0;
}

static const fp_mempool_opts *options(const struct run *run, const json_t *step,
				      struct options *o, struct walk *walk)
{
	fp_mempool_opts opts = LIBFP_MEMPOOL_OPTS_INIT;

	if (json_object_get(step, "constructor")) {
		walk->stop = script_integer(step, "constructor", 0);
		opts.constructor = visit;
		opts.user = walk;
	}
	opts.allocator = option_allocator(step, o);
	opts.size = option_size(step, sizeof(opts));
	opts.flags = option_flags(step) |
		     (script_integer(step, "no_cache", 0) ? LIBFP_POOL_NO_CACHE : 0) |
		     (run->sides[0] == LIBFP_ST ? LIBFP_POOL_ST_GET : 0) |
		     (run->sides[1] == LIBFP_ST ? LIBFP_POOL_ST_PUT : 0);
	opts.name = script_string(step, "name", NULL);
	opts.count = (uint32_t)script_integer(step, "count", 0);
	opts.object_size = (uint32_t)script_integer(step, "object_size", 64);
	opts.align = (uint32_t)script_integer(step, "align", 0);
	opts.cache_size = (uint32_t)script_integer(step, "cache_size", 0);
	opts.max_threads = (uint32_t)script_integer(step, "max_threads", 0);
	return options_of(step, o, &opts, sizeof(opts));
}

static void do_create(struct run *run, const json_t *step)
{
	fp_mempool *pool = no_handle(run);
	struct walk walk = { 0 };
	struct options space;

	run->got = fp_mempool_create(options(run, step, &space, &walk),
				     script_null(step, "out") ? NULL : &pool);
	keep(run, handle_named(run, step), pool);
	if (walk.wrong || (run->got == 0 && json_object_get(step, "constructor") &&
			   walk.calls != fp_mempool_capacity(pool)))
		fail(run, "the constructor was not called once for each index in order");
}

static void do_opts_init(struct run *run, const json_t *step)
{
	fp_mempool_opts opts, expected = LIBFP_MEMPOOL_OPTS_INIT;

	expected.size = (uint32_t)script_integer(step, "size", 0);
	memset(&opts, UNTOUCHED, sizeof(opts));
	run->got = fp_mempool_opts_init(script_null(step, "opts") ? NULL : &opts,
					expected.size);
	check_opts_init(run, &opts, &expected, sizeof(opts), expected.size);
}

static void do_lookup(struct run *run, const json_t *step)
{
	fp_mempool *pool = no_handle(run);

	run->got = fp_mempool_lookup(lookup_name(step),
				     script_null(step, "out") ? NULL : &pool);
	keep(run, handle_named(run, step), pool);
}

static void do_end(struct run *run, const json_t *step)
{
	fp_mempool *pool = handle_of(run, step);

	run->got = strcmp(run->call, "unref") ? fp_mempool_destroy(pool) :
						fp_mempool_unref(pool);
	drop(run, handle_named(run, step), pool);
}

/* ---- caches ---- */

static void do_cache_create(struct run *run, const json_t *step)
{
	fp_mempool_cache *cache = no_handle(run);

	run->got = fp_mempool_cache_create(handle_of(run, step),
					   script_null(step, "out") ? NULL : &cache);
	keep(run, cache_named(run, step), cache);
}

static void do_cache(struct run *run, const json_t *step)
{
	fp_mempool_cache *cache = cache_of(run, step);

	if (!strcmp(run->call, "cache_flush")) {
		run->got = fp_mempool_cache_flush(cache);
	} else if (!strcmp(run->call, "cache_count")) {
		run->got = fp_mempool_cache_count(cache);
	} else {
		run->got = fp_mempool_cache_destroy(cache);
		drop(run, cache_named(run, step), cache);
	}
}

/* ---- get and put ---- */

static void came_out(struct run *run)
{
	struct outcome *o = run->outcome;
	o->n_out = run->got > 0 ? (size_t)run->got : 0;
	for (size_t i = 0; i < o->n_out; i++)
		hold(run, o->out[i]);
}

static void do_get(struct run *run, const json_t *step)
{
	struct outcome *o = run->outcome;
	fp_mempool *pool = handle_of(run, step);
	void *object = has_cache(step) ?
			       fp_mempool_get_via_cache(pool, cache_of(run, step)) :
			       fp_mempool_get(pool);

	run->got = object != NULL;
	if (object)
		o->out[0] = object;
	came_out(run);
}

static void do_get_bulk(struct run *run, const json_t *step)
{
	struct outcome *o = run->outcome;
	fp_mempool *pool = handle_of(run, step);
	uint32_t n = (uint32_t)script_integer(step, "n", 0);
	void **out = script_null(step, "objects") ? NULL : o->out;

	run->got =
		has_cache(step) ?
			fp_mempool_get_bulk_via_cache(pool, cache_of(run, step), out, n) :
			fp_mempool_get_bulk(pool, out, n);
	came_out(run);
}

static void do_put(struct run *run, const json_t *step)
{
	fp_mempool *pool = handle_of(run, step);
	void *object = argument(run, step, handle_named(run, step)->handle);

	run->got = has_cache(step) ?
			   fp_mempool_put_via_cache(pool, cache_of(run, step), object) :
			   fp_mempool_put(pool, object);
	if (run->got == 0)
		let_go(run, &object, 1);
}

static void into_table(struct run *run, size_t at, const char *name, int64_t index)
{
	struct outcome *o = run->outcome;
	if (name && !name[0])
		script_die(run->call, "null stands for what comes out");
	o->out[at] = object_of(run, o->pool, name, index);
	if (!o->out[at])
		script_die(run->call, "an object that never came out");
}

static void do_put_bulk(struct run *run, const json_t *step)
{
	struct outcome *o = run->outcome;
	fp_mempool *pool = handle_of(run, step);
	const json_t *list = json_object_get(step, "objects");
	size_t n = visit_objects(run, list, into_table);
	uint32_t count = (uint32_t)script_integer(step, "n", (int64_t)n);
	void **table = script_null(step, "objects") ? NULL : o->out;

	run->got = has_cache(step) ? fp_mempool_put_bulk_via_cache(
					     pool, cache_of(run, step), table, count) :
				     fp_mempool_put_bulk(pool, table, count);
	if (run->got > 0)
		let_go(run, o->out, run->got);
}

/* ---- windows ---- */

static void do_get_reserve(struct run *run, const json_t *step)
{
	struct outcome *o = run->outcome;
	fp_mempool *pool = handle_of(run, step);
	uint32_t n = (uint32_t)script_integer(step, "n", 0);
	void *const *before = (void *)&run->step, *const *at = before;
	void *const **window = script_null(step, "window") ? NULL : &at;

	run->got = has_cache(step) ? fp_mempool_get_reserve_via_cache(
					     pool, cache_of(run, step), n, window) :
				     fp_mempool_get_reserve(pool, n, window);
	if (run->got <= 0 && at != before)
		fail(run, "no window, but changed its output");
	if (run->got > 0 && run->got <= TABLE_MAX) {
		o->n_out = (size_t)run->got;
		memcpy(o->out, at, o->n_out * sizeof(*at));
	}
}

static void do_get_commit(struct run *run, const json_t *step)
{
	fp_mempool *pool = handle_of(run, step);
	uint32_t k = (uint32_t)script_integer(step, "k", 0);

	run->got = has_cache(step) ?
			   fp_mempool_get_commit_via_cache(pool, cache_of(run, step), k) :
			   fp_mempool_get_commit(pool, k);
}

static void do_put_reserve(struct run *run, const json_t *step)
{
	fp_mempool *pool = handle_of(run, step);
	uint32_t n = (uint32_t)script_integer(step, "n", 0);
	void **before = (void *)&run->step, **at = before;
	void ***window = script_null(step, "window") ? NULL : &at;

	run->got = has_cache(step) ? fp_mempool_put_reserve_via_cache(
					     pool, cache_of(run, step), n, window) :
				     fp_mempool_put_reserve(pool, n, window);
	if (run->got <= 0 && at != before)
		fail(run, "no window, but changed its output");
	things(run)->window = run->got > 0 ? at : NULL;
}

static void do_put_commit(struct run *run, const json_t *step)
{
	struct outcome *o = run->outcome;
	fp_mempool *pool = handle_of(run, step);
	uint32_t k = (uint32_t)script_integer(step, "k", 0);
	size_t n = visit_objects(run, json_object_get(step, "objects"), into_table);

	if (n && !things(run)->window)
		script_die(run->call, "objects, but no window to put them into");
	if (n)
		memcpy(things(run)->window, o->out, n * sizeof(*o->out));
	run->got = has_cache(step) ?
			   fp_mempool_put_commit_via_cache(pool, cache_of(run, step), k) :
			   fp_mempool_put_commit(pool, k);
	if (run->got > 0)
		let_go(run, o->out, run->got);
}

/* ---- objects ---- */

static void do_object(struct run *run, const json_t *step)
{
	struct outcome *o = run->outcome;
	fp_mempool *pool = handle_of(run, step);
	uint64_t index = (uint64_t)script_integer(step, "index", 0);
	void *object = fp_mempool_object(pool, index);

	run->got = object != NULL;
	if (!object)
		return;
	o->out[0] = object;
	o->n_out = 1;
	if (object != object_of(run, pool, NULL, (int64_t)index))
		fail(run, "not at base + index * stride");
}

static void do_of_object(struct run *run, const json_t *step)
{
	fp_mempool *pool = handle_of(run, step);
	void *object = argument(run, step, handle_named(run, step)->handle);
	uint64_t tag = (uint64_t)script_integer(step, "tag", 0);

	if (!strcmp(run->call, "index"))
		run->got = fp_mempool_index(pool, object);
	else if (!strcmp(run->call, "contains"))
		run->got = fp_mempool_contains(pool, object);
	else
		run->got = fp_mempool_set_tag(pool, object, tag);
}

/* Not a call of the library: all bytes of an object, or some from `at` on. */
static void do_bytes(struct run *run, const json_t *step)
{
	fp_mempool *pool = handle_of(run, step);
	const json_t *bytes = json_object_get(step, "bytes"), *at;
	unsigned char *object = argument(run, step, pool), *wanted;
	uint32_t n = (uint32_t)fp_mempool_object_size(pool);

	at = json_object_get(step, "at");
	if (at)
		n = (uint32_t)json_string_length(bytes) / 2;
	wanted = script_zeroed(n);
	script_element(bytes, n, wanted);
	run->got = 0;
	if (strcmp(run->call, "write"))
		run->got = !memcmp(object, wanted, n);
	else
		memcpy(object + json_integer_value(at), wanted, n);
	free(wanted);
}

static void do_for_each(struct run *run, const json_t *step)
{
	fp_mempool *pool = handle_of(run, step);
	struct walk walk = { .stop = script_integer(step, "stop", 0) };

	run->got =
		fp_mempool_for_each(pool, script_null(step, "fn") ? NULL : visit, &walk);
	if (walk.wrong || (run->got == 0 && walk.calls != fp_mempool_capacity(pool)))
		fail(run, "not called once for each index in order");
}

/* ---- inspection ---- */

static void do_plain(struct run *run, const json_t *step)
{
	static const struct {
		const char *call;
		int64_t (*wide)(const fp_mempool *);
		int (*narrow)(const fp_mempool *);
		int64_t (*move)(fp_mempool *);
		int (*look)(fp_mempool *);
	} table[] = {
		{ "stride", fp_mempool_stride, 0, 0, 0 },
		{ "object_size", fp_mempool_object_size, 0, 0, 0 },
		{ "capacity", fp_mempool_capacity, 0, 0, 0 },
		{ "cache_size", fp_mempool_cache_size, 0, 0, 0 },
		{ "memory", fp_mempool_memory, 0, 0, 0 },
		{ "avail_count", fp_mempool_avail_count, 0, 0, 0 },
		{ "in_use_count", fp_mempool_in_use_count, 0, 0, 0 },
		{ "is_full", 0, fp_mempool_is_full, 0, 0 },
		{ "is_empty", 0, fp_mempool_is_empty, 0, 0 },
		{ "flush", 0, 0, fp_mempool_flush, 0 },
		{ "reclaim", 0, 0, fp_mempool_reclaim, 0 },
		{ "audit", 0, 0, 0, fp_mempool_audit },
	};
	fp_mempool *pool = handle_of(run, step);

	for (size_t i = 0; i < LEN(table); i++)
		if (!strcmp(run->call, table[i].call))
			run->got = table[i].wide   ? table[i].wide(pool) :
				   table[i].narrow ? table[i].narrow(pool) :
				   table[i].move   ? table[i].move(pool) :
						     table[i].look(pool);
}

static void do_name(struct run *run, const json_t *step)
{
	run->is_text = 1;
	run->text = fp_mempool_name(handle_of(run, step));
}

static void do_stats(struct run *run, const json_t *step)
{
	struct outcome *o = run->outcome;
	o->stats.size = (uint32_t)script_integer(step, "size", sizeof(o->stats));
	run->got = fp_mempool_get_stats(handle_of(run, step),
					script_null(step, "io") ? NULL : &o->stats);
	run->stats = &o->stats;
}

static void do_leaks(struct run *run, const json_t *step)
{
	struct outcome *o = run->outcome;
	run->got = fp_mempool_leaks(handle_of(run, step),
				    script_null(step, "leaks") ? NULL : o->leaks,
				    (uint32_t)script_integer(step, "n", TABLE_MAX));
}

/* ---- all of them ---- */

#define POOL_KEYS "pool null "
#define CACHE_KEYS POOL_KEYS "cache "
#define OPTION_KEYS                                                                        \
	"count object_size align cache_size max_threads name stats checked no_cache size " \
	"flags tail odd_address allocator constructor "

const struct call mempool_calls[] = {
	{ "create", do_create, POOL_KEYS OPTION_KEYS },
	{ "destroy", do_end, POOL_KEYS },
	{ "lookup", do_lookup, POOL_KEYS "name " },
	{ "unref", do_end, POOL_KEYS },
	{ "get", do_get, CACHE_KEYS "out " },
	{ "put", do_put, CACHE_KEYS "object offset " },
	{ "get_bulk", do_get_bulk, CACHE_KEYS "n out " },
	{ "put_bulk", do_put_bulk, CACHE_KEYS "objects n " },
	{ "flush", do_plain, POOL_KEYS },
	{ "reclaim", do_plain, POOL_KEYS },
	{ "cache_create", do_cache_create, CACHE_KEYS },
	{ "cache_destroy", do_cache, "cache null " },
	{ "cache_flush", do_cache, "cache null " },
	{ "cache_count", do_cache, "cache null " },
	{ "index", do_of_object, POOL_KEYS "object offset " },
	{ "object", do_object, POOL_KEYS "index out " },
	{ "contains", do_of_object, POOL_KEYS "object offset " },
	{ "set_tag", do_of_object, POOL_KEYS "object offset tag " },
	{ "write", do_bytes, POOL_KEYS "object bytes at " },
	{ "holds", do_bytes, POOL_KEYS "object bytes " },
	{ "stride", do_plain, POOL_KEYS },
	{ "object_size", do_plain, POOL_KEYS },
	{ "capacity", do_plain, POOL_KEYS },
	{ "cache_size", do_plain, POOL_KEYS },
	{ "memory", do_plain, POOL_KEYS },
	{ "avail_count", do_plain, POOL_KEYS },
	{ "in_use_count", do_plain, POOL_KEYS },
	{ "is_full", do_plain, POOL_KEYS },
	{ "is_empty", do_plain, POOL_KEYS },
	{ "audit", do_plain, POOL_KEYS },
	{ "name", do_name, POOL_KEYS },
	{ "stats", do_stats, POOL_KEYS "fields size " },
	{ "leaks", do_leaks, POOL_KEYS "n tags " },
	{ "opts_init", do_opts_init, "null size " },
	{ "for_each", do_for_each, POOL_KEYS "stop " },
	{ "get_reserve", do_get_reserve, CACHE_KEYS "n out " },
	{ "get_commit", do_get_commit, CACHE_KEYS "k " },
	{ "put_reserve", do_put_reserve, CACHE_KEYS "n " },
	{ "put_commit", do_put_commit, CACHE_KEYS "k objects " },
	{ 0 },
};
