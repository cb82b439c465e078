/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Does the library do through libffi, with nothing but its description, what it does
 * for C? Three questions:
 *
 * zero     every function, called with zero and NULL for all arguments, gives the
 *          error that it documents (or what the table below says)
 * structs  libffi, laying out each struct by its types, finds the described offsets
 * life     rings of each kind and pools live from create to destroy; each callback
 *          type is a closure that the library calls
 *
 * A new function, struct or callback of the description is asked too, without a change
 * here; a callback that nothing calls fails.
 */
#include "ffi_abi.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

#define CHECK(ok, ...) check(!!(ok), __LINE__, __VA_ARGS__)

__attribute__((format(printf, 3, 4))) static void check(int ok, int line, const char *fmt,
							...)
{
	va_list args;

	if (ok)
		return;
	failures++;
	fprintf(stderr, "ffi_conformance.c:%d: ", line);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

#define WORD(p) ((uint64_t)(uintptr_t)(p))
#define CALL(name, ...) abi_call(abi_function(name), (const uint64_t[]){ __VA_ARGS__ })

static uint64_t constant(const char *name)
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
		CHECK((uint64_t)got == constant(text), "%s() is %lld", name,
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

/* What each closure has seen; `called` counts its calls. */
static struct seen {
	const char *callback;
	int called;
	int64_t bytes; /* allocated, not freed; of an object: the next index */
	uint64_t level;
	char line[256];
} seen[] = {
	{ .callback = "fp_allocator_alloc_fn" },
	{ .callback = "fp_allocator_free_fn" },
	{ .callback = "fp_log_handler" },
	{ .callback = "fp_mempool_object_fn" },
};
enum { ALLOC, FREE, LOG, OBJECT, SEEN };

static uint64_t u64_of(const void *argument)
{
	uint64_t value;

	memcpy(&value, argument, sizeof(value));
	return value;
}

static void *ptr_of(const void *argument)
{
	return (void *)(uintptr_t)u64_of(argument);
}

static void alloc_body(ffi_cif *cif, void *result, void **arguments, void *user)
{
	uint64_t size = u64_of(arguments[1]), align = u64_of(arguments[2]);
	void *memory = aligned_alloc(align, (size + align - 1) / align * align);

	(void)cif;
	CHECK(ptr_of(arguments[0]) == user, "alloc got another ctx");
	seen[ALLOC].called++;
	if (memory)
		seen[ALLOC].bytes += (int64_t)size;
	memcpy(result, &memory, sizeof(memory));
}

static void free_body(ffi_cif *cif, void *result, void **arguments, void *user)
{
	(void)cif, (void)result;
	CHECK(ptr_of(arguments[0]) == user, "free got another ctx");
	seen[FREE].called++;
	seen[ALLOC].bytes -= (int64_t)u64_of(arguments[2]);
	free(ptr_of(arguments[1]));
}

static void log_body(ffi_cif *cif, void *result, void **arguments, void *user)
{
	uint32_t level;

	(void)cif, (void)result;
	memcpy(&level, arguments[0], sizeof(level));
	CHECK(ptr_of(arguments[2]) == user, "the log handler got another user");
	seen[LOG].called++;
	seen[LOG].level = level;
	snprintf(seen[LOG].line, sizeof(seen[LOG].line), "%s",
		 (const char *)ptr_of(arguments[1]));
}

/* Writes the object's index into it. Ends a walk at the index that is in *user. */
static void object_body(ffi_cif *cif, void *result, void **arguments, void *user)
{
	uint32_t index, stop;
	ffi_arg answer;

	(void)cif;
	memcpy(&index, arguments[1], sizeof(index));
	CHECK(ptr_of(arguments[2]) == user, "the constructor got another user");
	CHECK(index == (uint32_t)seen[OBJECT].bytes++, "index %u out of order", index);
	seen[OBJECT].called++;
	memcpy(ptr_of(arguments[0]), &index, sizeof(index));
	memcpy(&stop, user, sizeof(stop));
	answer = index == stop ? 7 : 0;
	memcpy(result, &answer, sizeof(answer));
}

static size_t callbacks_called(void)
{
	const json_t *all = abi_list("callbacks"), *entry;
	size_t i;

	json_array_foreach(all, i, entry)
	{
		const char *name = abi_text(entry, "name");
		int called = 0;

		for (int s = 0; s < SEEN; s++)
			if (!strcmp(seen[s].callback, name))
				called = seen[s].called;
		CHECK(called, "nothing has called a closure of %s", name);
	}
	return json_array_size(all);
}

/* ---- life of a ring ---- */

#define CAPACITY 6

/* As much memory as a struct of the description wants, zeroed, its size written. */
static void *new_struct(const char *type)
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
	void *allocator = new_struct("fp_allocator");

	abi_set(allocator, "fp_allocator", "alloc",
		WORD(abi_closure("fp_allocator_alloc_fn", alloc_body, allocator)));
	abi_set(allocator, "fp_allocator", "free",
		WORD(abi_closure("fp_allocator_free_fn", free_body, allocator)));
	abi_set(allocator, "fp_allocator", "ctx", WORD(allocator));
	return allocator;
}

static uint64_t new_ring(const void *allocator, uint64_t producer, uint64_t consumer)
{
	void *opts = new_struct("fp_ring_opts"), *ring = NULL;

	abi_set(opts, "fp_ring_opts", "name", WORD("ffi"));
	abi_set(opts, "fp_ring_opts", "capacity", CAPACITY);
	abi_set(opts, "fp_ring_opts", "producer", producer);
	abi_set(opts, "fp_ring_opts", "consumer", consumer);
	abi_set(opts, "fp_ring_opts", "allocator", WORD(allocator));
	CHECK(CALL("fp_ring_create", WORD(opts), WORD(&ring)) == 0, "create failed");
	free(opts);
	if (!ring)
		abi_die("no ring to go on with");
	return WORD(ring);
}

static void bursts(uint64_t ring)
{
	const uint64_t in[] = { 11, 12, 13, UINT64_MAX };
	uint64_t out[CAPACITY] = { 0 };
	uint32_t after = 99;

	CHECK(CALL("fp_ring_enqueue_u64", ring, 10) == 1, "enqueue_u64");
	CHECK(CALL("fp_ring_enqueue_burst", ring, WORD(in), 4, WORD(&after)) == 4,
	      "burst");
	CHECK(after == CAPACITY - 5, "%u free after the burst", after);
	CHECK(CALL("fp_ring_count", ring) == 5, "count");
	CHECK(CALL("fp_ring_dequeue_u64", ring, WORD(out)) == 1 && out[0] == 10,
	      "dequeue_u64");
	CHECK(CALL("fp_ring_dequeue_burst", ring, WORD(out), CAPACITY, WORD(&after)) == 4,
	      "dequeue_burst");
	CHECK(after == 0 && !memcmp(in, out, sizeof(in)), "not what was enqueued");
}

static void spans(uint64_t ring)
{
	const char *type = "fp_ring_span";
	void *span = new_struct(type);
	uint64_t word, n1;

	CHECK(CALL("fp_ring_reserve_enqueue", ring, 4, 0, WORD(span)) == 4, "reserve");
	n1 = abi_get(span, type, "n1");
	CHECK(n1 + abi_get(span, type, "n2") == 4, "n1 + n2");
	for (uint64_t i = 0; i < 4; i++) {
		char *at = ptr_of(
			&(uint64_t){ abi_get(span, type, i < n1 ? "ptr1" : "ptr2") });

		word = 20 + i;
		memcpy(at + (i < n1 ? i : i - n1) * sizeof(word), &word, sizeof(word));
	}
	CHECK(CALL("fp_ring_commit_enqueue", ring, WORD(span), 4) == 4, "commit");
	CHECK(CALL("fp_ring_reserve_dequeue", ring, 2, constant("LIBFP_RING_BULK"),
		   WORD(span)) == 2,
	      "reserve_dequeue");
	word = u64_of(ptr_of(&(uint64_t){ abi_get(span, type, "ptr1") }));
	CHECK(word == 20, "the span's first element is %llu", (unsigned long long)word);
	CHECK(CALL("fp_ring_destroy", ring) == -EBUSY, "destroyed with a span open");
	CHECK(CALL("fp_ring_commit_dequeue", ring, WORD(span), 2) == 2, "commit_dequeue");
	CHECK(CALL("fp_ring_commit_dequeue", ring, WORD(span), 2) == -EINVAL,
	      "committed twice");
	free(span);
}

static void end(uint64_t ring)
{
	const char *type = "fp_ring_stats";
	void *stats = new_struct(type), *found = NULL;
	uint64_t out = 0;

	CHECK(CALL("fp_ring_lookup", WORD("ffi"), WORD(&found)) == 0 &&
		      WORD(found) == ring,
	      "lookup");
	CHECK(CALL("fp_ring_destroy", ring) == -EBUSY, "destroyed while referenced");
	CHECK(CALL("fp_ring_unref", ring) == 0, "unref");
	CHECK(CALL("fp_ring_close", ring) == 0, "close");
	CHECK(CALL("fp_ring_enqueue", ring, WORD(&out)) == -EPIPE,
	      "enqueued after close");
	CHECK(CALL("fp_ring_dequeue", ring, WORD(&out)) == 1 && out == 22, "the third");
	CHECK(CALL("fp_ring_dequeue", ring, WORD(&out)) == 1 && out == 23, "the last");
	CHECK(CALL("fp_ring_dequeue", ring, WORD(&out)) == -EPIPE,
	      "dequeued after the end");
	CHECK(CALL("fp_ring_get_stats", ring, WORD(stats)) == 0, "stats");
	CHECK(abi_get(stats, type, "enqueued") == 9 &&
		      abi_get(stats, type, "dequeued") == 9,
	      "%llu went in", (unsigned long long)abi_get(stats, type, "enqueued"));
	CHECK(CALL("fp_ring_destroy", ring) == 0, "destroy");
	free(stats);
}

/* ---- life of a pool ---- */

#define OBJECTS 5

static void walk(uint64_t pool, uint64_t visit, uint32_t *stop)
{
	*stop = 2;
	seen[OBJECT].bytes = 0;
	CHECK(CALL("fp_mempool_for_each", pool, visit, WORD(stop)) == 7, "no stop");
	CHECK(seen[OBJECT].bytes == 3, "for_each went on");
	*stop = OBJECTS;
}

static uint64_t new_pool(const void *allocator, uint64_t flags, uint64_t *visit,
			 uint32_t *stop)
{
	const char *type = "fp_mempool_opts";
	void *opts = new_struct(type), *pool = NULL;

	*visit = WORD(abi_closure("fp_mempool_object_fn", object_body, stop));
	seen[OBJECT].bytes = 0;
	abi_set(opts, type, "name", WORD("ffi"));
	abi_set(opts, type, "flags", flags);
	abi_set(opts, type, "count", OBJECTS);
	abi_set(opts, type, "object_size", sizeof(uint32_t));
	abi_set(opts, type, "align", 16);
	abi_set(opts, type, "cache_size", 2);
	abi_set(opts, type, "constructor", *visit);
	abi_set(opts, type, "user", WORD(stop));
	abi_set(opts, type, "allocator", WORD(allocator));
	CHECK(CALL("fp_mempool_create", WORD(opts), WORD(&pool)) == 0, "create failed");
	free(opts);
	if (!pool)
		abi_die("no pool to go on with");
	CHECK(seen[OBJECT].bytes == OBJECTS, "not every object was constructed");
	return WORD(pool);
}

static void gets_and_puts(uint64_t pool)
{
	void *objects[OBJECTS + 1] = { NULL }, *cache = NULL;
	uint64_t base = (uint64_t)CALL("fp_mempool_base", pool), one;

	CHECK(CALL("fp_mempool_get_bulk", pool, WORD(objects), OBJECTS) == OBJECTS &&
		      !objects[OBJECTS],
	      "get_bulk");
	CHECK(CALL("fp_mempool_get", pool) == 0, "a sixth object");
	for (int i = 0; i < OBJECTS; i++) {
		int64_t index = CALL("fp_mempool_index", pool, WORD(objects[i]));
		uint32_t written;

		memcpy(&written, objects[i], sizeof(written));
		CHECK(index == written, "object %u has the index %lld", written,
		      (long long)index);
		CHECK(CALL("fp_mempool_object", pool, (uint64_t)index) ==
				      (int64_t)WORD(objects[i]) &&
			      WORD(objects[i]) ==
				      base + (uint64_t)(index *
							CALL("fp_mempool_stride", pool)),
		      "object %lld is not where its index says", (long long)index);
	}
	CHECK(CALL("fp_mempool_put_bulk", pool, WORD(objects), OBJECTS - 1) ==
		      OBJECTS - 1,
	      "put_bulk");
	CHECK(CALL("fp_mempool_put", pool, WORD(objects[OBJECTS - 1])) == 0, "put");
	CHECK(CALL("fp_mempool_get", pool) == (int64_t)WORD(objects[OBJECTS - 1]),
	      "not the last one put");
	CHECK(CALL("fp_mempool_flush", pool) >= 0, "flush");
	CHECK(CALL("fp_mempool_cache_create", pool, WORD(&cache)) == 0, "cache_create");
	one = (uint64_t)CALL("fp_mempool_get_via_cache", pool, WORD(cache));
	CHECK(one && CALL("fp_mempool_contains", pool, one + 3) == 1, "via a cache");
	CHECK(CALL("fp_mempool_destroy", pool) == -EBUSY,
	      "destroyed with two objects out");
	CHECK(CALL("fp_mempool_put_via_cache", pool, WORD(cache), one) == 0,
	      "put_via_cache");
	CHECK(CALL("fp_mempool_put", pool, WORD(objects[OBJECTS - 1])) == 0, "put");
	CHECK(CALL("fp_mempool_destroy", pool) == -EBUSY, "destroyed with a cache");
	CHECK(CALL("fp_mempool_cache_destroy", WORD(cache)) == 0, "cache_destroy");
}

static void end_pool(uint64_t pool)
{
	const char *type = "fp_mempool_stats";
	void *stats = new_struct(type), *found = NULL;

	CHECK(CALL("fp_mempool_lookup", WORD("ffi"), WORD(&found)) == 0 &&
		      WORD(found) == pool,
	      "lookup");
	CHECK(CALL("fp_mempool_destroy", pool) == -EBUSY, "destroyed while referenced");
	CHECK(CALL("fp_mempool_unref", pool) == 0, "unref");
	CHECK(CALL("fp_mempool_audit", pool) == 0, "audit");
	CHECK(CALL("fp_mempool_get_stats", pool, WORD(stats)) == 0, "stats");
	CHECK(abi_get(stats, type, "objects_got") == OBJECTS + 2 &&
		      abi_get(stats, type, "available") == OBJECTS,
	      "%llu came out", (unsigned long long)abi_get(stats, type, "objects_got"));
	CHECK(CALL("fp_mempool_destroy", pool) == 0, "destroy");
	free(stats);
}

static void misuse(uint64_t pool)
{
	const char *type = "fp_mempool_leak";
	uint64_t object = (uint64_t)CALL("fp_mempool_get", pool);
	void *leak = calloc(1, (size_t)abi_number(abi_entry("structs", type), "size"));

	if (!leak)
		abi_die("no memory");
	CHECK(CALL("fp_mempool_set_tag", pool, object, UINT64_MAX) == 0, "set_tag");
	CHECK(CALL("fp_mempool_leaks", pool, WORD(leak), 1) == 1, "leaks");
	CHECK(abi_get(leak, type, "object") == object &&
		      abi_get(leak, type, "tag") == UINT64_MAX,
	      "another leak");
	CHECK(CALL("fp_mempool_put", pool, object + 1) == -EFAULT, "an inner pointer");
	CHECK(CALL("fp_mempool_put", pool, object) == 0, "put");
	CHECK(CALL("fp_mempool_put", pool, object) == -EALREADY, "put twice");
	free(leak);
}

static void pools(const void *allocator)
{
	uint64_t flags = constant("LIBFP_STATS"), visit;
	uint32_t stop = OBJECTS;
	uint64_t pool = new_pool(allocator, flags, &visit, &stop);

	walk(pool, visit, &stop);
	gets_and_puts(pool);
	end_pool(pool);
	pool = new_pool(allocator, constant("LIBFP_CHECKED"), &visit, &stop);
	misuse(pool);
	CHECK(CALL("fp_mempool_destroy", pool) == 0, "destroy");
}

static void life(void)
{
	void *allocator = new_allocator(), *before = NULL;
	uint64_t handler = WORD(abi_closure("fp_log_handler", log_body, &failures));
	const uint64_t sides[] = { constant("LIBFP_ST"), constant("LIBFP_MT") };

	CHECK(CALL("fp_log_set_handler", handler, WORD(&failures), 0) == 0,
	      "first handler");
	CHECK(CALL("fp_ring_create", 0, WORD(&before)) == -EINVAL && !before,
	      "NULL options");
	CHECK(seen[LOG].level == constant("LIBFP_LOG_INFO") && seen[LOG].line[0],
	      "level %llu, \"%s\"", (unsigned long long)seen[LOG].level, seen[LOG].line);
	CHECK(CALL("fp_log_set_handler", 0, 0, WORD(&before)) == (int64_t)handler &&
		      before == &failures,
	      "not the handler that was set");
	for (int i = 0; i < 4; i++) {
		uint64_t ring = new_ring(allocator, sides[i / 2], sides[i % 2]);

		bursts(ring);
		spans(ring);
		end(ring);
	}
	pools(allocator);
	CHECK(seen[ALLOC].bytes == 0, "%lld bytes are not freed",
	      (long long)seen[ALLOC].bytes);
	free(allocator);
}

int main(void)
{
	size_t n_functions = zero(), n_structs = structs(), n_callbacks;

	life();
	n_callbacks = callbacks_called();
	printf("ffi: %zu functions, %zu structs, %zu callbacks, 4 kinds of rings, "
	       "2 pools; %d failures\n",
	       n_functions, n_structs, n_callbacks, failures);
	return failures != 0;
}
