// SPDX-License-Identifier: BSD-2-Clause
//
// A C++ program of the upgrade rehearsal: two producers, two workers and a collector
// between two rings, then the life of one ring call by call. It is compiled against the
// headers of a recorded ABI and runs with later libraries, so it uses only what every
// recorded library has, and does not ask for a version.
//
//	pipeline N	moves N objects from each producer

#include <libfp.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace
{

// A check that fails ends the program: its threads may be anywhere.
#define CHECK(cond)                                                                     \
	do {                                                                            \
		if (!(cond)) {                                                          \
			std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond); \
			std::_Exit(1);                                                  \
		}                                                                       \
	} while (0)

struct object {
	uint64_t id;
	uint64_t price;
};

struct destroyer {
	void operator()(fp_ring *ring) const
	{
		CHECK(fp_ring_destroy(ring) == 0);
	}
};
using ring_ptr = std::unique_ptr<fp_ring, destroyer>;

ring_ptr make_ring(const char *name, uint32_t elem_size, uint32_t consumer)
{
	fp_ring_opts opts = LIBFP_RING_OPTS_INIT;
	fp_ring *ring = nullptr;

	opts.name = name;
	opts.capacity = 1000;
	opts.elem_size = elem_size;
	opts.consumer = consumer;
	opts.flags = LIBFP_STATS;
	CHECK(fp_ring_create(&opts, &ring) == 0);
	return ring_ptr(ring);
}

// The workers find their input by its name, and hold a reference while they use it.
void work(fp_ring *to)
{
	fp_ring *from = nullptr;
	fp_ring_span in, out;
	int32_t n;

	CHECK(fp_ring_lookup("upgrade.objects", &from) == 0);
	while ((n = fp_ring_reserve_dequeue(from, 32, 0, &in)) != -EPIPE) {
		CHECK(n >= 0 || n == -EAGAIN);
		if (n <= 0) {
			std::this_thread::yield();
			continue;
		}
		std::vector<object> some;
		const object *first = static_cast<object *>(in.ptr1);
		const object *second = static_cast<object *>(in.ptr2);
		some.insert(some.end(), first, first + in.n1);
		if (in.n2)
			some.insert(some.end(), second, second + in.n2);
		CHECK(some.size() == static_cast<size_t>(n));
		CHECK(fp_ring_commit_dequeue(from, &in, n) == n);

		for (size_t at = 0; at < some.size();) {
			int32_t room =
				fp_ring_reserve_enqueue(to, some.size() - at, 0, &out);
			CHECK(room >= 0);
			if (room == 0) {
				std::this_thread::yield();
				continue;
			}
			for (int32_t i = 0; i < room; i++, at++) {
				object *slot =
					static_cast<uint32_t>(i) < out.n1 ?
						static_cast<object *>(out.ptr1) + i :
						static_cast<object *>(out.ptr2) +
							(i - out.n1);
				*slot = { some[at].id, some[at].price * 2 };
			}
			CHECK(fp_ring_commit_enqueue(to, &out, room) == room);
		}
	}
	CHECK(fp_ring_unref(from) == 0);
}

void produce(fp_ring *to, uint64_t first, uint64_t n)
{
	object burst[8];

	for (uint64_t id = first; id < first + n; id += 8) {
		uint32_t some = first + n - id < 8 ? first + n - id : 8;
		for (uint32_t i = 0; i < some; i++)
			burst[i] = { id + i, (id + i) % 977 };
		int32_t moved;
		while ((moved = fp_ring_enqueue_bulk(to, burst, some, nullptr)) == 0)
			std::this_thread::yield();
		CHECK(moved == static_cast<int32_t>(some));
	}
}

void pipeline(uint64_t n)
{
	ring_ptr objects = make_ring("upgrade.objects", sizeof(object), LIBFP_MT);
	ring_ptr done = make_ring(nullptr, sizeof(object), LIBFP_ST);
	std::vector<std::thread> producers, workers;
	std::vector<bool> seen(2 * n);
	object burst[64];
	uint64_t total = 0;

	for (int i = 0; i < 2; i++) {
		producers.emplace_back(produce, objects.get(), i * n, n);
		workers.emplace_back(work, done.get());
	}
	std::thread end([&] {
		for (std::thread &thread : producers)
			thread.join();
		CHECK(fp_ring_close(objects.get()) == 0);
		for (std::thread &thread : workers)
			thread.join();
		CHECK(fp_ring_close(done.get()) == 0);
	});
	int32_t got;
	while ((got = fp_ring_dequeue_burst(done.get(), burst, 64, nullptr)) != -EPIPE) {
		CHECK(got >= 0);
		for (int32_t i = 0; i < got; i++, total++) {
			CHECK(burst[i].id < 2 * n && !seen[burst[i].id]);
			CHECK(burst[i].price == burst[i].id % 977 * 2);
			seen[burst[i].id] = true;
		}
		if (got == 0)
			std::this_thread::yield();
	}
	end.join();
	CHECK(total == 2 * n);

	fp_ring_stats stats = {};
	stats.size = sizeof(stats);
	CHECK(fp_ring_get_stats(done.get(), &stats) == 0);
	CHECK(stats.enqueued == total && stats.dequeued == total && stats.count == 0);
}

void one_ring()
{
	ring_ptr ring = make_ring("upgrade.one", 8, LIBFP_ST);
	fp_ring *again = ring.get();
	uint64_t word = 0, words[4] = { 1, 2, 3, 4 }, out[8] = {};
	uint32_t left = 0;

	CHECK(fp_ring_capacity(again) == 1000 && fp_ring_elem_size(again) == 8);
	CHECK(std::string(fp_ring_name(again)) == "upgrade.one");
	CHECK(fp_ring_consumer_sync(again) == LIBFP_ST);
	CHECK(fp_ring_producer_sync(again) == LIBFP_MT);
	CHECK(fp_ring_dequeue_u64(again, &word) == 0 && fp_ring_is_empty(again) == 1);
	CHECK(fp_ring_enqueue_u64(again, 7) == 1 && fp_ring_count(again) == 1);
	CHECK(fp_ring_dequeue_u64(again, &word) == 1 && word == 7);
	CHECK(fp_ring_enqueue_burst(again, words, 4, &left) == 4 && left == 996);
	CHECK(fp_ring_peek(again, out, 8) == 4 && out[3] == 4);
	CHECK(fp_ring_dequeue_bulk(again, out, 8, nullptr) == 0);
	CHECK(fp_ring_enqueue_bulk(again, words, 1001, nullptr) == -EINVAL);
	CHECK(fp_ring_close(again) == 0 && fp_ring_is_closed(again) == 1);
	CHECK(fp_ring_enqueue(again, words) == -EPIPE);
	CHECK(fp_ring_dequeue_burst(again, out, 8, &left) == 4 && left == 0);
	CHECK(fp_ring_dequeue(again, &word) == -EPIPE);
	CHECK(std::string(fp_strerror(-EPIPE)) != fp_strerror(-EINVAL));
	CHECK(fp_ring_reset(again) == 0 && fp_ring_free_count(again) == 1000);

	fp_ring_opts opts;
	CHECK(fp_ring_opts_init(&opts, sizeof(opts)) == 0);
	opts.capacity = 4;
	int64_t size = fp_ring_memsize(&opts);
	CHECK(size > 0 && size % LIBFP_RING_ALIGN == 0);
	std::unique_ptr<void, void (*)(void *)> memory(
		std::aligned_alloc(LIBFP_RING_ALIGN, size), std::free);
	fp_ring *inside = nullptr, *beside = nullptr;
	CHECK(fp_ring_init(memory.get(), size, &opts, &inside) == 0);
	CHECK(fp_ring_attach(memory.get(), size, &beside) == 0);
	CHECK(fp_ring_enqueue_u64(inside, 9) == 1);
	CHECK(fp_ring_dequeue_u64(beside, &word) == 1 && word == 9);
	CHECK(fp_ring_destroy(beside) == 0 && fp_ring_destroy(inside) == 0);
	opts.reserved0 = 1;
	CHECK(fp_ring_create(&opts, &inside) == -EINVAL);
}

} // namespace

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;

	if (n == 0) {
		std::fprintf(stderr, "usage: pipeline N\n");
		return 2;
	}
	one_ring();
	pipeline(n);
	std::printf("%ju objects, each once\n", static_cast<uintmax_t>(2 * n));
	return 0;
}
