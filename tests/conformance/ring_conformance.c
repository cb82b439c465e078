/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The C driver of the rings' conformance script: runs ring.json on the library and
 * prints a line for each step that did not do what it should. README.md has
 * the format.
 *
 *     ring_conformance ring.json
 *     ring_conformance --planted planted.json   every case must fail, in its last step
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
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
};

/* The elements that came out, and that nothing was written behind them. */
static void compare_out(struct run *run, const json_t *step, const struct outcome *o,
			size_t room)
{
	const json_t *out = json_object_get(step, "out");
	size_t n = o->got > 0 && json_object_get(step, "out") ? (size_t)o->got : 0,
	       wanted;
	unsigned char *table;

	if (!out && o->got > 0)
		return; /* the script does not ask */
	for (size_t i = n * o->elem_size; i < room; i++)
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

static void compare(struct run *run, const json_t *step, const struct outcome *o,
		    size_t room)
{
	const json_t *after = json_object_get(step, "after");
	const json_t *pieces = json_object_get(step, "pieces");
	uint32_t untouched;

	if (o->is_text)
		compare_text(run, step, o->text);
	else
		compare_result(run, step, o->got);
	if (run->failed)
		return;
	memset(&untouched, UNTOUCHED, sizeof(untouched));
	if (o->got < 0 && o->after != untouched)
		fail(run, "failed, but said what is free or in use after it");
	compare_out(run, step, o, room);
	if (after && json_integer_value(after) != o->after)
		fail(run, "expected %" JSON_INTEGER_FORMAT " after, got %" PRIu32,
		     json_integer_value(after), o->after);
	if (pieces && (json_integer_value(json_array_get(pieces, 0)) != o->span.n1 ||
		       json_integer_value(json_array_get(pieces, 1)) != o->span.n2))
		fail(run, "got pieces of %" PRIu32 " and %" PRIu32, o->span.n1,
		     o->span.n2);
	compare_fields(run, step, fields, sizeof(fields) / sizeof(fields[0]), &o->stats);
}

static void run_step(struct run *run, const json_t *step)
{
	const struct call *call = ring_call(step);
	int64_t n = script_integer(step, "n", 1);
	struct outcome o = { 0 };
	fp_ring *ring;
	size_t room;

	ring = named(run, RINGS, script_string(step, "ring", "r"))->ring;
	o.elem_size = ring ? (uint32_t)fp_ring_elem_size(ring) : 8;
	room = (size_t)(n < TABLE_MAX ? n : TABLE_MAX) * o.elem_size;
	o.out = script_zeroed(room);
	memset(o.out, UNTOUCHED, room);
	memset(&o.after, UNTOUCHED, sizeof(o.after));
	call->run(run, step, &o);
	if (!run->failed)
		compare(run, step, &o, room);
	free(o.out);
}

static void end_run(struct run *run)
{
	for (int i = 0; i < NAMED_MAX; i++) {
		struct named *ring = named_at(run, RINGS, i);

		if (ring->ring && !run->failed)
			fail(run, "the case ends, but ring %s is open", ring->name);
		free(named_at(run, MEMORIES, i)->mem);
	}
}

int main(int argc, char **argv)
{
	static const struct part part = { "ring", sizeof(struct things), run_step,
					  end_run };

	return script_main(&part, argc, argv);
}
