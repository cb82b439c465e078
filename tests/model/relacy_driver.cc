// SPDX-License-Identifier: BSD-2-Clause
//
// A second opinion: the scenarios of a suite under Relacy (D. Vyukov's race
// detector, Debian's relacy-dev), random schedules. It shares the scenarios, the
// layer and the library objects with the explorer, but no line of the checking:
// this file takes the place of explorer.c, weak_memory.c and driver.c.
//
//	program scenarios N             every scenario is clean in N random runs
//	program mutants N CAUGHT        every weakened order is noticed in N runs
//
// Relacy keeps the last three values of a location, so it cannot see a
// generation byte wrap: what only the wrap scenarios notice is left out.
// Its random numbers are the same in every run of the program.
//
// Relacy's atomics and variables are objects of its own, so each location of the
// ring has a shadow, found by address.

#include <relacy/relacy.hpp>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ostream>
#include <streambuf>

#include "driver.h"
#include "ring_scenario.h"
#include "sites.h"

namespace {

const unsigned max_atomics = 64, max_granules = 512, granule = 4;
const int max_threads = 5;

struct location {
	void *addr;
	size_t size;
};

// Keeps the head of Relacy's report. Relacy takes over operator new, so a stream
// must not allocate while it reports.
class report_buffer : public std::streambuf {
public:
	report_buffer()
	{
		setp(text, text + sizeof(text) - 1);
	}
	const char *str()
	{
		*pptr() = '\0';
		return text;
	}

private:
	int overflow(int c)
	{
		return c; // full: dropped
	}
	char text[1 << 15];
};

ex_test test;
location atomics[max_atomics], granules[max_granules];
unsigned n_atomics, n_granules;
bool direct = true; // setup and finish: on memory itself

struct shadows {
	rl::atomic<uint64_t> atomic[max_atomics];
	rl::var<unsigned> granule[max_granules];
};
shadows *shadow;

const rl::memory_order orders[] = {
	rl::mo_relaxed, rl::mo_acquire, rl::mo_release, rl::mo_acq_rel, rl::mo_seq_cst
};

void add_atomic(void *addr, size_t size)
{
	if (n_atomics == max_atomics)
		std::abort();
	atomics[n_atomics].addr = addr;
	atomics[n_atomics++].size = size;
}

void add_plain(void *addr, size_t len)
{
	for (size_t i = 0; i < len; i += granule) {
		if (n_granules == max_granules)
			std::abort();
		granules[n_granules].addr = (char *)addr + i;
		granules[n_granules++].size = granule;
	}
}

rl::atomic<uint64_t> &at(const void *addr)
{
	for (unsigned i = 0; i < n_atomics; i++)
		if (atomics[i].addr == addr)
			return shadow->atomic[i];
	std::fprintf(stderr, "%s: unknown atomic location\n", test.name);
	std::exit(2);
}

uint64_t memory_get(const void *addr, size_t size)
{
	uint64_t v = 0;

	std::memcpy(&v, addr, size);
	return v;
}

uint64_t truncated(uint64_t v, size_t size)
{
	return size == 8 ? v : v & ((1ull << size * 8) - 1);
}

uint64_t updated(ex_rmw_op op, uint64_t old, uint64_t v)
{
	switch (op) {
	case EX_ADD: return old + v;
	case EX_SUB: return old - v;
	case EX_OR: return old | v;
	case EX_AND: return old & v;
	default: return v;
	}
}

// One iteration: what is shared lives from before() to after().
template <int threads>
struct run : rl::test_suite<run<threads>, threads> {
	shadows own;

	void before()
	{
		shadow = &own;
		direct = true;
		test.setup();
		for (unsigned i = 0; i < n_atomics; i++)
			own.atomic[i].store(memory_get(atomics[i].addr, atomics[i].size),
					    rl::mo_relaxed, $);
		for (unsigned i = 0; i < n_granules; i++)
			own.granule[i]($).store(0);
		direct = false;
	}

	void thread(unsigned t)
	{
		test.thread((int)t);
	}

	void after()
	{
		for (unsigned i = 0; i < n_atomics; i++) {
			uint64_t v = own.atomic[i].load(rl::mo_seq_cst, $);

			std::memcpy(atomics[i].addr, &v, atomics[i].size);
		}
		direct = true;
		test.finish();
	}
};

template <int threads>
bool simulate(unsigned long iterations, std::ostream &out, rl::iteration_t *stopped)
{
	rl::test_params p;
	bool ok;

	p.iteration_count = iterations;
	p.search_type = rl::sched_random;
	p.output_stream = &out;
	p.progress_stream = &out;
	ok = rl::simulate<run<threads> >(p);
	*stopped = p.stop_iteration;
	return ok;
}

// Returns whether all iterations were clean.
bool explore(const model_suite *suite, int scenario, int form, unsigned long iterations,
	     std::ostream &out, rl::iteration_t *stopped)
{
	model_fence_form = form;
	direct = true;
	suite->prepare(scenario, &test);
	n_atomics = n_granules = 0;
	ring_scenario_locations(add_atomic, add_plain);
	switch (test.threads) {
	case 2: return simulate<2>(iterations, out, stopped);
	case 3: return simulate<3>(iterations, out, stopped);
	case 4: return simulate<4>(iterations, out, stopped);
	default: return simulate<max_threads>(iterations, out, stopped);
	}
}

const char *const form_names[] = { "bytes", "fence" };

bool has_own_location(const char *name) // made while the threads run
{
	return !std::strcmp(name, "attach");
}

int scenarios(const model_suite *suite, unsigned long iterations)
{
	int failed = 0, ran = 0;

	for (int i = 0; i < suite->scenarios; i++) {
		if (has_own_location(suite->name(i)))
			continue;
		for (int form = 0; form < 2; form++) {
			report_buffer report;
			std::ostream out(&report);
			rl::iteration_t stopped = 0;

			ran++;
			if (explore(suite, i, form, iterations, out, &stopped))
				continue;
			failed++;
			std::printf("FAILED %s %s, iteration %lu\n%s\n", suite->name(i),
				    form_names[form], (unsigned long)stopped,
				    report.str());
		}
	}
	std::printf("%d scenarios, %lu random runs each, %d failed\n", ran, iterations,
		    failed);
	return failed != 0;
}

int mutants(const model_suite *suite, unsigned long iterations, const char *caught)
{
	char line[256], site[64], order[16], form[16], scenario[64];
	std::FILE *f = std::fopen(caught, "r");
	int total = 0, missed = 0, wraps = 0;

	if (!f) {
		std::perror(caught);
		return 2;
	}
	while (std::fgets(line, sizeof(line), f)) {
		report_buffer report;
		std::ostream out(&report);
		rl::iteration_t stopped = 0;
		int i = 0, to = 0;

		if (line[0] == '#' || std::sscanf(line, "%63s %15s %15s %63s", site, order,
						  form, scenario) != 4)
			continue;
		while (i < suite->scenarios && std::strcmp(suite->name(i), scenario))
			i++;
		if (i == suite->scenarios || has_own_location(scenario))
			continue;
		while (to < EX_SEQ_CST && std::strcmp(model_order_name(to), order))
			to++;
		total++;
		model_mutant_set(site, to);
		if (explore(suite, i, !std::strcmp(form, "fence"), iterations, out, &stopped)) {
			int beyond = !std::strncmp(scenario, "wrap-", 5);

			missed += !beyond;
			wraps += beyond;
			if (!beyond)
				std::printf("FAILED %s %s %s: not noticed by %s\n", site,
					    order, form, scenario);
		}
		model_mutant_set(NULL, 0);
	}
	std::fclose(f);
	std::printf("%d weakened orders in %lu random runs each: %d beyond Relacy, "
		    "%d failed\n", total, iterations, wraps, missed);
	return total == 0 || missed;
}

} // namespace

extern "C" {

uint64_t ex_load(const void *addr, size_t size, enum ex_order order, const char *)
{
	return direct ? memory_get(addr, size) : at(addr).load(orders[order], $);
}

void ex_store(void *addr, size_t size, uint64_t v, enum ex_order order, const char *)
{
	if (direct)
		std::memcpy(addr, &v, size);
	else
		at(addr).store(truncated(v, size), orders[order], $);
}

int ex_cas(void *addr, size_t size, uint64_t *expected, uint64_t v, enum ex_order order,
	   const char *)
{
	uint64_t old = *expected;

	if (!direct)
		return at(addr).compare_exchange_strong(*expected, v, orders[order], $,
							rl::mo_relaxed, $);
	*expected = memory_get(addr, size);
	if (*expected != old)
		return 0;
	std::memcpy(addr, &v, size);
	return 1;
}

uint64_t ex_rmw(void *addr, size_t size, enum ex_rmw_op op, uint64_t v, enum ex_order order,
		const char *)
{
	uint64_t old = memory_get(addr, size), next = updated(op, old, v);

	if (direct) {
		std::memcpy(addr, &next, size);
		return old;
	}
	switch (op) {
	case EX_ADD: return at(addr).fetch_add(v, orders[order], $);
	case EX_SUB: return at(addr).fetch_sub(v, orders[order], $);
	case EX_OR: return at(addr).fetch_or(v, orders[order], $);
	case EX_AND: return at(addr).fetch_and(v, orders[order], $);
	default: return at(addr).exchange(v, orders[order], $);
	}
}

void ex_fence(enum ex_order order)
{
	if (!direct && order != EX_RELAXED)
		rl::atomic_thread_fence(orders[order], $);
}

void ex_plain(const void *addr, size_t len, int write, const char *)
{
	const char *p = (const char *)addr;

	if (direct)
		return;
	for (unsigned i = 0; i < n_granules; i++) {
		const char *g = (const char *)granules[i].addr;

		if (g >= p && g < p + len) {
			if (write)
				shadow->granule[i]($).store(1);
			else
				(void)shadow->granule[i]($).load();
		}
	}
}

void ex_await(const void *addr, size_t, uint64_t v, enum ex_order order, const char *)
{
	rl::backoff wait;

	while (at(addr).load(orders[order], $) != v)
		wait.yield($);
}

// What no ring does while its threads run: it takes no lock.
void ex_cas_wait(void *addr, size_t size, uint64_t, uint64_t v, enum ex_order,
		 const char *what)
{
	if (!direct)
		ex_fail("a lock is taken", what, 0);
	std::memcpy(addr, &v, size);
}

void ex_futex_wait(const void *, size_t, uint64_t, const char *what)
{
	ex_fail("a futex call", what, 0);
}

void ex_futex_wake(const void *, size_t, uint32_t, const char *what)
{
	ex_fail("a futex call", what, 0);
}

enum ex_slept ex_futex_wait_bits(const void *, size_t, uint64_t, uint32_t, int,
				 const char *what)
{
	ex_fail("a futex call", what, 0);
	return EX_DIFFERS;
}

void ex_futex_wake_bits(const void *, size_t, uint32_t, const char *what)
{
	ex_fail("a futex call", what, 0);
}

void ex_membarrier(void)
{
	ex_fail("a membarrier", "", 0);
}

void ex_poll(const void *, size_t, const char *what)
{
	ex_fail("a poll", what, 0);
}

void ex_fail(const char *why, const char *file, int line)
{
	static char text[256];

	std::snprintf(text, sizeof(text), "%s (%s:%d)", why, file, line);
	rl::ctx().fail_test(text, rl::test_result_user_assert_failed, $);
}

void ex_statistic(const void *)
{
}

void ex_name(const void *, const char *)
{
}

void ex_note(const char *, ...)
{
}

int model_main(int argc, char **argv, const struct model_suite *suite)
{
	unsigned long iterations = argc > 2 ? std::strtoul(argv[2], NULL, 10) : 0;

	if (iterations && argc == 3 && !std::strcmp(argv[1], "scenarios"))
		return scenarios(suite, iterations);
	if (iterations && argc == 4 && !std::strcmp(argv[1], "mutants"))
		return mutants(suite, iterations, argv[3]);
	std::fputs("scenarios N | mutants N CAUGHT\n", stderr);
	return 2;
}

} // extern "C"
