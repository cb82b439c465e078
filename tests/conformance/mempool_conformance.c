/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The C driver of the pools' conformance script: runs mempool.json on the library and
 * prints a line for each step that did not do what it should. README.md has the format.
 *
 *     mempool_conformance mempool.json
 *     mempool_conformance --planted mempool_planted.json
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mempool_calls.h"

static const struct field fields[] = {
	FIELD(fp_mempool_stats, flags),
	FIELD(fp_mempool_stats, capacity),
	FIELD(fp_mempool_stats, available),
	FIELD(fp_mempool_stats, in_use),
	FIELD(fp_mempool_stats, in_depot),
	FIELD(fp_mempool_stats, in_own_cache),
	FIELD(fp_mempool_stats, in_other_caches),
	FIELD(fp_mempool_stats, in_explicit_caches),
	FIELD(fp_mempool_stats, thread_caches),
	FIELD(fp_mempool_stats, explicit_caches),
	FIELD(fp_mempool_stats, gets),
	FIELD(fp_mempool_stats, objects_got),
	FIELD(fp_mempool_stats, puts),
	FIELD(fp_mempool_stats, objects_put),
	FIELD(fp_mempool_stats, failures),
	FIELD(fp_mempool_stats, cache_hits),
	FIELD(fp_mempool_stats, depot_exchanges),
	FIELD(fp_mempool_stats, misuses),
	{ 0 },
};

/* ---- names ---- */

static struct object *object_named(struct run *run, const char *name)
{
	return NAMED(((struct things *)run->things)->objects, name);
}

void *object_of(struct run *run, const fp_mempool *pool, const char *name, int64_t index)
{
	if (name)
		return object_named(run, name)->object;
	return (char *)fp_mempool_base(pool) + index * fp_mempool_stride(pool);
}

size_t visit_objects(struct run *run, const json_t *list, visit_fn *visit)
{
	const char *stem = script_string(list, "name", NULL);
	int64_t from = script_integer(list, "from", 0),
		to = script_integer(list, "to", 0);
	int64_t way = to < from ? -1 : 1;
	size_t n = stem ? (size_t)((to - from) * way) + 1 : json_array_size(list);

	if (!list || n > TABLE_MAX)
		script_die(run->call, "objects are missing, or too many");
	for (size_t i = 0; i < n; i++) {
		const json_t *v = json_array_get(list, i);
		char name[32];

		if (stem)
			snprintf(name, sizeof(name), "%s%" PRId64, stem,
				 from + (int64_t)i * way);
		else if (json_is_string(v))
			snprintf(name, sizeof(name), "%s", json_string_value(v));
		else if (json_is_null(v))
			name[0] = '\0';
		else if (!json_is_integer(v))
			script_die(run->call,
				   "an object that is neither name nor number");
		visit(run, i, json_is_integer(v) ? NULL : name, json_integer_value(v));
	}
	return n;
}

/* ---- what came out ---- */

static void compare_object(struct run *run, size_t at, const char *name, int64_t index)
{
	struct outcome *o = run->outcome;
	void *wanted;

	if (at >= o->n_out || (name && !name[0]))
		return;
	wanted = object_of(run, o->pool, name, index);
	if (!wanted)
		object_named(run, name)->object = o->out[at];
	else if (wanted != o->out[at])
		fail(run, "object %zu is index %" PRId64, at,
		     fp_mempool_index(o->pool, o->out[at]));
}

/* The objects that came out, and that nothing was written behind them. */
static void compare_out(struct run *run, const json_t *step)
{
	struct outcome *o = run->outcome;
	const json_t *out = json_object_get(step, "out");
	void *untouched;
	size_t n;

	memset(&untouched, UNTOUCHED, sizeof(untouched));
	for (size_t i = o->n_out; i <= TABLE_MAX; i++)
		if (o->out[i] != untouched && run->got != -EUCLEAN &&
		    !json_object_get(step, "objects")) {
			fail(run, "wrote behind the %zu objects that came out", o->n_out);
			break;
		}
	if (!out && !o->n_out)
		return;
	n = visit_objects(run, out, compare_object);
	if (n != o->n_out)
		fail(run, "expected %zu objects, got %zu", n, o->n_out);
}

static void compare_tags(struct run *run, const json_t *step)
{
	const struct outcome *o = run->outcome;
	json_t *tags = json_object_get(step, "tags"), *v;
	const char *name;

	if (!tags || run->got < 0)
		return;
	if ((int64_t)json_object_size(tags) != run->got)
		fail(run, "expected %zu leaks", json_object_size(tags));
	for (int64_t i = 1; i < run->got; i++)
		if (o->leaks[i].index <= o->leaks[i - 1].index)
			fail(run, "leaks out of order");
	json_object_foreach(tags, name, v)
	{
		void *object = object_of(run, o->pool, name, 0);
		int64_t i = 0;

		while (i < run->got && o->leaks[i].object != object)
			i++;
		if (i == run->got)
			fail(run, "%s is not among the leaks", name);
		else if (o->leaks[i].tag != (uint64_t)json_integer_value(v))
			fail(run, "the tag of %s is %" PRIu64, name, o->leaks[i].tag);
	}
}

static void check(struct run *run, const json_t *step)
{
	compare_out(run, step);
	compare_tags(run, step);
}

static void prepare(struct run *run, const json_t *step)
{
	struct outcome *o = run->outcome;
	o->pool = handle_named(run, step)->handle;
	o->out = script_zeroed((TABLE_MAX + 1) * sizeof(*o->out));
	o->leaks = script_zeroed(TABLE_MAX * sizeof(*o->leaks));
	memset(o->out, UNTOUCHED, (TABLE_MAX + 1) * sizeof(*o->out));
}

static void release(struct run *run)
{
	struct outcome *o = run->outcome;
	free(o->out);
	free(o->leaks);
}

int main(int argc, char **argv)
{
	static const struct part part = {
		.name = "mempool",
		.key = "pool",
		.otherwise = "p",
		.calls = mempool_calls,
		.fields = fields,
		.things = sizeof(struct things),
		.outcome = sizeof(struct outcome),
		.prepare = prepare,
		.check = check,
		.release = release,
	};

	return script_main(&part, argc, argv);
}
