/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ring_moodycamel.cc - moodycamel::ConcurrentQueue with tokens, its fastest
 * way. It keeps order per producer only. The try_ calls never allocate, which
 * bounds it to about the capacity asked for.
 */
#include "ring_contestant.h"

#include <new>

#include <concurrentqueue/concurrentqueue.h>

namespace
{

struct ring {
	explicit ring(uint32_t capacity)
	    : queue(capacity, 1, 0), producer(queue), consumer(queue)
	{
	}

	moodycamel::ConcurrentQueue<uint64_t> queue;
	alignas(128) moodycamel::ProducerToken producer;
	alignas(128) moodycamel::ConsumerToken consumer;
};

inline bool put1(void *ring, uint64_t object)
{
	auto r = static_cast<struct ring *>(ring);

	return r->queue.try_enqueue(r->producer, object);
}

inline bool get1(void *ring, uint64_t *object)
{
	auto r = static_cast<struct ring *>(ring);

	return r->queue.try_dequeue(r->consumer, *object);
}

inline uint32_t put(void *ring, const void *table, uint32_t n)
{
	auto r = static_cast<struct ring *>(ring);
	auto objects = static_cast<const uint64_t *>(table);

	return r->queue.try_enqueue_bulk(r->producer, objects, n) ? n : 0;
}

inline uint32_t get(void *ring, void *table, uint32_t n)
{
	auto r = static_cast<struct ring *>(ring);

	return static_cast<uint32_t>(r->queue.try_dequeue_bulk(
		r->consumer, static_cast<uint64_t *>(table), n));
}

RING_LOOPS(burst, put, get)
RING_LOOPS_ONE(one, put1, get1)

void *open_ring(const struct ring_shape *shape)
{
	return shape->elem == 8 ? new (std::nothrow) ring(shape->capacity) : nullptr;
}

void close_ring(void *r)
{
	delete static_cast<ring *>(r);
}

const struct ring_loops *loops(const struct ring_shape *, uint32_t n)
{
	return n == 1 ? &one : &burst;
}

const char *start(int)
{
	return nullptr;
}

const struct ring_contestant contestants[] = {
	{ "moodycamel", RING_MT, open_ring, close_ring, loops, nullptr, nullptr },
};

} // namespace

extern "C" const struct ring_library ring_moodycamel = {
	{ "moodycamel", BENCH_MOODYCAMEL_VERSION, nullptr },
	start,
	contestants,
	1,
};
