/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * script.h - what the C drivers of all parts share: the values of a conformance
 * script (README.md has the format), its cases and steps, comparison. A value of
 * the wrong kind ends the program: a script is either understood or nothing is
 * said about the library.
 */
#ifndef CONFORMANCE_SCRIPT_H
#define CONFORMANCE_SCRIPT_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#define UNTOUCHED 0xa5 /* what every output byte is before the call */

__attribute__((noreturn)) void script_die(const char *what, const char *why);
void *script_zeroed(size_t size); /* never NULL */

/* The value of a key of a step, or what is said otherwise. true is 1. */
int64_t script_integer(const json_t *step, const char *key, int64_t otherwise);
const char *script_string(const json_t *step, const char *key, const char *otherwise);

int script_lists(const json_t *list, const char *word);	   /* is word in it? */
int script_null(const json_t *step, const char *argument); /* shall it be NULL? */

/* An element of `size` bytes as it lies in memory. */
void script_element(const json_t *v, uint32_t size, unsigned char *to);

/* A list of elements as one table, to be freed; *n: how many. */
unsigned char *script_elements(const json_t *list, uint32_t size, size_t *n);

/* ---- running ---- */

/* One run of one case, and where it is. */
struct run {
	const char *name, *call;
	uint32_t sides[2]; /* LIBFP_MT or LIBFP_ST: the pair of kinds */
	size_t step;	   /* from 1 on */
	void *things;	   /* what the case calls by names: the part's own */
	int failed;
	int quiet; /* failures are wanted: do not print them */
};

/* Says that the step at hand failed, and why. */
__attribute__((format(printf, 2, 3))) void fail(struct run *run, const char *fmt, ...);

struct outcome; /* what came of a step: each part has its own */

struct call {
	const char *name;
	void (*run)(struct run *run, const json_t *step, struct outcome *o);
	const char *keys; /* that it knows, besides those of every step */
};

/* The call of a step, among n; its keys are checked. */
const struct call *script_call(const struct call *calls, size_t n, const json_t *step);

/* The result of a call with `expect`: a number or an error; a text or null. */
void compare_result(struct run *run, const json_t *step, int64_t got);
void compare_text(struct run *run, const json_t *step, const char *got);

/* A member of a struct of statistics. */
struct field {
	const char *name;
	size_t offset, size;
};
#define FIELD(type, f)                                        \
	{                                                     \
#f, offsetof(type, f), sizeof(((type *)0)->f) \
	}

/* The members that `fields` names, among n, which stand for all there are. */
void compare_fields(struct run *run, const json_t *step, const struct field *fields,
		    size_t n, const void *stats);

/* What a part brings. */
struct part {
	const char *name;
	size_t things; /* bytes of struct run.things, zeroed for each run */
	void (*step)(struct run *run, const json_t *step);
	void (*end)(struct run *run); /* what is open is a failure; frees the rest */
};

/* The drivers' main: [--planted] SCRIPT.json */
int script_main(const struct part *part, int argc, char **argv);

#endif
