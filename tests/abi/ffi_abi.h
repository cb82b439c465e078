/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library as a language without a C compiler sees it: capi/libfp.abi.json says
 * what there is, dlopen and dlvsym find it, libffi calls it. No header of libfp is
 * needed. The first use opens both files: LIBFP_ABI_JSON and LIBFP_SO in the
 * environment.
 *
 * Arguments and results are words of 64 bits. A narrower one lies in the low bytes,
 * where the platforms of libfp (little-endian) have its first byte too.
 */
#ifndef LIBFP_TESTS_FFI_ABI_H
#define LIBFP_TESTS_FFI_ABI_H

#include <ffi.h>
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define ABI_ARGUMENTS_MAX 16

/* A function or callback of the description, ready to be called or to be one. */
struct abi_function {
	const char *name;
	const json_t *json;
	void (*address)(void); /* NULL for a callback */
	ffi_cif cif;
	ffi_type *arguments[ABI_ARGUMENTS_MAX];
	int is_signed; /* the result */
};

/* Ends the program: without this there is nothing to test. */
__attribute__((format(printf, 1, 2), noreturn)) void abi_die(const char *fmt, ...);

/* The version of the library that is described, as text. */
const char *abi_version(void);

/* A list of the description: "functions", "structs", "callbacks", "constants". */
const json_t *abi_list(const char *key);

/* The entry of that name in such a list; ends the program if there is none. */
const json_t *abi_entry(const char *list, const char *name);

const char *abi_text(const json_t *entry, const char *key);
int64_t abi_number(const json_t *entry, const char *key);

/* The libffi type of an "abi" word: "u32", "ptr" ... */
ffi_type *abi_type(const char *word);

/* Found at the version that the description gives it; ends the program otherwise. */
const struct abi_function *abi_function(const char *name);

/* Is the function in the library under this version? */
int abi_has(const char *name, const char *version);

/* Calls with one word for each argument. */
int64_t abi_call(const struct abi_function *f, const uint64_t *words);

/*
 * Makes code of a callback type of the description: `body` gets libffi's arguments.
 * Lives as long as the program.
 */
void *abi_closure(const char *callback,
		  void (*body)(ffi_cif *cif, void *result, void **arguments, void *user),
		  void *user);

/* Where a field lies in a struct of the description, and how wide it is. */
size_t abi_field(const char *type, const char *field, size_t *width);

/* Writes and reads a field of a struct by its names. */
void abi_set(void *object, const char *type, const char *field, uint64_t value);
uint64_t abi_get(const void *object, const char *type, const char *field);

#endif
