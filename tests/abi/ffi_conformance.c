/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Does the library do through libffi, with nothing but its description, what it does
 * for C? Three questions:
 *
 * zero     every function, called with zero and NULL for all arguments, gives the
 *          error that it documents (or what the table below says)
 * structs  libffi, laying out each struct by its types, finds the described offsets
 * life     rings of each kind, pools, wake-ups, services and timer wheels live from create
 *          to destroy (ffi_life_<part>.c); each callback type is a closure that the library
 *          calls
 *
 * A new function, struct or callback of the description is asked too, without a change
 * here; a callback that nothing calls fails.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ffi_life.h"

static int failures;

void life_check(int ok, const char *file, int line, const char *fmt, ...)
{
	va_list args;

	if (ok)
		return;
	failures++;
	file = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
	fprintf(stderr, "%s:%d: ", file, line);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

uint64_t life_constant(const char *name)
{
	return (uint64_t)abi_number(abi_entry("constants", name), "value");
}

/* ---- zero ---- */

enum zero { NUMBER, TEXT, SOME, NOTHING };

/* What zero arguments give where that is not -EINVAL. */
static const struct {
	const char *function;
	enum zero gives;
	const char *text; /* TEXT; NULL: the version of the description */
} zero_table[] = {
	{ "fp_version_number", NUMBER, "LIBFP_VERSION_NUMBER" },
	{ "fp_version_string", TEXT, NULL },
	{ "fp_features", SOME, NULL },
	{ "fp_strerror", TEXT, "success" },
	{ "fp_log_set_handler", NOTHING, NULL },
	{ "fp_ring_destroy", NOTHING, NULL }, /* like free(NULL) */
	{ "fp_ring_name", NOTHING, NULL },
	{ "fp_mempool_destroy", NOTHING, NULL },
	{ "fp_mempool_name", NOTHING, NULL },
	{ "fp_mempool_get", NOTHING, NULL },
	{ "fp_mempool_get_via_cache", NOTHING, NULL },
	{ "fp_mempool_cache_destroy", NOTHING, NULL },
	{ "fp_mempool_object", NOTHING, NULL },
	{ "fp_mempool_base", NOTHING, NULL },
	{ "fp_wakeup_destroy", NOTHING, NULL },
	{ "fp_service_destroy", NOTHING, NULL },
	{ "fp_service_name", NOTHING, NULL },
	{ "fp_service_wakeup", NOTHING, NULL },
	{ "fp_service_list", NOTHING, NULL }, /* there are none yet */
	{ "fp_service_core_destroy", NOTHING, NULL },
	{ "fp_service_core_name", NOTHING, NULL },
	{ "fp_service_core_wakeup", NOTHING, NULL },
	{ "fp_service_core_list", NOTHING, NULL },
	{ "fp_timer_wheel_destroy", NOTHING, NULL },
	{ "fp_timer_wheel_name", NOTHING, NULL },
	{ "fp_timer_wheel_poll_many", NOTHING, NULL }, /* none of none */
};
#define ZEROS (sizeof(zero_table) / sizeof(zero_table[0]))

/* Takes nothing that could be wrong, and says that it cannot fail. */
static int never_fails(const json_t *function)
{
	return !json_array_size(json_object_get(function, "arguments")) &&
	       !json_array_size(json_object_get(function, "errors"));
}

static int documents_einval(const json_t *function)
{
	const json_t *errors = json_object_get(function, "errors"), *e;
	size_t i;

	json_array_foreach(errors, i, e)
	{
		if (!strcmp(json_string_value(e), "EINVAL"))
			return 1;
	}
	return 0;
}

static void zero_of_table(size_t at, int64_t got)
{
	const char *name = zero_table[at].function, *text = zero_table[at].text;

	switch (zero_table[at].gives) {
	case NUMBER:
		CHECK((uint64_t)got == life_constant(text), "%s() is %lld", name,
		      (long long)got);
		break;
	case TEXT:
		if (!text)
			text = abi_version();
		CHECK(got && !strcmp((const char *)(uintptr_t)got, text),
		      "%s(0) is not %s", name, text);
		break;
	case SOME:
		CHECK(got > 0, "%s() is %lld", name, (long long)got);
		break;
	case NOTHING:
		CHECK(got == 0, "%s(0) is %lld", name, (long long)got);
		break;
	}
}

static size_t zero(void)
{
	static const uint64_t zeros[ABI_ARGUMENTS_MAX];
	const json_t *all = abi_list("functions"), *entry;
	size_t i, in_table = 0;

	json_array_foreach(all, i, entry)
	{
		const char *name = abi_text(entry, "name");
		int64_t got = abi_call(abi_function(name), zeros);
		size_t at = 0;

		CHECK(!abi_has(name, "LIBFP_0.0"), "%s has a version that never was",
		      name);
		while (at < ZEROS && strcmp(zero_table[at].function, name))
			at++;
		if (at < ZEROS) {
			in_table++;
			zero_of_table(at, got);
			continue;
		}
		if (never_fails(entry)) {
			CHECK(got >= 0, "%s() is %lld, and documents no error", name,
			      (long long)got);
			continue;
		}
		CHECK(got == -EINVAL, "%s(0) is %lld, not -EINVAL", name, (long long)got);
		CHECK(documents_einval(entry), "%s does not document EINVAL", name);
	}
	CHECK(in_table == ZEROS, "the table names functions that do not exist");
	return json_array_size(all);
}

/* ---- structs ---- */

#define FIELDS_MAX 64

static void struct_offsets(const json_t *entry)
{
	const char *name = abi_text(entry, "name");
	const json_t *fields = json_object_get(entry, "fields"), *f;
	ffi_type *elements[FIELDS_MAX + 1] = { NULL };
	ffi_type type = { .type = FFI_TYPE_STRUCT, .elements = elements };
	size_t offsets[FIELDS_MAX], i;

	if (json_array_size(fields) > FIELDS_MAX)
		abi_die("%s has more than %d fields", name, FIELDS_MAX);
	json_array_foreach(fields, i, f)
	{
		elements[i] = abi_type(abi_text(f, "abi"));
	}
	if (ffi_get_struct_offsets(FFI_DEFAULT_ABI, &type, offsets) != FFI_OK)
		abi_die("libffi refuses the struct %s", name);
	json_array_foreach(fields, i, f)
	{
		CHECK((int64_t)offsets[i] == abi_number(f, "offset"),
		      "%s.%s is at %zu for libffi", name, abi_text(f, "name"),
		      offsets[i]);
		CHECK((int64_t)elements[i]->size == abi_number(f, "size"),
		      "%s.%s has %zu bytes for libffi", name, abi_text(f, "name"),
		      elements[i]->size);
	}
	CHECK((int64_t)type.size == abi_number(entry, "size"),
	      "%s has %zu bytes for libffi", name, type.size);
	CHECK(type.alignment == abi_number(entry, "align"),
	      "%s is aligned to %u for libffi", name, type.alignment);
}

static size_t structs(void)
{
	const json_t *all = abi_list("structs"), *entry;
	size_t i;

	json_array_foreach(all, i, entry)
	{
		struct_offsets(entry);
	}
	return json_array_size(all);
}

/* ---- callbacks ---- */

#define CALLBACKS_MAX 16

/* Those whose closures were called. */
static struct {
	const char *callbacks[CALLBACKS_MAX];
	int n;
} called;

static int was_called(const char *callback)
{
	for (int i = 0; i < called.n; i++)
		if (!strcmp(called.callbacks[i], callback))
			return 1;
	return 0;
}

void life_called(const char *callback)
{
	if (was_called(callback))
		return;
	if (called.n == CALLBACKS_MAX)
		abi_die("more than %d callbacks", CALLBACKS_MAX);
	called.callbacks[called.n++] = callback;
}

uint64_t life_u64(const void *argument)
{
	uint64_t value;

	memcpy(&value, argument, sizeof(value));
	return value;
}

void *life_ptr(const void *argument)
{
	return (void *)(uintptr_t)life_u64(argument);
}

static int64_t allocated; /* bytes that are not freed yet */

static void alloc_body(ffi_cif *cif, void *result, void **arguments, void *user)
{
	uint64_t size = life_u64(arguments[1]), align = life_u64(arguments[2]);
	void *memory = aligned_alloc(align, (size + align - 1) / align * align);

	(void)cif;
	CHECK(life_ptr(arguments[0]) == user, "alloc got another ctx");
	life_called("fp_allocator_alloc_fn");
	if (memory)
		allocated += (int64_t)size;
	memcpy(result, &memory, sizeof(memory));
}

static void free_body(ffi_cif *cif, void *result, void **arguments, void *user)
{
	(void)cif, (void)result;
	CHECK(life_ptr(arguments[0]) == user, "free got another ctx");
	life_called("fp_allocator_free_fn");
	allocated -= (int64_t)life_u64(arguments[2]);
	free(life_ptr(arguments[1]));
}

static struct {
	uint64_t level;
	char line[256];
} logged; /* the last line */

static void log_body(ffi_cif *cif, void *result, void **arguments, void *user)
{
	uint32_t level;

	(void)cif, (void)result;
	memcpy(&level, arguments[0], sizeof(level));
	CHECK(life_ptr(arguments[2]) == user, "the log handler got another user");
	life_called("fp_log_handler");
	logged.level = level;
	snprintf(logged.line, sizeof(logged.line), "%s",
		 (const char *)life_ptr(arguments[1]));
}

static size_t callbacks_called(void)
{
	const json_t *all = abi_list("callbacks"), *entry;
	size_t i;

	json_array_foreach(all, i, entry)
	{
		const char *name = abi_text(entry, "name");

		CHECK(was_called(name), "nothing has called a closure of %s", name);
	}
	return json_array_size(all);
}

void *life_struct(const char *type)
{
	size_t size = (size_t)abi_number(abi_entry("structs", type), "size");
	void *object = calloc(1, size);

	if (!object)
		abi_die("no memory");
	if (strcmp(type, "fp_ring_span"))
		abi_set(object, type, "size", size);
	return object;
}

static void *new_allocator(void)
{
	void *allocator = life_struct("fp_allocator");

	abi_set(allocator, "fp_allocator", "alloc",
		WORD(abi_closure("fp_allocator_alloc_fn", alloc_body, allocator)));
	abi_set(allocator, "fp_allocator", "free",
		WORD(abi_closure("fp_allocator_free_fn", free_body, allocator)));
	abi_set(allocator, "fp_allocator", "ctx", WORD(allocator));
	return allocator;
}

/* ---- life ---- */

static void life(void)
{
	void *allocator = new_allocator(), *before = NULL;
	uint64_t handler = WORD(abi_closure("fp_log_handler", log_body, &failures));

	CHECK(CALL("fp_log_set_handler", handler, WORD(&failures), 0) == 0,
	      "first handler");
	CHECK(CALL("fp_ring_create", 0, WORD(&before)) == -EINVAL && !before,
	      "NULL options");
	CHECK(logged.level == life_constant("LIBFP_LOG_INFO") && logged.line[0],
	      "level %llu, \"%s\"", (unsigned long long)logged.level, logged.line);
	CHECK(CALL("fp_log_set_handler", 0, 0, WORD(&before)) == (int64_t)handler &&
		      before == &failures,
	      "not the handler that was set");
	life_of_rings(allocator);
	life_of_pools(allocator);
	life_of_wakeups(allocator);
	life_of_services(allocator);
	life_of_timers(allocator);
	CHECK(allocated == 0, "%lld bytes are not freed", (long long)allocated);
	free(allocator);
}

int main(void)
{
	size_t n_functions = zero(), n_structs = structs(), n_callbacks;

	life();
	n_callbacks = callbacks_called();
	printf("ffi: %zu functions, %zu structs, %zu callbacks; %d failures\n",
	       n_functions, n_structs, n_callbacks, failures);
	return failures != 0;
}
