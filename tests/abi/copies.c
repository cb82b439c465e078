/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * usage: copies local|global LIBRARY COPY PROBE PROBE_COPY [CASE...]
 *
 * Several copies of the library in one process: LIBRARY by dlopen, COPY, another file
 * with the same bytes, and LIBRARY again in a namespace of its own by dlmopen. They must
 * not know of each other. `global` lets the copy see the functions of the library before
 * its own, as where the program is linked to the one and a plugin brings the other.
 *
 * No exported function shows the thread slots: two copies of a PROBE (copies_probe.c) do.
 */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <libfp.h>

#include "check.h"

#define FUNCTIONS(F)               \
	F(fp_version_number)       \
	F(fp_log_set_handler)      \
	F(fp_ring_create)          \
	F(fp_ring_destroy)         \
	F(fp_ring_lookup)          \
	F(fp_ring_unref)           \
	F(fp_ring_close)           \
	F(fp_ring_enqueue_burst)   \
	F(fp_ring_dequeue_burst)   \
	F(fp_ring_reserve_enqueue) \
	F(fp_ring_commit_enqueue)  \
	F(fp_ring_get_stats)

/* The functions of one copy, under their own names. */
#define MEMBER(function) __typeof__(function) *function;
struct copy {
	FUNCTIONS(MEMBER)
};

enum { LIBRARY, COPY, NAMESPACE, COPIES };
static struct copy copies[COPIES];
static struct {
	uint32_t (*slot)(void);
	uint32_t (*exits)(void);
} probes[2];

static void find(void *handle, const char *name, void *function)
{
	void *symbol = dlsym(handle, name);

	CHECK(symbol);
	memcpy(function, &symbol, sizeof(symbol)); /* as POSIX says */
}

static fp_ring *ring_of(const struct copy *c, const char *name, uint32_t flags)
{
	fp_ring_opts opts = LIBFP_RING_OPTS_INIT;
	fp_ring *ring = NULL;

	opts.capacity = 64;
	opts.name = name;
	opts.flags = flags;
	CHECK_EQ(c->fp_ring_create(&opts, &ring), 0);
	return ring;
}

/* ---- objects ---- */

#define OTHER_ADDRESS(function) CHECK(copies[i].function != copies[k].function);

static void each_has_functions_of_its_own(void)
{
	for (int i = 0; i < COPIES; i++)
		for (int k = 0; k < i; k++) {
			FUNCTIONS(OTHER_ADDRESS)
			CHECK_EQ(copies[i].fp_version_number(),
				 copies[k].fp_version_number());
		}
}

static void a_name_is_taken_in_one_of_them(void)
{
	fp_ring *rings[COPIES], *found;

	for (int i = 0; i < COPIES; i++) {
		found = NULL;
		CHECK_EQ(copies[i].fp_ring_lookup("same", &found), -ENOENT);
		rings[i] = ring_of(&copies[i], "same", 0);
	}
	for (int i = 0; i < COPIES; i++) {
		CHECK_EQ(copies[i].fp_ring_lookup("same", &found), 0);
		CHECK(found == rings[i]);
		CHECK_EQ(copies[i].fp_ring_unref(found), 0);
		CHECK_EQ(copies[i].fp_ring_destroy(rings[i]), 0);
		CHECK_EQ(copies[i].fp_ring_lookup("same", &found), -ENOENT);
	}
}

static int lines[COPIES];

static void count_line(uint32_t level, const char *line, void *user)
{
	(void)level, (void)line;
	++*(int *)user;
}

static void a_refusal_is_told_to_its_own_log_handler(void)
{
	fp_ring *ring;

	for (int i = 0; i < COPIES; i++)
		copies[i].fp_log_set_handler(count_line, &lines[i], NULL);
	for (int i = 0; i < COPIES; i++)
		for (int k = 0; k <= i; k++)
			CHECK_EQ(copies[i].fp_ring_create(NULL, &ring), -EINVAL);
	for (int i = 0; i < COPIES; i++) {
		CHECK_EQ(lines[i], i + 1);
		copies[i].fp_log_set_handler(NULL, NULL, NULL);
	}
}

/* ---- threads ---- */

#define ELEMENTS 20000u

static fp_ring *chain[COPIES];

static void *feed(void *unused)
{
	for (uint64_t i = 1; i <= ELEMENTS;) {
		int32_t put = copies[0].fp_ring_enqueue_burst(chain[0], &i, 1, NULL);

		CHECK(put >= 0);
		i += (uint32_t)put;
		if (!put)
			sched_yield();
	}
	CHECK_EQ(copies[0].fp_ring_close(chain[0]), 0);
	return unused;
}

/* From the ring of one copy to that of the next. */
static void *carry(void *at)
{
	const int from = (int)(intptr_t)at, to = from + 1;
	uint64_t elems[32];
	int32_t n, put;

	while ((n = copies[from].fp_ring_dequeue_burst(chain[from], elems, 32, NULL)) !=
	       -EPIPE) {
		CHECK(n >= 0);
		for (int32_t done = 0; done < n; done += put) {
			put = copies[to].fp_ring_enqueue_burst(
				chain[to], elems + done, (uint32_t)(n - done), NULL);
			CHECK(put >= 0);
			sched_yield();
		}
		if (!n)
			sched_yield();
	}
	CHECK_EQ(copies[to].fp_ring_close(chain[to]), 0);
	return NULL;
}

static void rings_work_beside_each_other(void)
{
	const int last = COPIES - 1;
	pthread_t threads[COPIES];
	uint64_t elems[32], next = 1;
	int32_t n;

	for (int i = 0; i < COPIES; i++)
		chain[i] = ring_of(&copies[i], NULL, LIBFP_STATS);
	CHECK_EQ(pthread_create(&threads[last], NULL, feed, NULL), 0);
	for (int i = 0; i < last; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, carry, (void *)(intptr_t)i),
			 0);
	while ((n = copies[last].fp_ring_dequeue_burst(chain[last], elems, 32, NULL)) !=
	       -EPIPE) {
		CHECK(n >= 0);
		for (int32_t i = 0; i < n; i++)
			CHECK_EQ(elems[i], next++);
		if (!n)
			sched_yield();
	}
	CHECK_EQ(next, ELEMENTS + 1);
	for (int i = 0; i < COPIES; i++) {
		fp_ring_stats stats = { .size = sizeof(stats) };

		CHECK_EQ(pthread_join(threads[i], NULL), 0);
		CHECK_EQ(copies[i].fp_ring_get_stats(chain[i], &stats), 0);
		CHECK_EQ(stats.enqueued, ELEMENTS);
		CHECK_EQ(stats.dequeued, ELEMENTS);
		CHECK_EQ(copies[i].fp_ring_destroy(chain[i]), 0);
	}
}

struct holder {
	int64_t id;
	fp_ring *rings[COPIES];
	fp_ring_span spans[COPIES];
};

static void *hold(void *arg)
{
	struct holder *h = arg;

	h->id = gettid();
	for (int i = 0; i < COPIES; i++)
		CHECK_EQ(copies[i].fp_ring_reserve_enqueue(h->rings[i], 1, 0,
							   &h->spans[i]),
			 1);
	return NULL;
}

static void each_knows_the_thread_that_holds_a_slot(void)
{
	struct holder h = { 0 };
	pthread_t thread;

	for (int i = 0; i < COPIES; i++)
		h.rings[i] = ring_of(&copies[i], NULL, LIBFP_CHECKED);
	CHECK_EQ(pthread_create(&thread, NULL, hold, &h), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	for (int i = 0; i < COPIES; i++) {
		fp_ring_stats stats = { .size = sizeof(stats) };

		CHECK_EQ(copies[i].fp_ring_get_stats(h.rings[i], &stats), 0);
		CHECK_EQ(stats.blocked_by, h.id);
		CHECK_EQ(copies[i].fp_ring_commit_enqueue(h.rings[i], &h.spans[i], 1), 1);
		CHECK_EQ(copies[i].fp_ring_destroy(h.rings[i]), 0);
	}
}

/* glibc tells no library of another namespace, so it is not asked here. */
static void each_notices_a_fork(void)
{
	fp_ring *rings[NAMESPACE];
	fp_ring_span span;
	int status = 0;

	for (int i = 0; i < NAMESPACE; i++) {
		rings[i] = ring_of(&copies[i], NULL, 0);
		CHECK_EQ(copies[i].fp_ring_reserve_enqueue(rings[i], 1, 0, &span), 1);
		CHECK_EQ(copies[i].fp_ring_destroy(rings[i]), -EBUSY);
	}
	pid_t child = fork();

	CHECK(child >= 0);
	if (child == 0) { /* the span is nobody's here */
		for (int i = 0; i < NAMESPACE; i++)
			if (copies[i].fp_ring_destroy(rings[i]))
				_exit(1);
		_exit(0);
	}
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	for (int i = 0; i < NAMESPACE; i++)
		CHECK_EQ(copies[i].fp_ring_destroy(rings[i]), -EBUSY);
}

/* ---- thread slots ---- */

#define THREADS 600u /* more than there are slots */

static void *take_slots(void *arg)
{
	uint32_t *slots = arg;

	/* The main thread has one in the first, so this is the second there. */
	for (int i = 0; i < 2; i++)
		slots[i] = probes[i].slot();
	return NULL;
}

static void slots_are_taken_and_given_back_in_each(void)
{
	CHECK_EQ(probes[0].slot(), 0);
	for (uint32_t n = 1; n <= THREADS; n++) {
		uint32_t slots[2];
		pthread_t thread;

		CHECK_EQ(pthread_create(&thread, NULL, take_slots, slots), 0);
		CHECK_EQ(pthread_join(thread, NULL), 0);
		CHECK_EQ(slots[0], 1);
		CHECK_EQ(slots[1], 0);
		CHECK_EQ(probes[0].exits(), n);
		CHECK_EQ(probes[1].exits(), n);
	}
	CHECK_EQ(probes[1].slot(), 0);
}

/* ---- loading them ---- */

static void *loaded(const char *path, void *handle)
{
	if (!handle) {
		fprintf(stderr, "%s: %s\n", path, dlerror());
		exit(2);
	}
	return handle;
}

#define FIND(function) find(handles[i], #function, (void *)&copies[i].function);

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(each_has_functions_of_its_own),
		FPT_CASE(a_name_is_taken_in_one_of_them),
		FPT_CASE(a_refusal_is_told_to_its_own_log_handler),
		FPT_CASE(rings_work_beside_each_other),
		FPT_CASE(each_knows_the_thread_that_holds_a_slot),
		FPT_CASE(each_notices_a_fork),
		FPT_CASE(slots_are_taken_and_given_back_in_each),
	};
	void *handles[COPIES];

	if (argc < 6)
		return 2;
	const int scope = strcmp(argv[1], "global") ? RTLD_LOCAL : RTLD_GLOBAL;

	handles[LIBRARY] = loaded(argv[2], dlopen(argv[2], RTLD_NOW | scope));
	handles[COPY] = loaded(argv[3], dlopen(argv[3], RTLD_NOW | RTLD_LOCAL));
	handles[NAMESPACE] = loaded(argv[2], dlmopen(LM_ID_NEWLM, argv[2], RTLD_NOW));
	for (int i = 0; i < COPIES; i++) {
		FUNCTIONS(FIND)
	}
	for (int i = 0; i < 2; i++) {
		void *probe = loaded(argv[4 + i],
				     dlopen(argv[4 + i], RTLD_NOW | (i ? 0 : scope)));

		find(probe, "probe_slot", (void *)&probes[i].slot);
		find(probe, "probe_exits", (void *)&probes[i].exits);
	}
	argv[5] = argv[0];
	return fpt_main(argc - 5, argv + 5, cases, FPT_LEN(cases));
}
