/* SPDX-License-Identifier: BSD-2-Clause */
/* The life of a ring of each kind, through libffi; see ffi_life.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ffi_life.h"

#define CAPACITY 6

static uint64_t new_ring(const void *allocator, uint64_t producer, uint64_t consumer)
{
	void *opts = life_struct("fp_ring_opts"), *ring = NULL;

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
	void *span = life_struct(type);
	uint64_t word, n1;

	CHECK(CALL("fp_ring_reserve_enqueue", ring, 4, 0, WORD(span)) == 4, "reserve");
	n1 = abi_get(span, type, "n1");
	CHECK(n1 + abi_get(span, type, "n2") == 4, "n1 + n2");
	for (uint64_t i = 0; i < 4; i++) {
		char *at = life_ptr(
			&(uint64_t){ abi_get(span, type, i < n1 ? "ptr1" : "ptr2") });

		word = 20 + i;
		memcpy(at + (i < n1 ? i : i - n1) * sizeof(word), &word, sizeof(word));
	}
	CHECK(CALL("fp_ring_commit_enqueue", ring, WORD(span), 4) == 4, "commit");
	CHECK(CALL("fp_ring_reserve_dequeue", ring, 2, life_constant("LIBFP_RING_BULK"),
		   WORD(span)) == 2,
	      "reserve_dequeue");
	word = life_u64(life_ptr(&(uint64_t){ abi_get(span, type, "ptr1") }));
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
	void *stats = life_struct(type), *found = NULL;
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

void life_of_rings(const void *allocator)
{
	const uint64_t sides[] = { life_constant("LIBFP_ST"), life_constant("LIBFP_MT") };

	for (int i = 0; i < 4; i++) {
		uint64_t ring = new_ring(allocator, sides[i / 2], sides[i % 2]);

		bursts(ring);
		spans(ring);
		end(ring);
	}
}
