/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ring_atomic_queue.cc - atomic_queue's AtomicQueue, its fastest kind: the
 * capacity is a constant and the objects are atomic words that are never 0. It
 * has no bulk calls, so a burst is a loop.
 */
#include "ring_contestant.h"

#include <new>

#include <atomic_queue/atomic_queue.h>

namespace
{

template <unsigned Capacity, bool Spsc>
using Queue =
	atomic_queue::AtomicQueue<uint64_t, Capacity, 0,
				  /* MINIMIZE_CONTENTION */ !(Capacity & (Capacity - 1)),
				  /* MAXIMIZE_THROUGHPUT */ true,
				  /* TOTAL_ORDER */ false, Spsc>;

/* Lets one close() free every kind. */
struct AnyRing {
	virtual ~AnyRing() = default;
};

template <unsigned Capacity, bool Spsc> struct Ring : AnyRing {
	Queue<Capacity, Spsc> queue;
};

template <class R> inline bool put1(void *ring, uint64_t object)
{
	return static_cast<R *>(static_cast<AnyRing *>(ring))->queue.try_push(object);
}

template <class R> inline bool get1(void *ring, uint64_t *object)
{
	return static_cast<R *>(static_cast<AnyRing *>(ring))->queue.try_pop(*object);
}

template <class R> inline uint32_t put(void *ring, const void *table, uint32_t n)
{
	auto objects = static_cast<const uint64_t *>(table);
	uint32_t k = 0;

	while (k < n && put1<R>(ring, objects[k]))
		k++;
	return k;
}

template <class R> inline uint32_t get(void *ring, void *table, uint32_t n)
{
	auto objects = static_cast<uint64_t *>(table);
	uint32_t k = 0;

	while (k < n && get1<R>(ring, &objects[k]))
		k++;
	return k;
}

#define KIND(name, capacity, spsc)                                   \
	using name##_ring = Ring<capacity, spsc>;                    \
	RING_LOOPS(name##_burst, put<name##_ring>, get<name##_ring>) \
	RING_LOOPS_ONE(name##_one, put1<name##_ring>, get1<name##_ring>)

KIND(spsc_1024, 1024, true)
KIND(spsc_1000, 1000, true)
KIND(mpmc_1024, 1024, false)
KIND(mpmc_1000, 1000, false)

template <unsigned Capacity, bool Spsc> void *open_kind()
{
	return static_cast<AnyRing *>(new (std::nothrow) Ring<Capacity, Spsc>);
}

template <bool Spsc> void *open_ring(const struct ring_shape *shape)
{
	if (shape->elem != 8)
		return nullptr;
	return shape->capacity == 1024	 ? open_kind<1024, Spsc>()
	       : shape->capacity == 1000 ? open_kind<1000, Spsc>()
					 : nullptr;
}

void close_ring(void *ring)
{
	delete static_cast<AnyRing *>(ring);
}

const struct ring_loops *spsc_loops(const struct ring_shape *shape, uint32_t burst)
{
	if (shape->capacity == 1024)
		return burst == 1 ? &spsc_1024_one : &spsc_1024_burst;
	return burst == 1 ? &spsc_1000_one : &spsc_1000_burst;
}

const struct ring_loops *mpmc_loops(const struct ring_shape *shape, uint32_t burst)
{
	if (shape->capacity == 1024)
		return burst == 1 ? &mpmc_1024_one : &mpmc_1024_burst;
	return burst == 1 ? &mpmc_1000_one : &mpmc_1000_burst;
}

const char *start(int)
{
	return nullptr;
}

const struct ring_contestant contestants[] = {
	{ "atomic_queue SPSC", RING_ST, open_ring<true>, close_ring, spsc_loops, nullptr,
	  nullptr },
	{ "atomic_queue MPMC", RING_MT, open_ring<false>, close_ring, mpmc_loops, nullptr,
	  nullptr },
};

} // namespace

extern "C" const struct ring_library ring_atomic_queue = {
	{ "atomic_queue", BENCH_ATOMIC_QUEUE_VERSION, nullptr },
	start,
	contestants,
	2,
};
