/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Allocations that fail one after the other: a create that uses the caller's
 * allocator gives -ENOMEM, gives back what it got, and leaves its name free.
 */
#define _GNU_SOURCE 1
#include <errno.h>

#include <libfp/ring.h>

#include "base/memory.h"
#include "check.h"

void (*fpi_test_step)(const char *step);

struct failing {
	uint64_t fail_at; /* index of the call that fails, from 1 */
	uint64_t calls;
	int64_t live_blocks, live_bytes;
};

static void *failing_alloc(void *ctx, uint64_t size, uint64_t align)
{
	struct failing *f = ctx;
	void *p;

	if (++f->calls == f->fail_at)
		return NULL;
	if (posix_memalign(&p, align, size))
		return NULL;
	f->live_blocks++;
	f->live_bytes += (int64_t)size;
	return p;
}

static void failing_free(void *ctx, void *ptr, uint64_t size, uint64_t align)
{
	struct failing *f = ctx;

	CHECK((uintptr_t)ptr % align == 0);
	f->live_blocks--;
	f->live_bytes -= (int64_t)size;
	free(ptr);
}

static void a_failed_block_leaves_nothing(void)
{
	struct failing f = { .fail_at = 1 };
	fp_allocator a = { sizeof(a), 0, failing_alloc, failing_free, &f };
	struct fpi_mem m = { 0 };

	CHECK_EQ(fpi_mem_alloc(&m, &a, 4096, 64, 0, 0), -ENOMEM);
	CHECK(!m.ptr);
	CHECK_EQ(fpi_mem_alloc(&m, &a, 4096, 64, 0, 0), 0);
	CHECK_EQ(f.live_bytes, 4096);
	fpi_mem_free(&m);
	CHECK_EQ(f.live_blocks, 0);
	CHECK_EQ(f.live_bytes, 0);
}

/* Rows R-21, L-01: a create that failed is not found by its name. */
static void a_failed_create_leaves_neither_memory_nor_name(uint32_t flags)
{
	struct failing f = { 0 };
	fp_allocator a = { sizeof(a), 0, failing_alloc, failing_free, &f };
	fp_ring_opts o = LIBFP_RING_OPTS_INIT;
	fp_ring *ring = NULL, *found = NULL;
	uint64_t failures = 0;
	int rc;

	o.name = "faulty";
	o.capacity = 100;
	o.flags = flags;
	o.allocator = &a;
	for (;;) {
		f.fail_at = ++failures;
		f.calls = 0;
		rc = fp_ring_create(&o, &ring);
		if (!rc)
			break;
		CHECK_EQ(rc, -ENOMEM);
		CHECK(!ring);
		CHECK_EQ(f.live_blocks, 0);
		CHECK_EQ(f.live_bytes, 0);
		CHECK_EQ(fp_ring_lookup("faulty", &found), -ENOENT);
	}
	CHECK(failures > 1);
	CHECK_EQ(fp_ring_lookup("faulty", &found), 0);
	CHECK(found == ring);
	CHECK_EQ(fp_ring_unref(ring), 0);
	CHECK_EQ(fp_ring_destroy(ring), 0);
	CHECK_EQ(f.live_blocks, 0);
	CHECK_EQ(f.live_bytes, 0);
}

static void ring_create_fails_cleanly_at_every_allocation(void)
{
	a_failed_create_leaves_neither_memory_nor_name(0);
	a_failed_create_leaves_neither_memory_nor_name(LIBFP_STATS | LIBFP_CHECKED);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(a_failed_block_leaves_nothing),
		FPT_CASE(ring_create_fails_cleanly_at_every_allocation),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
