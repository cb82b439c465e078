/* SPDX-License-Identifier: BSD-2-Clause */
/* The values of a conformance script; see script.h. */
#include "script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
