/* SPDX-License-Identifier: BSD-2-Clause */
/* Handles, other things with names, and options; see calls.h. */
#include "calls.h"

#include <stdio.h>
#include <string.h>

/* ---- names ---- */

void *named(void *array, size_t size, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		char *entry = (char *)array + i * size;

		if (!entry[0])
			snprintf(entry, NAME_SIZE, "%s", name);
		if (!strcmp(entry, name))
			return entry;
	}
	script_die(name, "too many names in a case, or too long a one");
}

/* ---- handles ---- */

struct handle *handle_named(struct run *run, const json_t *step)
{
	const struct part *part = run->part;

	return NAMED(run->handles, script_string(step, part->key, part->otherwise));
}

void *handle_of(struct run *run, const json_t *step)
{
	void *handle = handle_named(run, step)->handle;

	if (!handle)
		fail(run, "there is no such %s", run->part->key);
	return script_null(step, run->part->key) ? NULL : handle;
}

void *no_handle(struct run *run)
{
	return &run->step;
}

void keep(struct run *run, struct handle *entry, void *handle)
{
	if (run->got == 0)
		entry->handle = handle;
	else if (handle != no_handle(run))
		fail(run, "failed, but changed its output");
}

void drop(struct run *run, struct handle *entry, const void *argument)
{
	if (argument && run->got == 0)
		entry->handle = NULL;
}

void call_wakeup(struct run *run, struct handle *entry)
{
	if (!strcmp(run->call, "wakeup_create")) {
		run->got = fp_wakeup_create(NULL, (fp_wakeup **)&entry->handle);
	} else if (!strcmp(run->call, "wakeup_destroy")) {
		run->got = fp_wakeup_destroy(entry->handle);
		drop(run, entry, entry->handle);
	} else if (!strcmp(run->call, "wakeup_arm")) {
		run->got = fp_wakeup_fd(entry->handle);
		if (run->got >= 0)
			run->got = fp_wakeup_arm(entry->handle);
	} else {
		run->got = fp_wakeup_clear(entry->handle);
	}
}

/* ---- options ---- */

static void *no_memory(void *ctx, uint64_t size, uint64_t align)
{
	(void)ctx, (void)size, (void)align;
	return NULL;
}

static void frees_nothing(void *ctx, void *ptr, uint64_t size, uint64_t align)
{
	(void)ctx, (void)ptr, (void)size, (void)align;
}

uint32_t option_size(const json_t *step, size_t known)
{
	int64_t tail = script_integer(step, "tail", 0);

	return (uint32_t)script_integer(step, "size", (int64_t)known + tail);
}

uint32_t option_flags(const json_t *step)
{
	return (uint32_t)script_integer(step, "flags", 0) |
	       (script_integer(step, "stats", 0) ? LIBFP_STATS : 0) |
	       (script_integer(step, "checked", 0) ? LIBFP_CHECKED : 0);
}

const fp_allocator *option_allocator(const json_t *step, struct options *o)
{
	const char *allocator = script_string(step, "allocator", NULL);

	if (!allocator)
		return NULL;
	o->allocator = (fp_allocator)LIBFP_ALLOCATOR_INIT;
	o->allocator.alloc = strcmp(allocator, "fails") ? NULL : no_memory;
	o->allocator.free = frees_nothing;
	return &o->allocator;
}

const void *options_of(const json_t *step, struct options *o, const void *opts,
		       size_t size)
{
	unsigned char *at = (unsigned char *)o->space;
	size_t tail = (size_t)script_integer(step, "tail", 0);

	if (script_integer(step, "odd_address", 0))
		at += 4;
	if (tail > sizeof(o->space) || size + tail > sizeof(o->space) - 4)
		script_die("tail", "too long");
	memset(o->space, 0, sizeof(o->space));
	memcpy(at, opts, size);
	memset(at + size, 1, tail);
	return script_null(step, "opts") ? NULL : at;
}

void check_opts_init(struct run *run, const void *opts, const void *expected,
		     size_t known, uint32_t size)
{
	if (run->got == 0 && (size > known || memcmp(opts, expected, size)))
		fail(run, "not what its initializer is, as far as it is known");
}

const char *lookup_name(const json_t *step)
{
	return script_null(step, "name") ? NULL : script_string(step, "name", "");
}

uint64_t timeout_of(const json_t *step)
{
	const char *word = json_string_value(json_object_get(step, "timeout"));

	if (!word)
		return (uint64_t)script_integer(step, "timeout", 0);
	if (strcmp(word, "forever"))
		script_die(word, "no time-out");
	return LIBFP_FOREVER;
}
