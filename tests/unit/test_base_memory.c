/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory of objects: alignment, zeroes, hints, the user's allocator, too much. */
#define _GNU_SOURCE 1
#include <errno.h>
#include <sys/mman.h>

#include "base/log.h"
#include "base/memory.h"
#include "check.h"

static const uint32_t all_hints = LIBFP_MEM_HUGE | LIBFP_MEM_PREFAULT | LIBFP_MEM_NODE;

static int is_zero(const unsigned char *p, uint64_t size)
{
	return !p[0] && !memcmp(p, p + 1, size - 1);
}

static void check_block(uint64_t size, uint64_t align, uint32_t flags, uint32_t node)
{
	struct fpi_mem m = { 0 };
	unsigned char *p;

	fpt_where("size %" PRIu64 " align %" PRIu64 " flags 0x%x", size, align, flags);
	CHECK_EQ(fpi_mem_alloc(&m, NULL, size, align, flags, node), 0);
	p = m.ptr;
	CHECK(p && (uintptr_t)p % align == 0);
	CHECK(is_zero(p, size));
	memset(p, 0xee, size);
	fpi_mem_free(&m);
	CHECK(!m.ptr);
	fpi_mem_free(&m);
}

static void blocks_are_aligned_and_zero(void)
{
	static const uint64_t sizes[] = { 1,	7,	64,	4095,	4096,
					  4097, 262143, 262144, 262145, 600000 };
	static const uint64_t aligns[] = { 1, 8, 64, 128, 4096, 65536, 4u << 20 };

	for (size_t s = 0; s < FPT_LEN(sizes); s++)
		for (size_t a = 0; a < FPT_LEN(aligns); a++) {
			check_block(sizes[s], aligns[a], 0, 0);
			/* Again: what the first block left in the heap. */
			check_block(sizes[s], aligns[a], 0, 0);
		}
}

static void hints_never_fail(void)
{
	static const uint64_t sizes[] = { 1, 4096, (2u << 20) - 1, 2u << 20 };
	static const uint32_t nodes[] = { 0, 1, 63, 64, 1023, 1024, UINT32_MAX };

	for (size_t s = 0; s < FPT_LEN(sizes); s++) {
		for (uint32_t flags = 0; flags <= all_hints; flags += 4)
			check_block(sizes[s], 128, flags, 0);
		for (size_t n = 0; n < FPT_LEN(nodes); n++)
			check_block(sizes[s], 128, LIBFP_MEM_NODE, nodes[n]);
	}
}

static void large_huge_blocks_start_on_a_huge_page(void)
{
	struct fpi_mem m;

	CHECK_EQ(fpi_mem_alloc(&m, NULL, 4u << 20, 128, LIBFP_MEM_HUGE, 0), 0);
	CHECK_EQ((uintptr_t)m.ptr % (2u << 20), 0);
	fpi_mem_free(&m);
}

static void prefault_makes_every_page_present(void)
{
	enum { SIZE = 1 << 20, PAGES = SIZE / 4096 };
	unsigned char present[PAGES] = { 0 };
	struct fpi_mem m;

	CHECK_EQ(fpi_mem_alloc(&m, NULL, SIZE, 4096, LIBFP_MEM_PREFAULT, 0), 0);
	CHECK(!mincore(m.ptr, SIZE, present));
	/* With larger pages the kernel fills a shorter vector. */
	CHECK(present[0] & 1);
	fpi_mem_free(&m);
}

static void more_than_the_machine_has_fails_at_once(void)
{
	static const uint64_t sizes[] = { 1ull << 45,	   1ull << 46, (1ull << 46) + 1,
					  1ull << 62,	   INT64_MAX,  1ull << 63,
					  UINT64_MAX - 63, UINT64_MAX };
	struct fpi_mem m, before;

	memset(&m, 0xee, sizeof(m));
	before = m;
	errno = 77;
	for (size_t s = 0; s < FPT_LEN(sizes); s++)
		for (uint32_t flags = 0; flags <= all_hints; flags += 4)
			CHECK_EQ(fpi_mem_alloc(&m, NULL, sizes[s], 128, flags, 0),
				 -ENOMEM);
	CHECK_EQ(fpi_mem_alloc(&m, NULL, 64, 1ull << 31, 0, 0), -ENOMEM);
	CHECK_EQ(fpi_mem_alloc(&m, NULL, 0, 64, 0, 0), -ENOMEM);
	CHECK(!memcmp(&m, &before, sizeof(m)));
	CHECK_EQ(errno, 77);
}

/* An allocator that writes down what it is asked. */
struct book {
	uint64_t alloc_size, alloc_align, free_size, free_align;
	void *given, *taken_back;
	unsigned allocs, frees;
	unsigned off; /* bytes by which to misalign */
	unsigned char *raw;
};

static void *book_alloc(void *ctx, uint64_t size, uint64_t align)
{
	struct book *b = ctx;

	b->allocs++;
	b->alloc_size = size;
	b->alloc_align = align;
	if (posix_memalign((void **)&b->raw, align, size + align))
		return NULL;
	memset(b->raw, 0xee, size + align);
	return b->given = b->raw + b->off;
}

static void book_free(void *ctx, void *ptr, uint64_t size, uint64_t align)
{
	struct book *b = ctx;

	b->frees++;
	b->taken_back = ptr;
	b->free_size = size;
	b->free_align = align;
	free(b->raw);
}

static void users_allocator_gives_and_takes_back_the_same(void)
{
	struct book b = { 0 };
	fp_allocator a = { sizeof(a), 0, book_alloc, book_free, &b };
	struct fpi_mem m;

	CHECK_EQ(fpi_mem_alloc(&m, &a, 1000, 128, all_hints, 0), 0);
	CHECK(m.ptr == b.given);
	CHECK_EQ(b.alloc_size, 1000);
	CHECK_EQ(b.alloc_align, 128);
	CHECK(is_zero(m.ptr, 1000));
	memset(&a, 0, sizeof(a)); /* copied at create */
	fpi_mem_free(&m);
	CHECK_EQ(b.frees, 1);
	CHECK(b.taken_back == b.given);
	CHECK_EQ(b.free_size, 1000);
	CHECK_EQ(b.free_align, 128);
	fpi_mem_free(&m);
	CHECK_EQ(b.frees, 1);
}

static void misaligned_users_memory_is_refused_and_given_back(void)
{
	struct book b = { .off = 8 };
	fp_allocator a = { sizeof(a), 0, book_alloc, book_free, &b };
	struct fpi_mem m = { 0 };

	CHECK_EQ(fpi_mem_alloc(&m, &a, 1000, 128, 0, 0), -ENOMEM);
	CHECK(!m.ptr);
	CHECK_EQ(b.frees, 1);
	CHECK(b.taken_back == b.given);
}

static void nonsense_sizes_do_not_reach_the_users_allocator(void)
{
	struct book b = { 0 };
	fp_allocator a = { sizeof(a), 0, book_alloc, book_free, &b };
	struct fpi_mem m = { 0 };

	CHECK_EQ(fpi_mem_alloc(&m, &a, UINT64_MAX, 128, 0, 0), -ENOMEM);
	CHECK_EQ(b.allocs, 0);
}

static void allocator_structs_are_checked(void)
{
	struct {
		fp_allocator a;
		uint64_t newer;
	} s = { { sizeof(fp_allocator), 0, book_alloc, book_free, NULL }, 0 };

	CHECK_EQ(fpi_allocator_check(NULL), 0);
	CHECK_EQ(fpi_allocator_check(&s.a), 0);
	s.a.size = sizeof(s);
	CHECK_EQ(fpi_allocator_check(&s.a), 0);
	s.newer = 1;
	CHECK_EQ(fpi_allocator_check(&s.a), -E2BIG);
	s.a.size = sizeof(fp_allocator) - 1;
	CHECK_EQ(fpi_allocator_check(&s.a), -EINVAL);
	s.a.size = 0;
	CHECK_EQ(fpi_allocator_check(&s.a), -EINVAL);
	s.a.size = sizeof(fp_allocator);
	s.a.flags = 1;
	CHECK_EQ(fpi_allocator_check(&s.a), -EOPNOTSUPP);
	s.a.flags = 0;
	s.a.alloc = NULL;
	CHECK_EQ(fpi_allocator_check(&s.a), -EINVAL);
	s.a.alloc = book_alloc;
	s.a.free = NULL;
	CHECK_EQ(fpi_allocator_check(&s.a), -EINVAL);
	CHECK_EQ(fpi_allocator_check((fp_allocator *)(void *)((char *)&s + 4)), -EINVAL);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(blocks_are_aligned_and_zero),
		FPT_CASE(hints_never_fail),
		FPT_CASE(large_huge_blocks_start_on_a_huge_page),
		FPT_CASE(prefault_makes_every_page_present),
		FPT_CASE(more_than_the_machine_has_fails_at_once),
		FPT_CASE(users_allocator_gives_and_takes_back_the_same),
		FPT_CASE(misaligned_users_memory_is_refused_and_given_back),
		FPT_CASE(nonsense_sizes_do_not_reach_the_users_allocator),
		FPT_CASE(allocator_structs_are_checked),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
