/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fp_ring_create and fp_ring_opts: every rule of the options, each refusal with
 * its code and its log line, names, the allocator, NULL for every function.
 */
#include "ring_test.h"

#define UNTOUCHED ((fp_ring *)(uintptr_t)0x1234)

static const struct rt_mode *mt_mt = &rt_modes[3];

/* Expects `code`, one line of reason, and *out left alone. */
static void refused(const fp_ring_opts *o, int code)
{
	fp_ring *r = UNTOUCHED;

	fpt_log_begin();
	CHECK_EQ(fp_ring_create(o, &r), code);
	CHECK(r == UNTOUCHED);
	CHECK_EQ(fpt_log.lines, 1);
	CHECK_EQ(fpt_log.level, LIBFP_LOG_INFO);
	CHECK(fpt_log.last[0] && !strchr(fpt_log.last, '\n'));
	fpt_log_end();
	if (o)
		CHECK_EQ(fp_ring_memsize(o), code);
}

static void accepted(const fp_ring_opts *o)
{
	fp_ring *r = NULL;

	fpt_log_begin();
	CHECK_EQ(fp_ring_create(o, &r), 0);
	CHECK_EQ(fpt_log.lines, 0);
	fpt_log_end();
	CHECK(fp_ring_memsize(o) > 0);
	CHECK_EQ(fp_ring_destroy(r), 0);
}

static void defaults_are_8_bytes_and_many_threads(void)
{
	fp_ring_opts o = LIBFP_RING_OPTS_INIT;
	fp_ring *r = NULL;

	o.capacity = 5;
	CHECK_EQ(fp_ring_create(&o, &r), 0);
	CHECK_EQ(fp_ring_elem_size(r), 8);
	CHECK_EQ(fp_ring_capacity(r), 5);
	CHECK_EQ(fp_ring_producer_sync(r), LIBFP_MT);
	CHECK_EQ(fp_ring_consumer_sync(r), LIBFP_MT);
	CHECK(fp_ring_name(r) == NULL);
	CHECK_EQ(fp_ring_is_closed(r), 0);
	CHECK_EQ(fp_ring_count(r), 0);
	CHECK_EQ(fp_ring_free_count(r), 5);
	CHECK_EQ(fp_ring_is_empty(r), 1);
	CHECK_EQ(fp_ring_is_full(r), 0);
	CHECK_EQ(fp_ring_destroy(r), 0);
}

static void getters_tell_what_was_asked_for(void)
{
	RT_EACH_MODE(m)
	{
		fp_ring *r = rt_ring(1000, 12, m, 0);

		CHECK_EQ(fp_ring_capacity(r), 1000);
		CHECK_EQ(fp_ring_elem_size(r), 12);
		CHECK_EQ(fp_ring_producer_sync(r), m->producer);
		CHECK_EQ(fp_ring_consumer_sync(r), m->consumer);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

static void null_options_and_null_out_are_refused(void)
{
	fp_ring_opts o = rt_opts(8, 8, mt_mt, 0);

	refused(NULL, -EINVAL);
	CHECK_EQ(fp_ring_memsize(NULL), -EINVAL);
	CHECK_EQ(fp_ring_create(&o, NULL), -EINVAL);
	CHECK_EQ(fp_ring_create(NULL, NULL), -EINVAL);
}

static void misaligned_options_are_refused(void)
{
	_Alignas(8) unsigned char raw[sizeof(fp_ring_opts) + 8];
	fp_ring_opts o = rt_opts(8, 8, mt_mt, 0);
	fp_ring *r = UNTOUCHED;

	for (int off = 1; off < 8; off++) {
		memcpy(raw + off, &o, sizeof(o));
		CHECK_EQ(fp_ring_create((void *)(raw + off), &r), -EINVAL);
		CHECK_EQ(fp_ring_memsize((void *)(raw + off)), -EINVAL);
		CHECK(r == UNTOUCHED);
	}
}

static void capacity_is_1_to_2_to_the_30(void)
{
	static const uint32_t bad[] = { 0, LIBFP_RING_CAPACITY_MAX + 1, 0x7fffffff,
					0x80000000, UINT32_MAX };
	static const uint32_t good[] = { 1, 2, 3, 4, 5, 1000, 1023, 1024, 1025 };

	RT_EACH_MODE(m)
	{
		for (size_t i = 0; i < FPT_LEN(bad); i++) {
			fp_ring_opts o = rt_opts(bad[i], 8, m, 0);

			fpt_where("%s capacity %u", m->name, bad[i]);
			refused(&o, -EINVAL);
		}
		for (size_t i = 0; i < FPT_LEN(good); i++) {
			fp_ring_opts o = rt_opts(good[i], 8, m, 0);

			accepted(&o);
		}
	}
}

static void element_size_is_a_multiple_of_4_up_to_4096(void)
{
	static const uint32_t bad[] = { 1,    2,	  3,	      5,
					6,    7,	  9,	      10,
					4095, 4097,	  4098,	      4100,
					8192, 0x80000000, UINT32_MAX, UINT32_MAX - 3 };

	RT_EACH_MODE(m)
	{
		fp_ring_opts o = rt_opts(3, 0, m, 0);
		fp_ring *r = NULL;

		for (size_t i = 0; i < FPT_LEN(bad); i++) {
			o.elem_size = bad[i];
			fpt_where("%s element size %u", m->name, bad[i]);
			refused(&o, -EINVAL);
		}
		for (o.elem_size = 4; o.elem_size <= 4096; o.elem_size += 4)
			CHECK(fp_ring_memsize(&o) > 0);
		o.elem_size = 4096;
		accepted(&o);
		o.elem_size = 0;
		CHECK_EQ(fp_ring_create(&o, &r), 0);
		CHECK_EQ(fp_ring_elem_size(r), 8);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

static void unknown_sync_values_are_newer_than_the_library(void)
{
	static const uint32_t values[] = { 2, 3, 4, 0x80000000, UINT32_MAX };

	for (size_t i = 0; i < FPT_LEN(values); i++) {
		fp_ring_opts o = rt_opts(8, 8, mt_mt, 0);

		o.producer = values[i];
		refused(&o, -EOPNOTSUPP);
		o.producer = LIBFP_ST;
		o.consumer = values[i];
		refused(&o, -EOPNOTSUPP);
	}
}

static void unknown_flags_are_newer_than_the_library(void)
{
	for (uint32_t bit = LIBFP_MEM_NODE << 1; bit; bit <<= 1) {
		fp_ring_opts o = rt_opts(8, 8, mt_mt, bit);

		if (bit == LIBFP_RING_WAIT)
			continue;
		fpt_where("flag %#x", bit);
		refused(&o, -EOPNOTSUPP);
		o.flags |= LIBFP_STATS;
		refused(&o, -EOPNOTSUPP);
	}
}

static void every_known_flag_works(void)
{
	RT_EACH_MODE(m)
	for (uint32_t bits = 0; bits < LIBFP_MEM_NODE << 2; bits++) {
		uint32_t wait = bits & LIBFP_MEM_NODE << 1 ? LIBFP_RING_WAIT : 0;
		uint32_t flags = (bits & ((LIBFP_MEM_NODE << 1) - 1)) | wait;
		fp_ring_opts o = rt_opts(100, 8, m, flags);
		fp_ring *r = NULL;
		uint64_t v = 0;

		fpt_where("%s flags %#x", m->name, flags);
		o.numa_node = flags & 1 ? 0 : 77; /* a hint: no such node */
		CHECK_EQ(fp_ring_create(&o, &r), 0);
		CHECK_EQ(fp_ring_enqueue_u64(r, 42), 1);
		CHECK_EQ(fp_ring_dequeue_u64(r, &v), 1);
		CHECK_EQ(v, 42);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

static void named_padding_must_be_zero(void)
{
	fp_ring_opts o = rt_opts(8, 8, mt_mt, 0);

	o.reserved0 = 1;
	refused(&o, -EINVAL);
	o.reserved0 = UINT32_MAX;
	refused(&o, -EINVAL);
}

static void size_rules_of_the_options(void)
{
	struct {
		fp_ring_opts o;
		unsigned char tail[256];
	} big;

	memset(&big, 0, sizeof(big));
	big.o = rt_opts(8, 8, mt_mt, 0);
	for (big.o.size = 0; big.o.size < 48; big.o.size++)
		refused(&big.o, -EINVAL); /* below the first published size */
	for (big.o.size = 48; big.o.size <= sizeof(big); big.o.size++)
		accepted(&big.o);
	big.o.size = sizeof(big);
	for (size_t i = 0; i < sizeof(big.tail); i++) {
		big.tail[i] = 0x10;
		fpt_where("tail byte %zu", i);
		refused(&big.o, -E2BIG);
		/* The byte is not part of it. */
		big.o.size = (uint32_t)(sizeof(big.o) + i);
		accepted(&big.o);
		big.o.size = sizeof(big);
		big.tail[i] = 0;
	}
}

static void opts_init_fills_what_the_caller_knows(void)
{
	struct {
		fp_ring_opts o;
		unsigned char tail[64];
	} big;
	const fp_ring_opts init = LIBFP_RING_OPTS_INIT;
	fp_ring_opts o;

	memset(&o, 0xff, sizeof(o));
	CHECK_EQ(fp_ring_opts_init(&o, sizeof(o)), 0);
	CHECK(!memcmp(&o, &init, sizeof(o)));
	memset(&big, 0xff, sizeof(big));
	CHECK_EQ(fp_ring_opts_init(&big.o, sizeof(big)), 0);
	CHECK_EQ(big.o.size, sizeof(big));
	for (size_t i = 4; i < sizeof(big); i++)
		CHECK_EQ(((unsigned char *)&big)[i], 0);
	big.o.capacity = 4;
	accepted(&big.o);

	memset(&o, 0x5a, sizeof(o));
	CHECK_EQ(fp_ring_opts_init(NULL, sizeof(o)), -EINVAL);
	CHECK_EQ(fp_ring_opts_init(&o, 0), -EINVAL);
	CHECK_EQ(fp_ring_opts_init(&o, 47), -EINVAL);
	CHECK_EQ(fp_ring_opts_init(&o, (1u << 20) + 1), -E2BIG);
	CHECK_EQ(fp_ring_opts_init(&o, UINT32_MAX), -E2BIG);
	for (size_t i = 0; i < sizeof(o); i++)
		CHECK_EQ(((unsigned char *)&o)[i], 0x5a);
}

/* ---- names ---- */

static fp_ring *named(const char *name)
{
	fp_ring_opts o = rt_opts(4, 8, mt_mt, 0);
	fp_ring *r = NULL;

	o.name = name;
	CHECK_EQ(fp_ring_create(&o, &r), 0);
	return r;
}

static void names_are_copied_and_found(void)
{
	char name[] = "first";
	fp_ring *r = named(name), *found = UNTOUCHED;

	name[0] = 'x';
	CHECK(!strcmp(fp_ring_name(r), "first"));
	CHECK_EQ(fp_ring_lookup("xirst", &found), -ENOENT);
	CHECK_EQ(fp_ring_lookup("firs", &found), -ENOENT);
	CHECK_EQ(fp_ring_lookup("first ", &found), -ENOENT);
	CHECK(found == UNTOUCHED);
	CHECK_EQ(fp_ring_lookup("first", &found), 0);
	CHECK(found == r);
	CHECK_EQ(fp_ring_unref(found), 0);
	CHECK_EQ(fp_ring_destroy(r), 0);
	CHECK_EQ(fp_ring_lookup("first", &found), -ENOENT);
}

static void lookup_refuses_null(void)
{
	fp_ring *r = named("a ring"), *found = UNTOUCHED;

	CHECK_EQ(fp_ring_lookup(NULL, &found), -EINVAL);
	CHECK(found == UNTOUCHED);
	CHECK_EQ(fp_ring_lookup("a ring", NULL), -EINVAL);
	CHECK_EQ(fp_ring_lookup(NULL, NULL), -EINVAL);
	CHECK_EQ(fp_ring_destroy(r), 0); /* no reference was taken */
}

static void a_taken_name_is_refused(void)
{
	fp_ring *r = named("taken");
	fp_ring_opts o = rt_opts(4, 8, mt_mt, 0);
	fp_ring *other = UNTOUCHED;

	o.name = "taken";
	fpt_log_begin();
	CHECK_EQ(fp_ring_create(&o, &other), -EEXIST);
	CHECK(other == UNTOUCHED);
	CHECK_EQ(fpt_log.lines, 1);
	CHECK(strstr(fpt_log.last, "taken") != NULL);
	fpt_log_end();
	CHECK_EQ(fp_ring_lookup("taken", &other), 0);
	CHECK(other == r);
	CHECK_EQ(fp_ring_unref(r), 0);
	CHECK_EQ(fp_ring_destroy(r), 0);
	CHECK_EQ(fp_ring_create(&o, &other), 0);
	CHECK_EQ(fp_ring_destroy(other), 0);
}

static void a_failed_create_leaves_the_name_free(void)
{
	fp_ring_opts o = rt_opts(0, 8, mt_mt, 0);
	fp_ring *r = UNTOUCHED;

	o.name = "free again";
	refused(&o, -EINVAL);
	o.capacity = 4;
	o.flags = 0x80;
	refused(&o, -EOPNOTSUPP);
	o.flags = 0;
	CHECK_EQ(fp_ring_lookup("free again", &r), -ENOENT);
	CHECK_EQ(fp_ring_create(&o, &r), 0);
	CHECK_EQ(fp_ring_destroy(r), 0);
}

static void references_keep_a_ring_alive(void)
{
	fp_ring *r = named("kept"), *a = NULL, *b = NULL;

	CHECK_EQ(fp_ring_unref(r), -EINVAL);
	CHECK_EQ(fp_ring_lookup("kept", &a), 0);
	CHECK_EQ(fp_ring_lookup("kept", &b), 0);
	CHECK_EQ(fp_ring_destroy(r), -EBUSY);
	CHECK_EQ(fp_ring_enqueue_u64(r, 7), 1); /* nothing was freed */
	CHECK_EQ(fp_ring_unref(a), 0);
	CHECK_EQ(fp_ring_destroy(r), -EBUSY);
	CHECK_EQ(fp_ring_lookup("kept", &a), 0); /* nor is it hidden */
	CHECK_EQ(fp_ring_unref(a), 0);
	CHECK_EQ(fp_ring_unref(b), 0);
	CHECK_EQ(fp_ring_unref(b), -EINVAL);
	CHECK_EQ(fp_ring_destroy(r), 0);
}

static void a_ring_without_a_name_has_no_references(void)
{
	fp_ring *r = rt_ring(4, 8, mt_mt, 0);

	CHECK_EQ(fp_ring_unref(r), -EINVAL);
	CHECK_EQ(fp_ring_destroy(r), 0);
}

/* ---- memory ---- */

static void the_allocator_gets_back_what_it_gave(void)
{
	RT_EACH_MODE(m)
	for (uint32_t flags = 0; flags < 4; flags++) {
		struct fpt_heap heap = { .fail_at = -1 };
		fp_allocator a = fpt_heap_allocator(&heap);
		fp_ring_opts o = rt_opts(1000, 20, m, flags);
		unsigned char elem[20];
		fp_ring *r = NULL;

		fpt_where("%s flags %u", m->name, flags);
		o.allocator = &a;
		o.name = flags & 1 ? "with a name" : NULL;
		CHECK_EQ(fp_ring_create(&o, &r), 0);
		memset(&a, 0xee, sizeof(a)); /* it was copied */
		CHECK(heap.live >= 1);
		CHECK(heap.live_bytes >= 20000);
		CHECK_EQ(fp_ring_count(r), 0); /* though memory was dirty */
		rt_fill(elem, 20, 5, 1);
		CHECK_EQ(fp_ring_enqueue(r, elem), 1);
		memset(elem, 0, 20);
		CHECK_EQ(fp_ring_dequeue(r, elem), 1);
		CHECK_EQ(rt_right(elem, 20, 5, 1), 1);
		CHECK_EQ(fp_ring_dequeue(r, elem), 0);
		CHECK_EQ(fp_ring_destroy(r), 0);
		CHECK_EQ(heap.live, 0);
		CHECK_EQ(heap.live_bytes, 0);
		CHECK_EQ(heap.bad, 0);
	}
}

static void a_bad_allocator_is_refused(void)
{
	struct fpt_heap heap = { .fail_at = -1 };
	struct {
		fp_allocator a;
		uint64_t tail;
	} big = { fpt_heap_allocator(&heap), 0 };
	fp_ring_opts o = rt_opts(8, 8, mt_mt, 0);

	o.allocator = &big.a;
	big.a.size = sizeof(fp_allocator) - 1;
	refused(&o, -EINVAL);
	big.a.size = 0;
	refused(&o, -EINVAL);
	big.a.size = sizeof(big);
	accepted(&o);
	big.tail = 1;
	refused(&o, -E2BIG);
	big.a.size = sizeof(fp_allocator);
	big.a.flags = 1;
	refused(&o, -EOPNOTSUPP);
	big.a.flags = 0;
	big.a.alloc = NULL;
	refused(&o, -EINVAL);
	big.a = fpt_heap_allocator(&heap);
	big.a.free = NULL;
	refused(&o, -EINVAL);
	CHECK_EQ(heap.live, 0);
}

static void create_and_destroy_10000_times(void)
{
	struct fpt_heap heap = { .fail_at = -1 };
	fp_allocator a = fpt_heap_allocator(&heap);

	for (int i = 0; i < 10000; i++) {
		fp_ring_opts o = rt_opts(1 + (uint32_t)i % 100, 8, &rt_modes[i % 4],
					 (uint32_t)i / 4 % 4);
		fp_ring *r = NULL;

		o.name = i % 3 ? "again and again" : NULL;
		o.allocator = i % 2 ? &a : NULL;
		CHECK_EQ(fp_ring_create(&o, &r), 0);
		CHECK_EQ(fp_ring_enqueue_u64(r, 1), 1);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
	CHECK_EQ(heap.live, 0);
	CHECK_EQ(heap.bad, 0);
}

static void many_rings_live_at_once(void)
{
	enum { N = 2000 };
	static fp_ring *rings[N];
	uint64_t v;

	for (int i = 0; i < N; i++) {
		char name[32];
		fp_ring_opts o = rt_opts(4, 8, &rt_modes[i % 4], 0);

		snprintf(name, sizeof(name), "ring %d", i);
		o.name = name;
		CHECK_EQ(fp_ring_create(&o, &rings[i]), 0);
		CHECK_EQ(fp_ring_enqueue_u64(rings[i], (uint64_t)i), 1);
	}
	for (int i = N - 1; i >= 0; i--) {
		char name[32];
		fp_ring *r = NULL;

		snprintf(name, sizeof(name), "ring %d", i);
		CHECK_EQ(fp_ring_lookup(name, &r), 0);
		CHECK(r == rings[i]);
		CHECK_EQ(fp_ring_dequeue_u64(r, &v), 1);
		CHECK_EQ(v, i);
		CHECK_EQ(fp_ring_unref(r), 0);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

static void what_does_not_exist_fails_quickly(void)
{
	fp_ring_opts o = rt_opts(LIBFP_RING_CAPACITY_MAX, LIBFP_RING_ELEM_MAX, mt_mt, 0);
	struct fpt_heap heap = { .fail_at = 0 };
	fp_allocator a = fpt_heap_allocator(&heap);
	fp_ring *r = UNTOUCHED;

	/* 4 TiB and more: the size is right, whatever the machine has. */
	CHECK(fp_ring_memsize(&o) >= (int64_t)LIBFP_RING_CAPACITY_MAX * 4096);
	CHECK(fp_ring_memsize(&o) < (int64_t)LIBFP_RING_CAPACITY_MAX * 4200);
	o.allocator = &a;
	fpt_log_begin();
	CHECK_EQ(fp_ring_create(&o, &r), -ENOMEM);
	CHECK(r == UNTOUCHED);
	CHECK_EQ(fpt_log.lines, 1);
	fpt_log_end();
	CHECK_EQ(heap.live, 0);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(defaults_are_8_bytes_and_many_threads),
		FPT_CASE(getters_tell_what_was_asked_for),
		FPT_CASE(null_options_and_null_out_are_refused),
		FPT_CASE(misaligned_options_are_refused),
		FPT_CASE(capacity_is_1_to_2_to_the_30),
		FPT_CASE(element_size_is_a_multiple_of_4_up_to_4096),
		FPT_CASE(unknown_sync_values_are_newer_than_the_library),
		FPT_CASE(unknown_flags_are_newer_than_the_library),
		FPT_CASE(every_known_flag_works),
		FPT_CASE(named_padding_must_be_zero),
		FPT_CASE(size_rules_of_the_options),
		FPT_CASE(opts_init_fills_what_the_caller_knows),
		FPT_CASE(names_are_copied_and_found),
		FPT_CASE(lookup_refuses_null),
		FPT_CASE(a_taken_name_is_refused),
		FPT_CASE(a_failed_create_leaves_the_name_free),
		FPT_CASE(references_keep_a_ring_alive),
		FPT_CASE(a_ring_without_a_name_has_no_references),
		FPT_CASE(the_allocator_gets_back_what_it_gave),
		FPT_CASE(a_bad_allocator_is_refused),
		FPT_CASE(create_and_destroy_10000_times),
		FPT_CASE(many_rings_live_at_once),
		FPT_CASE(what_does_not_exist_fails_quickly),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
