/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options of a pool: defaults, every refusal, sizes and alignments, constructors,
 * names, and what create and destroy leave behind.
 */
#include <stddef.h>
#include <unistd.h>

#include "pool_test.h"

#define FIRST_SIZE 64 /* of fp_mempool_opts as first published */

/* Refused with this code, one line in the log, nothing written. */
static void refused(const fp_mempool_opts *o, int code)
{
	fp_mempool *p = PT_UNTOUCHED;

	fpt_log_begin();
	CHECK_EQ(fp_mempool_create(o, &p), code);
	CHECK(p == PT_UNTOUCHED);
	CHECK_EQ(fpt_log.lines, 1);
	fpt_log_end();
}

static void init_fills_in_the_size_and_zeroes(void)
{
	fp_mempool_opts o, zero = LIBFP_MEMPOOL_OPTS_INIT;
	unsigned char longer[sizeof(o) + 32];

	memset(&o, 0x55, sizeof(o));
	CHECK_EQ(fp_mempool_opts_init(&o, sizeof(o)), 0);
	CHECK(!memcmp(&o, &zero, sizeof(o)));
	CHECK_EQ(fp_mempool_opts_init(NULL, sizeof(o)), -EINVAL);
	CHECK_EQ(fp_mempool_opts_init(&o, FIRST_SIZE - 1), -EINVAL);
	CHECK_EQ(fp_mempool_opts_init(&o, 0), -EINVAL);
	CHECK_EQ(fp_mempool_opts_init(&o, (1u << 20) + 1), -E2BIG);
	CHECK(!memcmp(&o, &zero, sizeof(o)));
	memset(longer, 0x55, sizeof(longer));
	CHECK_EQ(fp_mempool_opts_init((void *)longer, sizeof(longer) - 8), 0);
	for (size_t i = 4; i < sizeof(longer); i++)
		CHECK_EQ(longer[i], i < sizeof(longer) - 8 ? 0 : 0x55);
}

static void options_of_other_sizes(void)
{
	union {
		fp_mempool_opts o;
		unsigned char bytes[sizeof(fp_mempool_opts) + 64];
	} u;
	fp_mempool *p = NULL;

	memset(&u, 0, sizeof(u));
	u.o = pt_opts(10, 0, 0);
	u.o.size = sizeof(u); /* a newer caller that asks for nothing new */
	p = pt_create(&u.o);
	pt_end(p);
	u.bytes[sizeof(u) - 1] = 1;
	refused(&u.o, -E2BIG);
	u.o.size = (1u << 20) + 1;
	refused(&u.o, -E2BIG);
	u.o.size = FIRST_SIZE - 1;
	refused(&u.o, -EINVAL);
	u.o.size = 0;
	refused(&u.o, -EINVAL);
	refused(NULL, -EINVAL);
	memmove(u.bytes + 4, &(fp_mempool_opts){ .size = FIRST_SIZE }, FIRST_SIZE);
	refused((const void *)(u.bytes + 4), -EINVAL); /* misaligned */
	refused((const void *)(u.bytes + 1), -EINVAL);
	u.o = pt_opts(10, 0, 0);
	CHECK_EQ(fp_mempool_create(&u.o, NULL), -EINVAL);
}

static void bad_numbers_are_refused(void)
{
	fp_mempool_opts o = pt_opts(0, 0, 0);

	refused(&o, -EINVAL);
	o.count = 0x80000000u;
	refused(&o, -EINVAL);
	o.count = UINT32_MAX;
	refused(&o, -EINVAL);
	o = pt_opts(10, 0, 0);
	o.object_size = 0;
	refused(&o, -EINVAL);
	o = pt_opts(10, 11, 0);
	refused(&o, -EINVAL);
	o = pt_opts(200000, LIBFP_POOL_CACHE_MAX + 1, 0);
	refused(&o, -EINVAL);
	o = pt_opts(10, UINT32_MAX, 0);
	refused(&o, -EINVAL);
	o = pt_opts(10, 0, 0);
	o.max_threads = LIBFP_POOL_THREADS_MAX + 1;
	refused(&o, -EINVAL);
	o = pt_opts(10, 0, 0);
	for (uint32_t align = 0; align <= 8200; align++) {
		int good = align == 0 || ((align & (align - 1)) == 0 && align <= 4096);

		o.align = align;
		if (!good)
			refused(&o, -EINVAL);
	}
	o.align = 1u << 31;
	refused(&o, -EINVAL);
}

/* M-22 */
static void undefined_flags_are_refused(void)
{
	const uint32_t known = LIBFP_STATS | LIBFP_CHECKED | LIBFP_MEM_HUGE |
			       LIBFP_MEM_PREFAULT | LIBFP_MEM_NODE | LIBFP_POOL_NO_CACHE |
			       LIBFP_POOL_ST_GET | LIBFP_POOL_ST_PUT;

	for (int bit = 0; bit < 32; bit++) {
		fp_mempool_opts o = pt_opts(10, 0, 1u << bit);

		fpt_where("bit %d", bit);
		if (known >> bit & 1)
			pt_end(pt_create(&o));
		else
			refused(&o, -EOPNOTSUPP);
	}
}

/* All combinations of the flags that there are: each makes a pool that works. */
static void every_combination_of_flags_works(void)
{
	static const uint32_t flags[] = { LIBFP_STATS,	     LIBFP_CHECKED,
					  LIBFP_MEM_HUGE,    LIBFP_MEM_PREFAULT,
					  LIBFP_MEM_NODE,    LIBFP_POOL_NO_CACHE,
					  LIBFP_POOL_ST_GET, LIBFP_POOL_ST_PUT };

	for (uint32_t bits = 0; bits < 1u << FPT_LEN(flags); bits++) {
		fp_mempool_opts o = pt_opts(40, bits % 3 ? 0 : 7, 0);
		void *t[40];
		fp_mempool *p;

		for (size_t i = 0; i < FPT_LEN(flags); i++)
			if (bits >> i & 1)
				o.flags |= flags[i];
		fpt_where("flags %#x", o.flags);
		o.numa_node = bits % 5 == 0 ? 5000 : 0;
		p = pt_create(&o);
		CHECK_EQ(fp_mempool_cache_size(p) == 0,
			 (o.flags & LIBFP_POOL_NO_CACHE) != 0);
		pt_get(p, t, 40);
		CHECK(fp_mempool_get(p) == NULL);
		pt_different(p, t, 40);
		pt_at_rest(p, 40);
		pt_put(p, t, 40);
		pt_end(p);
	}
}

static void defaults_of_the_cache(void)
{
	static const struct {
		uint32_t count, cache;
	} table[] = { { 1, 0 },	     { 7, 0 },	     { 8, 1 },	    { 15, 1 },
		      { 16, 2 },     { 1000, 125 },  { 4095, 511 }, { 4096, 512 },
		      { 4104, 512 }, { 100000, 512 } };

	for (size_t i = 0; i < FPT_LEN(table); i++) {
		fp_mempool *p = pt_pool(table[i].count, 0, 0);
		void *object;

		fpt_where("count %u", table[i].count);
		CHECK_EQ(fp_mempool_capacity(p), table[i].count);
		CHECK_EQ(fp_mempool_cache_size(p), table[i].cache);
		object = fp_mempool_get(p);
		CHECK(object != NULL);
		CHECK_EQ(pt_stats(p).thread_caches, table[i].cache != 0);
		CHECK_EQ(fp_mempool_put(p, object), 0);
		pt_end(p);
	}
}

static void a_cache_may_be_as_large_as_the_pool(void)
{
	static const uint32_t counts[] = { 1, 2, 3, 8, 65536 };

	for (size_t i = 0; i < FPT_LEN(counts); i++) {
		fp_mempool *p = pt_pool(counts[i], counts[i], 0);

		CHECK_EQ(fp_mempool_cache_size(p), counts[i]);
		pt_end(p);
	}
}

/* Size of explicit caches alone, then. */
static void a_cache_size_without_thread_caches(void)
{
	fp_mempool *p = pt_pool(100, 10, LIBFP_POOL_NO_CACHE);
	fp_mempool_cache *c = pt_cache(p);
	void *t[10];

	CHECK_EQ(fp_mempool_cache_size(p), 0);
	pt_get(p, t, 10);
	CHECK_EQ(fp_mempool_put_bulk_via_cache(p, c, t, 10), 10);
	CHECK_EQ(fp_mempool_cache_count(c), 10);
	CHECK_EQ(pt_stats(p).thread_caches, 0);
	CHECK_EQ(fp_mempool_cache_destroy(c), 0);
	pt_end(p);
}

/* ---- objects in memory ---- */

static int touch(void *object, uint32_t index, void *size)
{
	memset(object, (int)(index + 1), *(uint32_t *)size);
	return 0;
}

static int touched(void *object, uint32_t index, void *size)
{
	const unsigned char *b = object;

	for (uint32_t i = 0; i < *(uint32_t *)size; i++)
		if (b[i] != (unsigned char)(index + 1))
			return 1;
	return 0;
}

static void any_size_at_any_alignment(void)
{
	static const uint32_t sizes[] = { 1,   2,   3,	 4,    5,    7,	   8,	 9,
					  13,  16,  31,	 33,   63,   64,   65,	 100,
					  127, 128, 129, 1000, 4095, 4096, 4097, 10001 };

	for (size_t s = 0; s < FPT_LEN(sizes); s++)
		for (uint32_t align = 0; align <= 4096; align = align ? align * 2 : 1)
			for (uint32_t flags = 0; flags <= LIBFP_CHECKED;
			     flags += LIBFP_CHECKED) {
				fp_mempool_opts o = pt_opts(9, 0, flags);
				uint64_t step = align ? align : 8;
				fp_mempool *p;
				void *t[9];

				if (flags && s % 4 != 0)
					continue;
				fpt_where("size %u align %u flags %#x", sizes[s], align,
					  flags);
				o.object_size = sizes[s];
				o.align = align;
				p = pt_create(&o);
				CHECK_EQ(fp_mempool_object_size(p), sizes[s]);
				CHECK_EQ(fp_mempool_stride(p) % (int64_t)step, 0);
				if (!flags)
					CHECK_EQ(fp_mempool_stride(p),
						 FPI_ALIGN_UP(sizes[s], step));
				CHECK(fp_mempool_memory(p) >= fp_mempool_stride(p) * 9);
				pt_get(p, t, 9);
				pt_different(p, t, 9);
				for (int i = 0; i < 9; i++)
					CHECK_EQ((uintptr_t)t[i] % step, 0);
				/* All that is theirs, and no byte of a neighbour. */
				CHECK_EQ(fp_mempool_for_each(p, touch, &o.object_size),
					 0);
				CHECK_EQ(fp_mempool_for_each(p, touched, &o.object_size),
					 0);
				pt_put(p, t, 9);
				pt_end(p);
			}
}

static int is_zero(void *object, uint32_t index, void *size)
{
	const unsigned char *b = object;

	(void)index;
	for (uint32_t i = 0; i < *(uint32_t *)size; i++)
		if (b[i])
			return 1;
	return 0;
}

/* Also from an allocator whose memory is not. */
static void objects_start_as_zeroes(void)
{
	for (int own = 0; own < 2; own++) {
		struct fpt_heap heap = { .fail_at = -1 };
		fp_allocator a = fpt_heap_allocator(&heap);
		fp_mempool_opts o = pt_opts(50, 0, 0);
		fp_mempool *p;

		o.object_size = 77;
		o.allocator = own ? &a : NULL;
		p = pt_create(&o);
		CHECK_EQ(fp_mempool_for_each(p, is_zero, &o.object_size), 0);
		pt_end(p);
		CHECK_EQ(heap.live, 0);
		CHECK_EQ(heap.bad, 0);
	}
}

/* ---- constructors ---- */

struct built {
	uint32_t next;
	uint32_t stop_at;
	int stop_with;
	void *last;
	pthread_t thread;
};

static int build(void *object, uint32_t index, void *user)
{
	struct built *b = user;

	CHECK_EQ(index, b->next++);
	CHECK((char *)object > (char *)b->last);
	CHECK(pthread_equal(pthread_self(), b->thread));
	b->last = object;
	if (index == b->stop_at)
		return b->stop_with;
	memcpy(object, &index, sizeof(index));
	return 0;
}

static void the_constructor_sees_every_object_once_in_order(void)
{
	PT_EACH_KIND(flags)
	{
		struct built b = { .stop_at = UINT32_MAX, .thread = pthread_self() };
		fp_mempool_opts o = pt_opts(300, 0, flags);
		void *t[300];
		fp_mempool *p;

		o.constructor = build;
		o.user = &b;
		p = pt_create(&o);
		CHECK_EQ(b.next, 300);
		pt_get(p, t, 300);
		for (int i = 0; i < 300; i++) {
			uint32_t index;

			memcpy(&index, t[i], sizeof(index));
			CHECK_EQ(fp_mempool_index(p, t[i]), index);
		}
		pt_put(p, t, 300);
		/* What it left is kept from put to get, with CHECKED too. */
		memset(t[7], 0x33, 16);
		t[0] = fp_mempool_get(p);
		CHECK(t[0] != NULL || flags & LIBFP_CHECKED);
		if (t[0])
			CHECK_EQ(fp_mempool_put(p, t[0]), 0);
		CHECK_EQ(b.next, 300);
		CHECK(fp_mempool_audit(p) == 0 || flags & LIBFP_CHECKED);
		CHECK_EQ(fp_mempool_destroy(p), 0);
	}
}

static void a_constructor_can_refuse(void)
{
	static const struct {
		int with, code;
	} table[] = { { -EIO, -EIO },
		      { 1, -ECANCELED },
		      { 77, -ECANCELED },
		      { -1, -1 },
		      { INT32_MAX, -ECANCELED } };
	struct fpt_heap heap = { .fail_at = -1 };
	fp_allocator a = fpt_heap_allocator(&heap);

	for (size_t i = 0; i < FPT_LEN(table); i++)
		for (uint32_t at = 0; at < 10; at += 3) {
			struct built b = { .stop_at = at,
					   .stop_with = table[i].with,
					   .thread = pthread_self() };
			fp_mempool_opts o = pt_opts(10, 0, i % 2 ? LIBFP_CHECKED : 0);
			fp_mempool *found = NULL;

			fpt_where("%d at %u", table[i].with, at);
			o.constructor = build;
			o.user = &b;
			o.name = "refused";
			o.allocator = &a;
			refused(&o, table[i].code);
			CHECK_EQ(b.next, at + 1);
			CHECK_EQ(heap.live, 0);
			CHECK_EQ(fp_mempool_lookup("refused", &found), -ENOENT);
		}
}

/* ---- names ---- */

static void names_are_found_and_given_back(void)
{
	char text[LIBFP_NAME_MAX + 2];
	fp_mempool_opts o = pt_opts(10, 0, 0);
	fp_mempool *p, *found = PT_UNTOUCHED;

	o.name = "pool of names";
	p = pt_create(&o);
	CHECK(!strcmp(fp_mempool_name(p), "pool of names"));
	CHECK(fp_mempool_name(p) != o.name);
	refused(&o, -EEXIST);
	CHECK_EQ(fp_mempool_lookup("pool of name", &found), -ENOENT);
	CHECK_EQ(fp_mempool_lookup(NULL, &found), -EINVAL);
	CHECK_EQ(fp_mempool_lookup("pool of names", NULL), -EINVAL);
	CHECK(found == PT_UNTOUCHED);
	CHECK_EQ(fp_mempool_unref(p), -EINVAL);
	CHECK_EQ(fp_mempool_lookup("pool of names", &found), 0);
	CHECK(found == p);
	CHECK_EQ(fp_mempool_lookup("pool of names", &found), 0);
	CHECK_EQ(fp_mempool_destroy(p), -EBUSY);
	CHECK_EQ(fp_mempool_unref(p), 0);
	CHECK_EQ(fp_mempool_destroy(p), -EBUSY);
	CHECK_EQ(fp_mempool_unref(p), 0);
	CHECK_EQ(fp_mempool_unref(p), -EINVAL);
	pt_end(p);
	CHECK_EQ(fp_mempool_lookup("pool of names", &found), -ENOENT);

	memset(text, 'n', sizeof(text));
	text[sizeof(text) - 1] = 0;
	o.name = text;
	refused(&o, -ENAMETOOLONG);
	text[LIBFP_NAME_MAX] = 0;
	p = pt_create(&o);
	CHECK(!strcmp(fp_mempool_name(p), text));
	pt_end(p);
	o.name = "";
	refused(&o, -EINVAL);
	o.name = NULL;
	p = pt_create(&o);
	CHECK(fp_mempool_name(p) == NULL);
	CHECK_EQ(fp_mempool_unref(p), -EINVAL);
	pt_end(p);
}

/* ---- destroy, and what is left ---- */

static void destroy_refuses_while_something_is_out(void)
{
	PT_EACH_KIND(flags)
	{
		fp_mempool *p = pt_pool(20, 4, flags);
		fp_mempool_cache *c;
		void *t[3];

		pt_get(p, t, 3);
		for (int i = 3; i > 0; i--) {
			fpt_log_begin();
			CHECK_EQ(fp_mempool_destroy(p), -EBUSY);
			CHECK_EQ(fpt_log.lines, 1);
			fpt_log_end();
			CHECK_EQ(fp_mempool_in_use_count(p), i);
			CHECK_EQ(pt_stats(p).in_use, i);
			CHECK_EQ(fp_mempool_put(p, t[i - 1]), 0);
		}
		c = pt_cache(p);
		CHECK_EQ(fp_mempool_destroy(p), -EBUSY);
		CHECK_EQ(fp_mempool_cache_destroy(c), 0);
		pt_end(p);
	}
}

static long resident_pages(void)
{
	long size = 0, resident = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	CHECK(f != NULL);
	CHECK_EQ(fscanf(f, "%ld %ld", &size, &resident), 2);
	fclose(f);
	return resident;
}

static void pools_come_and_go_in_flat_memory(void)
{
	int laps = (int)fpt_scale(10000, 100000);
	long before = 0;

	for (int i = 0; i < laps + 1000; i++) {
		fp_mempool *p = pt_pool(200, 0, pt_kinds[i % (int)FPT_LEN(pt_kinds)]);
		fp_mempool_cache *c = i % 5 ? NULL : pt_cache(p);
		void *object = fp_mempool_get(p);

		CHECK_EQ(fp_mempool_put(p, object), 0);
		CHECK_EQ(fp_mempool_cache_destroy(c), 0);
		CHECK_EQ(fp_mempool_destroy(p), 0);
		if (i == 1000)
			before = resident_pages();
	}
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	printf("  resident memory is not looked at in this build: sanitizers keep what "
	       "was freed\n");
	(void)before;
#else
	/* A pool of these is at least two pages. */
	CHECK(resident_pages() - before < 2000);
#endif
}

/* M-30 */
static void sizes_are_computed_in_64_bits(void)
{
	static const struct {
		uint32_t count, size;
	} table[] = { { 4, UINT32_MAX },	{ 5, 0xfffffff0u },
		      { 8, 1u << 30 },		{ 0x10000, 0x10001 },
		      { 1u << 20, UINT32_MAX }, { INT32_MAX, UINT32_MAX },
		      { INT32_MAX, 1u << 30 } };

	for (size_t i = 0; i < FPT_LEN(table); i++) {
		fp_mempool_opts o = pt_opts(table[i].count, 0, 0);
		uint64_t last = (uint64_t)table[i].count - 1;
		fp_mempool *p = PT_UNTOUCHED;
		int rc;

		fpt_where("%u of %u bytes", table[i].count, table[i].size);
		o.object_size = table[i].size;
		rc = fp_mempool_create(&o, &p);
		if (rc == 0) { /* room for it, or an overcommitting kernel: not touched */
			CHECK(fp_mempool_stride(p) >= (int64_t)table[i].size);
			CHECK(fp_mempool_memory(p) >=
			      (int64_t)((last + 1) * table[i].size));
			CHECK((uint64_t)fp_mempool_object(p, last) -
				      (uint64_t)fp_mempool_base(p) ==
			      last * (uint64_t)fp_mempool_stride(p));
			CHECK_EQ(fp_mempool_index(p, fp_mempool_object(p, last)), last);
			CHECK_EQ(fp_mempool_destroy(p), 0);
		} else {
			CHECK_EQ(rc, -ENOMEM);
			CHECK(p == PT_UNTOUCHED);
		}
	}
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(init_fills_in_the_size_and_zeroes),
		FPT_CASE(options_of_other_sizes),
		FPT_CASE(bad_numbers_are_refused),
		FPT_CASE(undefined_flags_are_refused),
		FPT_CASE(every_combination_of_flags_works),
		FPT_CASE(defaults_of_the_cache),
		FPT_CASE(a_cache_may_be_as_large_as_the_pool),
		FPT_CASE(a_cache_size_without_thread_caches),
		FPT_CASE(any_size_at_any_alignment),
		FPT_CASE(objects_start_as_zeroes),
		FPT_CASE(the_constructor_sees_every_object_once_in_order),
		FPT_CASE(a_constructor_can_refuse),
		FPT_CASE(names_are_found_and_given_back),
		FPT_CASE(destroy_refuses_while_something_is_out),
		FPT_CASE(pools_come_and_go_in_flat_memory),
		FPT_CASE(sizes_are_computed_in_64_bits),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
