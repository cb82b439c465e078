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

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

#define UNTOUCHED 0xa5 /* what every output byte is before the call */
#define NAME_SIZE 16   /* a name in a case, with its end */
#define HANDLES_MAX 8  /* of a case */

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

struct part;

/* A handle under its name; see calls.h. */
struct handle {
	char name[NAME_SIZE];
	void *handle;
};

/* One run of one case, and where it is. */
struct run {
	const struct part *part;
	const char *name, *call;
	uint32_t sides[2]; /* LIBFP_MT or LIBFP_ST: the pair of kinds */
	size_t step;	   /* from 1 on */
	struct handle handles[HANDLES_MAX];
	void *things; /* what else the case calls by names: the part's own */
	int failed;
	int quiet; /* failures are wanted: do not print them */

	/* What the call at hand gave. */
	int64_t got;
	int is_text;		    /* not a number but text: */
	const char *text;	    /* a name */
	const void *stats;	    /* a struct of statistics, */
	const struct field *fields; /* and what it consists of, if not the part's */
	void *outcome;		    /* the rest: the part's own */
};

/* Says that the step at hand failed, and why. */
__attribute__((format(printf, 2, 3))) void fail(struct run *run, const char *fmt, ...);

/*
 * Compares a result with what a script expects: 3, "-EPIPE" or "positive". `what` says
 * which result it is, if it is not that of the call.
 */
void script_compare(struct run *run, const char *what, const json_t *expect, int64_t got);

struct call {
	const char *name;
	void (*run)(struct run *run, const json_t *step);
	const char *keys; /* that it knows, besides those of every step */
};

/* A member of a struct of statistics. */
struct field {
	const char *name;
	size_t offset, size;
};
#define FIELD(type, f)                                        \
	{                                                     \
#f, offsetof(type, f), sizeof(((type *)0)->f) \
	}

/* Runs steps within the call of the step at hand, from a callback for instance. */
void script_nested(struct run *run, const json_t *steps);

/* What a part brings. The functions may be NULL. */
struct part {
	const char *name;
	const char *key, *otherwise; /* of a step: which handle; without it, this one */
	const struct call *calls;    /* up to one without a name */
	const struct field *fields;  /* of its statistics, likewise */
	size_t things, outcome;	     /* bytes of each, zeroed for a run, for a step */
	void (*prepare)(struct run *run, const json_t *step);
	/* Compares what is neither the result nor statistics. */
	void (*check)(struct run *run, const json_t *step);
	void (*release)(struct run *run); /* what is in its outcome */
	void (*end)(struct run *run);	  /* what is in its things */
};

/* The drivers' main: [--planted] SCRIPT.json */
int script_main(const struct part *part, int argc, char **argv);

#endif
