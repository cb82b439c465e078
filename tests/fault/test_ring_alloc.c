/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Failing allocations, at every index, in create and init: -ENOMEM, a reason in
 * the log, nothing leaked, nothing written, the name free again. Attach and
 * rings without an allocator get their failures from RLIMIT_AS.
 */
#include <sys/resource.h>

#include "child.h"
#include "ring_test.h"

#define UNTOUCHED ((fp_ring *)(uintptr_t)0x1234)

static void create_fails_cleanly_at_every_allocation(void)
{
	RT_EACH_MODE(m)
	for (uint32_t flags = 0; flags < 32; flags++)
		for (int64_t at = 0, done = 0; !done; at++) {
			struct fpt_heap heap = { .fail_at = at };
			fp_allocator a = fpt_heap_allocator(&heap);
			fp_ring_opts o = rt_opts(100, 12, m, flags);
			fp_ring *r = UNTOUCHED, *found = UNTOUCHED;
			int rc;

			fpt_where("%s flags %#x allocation %" PRId64, m->name, flags, at);
			o.allocator = &a;
			o.name = "may fail";
			fpt_log_begin();
			rc = fp_ring_create(&o, &r);
			if (rc == 0) {
				done = 1;
				CHECK(at >= 1);
				CHECK_EQ(heap.allocs, at);
				CHECK_EQ(fpt_log.lines, 0);
				CHECK_EQ(fp_ring_destroy(r), 0);
			} else {
				CHECK_EQ(rc, -ENOMEM);
				CHECK(r == UNTOUCHED);
				CHECK_EQ(fpt_log.lines, 1);
			}
			fpt_log_end();
			CHECK_EQ(heap.live, 0);
			CHECK_EQ(heap.live_bytes, 0);
			CHECK_EQ(heap.bad, 0);
			CHECK_EQ(fp_ring_lookup("may fail", &found), -ENOENT);
			/* the name is not taken by what never was */
			heap.fail_at = -1;
			CHECK_EQ(fp_ring_create(&o, &r), 0);
			CHECK_EQ(fp_ring_destroy(r), 0);
			CHECK_EQ(heap.live, 0);
		}
}

static void init_fails_cleanly_at_every_allocation(void)
{
	RT_EACH_MODE(m)
	for (uint32_t flags = 0; flags < 4; flags++)
		for (int64_t at = 0, done = 0; !done; at++) {
			struct fpt_heap heap = { .fail_at = at };
			fp_allocator a = fpt_heap_allocator(&heap);
			fp_ring_opts o = rt_opts(100, 12, m, flags);
			size_t size = (size_t)fp_ring_memsize(&o);
			unsigned char *mem = aligned_alloc(LIBFP_RING_ALIGN, size);
			fp_ring *r = UNTOUCHED;
			int rc;

			fpt_where("%s flags %#x allocation %" PRId64, m->name, flags, at);
			CHECK(mem != NULL);
			memset(mem, 0x6b, size);
			o.allocator = &a;
			o.name = "may fail";
			fpt_log_begin();
			rc = fp_ring_init(mem, size, &o, &r);
			if (rc == 0) {
				done = 1;
				CHECK_EQ(fp_ring_destroy(r), 0);
			} else {
				CHECK_EQ(rc, -ENOMEM);
				CHECK(r == UNTOUCHED);
				CHECK_EQ(fpt_log.lines, 1);
				for (size_t i = 0; i < size; i++)
					CHECK_EQ(mem[i], 0x6b);
			}
			fpt_log_end();
			CHECK_EQ(heap.live, 0);
			CHECK_EQ(heap.bad, 0);
			CHECK_EQ(fp_ring_lookup("may fail", &r), -ENOENT);
			free(mem);
		}
}

/* A name that is taken is found out after the memory was: all of it goes back. */
static void a_late_refusal_gives_everything_back(void)
{
	struct fpt_heap heap = { .fail_at = -1 };
	fp_allocator a = fpt_heap_allocator(&heap);
	fp_ring_opts o = rt_opts(100, 12, &rt_modes[3], 0);
	fp_ring *r = NULL, *second = UNTOUCHED;

	o.name = "taken";
	o.allocator = &a;
	CHECK_EQ(fp_ring_create(&o, &r), 0);
	for (int i = 0; i < 100; i++) {
		int64_t live = heap.live;

		CHECK_EQ(fp_ring_create(&o, &second), -EEXIST);
		CHECK_EQ(heap.live, live);
	}
	CHECK(second == UNTOUCHED);
	CHECK_EQ(fp_ring_destroy(r), 0);
	CHECK_EQ(heap.live, 0);
	CHECK_EQ(heap.bad, 0);
}

/* ---- the library's own memory runs out ---- */

/* No more address space than is in use now, and what malloc has left is taken. */
static void no_more_memory(void)
{
	struct rlimit limit = { 0, 0 };
	size_t taken = 0;
	void *volatile p; /* or clang leaves such a malloc out */

	CHECK_EQ(setrlimit(RLIMIT_AS, &limit), 0);
	for (size_t size = 1u << 20; size >= 16; size /= 2)
		for (; (p = malloc(size)); taken += size)
			CHECK(taken < 1u << 30); /* the limit holds */
}

struct attach_job {
	unsigned char *mem;
	uint64_t size;
};

static void without_memory(void *arg)
{
	struct attach_job *job = arg;
	fp_ring_opts o = rt_opts(1u << 20, 8, &rt_modes[3], 0);
	fp_ring *r = UNTOUCHED;

	no_more_memory();
	CHECK_EQ(fp_ring_attach(job->mem, job->size, &r), -ENOMEM);
	o.name = "may fail";
	CHECK_EQ(fp_ring_create(&o, &r), -ENOMEM);
	o.capacity = 1;
	CHECK_EQ(fp_ring_create(&o, &r), -ENOMEM);
	CHECK_EQ(fp_ring_init(job->mem, job->size, &o, &r), -ENOMEM);
	CHECK(r == UNTOUCHED);
	CHECK_EQ(fp_ring_lookup("may fail", &r), -ENOENT);
	_exit(0); /* without memory nothing is flushed */
}

static void without_memory_everything_says_so(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(FPT_EMULATED)
	printf("  not in this build: sanitizers need address space themselves, and an "
	       "emulator does not limit it\n");
	(void)without_memory;
#else
	fp_ring_opts o = rt_opts(4, 8, &rt_modes[3], 0);
	size_t size = (size_t)fp_ring_memsize(&o);
	struct attach_job job = { aligned_alloc(LIBFP_RING_ALIGN, size), size };
	fp_ring *r = NULL;

	CHECK(job.mem != NULL);
	CHECK_EQ(fp_ring_init(job.mem, size, &o, &r), 0);
	fpt_in_child(without_memory, &job);
	CHECK_EQ(fp_ring_destroy(r), 0);
	free(job.mem);
#endif
}

/* More than any machine has: quickly, and nothing is left behind. */
static void more_than_there_is_fails_quickly(void)
{
	fp_ring_opts o =
		rt_opts(LIBFP_RING_CAPACITY_MAX, LIBFP_RING_ELEM_MAX, &rt_modes[3], 0);
	fp_ring *r = UNTOUCHED;
	int rc;

	for (int i = 0; i < 20; i++) {
		fpt_log_begin();
		rc = fp_ring_create(&o, &r);
		if (rc == 0) { /* an overcommitting kernel: it was never touched */
			CHECK_EQ(fp_ring_capacity(r), LIBFP_RING_CAPACITY_MAX);
			CHECK_EQ(fp_ring_destroy(r), 0);
			r = UNTOUCHED;
		} else {
			CHECK_EQ(rc, -ENOMEM);
			CHECK_EQ(fpt_log.lines, 1);
			CHECK(r == UNTOUCHED);
		}
		fpt_log_end();
	}
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(create_fails_cleanly_at_every_allocation),
		FPT_CASE(init_fails_cleanly_at_every_allocation),
		FPT_CASE(a_late_refusal_gives_everything_back),
		FPT_CASE(without_memory_everything_says_so),
		FPT_CASE(more_than_there_is_fails_quickly),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
