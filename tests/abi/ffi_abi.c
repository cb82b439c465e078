/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads the description of the ABI and calls what it names; see ffi_abi.h. */
#define _GNU_SOURCE /* dlvsym */
#include "ffi_abi.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FUNCTIONS_MAX 1024

static struct {
	json_t *json;
	void *library;
	struct abi_function functions[FUNCTIONS_MAX];
	size_t n_functions;
} abi;

void abi_die(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fputs("ffi: ", stderr);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	va_end(args);
	exit(2);
}

static const char *from_environment(const char *name)
{
	const char *value = getenv(name);

	if (!value)
		abi_die("%s is not set", name);
	return value;
}

static void open_once(void)
{
	const char *path;
	json_error_t error;

	if (abi.json)
		return;
	path = from_environment("LIBFP_ABI_JSON");
	/* LIBFP_FOREVER does not fit jansson's integers. */
	abi.json = json_load_file(path, JSON_DECODE_INT_AS_REAL | JSON_REJECT_DUPLICATES,
				  &error);
	if (!abi.json)
		abi_die("%s:%d: %s", path, error.line, error.text);
	abi.library = dlopen(from_environment("LIBFP_SO"), RTLD_NOW | RTLD_LOCAL);
	if (!abi.library)
		abi_die("%s", dlerror());
}

/* ---- the description ---- */

const json_t *abi_list(const char *key)
{
	const json_t *list;

	open_once();
	list = json_object_get(abi.json, key);
	if (json_array_size(list) == 0)
		abi_die("the description has no %s", key);
	return list;
}

const char *abi_version(void)
{
	open_once();
	return abi_text(abi.json, "version");
}

const json_t *abi_entry(const char *list, const char *name)
{
	const json_t *all = abi_list(list), *entry;
	size_t i;

	json_array_foreach(all, i, entry)
	{
		if (!strcmp(abi_text(entry, "name"), name))
			return entry;
	}
	abi_die("%s is not among the %s of the description", name, list);
}

const char *abi_text(const json_t *entry, const char *key)
{
	const char *text = json_string_value(json_object_get(entry, key));

	if (!text)
		abi_die("an entry of the description has no text \"%s\"", key);
	return text;
}

int64_t abi_number(const json_t *entry, const char *key)
{
	const json_t *v = json_object_get(entry, key);

	if (!json_is_number(v))
		abi_die("an entry of the description has no number \"%s\"", key);
	return (int64_t)json_number_value(v);
}

ffi_type *abi_type(const char *word)
{
	static const struct {
		const char *word;
		ffi_type *type;
	} types[] = {
		{ "void", &ffi_type_void },  { "ptr", &ffi_type_pointer },
		{ "u8", &ffi_type_uint8 },   { "i8", &ffi_type_sint8 },
		{ "u16", &ffi_type_uint16 }, { "i16", &ffi_type_sint16 },
		{ "u32", &ffi_type_uint32 }, { "i32", &ffi_type_sint32 },
		{ "u64", &ffi_type_uint64 }, { "i64", &ffi_type_sint64 },
	};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(types[i].word, word))
			return types[i].type;
	abi_die("no type of libffi for \"%s\"", word);
}

size_t abi_field(const char *type, const char *field, size_t *width)
{
	const json_t *fields = json_object_get(abi_entry("structs", type), "fields");
	const json_t *f;
	size_t i;

	json_array_foreach(fields, i, f)
	{
		if (strcmp(abi_text(f, "name"), field))
			continue;
		*width = (size_t)abi_number(f, "size");
		return (size_t)abi_number(f, "offset");
	}
	abi_die("%s has no field %s", type, field);
}

void abi_set(void *object, const char *type, const char *field, uint64_t value)
{
	size_t width, offset = abi_field(type, field, &width);

	memcpy((char *)object + offset, &value, width);
}

uint64_t abi_get(const void *object, const char *type, const char *field)
{
	size_t width, offset = abi_field(type, field, &width);
	uint64_t value = 0;

	memcpy(&value, (const char *)object + offset, width);
	return value;
}

/* ---- calls ---- */

static void prepare(struct abi_function *f, const json_t *entry)
{
	const json_t *arguments = json_object_get(entry, "arguments");
	const char *result = abi_text(json_object_get(entry, "returns"), "abi");
	size_t i, n = json_array_size(arguments);

	f->name = abi_text(entry, "name");
	f->json = entry;
	f->is_signed = result[0] == 'i';
	if (n > ABI_ARGUMENTS_MAX)
		abi_die("%s has %zu arguments", f->name, n);
	for (i = 0; i < n; i++)
		f->arguments[i] = abi_type(abi_text(json_array_get(arguments, i), "abi"));
	if (ffi_prep_cif(&f->cif, FFI_DEFAULT_ABI, (unsigned)n, abi_type(result),
			 f->arguments) != FFI_OK)
		abi_die("libffi refuses the signature of %s", f->name);
}

int abi_has(const char *name, const char *version)
{
	open_once();
	return dlvsym(abi.library, name, version) != NULL;
}

const struct abi_function *abi_function(const char *name)
{
	struct abi_function *f;
	const char *version;
	void *address;

	for (size_t i = 0; i < abi.n_functions; i++)
		if (!strcmp(abi.functions[i].name, name))
			return &abi.functions[i];
	if (abi.n_functions == FUNCTIONS_MAX)
		abi_die("more than %d functions", FUNCTIONS_MAX);
	f = &abi.functions[abi.n_functions];
	prepare(f, abi_entry("functions", name));
	version = abi_text(f->json, "node");
	address = dlvsym(abi.library, name, version);
	if (!address)
		abi_die("the library has no %s@%s", name, version);
	memcpy(&f->address, &address, sizeof(address));
	abi.n_functions++;
	return f;
}

int64_t abi_call(const struct abi_function *f, const uint64_t *words)
{
	uint64_t copies[ABI_ARGUMENTS_MAX];
	void *arguments[ABI_ARGUMENTS_MAX];
	union {
		ffi_arg plain; /* libffi widens to at least this */
		uint64_t wide;
	} result = { .wide = 0 };
	ffi_cif cif = f->cif;

	for (unsigned i = 0; i < cif.nargs; i++) {
		copies[i] = words[i];
		arguments[i] = &copies[i];
	}
	ffi_call(&cif, f->address, &result, arguments);
	if (cif.rtype->size == 4)
		return f->is_signed ? (int64_t)(int32_t)result.plain :
				      (int64_t)(uint32_t)result.plain;
	return (int64_t)result.wide;
}

void *abi_closure(const char *callback, void (*body)(ffi_cif *, void *, void **, void *),
		  void *user)
{
	struct abi_function *f = calloc(1, sizeof(*f));
	ffi_closure *closure;
	void *code = NULL;

	closure = ffi_closure_alloc(sizeof(*closure), &code);
	if (!f || !closure)
		abi_die("no memory for a closure");
	prepare(f, abi_entry("callbacks", callback));
	if (ffi_prep_closure_loc(closure, &f->cif, body, user, code) != FFI_OK)
		abi_die("libffi refuses a closure of %s", callback);
	return code;
}
