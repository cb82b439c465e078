/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rings in the caller's memory: fp_ring_memsize, fp_ring_init, fp_ring_attach.
 * What is not a ring is refused, whatever stands there.
 */
#define _GNU_SOURCE /* memfd_create */
#include <sys/mman.h>
#include <unistd.h>

#include "ring_test.h"

#define UNTOUCHED ((fp_ring *)(uintptr_t)0x1234)

static const struct rt_mode *mt_mt = &rt_modes[3];

/* Memory for a ring, filled with junk, and a canary page behind it. */
static unsigned char *junk(int64_t size)
{
	unsigned char *mem = aligned_alloc(LIBFP_RING_ALIGN, (size_t)size + 4096);

	CHECK(mem != NULL);
	memset(mem, 0x6b, (size_t)size + 4096);
	return mem;
}

static int is_junk(const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != 0x6b)
			return 0;
	return 1;
}

static void memsize_is_exact_and_64_bits_wide(void)
{
	static const struct {
		uint32_t capacity, elem_size;
	} t[] = {
		{ 1, 4 },
		{ 3, 12 },
		{ 1000, 8 },
		{ 1u << 28, 64 },
		{ 1u << 30, 4 },
		{ 1u << 30, 4096 },
		{ (1u << 30) - 1, 4096 },
	};

	RT_EACH_MODE(m)
	for (size_t i = 0; i < FPT_LEN(t); i++)
		for (uint32_t flags = 0; flags < 4; flags++) {
			fp_ring_opts o = rt_opts(t[i].capacity, t[i].elem_size, m, flags);
			int64_t size = fp_ring_memsize(&o);
			int64_t data = (int64_t)t[i].capacity * t[i].elem_size;

			fpt_where("%s %u x %u flags %u", m->name, t[i].capacity,
				  t[i].elem_size, flags);
			CHECK(size >= data);
			/* a byte of generation, 8 of owner, the header */
			CHECK(size <= data + 9 * (int64_t)t[i].capacity + 4096);
			CHECK_EQ(size % LIBFP_RING_ALIGN, 0);
		}
}

static void init_uses_what_memsize_said_and_no_more(void)
{
	RT_EACH_MODE(m)
	for (uint32_t cap = 1; cap <= 300; cap += cap < 70 ? 1 : 57)
		for (uint32_t flags = 0; flags < 4; flags++) {
			fp_ring_opts o = rt_opts(cap, 12, m, flags);
			int64_t size = fp_ring_memsize(&o);
			unsigned char *mem = junk(size), elems[12 * 300];
			fp_ring *r = NULL;

			fpt_where("%s capacity %u flags %u", m->name, cap, flags);
			CHECK_EQ(fp_ring_init(mem, (uint64_t)size, &o, &r), 0);
			for (uint32_t lap = 0; lap < 3; lap++) {
				rt_fill(elems, 12, lap, cap);
				CHECK_EQ(fp_ring_enqueue_bulk(r, elems, cap, NULL), cap);
				CHECK_EQ(fp_ring_is_full(r), 1);
				memset(elems, 0, sizeof(elems));
				CHECK_EQ(fp_ring_dequeue_bulk(r, elems, cap, NULL), cap);
				CHECK_EQ(rt_right(elems, 12, lap, cap), cap);
			}
			CHECK(is_junk(mem + size, 4096));
			CHECK_EQ(fp_ring_destroy(r), 0);
			memset(mem, 0, (size_t)size); /* still ours */
			free(mem);
		}
}

static void init_refuses_without_touching_the_memory(void)
{
	fp_ring_opts o = rt_opts(16, 8, mt_mt, 0), bad;
	int64_t size = fp_ring_memsize(&o);
	uint64_t len = (uint64_t)size;
	unsigned char *mem = junk(size);
	fp_ring *r = UNTOUCHED, *holder = NULL;

	CHECK_EQ(fp_ring_init(NULL, len, &o, &r), -EINVAL);
	CHECK_EQ(fp_ring_init(mem, len, NULL, &r), -EINVAL);
	CHECK_EQ(fp_ring_init(mem, len, &o, NULL), -EINVAL);
	for (size_t off = 1; off < LIBFP_RING_ALIGN; off++)
		CHECK_EQ(fp_ring_init(mem + off, len, &o, &r), -EINVAL);
	fpt_log_begin();
	CHECK_EQ(fp_ring_init(mem, len - 1, &o, &r), -ENOSPC);
	CHECK_EQ(fpt_log.lines, 1);
	fpt_log_end();
	CHECK_EQ(fp_ring_init(mem, 0, &o, &r), -ENOSPC);
	CHECK_EQ(fp_ring_init(mem, 1, &o, &r), -ENOSPC);
	for (uint32_t f = LIBFP_MEM_HUGE; f <= LIBFP_MEM_NODE; f <<= 1) {
		bad = o;
		bad.flags = f;
		CHECK_EQ(fp_ring_init(mem, len, &bad, &r), -EINVAL);
	}
	bad = o;
	bad.flags = 0x20;
	CHECK_EQ(fp_ring_init(mem, len, &bad, &r), -EOPNOTSUPP);
	bad = o;
	bad.producer = 2;
	CHECK_EQ(fp_ring_init(mem, len, &bad, &r), -EOPNOTSUPP);
	bad = o;
	bad.capacity = 0;
	CHECK_EQ(fp_ring_init(mem, len, &bad, &r), -EINVAL);
	bad = o;
	bad.elem_size = 6;
	CHECK_EQ(fp_ring_init(mem, len, &bad, &r), -EINVAL);
	bad = o;
	bad.size = 47;
	CHECK_EQ(fp_ring_init(mem, len, &bad, &r), -EINVAL);
	bad = o;
	bad.name = "0123456789012345678901234567890123456789012345678901234567890123";
	CHECK_EQ(fp_ring_init(mem, len, &bad, &r), -ENAMETOOLONG);
	bad.name = "held";
	CHECK_EQ(fp_ring_create(&bad, &holder), 0);
	CHECK_EQ(fp_ring_init(mem, len, &bad, &r), -EEXIST);
	CHECK_EQ(fp_ring_destroy(holder), 0);
	CHECK(r == UNTOUCHED);
	CHECK(is_junk(mem, len + 4096));
	free(mem);
}

static void a_named_ring_in_own_memory_is_found(void)
{
	fp_ring_opts o = rt_opts(4, 8, mt_mt, 0);
	int64_t size = fp_ring_memsize(&o);
	unsigned char *mem = junk(size);
	fp_ring *r = NULL, *found = NULL, *second = NULL;

	o.name = "in place";
	CHECK_EQ(fp_ring_init(mem, (uint64_t)size, &o, &r), 0);
	CHECK_EQ(fp_ring_lookup("in place", &found), 0);
	CHECK(found == r);
	CHECK_EQ(fp_ring_destroy(r), -EBUSY);
	CHECK_EQ(fp_ring_unref(r), 0);
	CHECK_EQ(fp_ring_attach(mem, (uint64_t)size, &second), 0);
	CHECK(fp_ring_name(second) == NULL);
	CHECK_EQ(fp_ring_destroy(second), 0);
	CHECK_EQ(fp_ring_destroy(r), 0);
	CHECK_EQ(fp_ring_lookup("in place", &found), -ENOENT);
	free(mem);
}

static void handles_on_one_ring_see_each_other(void)
{
	RT_EACH_MODE(m)
	for (uint32_t elem = 4; elem <= 20; elem += 4) {
		fp_ring_opts o = rt_opts(7, elem, m, LIBFP_STATS);
		int64_t size = fp_ring_memsize(&o);
		unsigned char *mem = junk(size), buf[7 * 20];
		fp_ring *a = NULL, *b = NULL;

		fpt_where("%s element %u", m->name, elem);
		CHECK_EQ(fp_ring_init(mem, (uint64_t)size, &o, &a), 0);
		CHECK_EQ(fp_ring_attach(mem, (uint64_t)size + 4096, &b), 0);
		CHECK_EQ(fp_ring_capacity(b), 7);
		CHECK_EQ(fp_ring_elem_size(b), elem);
		CHECK_EQ(fp_ring_producer_sync(b), m->producer);
		CHECK_EQ(fp_ring_consumer_sync(b), m->consumer);
		for (uint64_t v = 0; v < 100; v += 5) {
			rt_fill(buf, elem, v, 5);
			CHECK_EQ(fp_ring_enqueue_bulk(v % 2 ? a : b, buf, 5, NULL), 5);
			CHECK_EQ(fp_ring_count(a), 5);
			CHECK_EQ(fp_ring_count(b), 5);
			CHECK_EQ(fp_ring_dequeue_bulk(v % 2 ? b : a, buf, 5, NULL), 5);
			CHECK_EQ(rt_right(buf, elem, v, 5), 5);
		}
		CHECK_EQ(rt_stats(b).enqueued, 100);
		CHECK_EQ(rt_stats(b).flags & LIBFP_RING_STATS_COUNTED,
			 LIBFP_RING_STATS_COUNTED);
		CHECK_EQ(fp_ring_destroy(a), 0); /* b stays usable */
		CHECK_EQ(fp_ring_enqueue_bulk(b, buf, 3, NULL), 3);
		CHECK_EQ(fp_ring_close(b), 0);
		CHECK_EQ(fp_ring_attach(mem, (uint64_t)size, &a), 0);
		CHECK_EQ(fp_ring_is_closed(a), 1);
		CHECK_EQ(fp_ring_dequeue_burst(a, buf, 7, NULL), 3);
		CHECK_EQ(fp_ring_dequeue_burst(a, buf, 7, NULL), -EPIPE);
		CHECK_EQ(fp_ring_destroy(b), 0);
		CHECK_EQ(fp_ring_destroy(a), 0);
		free(mem);
	}
}

static void the_state_is_position_independent(void)
{
	RT_EACH_MODE(m)
	{
		fp_ring_opts o = rt_opts(9, 8, m, 0);
		int64_t size = fp_ring_memsize(&o);
		unsigned char *mem = junk(size), *copy = junk(size);
		fp_ring *r = NULL, *moved = NULL;
		uint64_t v = 0;

		fpt_where("%s", m->name);
		CHECK_EQ(fp_ring_init(mem, (uint64_t)size, &o, &r), 0);
		for (uint64_t i = 0; i < 5; i++)
			CHECK_EQ(fp_ring_enqueue_u64(r, 100 + i), 1);
		CHECK_EQ(fp_ring_dequeue_u64(r, &v), 1);
		CHECK_EQ(fp_ring_destroy(r), 0);
		memcpy(copy, mem, (size_t)size);
		memset(mem, 0, (size_t)size);
		CHECK_EQ(fp_ring_attach(copy, (uint64_t)size, &moved), 0);
		CHECK_EQ(fp_ring_count(moved), 4);
		for (uint64_t i = 1; i < 5; i++) {
			CHECK_EQ(fp_ring_dequeue_u64(moved, &v), 1);
			CHECK_EQ(v, 100 + i);
		}
		CHECK_EQ(fp_ring_destroy(moved), 0);
		free(mem);
		free(copy);
	}
}

/* The state lives on in the caller's memory, and so does the span. */
static void a_span_outlives_the_handle_it_was_reserved_with(void)
{
	RT_EACH_MODE(m)
	{
		fp_ring_opts o = rt_opts(9, 8, m, 0);
		int64_t size = fp_ring_memsize(&o);
		unsigned char *mem = junk(size);
		fp_ring *a = NULL, *b = NULL;
		fp_ring_span s;
		uint64_t v = 0;

		fpt_where("%s", m->name);
		CHECK_EQ(fp_ring_init(mem, (uint64_t)size, &o, &a), 0);
		CHECK_EQ(fp_ring_attach(mem, (uint64_t)size, &b), 0);
		CHECK_EQ(fp_ring_reserve_enqueue(a, 1, 0, &s), 1);
		rt_span_fill(&s, 8, 5, 1);
		CHECK_EQ(fp_ring_reset(b), -EBUSY);
		CHECK_EQ(fp_ring_destroy(a), 0);
		CHECK_EQ(fp_ring_commit_enqueue(b, &s, 1), 1);
		CHECK_EQ(fp_ring_dequeue_u64(b, &v), 1);
		CHECK_EQ(v, rt_u64(5));
		CHECK_EQ(fp_ring_destroy(b), 0);
		free(mem);
	}
}

static void two_mappings_of_one_file_share_the_ring(void)
{
	fp_ring_opts o = rt_opts(1000, 16, mt_mt, 0);
	size_t size = FPI_ALIGN_UP((size_t)fp_ring_memsize(&o), 4096);
	int fd = memfd_create("ring", 0);
	unsigned char elem[16];
	fp_ring *a = NULL, *b = NULL;
	void *ma, *mb;

	CHECK(fd >= 0);
	CHECK_EQ(ftruncate(fd, (off_t)size), 0);
	ma = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	mb = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(ma != MAP_FAILED && mb != MAP_FAILED && ma != mb);
	CHECK_EQ(fp_ring_init(ma, size, &o, &a), 0);
	CHECK_EQ(fp_ring_attach(mb, size, &b), 0);
	for (uint64_t v = 0; v < 2500; v++) {
		rt_fill(elem, 16, v, 1);
		CHECK_EQ(fp_ring_enqueue(a, elem), 1);
		memset(elem, 0, 16);
		CHECK_EQ(fp_ring_dequeue(b, elem), 1);
		CHECK_EQ(rt_right(elem, 16, v, 1), 1);
	}
	CHECK_EQ(fp_ring_destroy(a), 0);
	CHECK_EQ(fp_ring_destroy(b), 0);
	munmap(ma, size);
	munmap(mb, size);
	close(fd);
}

static void attach_refuses_what_is_not_a_ring(void)
{
	fp_ring_opts o = rt_opts(16, 8, mt_mt, 0);
	int64_t size = fp_ring_memsize(&o);
	uint64_t len = (uint64_t)size, seed = fpt_seed();
	unsigned char *mem = junk(size);
	fp_ring *r = UNTOUCHED;

	CHECK_EQ(fp_ring_attach(NULL, len, &r), -EINVAL);
	CHECK_EQ(fp_ring_attach(mem, len, NULL), -EINVAL);
	for (size_t off = 1; off < LIBFP_RING_ALIGN; off++)
		CHECK_EQ(fp_ring_attach(mem + off, len, &r), -EINVAL);
	CHECK_EQ(fp_ring_attach(mem, len, &r), -EPROTO);
	memset(mem, 0, len);
	CHECK_EQ(fp_ring_attach(mem, len, &r), -EPROTO);
	memset(mem, 0xff, len);
	CHECK_EQ(fp_ring_attach(mem, len, &r), -EPROTO);
	for (int i = 0; i < 100; i++) {
		for (uint64_t j = 0; j + 8 <= len; j += 8) {
			uint64_t x = fpt_random(&seed);

			memcpy(mem + j, &x, 8);
		}
		CHECK_EQ(fp_ring_attach(mem, len, &r), -EPROTO);
	}
	CHECK(r == UNTOUCHED);
	free(mem);
}

static void attach_refuses_a_ring_that_does_not_fit(void)
{
	RT_EACH_MODE(m)
	{
		fp_ring_opts o = rt_opts(16, 8, m, 0);
		int64_t size = fp_ring_memsize(&o);
		fp_ring *r = NULL, *second = UNTOUCHED;
		unsigned char *mem = junk(size);

		CHECK_EQ(fp_ring_init(mem, (uint64_t)size, &o, &r), 0);
		CHECK_EQ(fp_ring_destroy(r), 0);
		for (uint64_t len = 0; len < (uint64_t)size; len++) {
			/* about len bytes, so that ASan sees a look beyond */
			unsigned char *cut =
				aligned_alloc(LIBFP_RING_ALIGN,
					      FPI_ALIGN_UP(len + 1, LIBFP_RING_ALIGN));

			CHECK(cut != NULL);
			memcpy(cut, mem, len);
			CHECK_EQ(fp_ring_attach(cut, len, &second), -EPROTO);
			free(cut);
		}
		CHECK(second == UNTOUCHED);
		CHECK_EQ(fp_ring_attach(mem, (uint64_t)size, &second), 0);
		CHECK_EQ(fp_ring_destroy(second), 0);
		free(mem);
	}
}

static void attach_refuses_a_header_that_contradicts_itself(void)
{
	RT_EACH_MODE(m)
	{
		fp_ring_opts o = rt_opts(16, 8, m, LIBFP_CHECKED);
		int64_t size = fp_ring_memsize(&o);
		unsigned char *mem = junk(size), *bad = junk(size);
		struct fpi_ring_state *s = (struct fpi_ring_state *)(void *)bad;
		fp_ring *r = NULL, *second = UNTOUCHED;

		CHECK_EQ(fp_ring_init(mem, (uint64_t)size, &o, &r), 0);
		CHECK_EQ(fp_ring_destroy(r), 0);

#define REFUSED(change)                                                          \
	do {                                                                     \
		memcpy(bad, mem, (size_t)size);                                  \
		change;                                                          \
		fpt_where("%s %s", m->name, #change);                            \
		CHECK_EQ(fp_ring_attach(bad, (uint64_t)size, &second), -EPROTO); \
	} while (0)
		REFUSED(s->magic.value++);
		REFUSED(s->magic.value = 0);
		REFUSED(s->total = (uint64_t)size + LIBFP_RING_ALIGN);
		REFUSED(s->total = UINT64_MAX);
		REFUSED(s->total = 0);
		REFUSED(s->gens_offset += 1ull << 40);
		REFUSED(s->gens_offset = UINT64_MAX);
		REFUSED(s->data_offset += 1ull << 40);
		REFUSED(s->data_offset = UINT64_MAX - 63);
		REFUSED(s->data_offset = 0);
		REFUSED(s->owners_offset += 1ull << 40);
		REFUSED(s->capacity = 0);
		REFUSED(s->capacity = 1u << 30);
		REFUSED(s->capacity = UINT32_MAX);
		REFUSED(s->elem_size = 0);
		REFUSED(s->elem_size = 7);
		REFUSED(s->elem_size = 4096);
		REFUSED(s->elem_size = 0x80000000);
		REFUSED(s->producer = 2);
		REFUSED(s->consumer = UINT32_MAX);
		REFUSED(s->flags |= 0x80000000);
		REFUSED(s->flags |= LIBFP_MEM_HUGE);
#undef REFUSED
		CHECK(second == UNTOUCHED);
		free(mem);
		free(bad);
	}
}

/* Any one damaged byte of the header: refused, or a ring that stays inside. */
static void attach_survives_any_damaged_header_byte(void)
{
	RT_EACH_MODE(m)
	{
		fp_ring_opts o = rt_opts(16, 8, m, LIBFP_STATS);
		int64_t size = fp_ring_memsize(&o);
		unsigned char *mem = junk(size), *bad = junk(size);
		size_t header = offsetof(struct fpi_ring_state, prod);
		fp_ring *r = NULL, *second = NULL;

		CHECK_EQ(fp_ring_init(mem, (uint64_t)size, &o, &r), 0);
		CHECK_EQ(fp_ring_destroy(r), 0);
		for (size_t at = 0; at < header; at++)
			for (int x = 1; x < 256; x++) {
				int rc;

				memcpy(bad, mem, (size_t)size);
				bad[at] ^= (unsigned char)x;
				fpt_where("%s byte %zu ^ %#x", m->name, at, x);
				rc = fp_ring_attach(bad, (uint64_t)size, &second);
				CHECK(rc == 0 || rc == -EPROTO);
				if (rc)
					continue;
				CHECK(fp_ring_capacity(second) *
					      fp_ring_elem_size(second) <=
				      size);
				CHECK_EQ(fp_ring_destroy(second), 0);
			}
		free(mem);
		free(bad);
	}
}

static void memory_can_be_used_again_for_another_ring(void)
{
	fp_ring_opts o = rt_opts(64, 8, mt_mt, 0);
	int64_t size = fp_ring_memsize(&o);
	unsigned char *mem = junk(size);

	for (uint32_t i = 0; i < 200; i++) {
		fp_ring_opts p = rt_opts(1 + i % 64, 8, &rt_modes[i % 4], 0);
		fp_ring *r = NULL;
		uint64_t v = 0;

		fpt_where("round %u", i);
		CHECK_EQ(fp_ring_init(mem, (uint64_t)size, &p, &r), 0);
		CHECK_EQ(fp_ring_dequeue_u64(r, &v), 0);
		for (uint32_t k = 0; k <= i % 64; k++)
			CHECK_EQ(fp_ring_enqueue_u64(r, k), 1);
		CHECK_EQ(fp_ring_enqueue_u64(r, 0), 0);
		if (i % 2)
			CHECK_EQ(fp_ring_close(r), 0);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
	free(mem);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(memsize_is_exact_and_64_bits_wide),
		FPT_CASE(init_uses_what_memsize_said_and_no_more),
		FPT_CASE(init_refuses_without_touching_the_memory),
		FPT_CASE(a_named_ring_in_own_memory_is_found),
		FPT_CASE(handles_on_one_ring_see_each_other),
		FPT_CASE(the_state_is_position_independent),
		FPT_CASE(a_span_outlives_the_handle_it_was_reserved_with),
		FPT_CASE(two_mappings_of_one_file_share_the_ring),
		FPT_CASE(attach_refuses_what_is_not_a_ring),
		FPT_CASE(attach_refuses_a_ring_that_does_not_fit),
		FPT_CASE(attach_refuses_a_header_that_contradicts_itself),
		FPT_CASE(attach_survives_any_damaged_header_byte),
		FPT_CASE(memory_can_be_used_again_for_another_ring),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
