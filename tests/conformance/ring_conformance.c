/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The C driver of the conformance script: runs ring.json on the library and
 * prints a line for each step that did not do what it should. README.md has
 * the format.
 *
 *     ring_conformance ring.json
 *     ring_conformance --planted planted.json   every case must fail, in its last step
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring_calls.h"

/* The members of fp_ring_stats by name. */
static const struct {
	const char *name;
	size_t offset, size;
} fields[] = {
#define FIELD(f)                                                                \
	{                                                                       \
#f, offsetof(fp_ring_stats, f), sizeof(((fp_ring_stats *)0)->f) \
	}
	FIELD(flags),
	FIELD(enqueued),
	FIELD(dequeued),
	FIELD(refused_full),
	FIELD(refused_empty),
	FIELD(voided),
	FIELD(high_water),
	FIELD(count),
	FIELD(unpublished),
	FIELD(void_pending),
	FIELD(blocked_since_ns),
	FIELD(blocked_by),
};
#define N_FIELDS (sizeof(fields) / sizeof(fields[0]))

static struct {
	unsigned cases, runs, steps, failures, others;
} counts;

static const char *side_name(uint32_t side)
{
	return side == LIBFP_ST ? "st" : "mt";
}

void fail(struct run *run, const char *fmt, ...)
{
	va_list args;

	run->failed = 1;
	if (run->quiet)
		return;
	fprintf(stderr, "%s [%s-%s] step %zu %s: ", run->name, side_name(run->sides[0]),
		side_name(run->sides[1]), run->step, run->call);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

/* ---- comparison ---- */

/* A result as a script writes it: 3, or "-EPIPE". */
static const char *result_text(int64_t got, char *text, size_t size)
{
	if (got < 0)
		snprintf(text, size, "-%.*s", (int)strcspn(fp_strerror((int)got), ":"),
			 fp_strerror((int)got));
	else
		snprintf(text, size, "%" PRId64, got);
	return text;
}

static void compare_result(struct run *run, const json_t *expect, const struct outcome *o)
{
	char got[64], wanted[64];

	if (!expect)
		script_die(run->call, "a step without \"expect\"");
	if (o->is_text) {
		const char *text = json_string_value(expect); /* NULL for null */

		if (!text != !o->text || (text && strcmp(text, o->text)))
			fail(run, "expected name %s, got %s", text ? text : "null",
			     o->text ? o->text : "null");
		return;
	}
	if (json_is_string(expect))
		snprintf(wanted, sizeof(wanted), "%s", json_string_value(expect));
	else
		snprintf(wanted, sizeof(wanted), "%" JSON_INTEGER_FORMAT,
			 json_integer_value(expect));
	result_text(o->got, got, sizeof(got));
	if (strcmp(got, wanted) && (strcmp(wanted, "positive") || o->got <= 0))
		fail(run, "expected %s, got %s", wanted, got);
}

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

static void compare_fields(struct run *run, const json_t *wanted,
			   const fp_ring_stats *stats)
{
	for (size_t i = 0; i < N_FIELDS; i++) {
		const json_t *v = json_object_get(wanted, fields[i].name);
		const unsigned char *at = (const unsigned char *)stats + fields[i].offset;
		uint32_t narrow;
		uint64_t got;

		memcpy(&narrow, at, sizeof(narrow));
		got = narrow;
		if (fields[i].size == sizeof(got))
			memcpy(&got, at, sizeof(got));
		if (v && (uint64_t)json_integer_value(v) != got)
			fail(run, "expected %s %" JSON_INTEGER_FORMAT ", got %" PRIu64,
			     fields[i].name, json_integer_value(v), got);
	}
}

static void compare(struct run *run, const json_t *step, const struct outcome *o,
		    size_t room)
{
	const json_t *after = json_object_get(step, "after");
	const json_t *pieces = json_object_get(step, "pieces");
	uint32_t untouched;

	compare_result(run, json_object_get(step, "expect"), o);
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
	compare_fields(run, json_object_get(step, "fields"), &o->stats);
}

/* ---- steps and cases ---- */

/* Is `key ` one of the words of a list that are followed by a space? */
static int known(const char *words, const char *key)
{
	size_t n = strlen(key);

	for (const char *at = words; (at = strstr(at, key)); at += n)
		if ((at == words || at[-1] == ' ') && at[n] == ' ')
			return 1;
	return 0;
}

/* A script that this driver does not fully understand is no script. */
static void check_keys(const json_t *object, const char *words, const char *more)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)object, key,
			    v) if (!known(words, key) && !known(more, key))
		script_die(key, "an unknown key");
}

static void check_fields(const json_t *wanted)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)wanted, key, v)
	{
		size_t i = 0;

		while (i < N_FIELDS && strcmp(fields[i].name, key))
			i++;
		if (i == N_FIELDS)
			script_die(key, "no member of fp_ring_stats");
	}
}

static int for_us(const json_t *object)
{
	const json_t *only = json_object_get(object, "only");

	return !only || script_lists(only, "c");
}

static void run_step(struct run *run, const json_t *step)
{
	const struct call *call = ring_call(script_string(step, "do", ""));
	int64_t n = script_integer(step, "n", 1);
	struct outcome o = { 0 };
	fp_ring *ring;
	size_t room;

	run->call = script_string(step, "do", "");
	if (!call)
		script_die(run->call, "an unknown call");
	check_keys(step, "do expect only why ", call->keys);
	check_fields(json_object_get(step, "fields"));
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
	counts.steps++;
}

/* Returns whether all of it went as it should; *last: the step it ended with. */
static int run_case(const json_t *c, uint32_t producer, uint32_t consumer, int quiet,
		    size_t *last)
{
	struct run run = { .name = script_string(c, "case", "?"),
			   .call = "end",
			   .sides = { producer, consumer },
			   .quiet = quiet };
	const json_t *step;
	size_t i;

	json_array_foreach(json_object_get(c, "steps"), i, step)
	{
		if (!for_us(step)) {
			counts.others++;
			continue;
		}
		run.step = i + 1;
		run_step(&run, step);
		if (run.failed)
			break;
	}
	*last = run.step;
	for (i = 0; i < NAMED_MAX; i++) {
		if (run.named[RINGS][i].ring && !run.failed)
			fail(&run, "the case ends, but ring %s is open",
			     run.named[RINGS][i].name);
		free(run.named[MEMORIES][i].mem);
	}
	counts.runs++;
	counts.failures += (unsigned)run.failed;
	return !run.failed;
}

/* A side of a pair of kinds; without a pair MT. */
static uint32_t side_of(const json_t *kind, size_t which)
{
	const char *name = json_string_value(json_array_get(kind, which));

	if (kind && (!name || (strcmp(name, "st") && strcmp(name, "mt"))))
		script_die("kinds", "a side that is neither st nor mt");
	return kind && !strcmp(name, "st") ? LIBFP_ST : LIBFP_MT;
}

/* Runs a case for each of its kinds. Returns whether it did what is wanted. */
static int run_kinds(const json_t *c, int planted)
{
	const json_t *kinds = json_object_get(c, "kinds");
	size_t n = kinds ? json_array_size(kinds) : 1;
	size_t end = json_array_size(json_object_get(c, "steps")), last;
	int good = 1;

	check_keys(c, "case kinds only steps why ", "");
	if (!for_us(c)) {
		counts.others += (unsigned)end;
		return 1;
	}
	counts.cases++;
	for (size_t i = 0; i < n; i++) {
		const json_t *kind = json_array_get(kinds, i);
		int passed =
			run_case(c, side_of(kind, 0), side_of(kind, 1), planted, &last);

		good &= planted ? !passed && last == end : passed;
	}
	return good;
}

int main(int argc, char **argv)
{
	int planted = argc == 3 && !strcmp(argv[1], "--planted"), bad = 0;
	json_error_t error;
	json_t *script;
	const json_t *c;
	size_t i;

	if (argc != 2 + planted) {
		fprintf(stderr, "usage: ring_conformance [--planted] SCRIPT.json\n");
		return 2;
	}
	script = json_load_file(argv[1 + planted], JSON_REJECT_DUPLICATES, &error);
	if (!script) {
		fprintf(stderr, "conformance: %s:%d: %s\n", argv[1 + planted], error.line,
			error.text);
		return 2;
	}
	check_keys(script, "SPDX-License-Identifier about part cases ", "");
	if (strcmp(script_string(script, "part", ""), "ring"))
		script_die(argv[1 + planted], "not a script for rings");
	json_array_foreach(json_object_get(script, "cases"), i, c)
	{
		if (run_kinds(c, planted))
			continue;
		bad = 1;
		if (planted)
			fprintf(stderr, "%s: the mistake was not found\n",
				script_string(c, "case", "?"));
	}
	if (counts.cases == 0)
		script_die(argv[1 + planted], "no cases");
	if (planted)
		printf("%u of %u planted mistakes found\n", counts.failures, counts.runs);
	else
		printf("%u steps in %u runs of %u cases, %u runs failed, %u steps are for "
		       "other languages\n",
		       counts.steps, counts.runs, counts.cases, counts.failures,
		       counts.others);
	json_decref(script);
	return bad;
}
