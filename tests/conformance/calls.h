/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * calls.h - what the call functions of all parts share: the things that a case calls by
 * names, handles above all, and options as they lie in memory.
 *
 * A handle is a pointer to an object of the part, from create or lookup to destroy or
 * unref. A step says which it means with the part's key; see struct part.
 */
#ifndef CONFORMANCE_CALLS_H
#define CONFORMANCE_CALLS_H

#include <libfp.h>

#include "script.h"

/* ---- names ---- */

/*
 * The entry of that name in an array of structs that begin with `char name[NAME_SIZE]`:
 * found, or a new one. An empty name is not in use.
 */
#define NAMED(array, name) named(array, sizeof((array)[0]), LEN(array), name)
void *named(void *array, size_t size, size_t n, const char *name);

/* ---- handles ---- */

/* The entry of the step's handle. */
struct handle *handle_named(struct run *run, const json_t *step);

/* The handle itself, as an argument: NULL if the step says so; fails if there is none. */
void *handle_of(struct run *run, const json_t *step);

/* What a handle is before the call that makes it, and no call gives. */
void *no_handle(struct run *run);

/* Keeps a new handle in its entry; a refused call must have left it no_handle(). */
void keep(struct run *run, struct handle *entry, void *handle);

/* After a call that ends a handle, unless the argument was NULL or the call failed. */
void drop(struct run *run, struct handle *entry, const void *argument);

/*
 * The calls on a wake-up that show what a part does with it: wakeup_create and so on.
 * Arm first asks for the descriptor.
 */
void call_wakeup(struct run *run, struct handle *entry);

/* ---- options ---- */

/* The options as they lie in memory, with what a newer caller may have behind them. */
struct options {
	uint64_t space[64];
	fp_allocator allocator;
};

/* Options that all parts have. */
uint32_t option_size(const json_t *step, size_t known);
uint32_t option_flags(const json_t *step);
const fp_allocator *option_allocator(const json_t *step, struct options *o);

/* The argument made of `opts`, the part's own struct of `size` bytes. */
const void *options_of(const json_t *step, struct options *o, const void *opts,
		       size_t size);

/* What opts_init made of `known` bytes that were UNTOUCHED, with what it should be. */
void check_opts_init(struct run *run, const void *opts, const void *expected,
		     size_t known, uint32_t size);

/* The name that lookup is asked for. */
const char *lookup_name(const json_t *step);

/* How long a call may wait: `timeout`, nanoseconds or "forever"; absent: not at all. */
uint64_t timeout_of(const json_t *step);

#endif
