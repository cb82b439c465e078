/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ffi_life.h - what the lives of the parts share; see ffi_conformance.c. A life calls
 * the functions of its part by their names, through libffi, from create to destroy.
 */
#ifndef LIBFP_TESTS_FFI_LIFE_H
#define LIBFP_TESTS_FFI_LIFE_H

#include "ffi_abi.h"

/* A check that fails is told and counted. */
#define CHECK(ok, ...) life_check(!!(ok), __FILE__, __LINE__, __VA_ARGS__)

__attribute__((format(printf, 4, 5))) void life_check(int ok, const char *file, int line,
						      const char *fmt, ...);

#define WORD(p) ((uint64_t)(uintptr_t)(p))
#define CALL(name, ...) abi_call(abi_function(name), (const uint64_t[]){ __VA_ARGS__ })

uint64_t life_constant(const char *name);

/* As much memory as a struct of the description wants, zeroed, its size written. */
void *life_struct(const char *type);

/* ---- callbacks ---- */

/* Of each argument that a closure gets: what lies there. */
uint64_t life_u64(const void *argument);
void *life_ptr(const void *argument);

/* Each closure says so when it is called. */
void life_called(const char *callback);

/* ---- the parts ---- */

/* `allocator` has closures; what it gives must be freed by the end of the life. */
void life_of_rings(const void *allocator);
void life_of_pools(const void *allocator);
void life_of_wakeups(const void *allocator);
void life_of_services(const void *allocator);
void life_of_timers(const void *allocator);

#endif
