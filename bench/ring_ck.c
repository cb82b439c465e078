/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ring_ck.c - Concurrency Kit's ck_ring, inlined. It has no bulk calls, so a
 * burst is a loop; its sizes are powers of two, of which one slot stays empty:
 * the rows of capacity 1000 run with the next power.
 */
#include "ring_contestant.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <ck_ring.h>

struct ring {
	struct ck_ring ring;
	struct ck_ring_buffer slots[] __attribute__((aligned(128)));
};

static void *open_ring(const struct ring_shape *shape)
{
	unsigned size = 2;
	size_t bytes;
	struct ring *r;

	if (shape->elem != 8)
		return NULL;
	while (size < shape->capacity)
		size *= 2;
	bytes = (sizeof(*r) + size * sizeof(r->slots[0]) + 127) / 128 * 128;
	r = aligned_alloc(128, bytes);
	if (r) {
		memset(r, 0, bytes);
		ck_ring_init(&r->ring, size);
	}
	return r;
}

static void close_ring(void *ring)
{
	free(ring);
}

#define CALLS(name)                                                                  \
	static inline bool name##_put1(void *ring, uint64_t v)                       \
	{                                                                            \
		struct ring *r = ring;                                               \
                                                                                     \
		return ck_ring_enqueue_##name(&r->ring, r->slots,                    \
					      (const void *)(uintptr_t)v);           \
	}                                                                            \
	static inline bool name##_get1(void *ring, void *v)                          \
	{                                                                            \
		struct ring *r = ring;                                               \
                                                                                     \
		return ck_ring_dequeue_##name(&r->ring, r->slots, v);                \
	}                                                                            \
	static inline uint32_t name##_put(void *ring, const void *table, uint32_t n) \
	{                                                                            \
		const uint64_t *objects = table;                                     \
		uint32_t k = 0;                                                      \
                                                                                     \
		while (k < n && name##_put1(ring, objects[k]))                       \
			k++;                                                         \
		return k;                                                            \
	}                                                                            \
	static inline uint32_t name##_get(void *ring, void *table, uint32_t n)       \
	{                                                                            \
		uint64_t *objects = table;                                           \
		uint32_t k = 0;                                                      \
                                                                                     \
		while (k < n && name##_get1(ring, &objects[k]))                      \
			k++;                                                         \
		return k;                                                            \
	}                                                                            \
	RING_LOOPS(name##_burst, name##_put, name##_get)                             \
	RING_LOOPS_ONE(name##_one, name##_put1, name##_get1)                         \
	static const struct ring_loops *name##_loops(const struct ring_shape *shape, \
						     uint32_t burst)                 \
	{                                                                            \
		(void)shape;                                                         \
		return burst == 1 ? &name##_one : &name##_burst;                     \
	}

CALLS(spsc)
CALLS(mpmc)

static const char *start(int cpu)
{
	(void)cpu;
	return NULL;
}

static const struct ring_contestant contestants[] = {
	{ "ck spsc", RING_ST, open_ring, close_ring, spsc_loops, NULL, NULL },
	{ "ck mpmc", RING_MT, open_ring, close_ring, mpmc_loops, NULL, NULL },
};

const struct ring_library ring_ck = {
	.peer = { "ck_ring", BENCH_CK_VERSION, NULL },
	.start = start,
	.contestants = contestants,
	.n = sizeof(contestants) / sizeof(contestants[0]),
};
