/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The C driver of the rings' conformance script: runs ring.json on the library and
 * prints a line for each step that did not do what it should. README.md has
 * the format.
 *
 *     ring_conformance ring.json
 *     ring_conformance --planted ring_planted.json   every case must fail, in its last step
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "ring_calls.h"

static const struct field fields[] = {
	FIELD(fp_ring_stats, flags),
	FIELD(fp_ring_stats, enqueued),
	FIELD(fp_ring_stats, dequeued),
	FIELD(fp_ring_stats, refused_full),
	FIELD(fp_ring_stats, refused_empty),
	FIELD(fp_ring_stats, voided),
	FIELD(fp_ring_stats, high_water),
	FIELD(fp_ring_stats, count),
	FIELD(fp_ring_stats, unpublished),
	FIELD(fp_ring_stats, void_pending),
	FIELD(fp_ring_stats, blocked_since_ns),
	FIELD(fp_ring_stats, blocked_by),
	{ 0 },
};

/* The elements that came out, and that nothing was written behind them. */
static void compare_out(struct run *run, const json_t *step)
{
	const struct outcome *o = run->outcome;
	const json_t *out = json_object_get(step, "out");
	size_t n = run->got > 0 && json_object_get(step, "out") ? (size_t)run->got : 0,
	       wanted;
	unsigned char *table;

	if (!out && run->got > 0)
		return; /* the script does not ask */
	for (size_t i = n * o->elem_size; i < o->room; i++)
		if (o->out[i] != UNTOUCHED) {
			fail(run, "wrote into byte %zu behind %zu elements", i, n);
			return;
		}
	if (!out)
		return;
	table = script_elements(out, o->elem_size, &wanted);
	if (wanted != n)
		fail(run, "expected %zu elements, got %zu", wanted, n);
	for (size_t i = 0; i < n && i < wanted; i++)
		if (memcmp(table + i * o->elem_size, o->out + i * o->elem_size,
			   o->elem_size)) {
			fail(run, "element %zu differs", i);
			break;
		}
	free(table);
}

static void check(struct run *run, const json_t *step)
{
	struct outcome *o = run->outcome;
	const json_t *after = json_object_get(step, "after");
	const json_t *pieces = json_object_get(step, "pieces");
	uint32_t untouched;

	memset(&untouched, UNTOUCHED, sizeof(untouched));
	if (run->got < 0 && o->after != untouched)
		fail(run, "failed, but said what is free or in use after it");
	compare_out(run, step);
	if (after && json_integer_value(after) != o->after)
		fail(run, "expected %" JSON_INTEGER_FORMAT " after, got %" PRIu32,
		     json_integer_value(after), o->after);
	if (pieces && (json_integer_value(json_array_get(pieces, 0)) != o->span.n1 ||
		       json_integer_value(json_array_get(pieces, 1)) != o->span.n2))
		fail(run, "got pieces of %" PRIu32 " and %" PRIu32, o->span.n1,
		     o->span.n2);
}

static void prepare(struct run *run, const json_t *step)
{
	struct outcome *o = run->outcome;
	const fp_ring *ring = handle_named(run, step)->handle;
	int64_t n = script_integer(step, "n", 1);

	o->elem_size = ring ? (uint32_t)fp_ring_elem_size(ring) : 8;
	o->room = (size_t)(n < TABLE_MAX ? n : TABLE_MAX) * o->elem_size;
	o->out = script_zeroed(o->room);
	memset(o->out, UNTOUCHED, o->room);
	memset(&o->after, UNTOUCHED, sizeof(o->after));
}

static void release(struct run *run)
{
	struct outcome *o = run->outcome;
	free(o->out);
}

static void end(struct run *run)
{
	const struct things *t = run->things;

	for (int i = 0; i < NAMED_MAX; i++)
		free(t->memories[i].mem);
}

int main(int argc, char **argv)
{
	static const struct part part = {
		.name = "ring",
		.key = "ring",
		.otherwise = "r",
		.calls = ring_calls,
		.fields = fields,
		.things = sizeof(struct things),
		.outcome = sizeof(struct outcome),
		.prepare = prepare,
		.check = check,
		.release = release,
		.end = end,
	};

	return script_main(&part, argc, argv);
}
