/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Failing allocations, at every index: create says -ENOMEM and leaves nothing; a thread
 * whose cache cannot be made works without one; an explicit cache and an audit say so.
 * Whatever happens, every block goes back to the allocator that it came from.
 */
#include <sys/resource.h>
#include <time.h>

#include "child.h"
#include "pool_test.h"

#define ALL_FLAGS 0x100 /* combinations of eight flags */

/* The n-th combination of the flags. */
static uint32_t flags_of(uint32_t n)
{
	static const uint32_t flags[] = { LIBFP_STATS,	     LIBFP_CHECKED,
					  LIBFP_MEM_HUGE,    LIBFP_MEM_PREFAULT,
					  LIBFP_MEM_NODE,    LIBFP_POOL_NO_CACHE,
					  LIBFP_POOL_ST_GET, LIBFP_POOL_ST_PUT };
	uint32_t all = 0;

	for (size_t i = 0; i < FPT_LEN(flags); i++)
		if (n >> i & 1)
			all |= flags[i];
	return all;
}

static int constructed;

static int construct(void *object, uint32_t index, void *user)
{
	(void)object;
	(void)index;
	(void)user;
	constructed++;
	return 0;
}

static void create_fails_cleanly_at_every_allocation(void)
{
	for (uint32_t n = 0; n < ALL_FLAGS; n++)
		for (int64_t at = 0, done = 0; !done; at++) {
			struct fpt_heap heap = { .fail_at = at };
			fp_allocator a = fpt_heap_allocator(&heap);
			fp_mempool_opts o = pt_opts(40, 5, flags_of(n));
			fp_mempool *p = PT_UNTOUCHED, *found = PT_UNTOUCHED;
			int rc;

			fpt_where("flags %#x allocation %" PRId64, o.flags, at);
			o.allocator = &a;
			o.name = "may fail";
			o.constructor = n % 3 ? NULL : construct;
			fpt_log_begin();
			rc = fp_mempool_create(&o, &p);
			if (rc == 0) {
				done = 1;
				CHECK(at >= 3); /* struct, objects, magazines */
				CHECK_EQ(heap.allocs, at);
				CHECK_EQ(fpt_log.lines, 0);
				CHECK_EQ(fp_mempool_destroy(p), 0);
			} else {
				CHECK_EQ(rc, -ENOMEM);
				CHECK(p == PT_UNTOUCHED);
				CHECK_EQ(fpt_log.lines, 1);
			}
			fpt_log_end();
			CHECK_EQ(heap.live, 0);
			CHECK_EQ(heap.live_bytes, 0);
			CHECK_EQ(heap.bad, 0);
			CHECK_EQ(fp_mempool_lookup("may fail", &found), -ENOENT);
			/* the name is not taken by what never was */
			heap.fail_at = -1;
			p = pt_create(&o);
			pt_end(p);
			CHECK_EQ(heap.live, 0);
		}
}

/* A refusal after the first allocation gives everything back, too. */
static void a_late_refusal_gives_everything_back(void)
{
	struct fpt_heap heap = { .fail_at = -1 };
	fp_allocator a = fpt_heap_allocator(&heap);
	fp_mempool_opts o = pt_opts(40, 5, 0);
	fp_mempool *p, *second = PT_UNTOUCHED;

	o.name = "taken";
	o.allocator = &a;
	p = pt_create(&o);
	for (int i = 0; i < 100; i++) {
		int64_t live = heap.live;

		CHECK_EQ(fp_mempool_create(&o, &second), -EEXIST);
		CHECK_EQ(heap.live, live);
	}
	CHECK(second == PT_UNTOUCHED);
	pt_end(p);
	CHECK_EQ(heap.live, 0);
	CHECK_EQ(heap.bad, 0);
}

/* The options' allocator struct is copied: it need not outlive create. */
static void the_allocator_is_remembered(void)
{
	struct fpt_heap heap = { .fail_at = -1 };
	fp_allocator a = fpt_heap_allocator(&heap);
	fp_mempool_opts o = pt_opts(40, 5, 0);
	fp_mempool *p;

	o.allocator = &a;
	p = pt_create(&o);
	memset(&a, 0, sizeof(a));
	memset(&o, 0x55, sizeof(o));
	CHECK_EQ(fp_mempool_cache_destroy(pt_cache(p)), 0);
	pt_end(p);
	CHECK_EQ(heap.live, 0);
	CHECK_EQ(heap.bad, 0);
}

/* ---- a thread's first use ---- */

struct poor {
	fp_mempool *p;
	struct fpt_heap *heap;
	int get_first;
	void *t[9];
};

static void *first_use_without_memory(void *arg)
{
	struct poor *a = arg;
	void *const *window = PT_UNTOUCHED;
	void *out[8];

	/* Every attempt to make a cache fails, and every call works. */
	for (int lap = 0; lap < 3; lap++) {
		a->heap->fail_at = (int64_t)a->heap->allocs;
		if (!lap && !a->get_first) {
			CHECK_EQ(fp_mempool_put(a->p, a->t[8]), 0);
			continue;
		}
		CHECK((out[0] = fp_mempool_get(a->p)) != NULL);
		a->heap->fail_at = (int64_t)a->heap->allocs;
		CHECK_EQ(fp_mempool_put(a->p, out[0]), 0);
		a->heap->fail_at = (int64_t)a->heap->allocs;
		pt_get(a->p, out, 8);
		a->heap->fail_at = (int64_t)a->heap->allocs;
		pt_put(a->p, out, 8);
		a->heap->fail_at = (int64_t)a->heap->allocs;
		CHECK_EQ(fp_mempool_get_reserve(a->p, 1, &window), -EOPNOTSUPP);
		CHECK(window == PT_UNTOUCHED);
		CHECK_EQ(pt_stats(a->p).in_own_cache, 0);
		CHECK_EQ(pt_stats(a->p).thread_caches, 0);
	}
	/* With memory there is a cache at the next call. */
	a->heap->fail_at = -1;
	pt_get(a->p, out, 8);
	pt_put(a->p, out, 8);
	CHECK(pt_stats(a->p).in_own_cache > 0);
	CHECK_EQ(pt_stats(a->p).thread_caches, 1);
	return NULL;
}

static void a_thread_without_memory_for_a_cache_works(void)
{
	PT_EACH_KIND(flags)
	for (int get_first = 0; get_first < 2; get_first++) {
		struct fpt_heap heap = { .fail_at = -1 };
		fp_allocator a = fpt_heap_allocator(&heap);
		fp_mempool_opts o = pt_opts(40, 5, flags);
		struct poor poor = { .heap = &heap, .get_first = get_first };

		if ((flags & PT_SINGLE) == PT_SINGLE)
			continue; /* has its one cache from create on */
		o.allocator = &a;
		o.max_threads = 1;
		poor.p = pt_create(&o);
		if (!get_first) { /* the thread's first call is a put */
			heap.fail_at = (int64_t)heap.allocs;
			CHECK((poor.t[8] = fp_mempool_get(poor.p)) != NULL);
		}
		pt_on_thread(first_use_without_memory, &poor);
		CHECK_EQ(pt_stats(poor.p).in_depot, 40);
		pt_end(poor.p);
		CHECK_EQ(heap.live, 0);
		CHECK_EQ(heap.bad, 0);
	}
}

static void cache_create_and_audit_without_memory(void)
{
	PT_EACH_KIND(flags)
	{
		struct fpt_heap heap = { .fail_at = -1 };
		fp_allocator a = fpt_heap_allocator(&heap);
		fp_mempool_opts o = pt_opts(40, 5, flags);
		fp_mempool_cache *c = PT_UNTOUCHED;
		int64_t live, memory;
		fp_mempool *p;
		void *t[8];

		o.allocator = &a;
		p = pt_create(&o);
		live = heap.live;
		memory = fp_mempool_memory(p);
		heap.fail_at = (int64_t)heap.allocs;
		CHECK_EQ(fp_mempool_cache_create(p, &c), -ENOMEM);
		CHECK(c == PT_UNTOUCHED);
		CHECK_EQ(pt_stats(p).explicit_caches, 0);
		CHECK_EQ(heap.live, live);
		CHECK_EQ(fp_mempool_memory(p), memory);
		pt_get(p, t, 8);
		live = heap.live;
		heap.fail_at = (int64_t)heap.allocs;
		CHECK_EQ(fp_mempool_audit(p), -ENOMEM);
		CHECK_EQ(heap.live, live);
		/* The audit's memory goes back; the pool goes on. */
		CHECK_EQ(fp_mempool_audit(p), 0);
		CHECK_EQ(heap.live, live);
		pt_put(p, t, 8);
		c = pt_cache(p);
		/* Memory of a destroyed cache is there for the next. */
		CHECK_EQ(fp_mempool_cache_destroy(c), 0);
		heap.fail_at = (int64_t)heap.allocs;
		c = pt_cache(p);
		CHECK_EQ(fp_mempool_cache_destroy(c), 0);
		heap.fail_at = -1;
		pt_end(p);
		CHECK_EQ(heap.live, 0);
		CHECK_EQ(heap.bad, 0);
	}
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

static void without_memory(void *arg)
{
	fp_mempool_opts small = pt_opts(1, 0, 0), o = pt_opts(50, 8, 0);
	fp_mempool *p = PT_UNTOUCHED, *q;
	fp_mempool_cache *c = PT_UNTOUCHED;
	void *t[20];

	(void)arg;
	q = pt_create(&o);
	no_more_memory();
	CHECK_EQ(fp_mempool_create(&small, &p), -ENOMEM);
	small.count = 1u << 20;
	small.name = "may fail";
	CHECK_EQ(fp_mempool_create(&small, &p), -ENOMEM);
	CHECK(p == PT_UNTOUCHED);
	CHECK_EQ(fp_mempool_lookup("may fail", &p), -ENOENT);
	CHECK_EQ(fp_mempool_cache_create(q, &c), -ENOMEM);
	CHECK(c == PT_UNTOUCHED);
	CHECK_EQ(fp_mempool_audit(q), -ENOMEM);
	pt_get(q, t, 20);
	pt_put(q, t, 20);
	CHECK_EQ(pt_stats(q).thread_caches, 0);
	CHECK_EQ(fp_mempool_destroy(q), 0);
	_exit(0); /* without memory nothing is flushed */
}

static void without_memory_everything_says_so(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(FPT_EMULATED)
	printf("  not in this build: sanitizers need address space themselves, and an "
	       "emulator does not limit it\n");
	(void)without_memory;
#else
	fpt_in_child(without_memory, NULL);
#endif
}

/* M-19. No machine has 2^46 bytes; what is written to each is the pool's own. */
static void more_than_there_is_fails_quickly(void)
{
	static const struct {
		uint32_t count, size;
	} table[] = { { INT32_MAX, UINT32_MAX },
		      { INT32_MAX, 1u << 20 },
		      { 1u << 16, 1u << 31 },
		      { 1u << 20, UINT32_MAX } };

	for (size_t i = 0; i < FPT_LEN(table); i++)
		for (uint32_t n = 0; n < ALL_FLAGS; n += 5) {
			fp_mempool_opts o = pt_opts(table[i].count, 0, flags_of(n));
			fp_mempool *p = PT_UNTOUCHED;

			fpt_where("%u of %u flags %#x", o.count, table[i].size, o.flags);
			o.object_size = table[i].size;
			o.align = 4096;
			o.name = "too large";
			o.constructor = construct;
			constructed = 0;
			fpt_log_begin();
			CHECK_EQ(fp_mempool_create(&o, &p), -ENOMEM);
			CHECK_EQ(fpt_log.lines, 1);
			fpt_log_end();
			CHECK(p == PT_UNTOUCHED);
			CHECK_EQ(constructed, 0);
			CHECK_EQ(fp_mempool_lookup("too large", &p), -ENOENT);
		}
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(create_fails_cleanly_at_every_allocation),
		FPT_CASE(a_late_refusal_gives_everything_back),
		FPT_CASE(the_allocator_is_remembered),
		FPT_CASE(a_thread_without_memory_for_a_cache_works),
		FPT_CASE(cache_create_and_audit_without_memory),
		FPT_CASE(without_memory_everything_says_so),
		FPT_CASE(more_than_there_is_fails_quickly),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
