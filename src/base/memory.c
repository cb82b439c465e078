/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where objects get their memory.
 *
 * Small blocks come from the heap. Large ones, and those with a placement
 * hint, are mappings of their own: they arrive zeroed without being touched,
 * and madvise and mbind apply to them.
 *
 * Huge pages are transparent ones (madvise). MAP_HUGETLB is not used: a forked
 * child that writes to such private memory is killed when the reserved pool is
 * empty, and a hint must not be able to kill.
 *
 * All hints are best effort: a kernel, container or machine without them gives
 * ordinary memory.
 *
 * Every function leaves errno as it was.
 */
#define _GNU_SOURCE 1
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/opts.h"

enum { MEM_NONE, MEM_HEAP, MEM_MAPPED, MEM_USER };

#define MEM_MAP_FROM (256u << 10) /* heap below, mapping from here on */
#define MEM_HUGE_PAGE (2ull << 20)
#define MEM_TOUCH_STEP 4096	  /* no platform has smaller pages */
#define MEM_SIZE_MAX (1ull << 46) /* no address space has room for more */
#define MEM_ALIGN_MAX (1ull << 30)
#define MEM_NODES 1024	     /* the kernel's limit */
#define MEM_MPOL_PREFERRED 1 /* <numaif.h> belongs to libnuma */

#define MEM_MAP_FLAGS (LIBFP_MEM_HUGE | LIBFP_MEM_PREFAULT | LIBFP_MEM_NODE)

#define ALLOCATOR_FIRST 32 /* sizeof(fp_allocator) as first published */

int fpi_allocator_check(const fp_allocator *allocator)
{
	fp_allocator a;
	int rc;

	if (!allocator)
		return 0;
	rc = fpi_opts_read(&a, sizeof(a), ALLOCATOR_FIRST, allocator);
	if (rc)
		return fpi_refuse(rc, "fp_allocator: bad size %u",
				  (uintptr_t)allocator % 8 ? 0 : allocator->size);
	if (a.flags)
		return fpi_refuse(-EOPNOTSUPP, "fp_allocator: unknown flags 0x%x",
				  a.flags);
	if (!a.alloc || !a.free)
		return fpi_refuse(-EINVAL,
				  "fp_allocator: alloc and free must both be set");
	return 0;
}

/*
 * True if not even all memory and swap of the machine could hold it: where
 * overcommit is unlimited the kernel would say yes, and LIBFP_MEM_PREFAULT
 * would then bring the machine down. A container's limit is not seen here.
 */
static int mem_beyond_machine(uint64_t size)
{
	struct sysinfo info;

	if (size > MEM_SIZE_MAX)
		return 1;
	if (sysinfo(&info))
		return 0;
	return size / info.mem_unit > (uint64_t)info.totalram + (uint64_t)info.totalswap;
}

static void *mem_heap(uint64_t size, uint64_t align)
{
	void *p;

	if (align < sizeof(void *))
		align = sizeof(void *);
	if (posix_memalign(&p, align, size))
		return NULL;
	return memset(p, 0, size);
}

/* A mapping at a multiple of align: maps more, then cuts both ends off. */
static void *mem_map_aligned(uint64_t size, uint64_t align, uint64_t page)
{
	uint64_t extra = align > page ? align - page : 0;
	uint64_t len = FPI_ALIGN_UP(size, page);
	uint64_t head, tail;
	char *p;

	p = mmap(NULL, len + extra, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		 -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	head = FPI_ALIGN_UP((uintptr_t)p, align > page ? align : page) - (uintptr_t)p;
	tail = extra - head;
	if (head)
		munmap(p, head);
	if (tail)
		munmap(p + head + len, tail);
	return p + head;
}

static void mem_prefer_node(void *p, uint64_t size, uint32_t node)
{
	enum { BITS = 8 * sizeof(unsigned long) };
	unsigned long mask[MEM_NODES / BITS] = { 0 };

	if (node >= MEM_NODES)
		return;
	mask[node / BITS] = 1ul << node % BITS;
	/* The kernel reads one bit less than it is told. */
	syscall(SYS_mbind, p, size, MEM_MPOL_PREFERRED, mask,
		(unsigned long)MEM_NODES + 1, 0u);
}

static void *mem_map(uint64_t size, uint64_t align, uint32_t flags, uint32_t node)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	int huge = (flags & LIBFP_MEM_HUGE) && size >= MEM_HUGE_PAGE;
	char *p;

	if (mem_beyond_machine(size))
		return NULL;
	if (huge && align < MEM_HUGE_PAGE)
		align = MEM_HUGE_PAGE;
	p = mem_map_aligned(size, align, page);
	if (!p)
		return NULL;
	if (huge)
		madvise(p, size, MADV_HUGEPAGE);
	if (flags & LIBFP_MEM_NODE)
		mem_prefer_node(p, size, node);
	if (flags & LIBFP_MEM_PREFAULT)
		for (uint64_t i = 0; i < size; i += MEM_TOUCH_STEP)
			((volatile char *)p)[i] = 0;
	return p;
}

static void *mem_user(const fp_allocator *allocator, uint64_t size, uint64_t align)
{
	void *p = allocator->alloc(allocator->ctx, size, align);

	if (!p)
		return NULL;
	if ((uintptr_t)p % align) {
		fpi_log(LIBFP_LOG_INFO,
			"fp_allocator: alloc returned memory not aligned to %llu",
			(unsigned long long)align);
		allocator->free(allocator->ctx, p, size, align);
		return NULL;
	}
	return memset(p, 0, size);
}

int fpi_mem_alloc(struct fpi_mem *mem, const fp_allocator *allocator, uint64_t size,
		  uint64_t align, uint32_t flags, uint32_t node)
{
	struct fpi_mem m = { .size = size, .align = align };
	int saved = errno;

	if (!size || size > MEM_SIZE_MAX || align > MEM_ALIGN_MAX)
		return -ENOMEM;
	if (allocator) {
		m.how = MEM_USER;
		m.user_free = allocator->free;
		m.user_ctx = allocator->ctx;
		m.ptr = mem_user(allocator, size, align);
	} else if (size >= MEM_MAP_FROM || (flags & MEM_MAP_FLAGS)) {
		m.how = MEM_MAPPED;
		m.ptr = mem_map(size, align, flags, node);
	} else {
		m.how = MEM_HEAP;
		m.ptr = mem_heap(size, align);
	}
	errno = saved;
	if (!m.ptr)
		return -ENOMEM;
	*mem = m;
	return 0;
}

void fpi_mem_free(struct fpi_mem *mem)
{
	struct fpi_mem m = *mem;
	int saved = errno;

	memset(mem, 0, sizeof(*mem));
	if (m.how == MEM_USER)
		m.user_free(m.user_ctx, m.ptr, m.size, m.align);
	else if (m.how == MEM_MAPPED)
		munmap(m.ptr, m.size);
	else
		free(m.ptr);
	errno = saved;
}
