/* SPDX-License-Identifier: BSD-2-Clause */
/* Conformance scripts, their values and cases; see script.h. */
#include "script.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libfp.h>

static struct {
	unsigned cases, runs, steps, failures, found, others;
} counts;

/* ---- values ---- */

void script_die(const char *what, const char *why)
{
	fprintf(stderr, "conformance: %s: %s\n", what, why);
	exit(2);
}

void *script_zeroed(size_t size)
{
	void *p = calloc(1, size ? size : 1);

	if (!p)
		script_die("memory", "none left");
	return p;
}

int64_t script_integer(const json_t *step, const char *key, int64_t otherwise)
{
	const json_t *v = json_object_get(step, key);

	if (!v)
		return otherwise;
	if (json_is_boolean(v))
		return json_is_true(v);
	if (!json_is_integer(v))
		script_die(key, "not a number");
	return json_integer_value(v);
}

const char *script_string(const json_t *step, const char *key, const char *otherwise)
{
	const json_t *v = json_object_get(step, key);

	if (!v)
		return otherwise;
	if (!json_is_string(v))
		script_die(key, "not a string");
	return json_string_value(v);
}

int script_lists(const json_t *list, const char *word)
{
	const json_t *v;
	size_t i;

	json_array_foreach(list, i, v) if (!json_is_string(v))
		script_die(word, "among what is not a string");
	else if (!strcmp(json_string_value(v), word)) return 1;
	return 0;
}

int script_null(const json_t *step, const char *argument)
{
	return script_lists(json_object_get(step, "null"), argument);
}

static unsigned nibble(char c)
{
	const char *digits = "0123456789abcdef", *at = strchr(digits, c);

	if (!c || !at)
		script_die("element", "not hexadecimal");
	return (unsigned)(at - digits);
}

void script_element(const json_t *v, uint32_t size, unsigned char *to)
{
	const char *hex = json_string_value(v);

	if (json_is_integer(v)) {
		uint64_t wide = (uint64_t)json_integer_value(v);
		uint32_t narrow = (uint32_t)wide;

		if (size != 4 && size != 8)
			script_die("element", "a number, but not of 4 or 8 bytes");
		memcpy(to, size == 8 ? (void *)&wide : (void *)&narrow, size);
		return;
	}
	if (!hex || !hex[0] || strlen(hex) % 2)
		script_die("element", "neither a number nor pairs of digits");
	for (size_t i = 0, n = strlen(hex) / 2; i < size; i++)
		to[i] = (unsigned char)(nibble(hex[i % n * 2]) << 4 |
					nibble(hex[i % n * 2 + 1]));
}

unsigned char *script_elements(const json_t *list, uint32_t size, size_t *n)
{
	int64_t first = script_integer(list, "first", 0);
	unsigned char *table;

	if (!list)
		script_die("elements", "missing");
	*n = json_is_array(list) ? json_array_size(list) :
				   (size_t)script_integer(list, "n", 0);
	table = script_zeroed(*n * size);
	for (size_t i = 0; i < *n; i++) {
		json_t *v = json_is_array(list) ? json_incref(json_array_get(list, i)) :
						  json_integer(first + (int64_t)i);

		script_element(v, size, table + i * size);
		json_decref(v);
	}
	return table;
}

/* ---- comparison ---- */

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

static const json_t *expectation(const struct run *run, const json_t *step)
{
	const json_t *expect = json_object_get(step, "expect");

	if (!expect)
		script_die(run->call, "a step without \"expect\"");
	return expect;
}

static void compare_text(struct run *run, const json_t *step)
{
	const char *got = run->text;
	const char *text = json_string_value(expectation(run, step)); /* NULL for null */

	if (!text != !got || (text && strcmp(text, got)))
		fail(run, "expected %s, got %s", text ? text : "null",
		     got ? got : "null");
}

void script_compare(struct run *run, const char *what, const json_t *expect, int64_t got)
{
	char text[64], wanted[64];

	if (json_is_string(expect))
		snprintf(wanted, sizeof(wanted), "%s", json_string_value(expect));
	else
		snprintf(wanted, sizeof(wanted), "%" JSON_INTEGER_FORMAT,
			 json_integer_value(expect));
	result_text(got, text, sizeof(text));
	if (strcmp(text, wanted) && (strcmp(wanted, "positive") || got <= 0))
		fail(run, "%sexpected %s, got %s", what, wanted, text);
}

static const struct field *field_of(const struct run *run, const char *name)
{
	const struct field *all = run->fields ? run->fields : run->part->fields;

	for (const struct field *f = all; f && f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	script_die(name, "no member of the statistics");
}

static void compare_fields(struct run *run, const json_t *step)
{
	json_t *all = json_object_get(step, "fields"), *v;
	const char *name;

	json_object_foreach(all, name, v)
	{
		const struct field *f = field_of(run, name);
		const unsigned char *at = (const unsigned char *)run->stats + f->offset;
		uint32_t narrow;
		uint64_t got;

		memcpy(&narrow, at, sizeof(narrow));
		got = narrow;
		if (f->size == sizeof(got))
			memcpy(&got, at, sizeof(got));
		if ((uint64_t)json_integer_value(v) != got)
			fail(run, "expected %s %" JSON_INTEGER_FORMAT ", got %" PRIu64,
			     name, json_integer_value(v), got);
	}
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

/* The call of a step; its keys are checked. */
static const struct call *call_of(const struct part *part, const json_t *step)
{
	const char *name = script_string(step, "do", "");

	for (const struct call *c = part->calls; c->name; c++)
		if (!strcmp(c->name, name)) {
			check_keys(step, "do expect only why ", c->keys);
			return c;
		}
	script_die(name, "an unknown call");
}

static void run_step(struct run *run, const json_t *step)
{
	const struct part *part = run->part;
	const struct call *call = call_of(part, step);

	run->got = 0;
	run->is_text = 0;
	run->stats = NULL;
	run->fields = NULL;
	run->outcome = script_zeroed(part->outcome);
	if (part->prepare)
		part->prepare(run, step);
	call->run(run, step);
	if (!run->failed && run->is_text)
		compare_text(run, step);
	else if (!run->failed)
		script_compare(run, "", expectation(run, step), run->got);
	if (!run->failed) {
		if (part->check)
			part->check(run, step);
		compare_fields(run, step);
	}
	if (part->release)
		part->release(run);
	free(run->outcome);
}

void script_nested(struct run *run, const json_t *steps)
{
	const struct run outer = *run;
	const json_t *step;
	size_t i;

	json_array_foreach(steps, i, step)
	{
		run->call = script_string(step, "do", "");
		run_step(run, step);
		if (run->failed)
			break;
	}
	run->call = outer.call;
	run->got = outer.got;
	run->is_text = outer.is_text;
	run->text = outer.text;
	run->stats = outer.stats;
	run->fields = outer.fields;
	run->outcome = outer.outcome;
}

static void end_run(struct run *run)
{
	const struct part *part = run->part;

	for (int i = 0; i < HANDLES_MAX; i++)
		if (run->handles[i].handle && !run->failed)
			fail(run, "the case ends, but %s %s is open", part->key,
			     run->handles[i].name);
	if (part->end)
		part->end(run);
	free(run->things);
}

static int for_us(const json_t *object)
{
	const json_t *only = json_object_get(object, "only");

	return !only || script_lists(only, "c");
}

/* Whether all went as it should. *last: the step that did not; the end is one more. */
static int run_case(const struct part *part, const json_t *c, uint32_t first,
		    uint32_t second, int quiet, size_t *last)
{
	struct run run = { .part = part,
			   .name = script_string(c, "case", "?"),
			   .call = "end",
			   .sides = { first, second },
			   .things = script_zeroed(part->things),
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
		run.call = script_string(step, "do", "");
		run_step(&run, step);
		counts.steps++;
		if (run.failed)
			break;
	}
	*last = run.failed ? run.step : json_array_size(json_object_get(c, "steps")) + 1;
	end_run(&run);
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
static int run_kinds(const struct part *part, const json_t *c, int planted)
{
	const json_t *kinds = json_object_get(c, "kinds");
	size_t n = kinds ? json_array_size(kinds) : 1;
	size_t end = json_array_size(json_object_get(c, "steps")), last;
	size_t wrong = end + !strcmp(script_string(c, "mistake", ""), "end");
	int good = 1;

	check_keys(c, "case kinds only steps why ", planted ? "mistake " : "");
	if (!for_us(c)) {
		counts.others += (unsigned)end;
		return 1;
	}
	counts.cases++;
	for (size_t i = 0; i < n; i++) {
		const json_t *kind = json_array_get(kinds, i);
		int passed = run_case(part, c, side_of(kind, 0), side_of(kind, 1),
				      planted, &last);
		int found = !passed && last == wrong;

		counts.found += (unsigned)found;
		good &= planted ? found : passed;
	}
	return good;
}

int script_main(const struct part *part, int argc, char **argv)
{
	int planted = argc == 3 && !strcmp(argv[1], "--planted"), bad = 0;
	json_error_t error;
	json_t *script;
	const json_t *c;
	size_t i;

	if (argc != 2 + planted) {
		fprintf(stderr, "usage: %s_conformance [--planted] SCRIPT.json\n",
			part->name);
		return 2;
	}
	script = json_load_file(argv[1 + planted], JSON_REJECT_DUPLICATES, &error);
	if (!script) {
		fprintf(stderr, "conformance: %s:%d: %s\n", argv[1 + planted], error.line,
			error.text);
		return 2;
	}
	check_keys(script, "SPDX-License-Identifier about part cases ", "");
	if (strcmp(script_string(script, "part", ""), part->name))
		script_die(argv[1 + planted], "a script for another part");
	json_array_foreach(json_object_get(script, "cases"), i, c)
	{
		if (run_kinds(part, c, planted))
			continue;
		bad = 1;
		if (planted)
			fprintf(stderr, "%s: the mistake was not found\n",
				script_string(c, "case", "?"));
	}
	if (counts.cases == 0)
		script_die(argv[1 + planted], "no cases");
	if (planted)
		printf("%u of %u planted mistakes found\n", counts.found, counts.runs);
	else
		printf("%u steps in %u runs of %u cases, %u runs failed, %u steps are for "
		       "other languages\n",
		       counts.steps, counts.runs, counts.cases, counts.failures,
		       counts.others);
	json_decref(script);
	return bad;
}
