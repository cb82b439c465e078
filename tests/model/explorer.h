/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An explorer of weak memory: runs a small concurrent program in every way
 * that C11 allows, and reports the first that breaks a check or races.
 *
 * A test is a setup, a few threads and a finish. The threads are coroutines;
 * their atomics and their plain accesses to shared memory come through the
 * functions below. Setup and finish run alone, directly on memory: the values
 * that setup leaves are the initial ones, and before finish every location
 * holds the last value of its modification order.
 *
 *	struct ex_result res;
 *	struct ex_test test = { "two adders", 2, setup, thread, finish };
 *	if (ex_explore(&test, EX_NO_LIMIT, &res))
 *		puts(ex_trace());
 *
 * Model (weak_memory.c): C11 with release sequences and seq_cst as of C++20,
 * without load buffering. A store goes to the end of the modification order, so
 * shapes that need a store before an older store in that order (2+2W) are not
 * explored.
 *
 * Search (explorer.c): depth first by replay. A step is (thread, message read);
 * sleep sets over such steps explore each combination of reads-from and
 * modification order once. Locations that one thread only uses, or that nobody
 * writes, are no scheduling points: they are found by running, and the search
 * starts again whenever one turns out to be shared.
 *
 * The kernel (system_calls.c): futexes, membarrier, and a word that a thread polls.
 */
#ifndef MODEL_EXPLORER_H
#define MODEL_EXPLORER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum ex_order { EX_RELAXED, EX_ACQUIRE, EX_RELEASE, EX_ACQ_REL, EX_SEQ_CST };
enum ex_rmw_op { EX_ADD, EX_SUB, EX_OR, EX_AND, EX_SWAP };

#define EX_THREADS 6
#define EX_NO_LIMIT UINT64_MAX

struct ex_test {
	const char *name;
	int threads;		    /* 1 to EX_THREADS */
	void (*setup)(void);	    /* before every execution */
	void (*thread)(int thread); /* 0 to threads - 1 */
	void (*finish)(void);	    /* after every complete execution */
	void *local;		    /* thread-local memory of the code under test: each
				     * thread has its own, at first as setup left it */
	size_t local_size;
	/* Nobody can run: 1 if that is right; memory is as for finish. NULL: it never is */
	int (*stuck)(void);
	/*
	 * How often a sleep with a deadline may end, per thread and execution, while others
	 * can still run. Once nobody can, it ends in any case. EX_NEVER: not even then.
	 */
	int timeouts;
	/*
	 * So many threads, from the first on, are asleep without a deadline when the others
	 * begin. How they get there is not explored.
	 */
	int asleep;
};
#define EX_NEVER (-1)

struct ex_result {
	int failed;	   /* a check failed; see ex_trace() */
	int cut;	   /* the limit was reached: not exhaustive */
	uint64_t complete; /* executions that ran to their end */
	uint64_t pruned;   /* given up: the same as another */
	uint64_t restarts; /* a location turned out to be shared */
};

/* Explores until a failure, the end or the limit. Returns res->failed. */
int ex_explore(const struct ex_test *test, uint64_t limit, struct ex_result *res);
/* The steps of the failed execution, one a line. */
const char *ex_trace(void);

/* For the explorer's own test: 1 explores every schedule, however redundant. */
extern int ex_no_pruning;

/* ---- for the code under test; addr is the identity of a location ---- */

uint64_t ex_load(const void *addr, size_t size, enum ex_order order, const char *what);
void ex_store(void *addr, size_t size, uint64_t v, enum ex_order order, const char *what);
/* Strong; a failure may read a stale value and is relaxed. */
int ex_cas(void *addr, size_t size, uint64_t *expected, uint64_t v, enum ex_order order,
	   const char *what);
uint64_t ex_rmw(void *addr, size_t size, enum ex_rmw_op op, uint64_t v,
		enum ex_order order, const char *what);
void ex_fence(enum ex_order order);
/*
 * Checks a plain access for races; the caller makes the access itself. Memory
 * on the running thread's own stack is left out.
 */
void ex_plain(const void *addr, size_t len, int write, const char *what);

/* ---- for scenarios ---- */

/*
 * A compare-and-swap that waits until it succeeds: the acquire of a lock, without
 * the spinning. Failed tries, relaxed and without effect, are left out.
 */
void ex_cas_wait(void *addr, size_t size, uint64_t expected, uint64_t v,
		 enum ex_order order, const char *what);

/*
 * The system call: sleeps if the word's last value is `expected`; wakes up to n
 * threads, first come first served. Neither orders anything else.
 */
void ex_futex_wait(const void *addr, size_t size, uint64_t expected, const char *what);
void ex_futex_wake(const void *addr, size_t size, uint32_t n, const char *what);
/*
 * The same for sleepers with a mask: a wake is for those that have one of `bits` in common.
 * deadline: the sleep may end by itself, see ex_test.timeouts.
 */
enum ex_slept { EX_WOKEN, EX_DIFFERS, EX_TIMED_OUT };
enum ex_slept ex_futex_wait_bits(const void *addr, size_t size, uint64_t expected,
				 uint32_t bits, int deadline, const char *what);
void ex_futex_wake_bits(const void *addr, size_t size, uint32_t bits, const char *what);

/*
 * membarrier: a seq_cst fence in the caller and, between its beginning and its end, one in
 * each other thread: wherever that thread is, and not in all at the same moment.
 */
void ex_membarrier(void);

/* The system call: sleeps until the word's last value is not 0. Orders nothing. */
void ex_poll(const void *addr, size_t size, const char *what);

/* Waits until a load can read v, and reads it. */
void ex_await(const void *addr, size_t size, uint64_t v, enum ex_order order,
	      const char *what);
/* Waits until a load can read something else than v, and reads that. */
void ex_await_not(const void *addr, size_t size, uint64_t v, enum ex_order order,
		  const char *what);
/* Ends the execution as failed. Does not return. */
void ex_fail(const char *why, const char *file, int line);
#define EX_CHECK(cond)                                      \
	do {                                                \
		if (!(cond))                                \
			ex_fail(#cond, __FILE__, __LINE__); \
	} while (0)
/*
 * In setup: the location at addr is a statistic; what its accesses return
 * decides nothing. They are no scheduling points, work on the last value, and
 * must not acquire.
 */
void ex_statistic(const void *addr);
/* In setup: how the trace calls the location at addr. */
void ex_name(const void *addr, const char *name);
/* Adds a line to the trace, if one is being written. */
__attribute__((format(printf, 1, 2))) void ex_note(const char *format, ...);

#ifdef __cplusplus
}
#endif

#endif
