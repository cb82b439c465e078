/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * script.h - reads the values of a conformance script (README.md has the
 * format). A value of the wrong kind ends the program: a script is either
 * understood or nothing is said about the library.
 */
#ifndef CONFORMANCE_SCRIPT_H
#define CONFORMANCE_SCRIPT_H

#include <stdint.h>

#include <jansson.h>

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

#endif
