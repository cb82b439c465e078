/* SPDX-License-Identifier: BSD-2-Clause */
/* The life of a pool, through libffi; see ffi_life.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ffi_life.h"

#define OBJECTS 5

static uint32_t next_index; /* of the walk over all objects */

/* Writes the object's index into it. Ends a walk at the index that is in *user. */
static void object_body(ffi_cif *cif, void *result, void **arguments, void *user)
{
	uint32_t index, stop;
	ffi_arg answer;

	(void)cif;
	memcpy(&index, arguments[1], sizeof(index));
	CHECK(life_ptr(arguments[2]) == user, "the constructor got another user");
	CHECK(index == next_index++, "index %u out of order", index);
	life_called("fp_mempool_object_fn");
	memcpy(life_ptr(arguments[0]), &index, sizeof(index));
	memcpy(&stop, user, sizeof(stop));
	answer = index == stop ? 7 : 0;
	memcpy(result, &answer, sizeof(answer));
}

static void walk(uint64_t pool, uint64_t visit, uint32_t *stop)
{
	*stop = 2;
	next_index = 0;
	CHECK(CALL("fp_mempool_for_each", pool, visit, WORD(stop)) == 7, "no stop");
	CHECK(next_index == 3, "for_each went on");
	*stop = OBJECTS;
}

static uint64_t new_pool(const void *allocator, uint64_t flags, uint64_t *visit,
			 uint32_t *stop)
{
	const char *type = "fp_mempool_opts";
	void *opts = life_struct(type), *pool = NULL;

	*visit = WORD(abi_closure("fp_mempool_object_fn", object_body, stop));
	next_index = 0;
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
	CHECK(next_index == OBJECTS, "not every object was constructed");
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
	void *stats = life_struct(type), *found = NULL;

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

void life_of_pools(const void *allocator)
{
	uint64_t flags = life_constant("LIBFP_STATS"), visit;
	uint32_t stop = OBJECTS;
	uint64_t pool = new_pool(allocator, flags, &visit, &stop);

	walk(pool, visit, &stop);
	gets_and_puts(pool);
	end_pool(pool);
	pool = new_pool(allocator, life_constant("LIBFP_CHECKED"), &visit, &stop);
	misuse(pool);
	CHECK(CALL("fp_mempool_destroy", pool) == 0, "destroy");
}
