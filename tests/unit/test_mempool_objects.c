/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Index and address of objects: every object, every byte of it and around it, and
 * addresses from elsewhere.
 */
#include "pool_test.h"

static const struct {
	uint32_t count, size, align, flags;
} shapes[] = {
	{ 1, 1, 0, 0 },
	{ 1, 1, 1, 0 },
	{ 5, 1, 1, 0 },
	{ 7, 3, 0, 0 },
	{ 7, 3, 2, 0 },
	{ 100, 8, 0, 0 },
	{ 33, 24, 64, 0 },
	{ 9, 100, 4096, 0 },
	{ 13, 4097, 4096, 0 },
	{ 1, 1, 0, LIBFP_CHECKED },
	{ 11, 5, 0, LIBFP_CHECKED },
	{ 11, 5, 1, LIBFP_CHECKED },
	{ 6, 60, 4096, LIBFP_CHECKED },
	{ 3, 4096, 0, LIBFP_CHECKED },
};

static void with_every_shape(void (*fn)(fp_mempool *))
{
	for (size_t i = 0; i < FPT_LEN(shapes); i++) {
		fp_mempool_opts o = pt_opts(shapes[i].count, 0, shapes[i].flags);
		fp_mempool *p;

		fpt_where("count %u size %u align %u flags %#x", shapes[i].count,
			  shapes[i].size, shapes[i].align, shapes[i].flags);
		o.object_size = shapes[i].size;
		o.align = shapes[i].align;
		p = pt_create(&o);
		fn(p);
		pt_end(p);
	}
}

static void every_address(fp_mempool *p)
{
	int64_t n = fp_mempool_capacity(p), stride = fp_mempool_stride(p);
	int64_t size = fp_mempool_object_size(p);
	uintptr_t base = (uintptr_t)fp_mempool_base(p);

	for (int64_t off = -stride; off < (n + 1) * stride; off++) {
		const void *at = (const void *)(base + (uintptr_t)off);
		int inside = off >= 0 && off < n * stride;
		int64_t index = inside && off % stride == 0 ? off / stride : -EFAULT;

		CHECK_EQ(fp_mempool_index(p, at), index);
		CHECK_EQ(fp_mempool_contains(p, at), inside && off % stride < size);
	}
}

static void index_and_contains_at_every_address(void)
{
	with_every_shape(every_address);
}

static void there_and_back(fp_mempool *p)
{
	uint64_t n = (uint64_t)fp_mempool_capacity(p);
	char *base = fp_mempool_base(p);

	CHECK(fp_mempool_object(p, 0) == base);
	for (uint64_t i = 0; i < n; i++) {
		char *object = fp_mempool_object(p, i);

		CHECK(object == base + i * (uint64_t)fp_mempool_stride(p));
		CHECK_EQ(fp_mempool_index(p, object), i);
	}
	CHECK(fp_mempool_object(p, n) == NULL);
	CHECK(fp_mempool_object(p, n + 1) == NULL);
	CHECK(fp_mempool_object(p, 1ull << 32) == NULL);
	CHECK(fp_mempool_object(p, 1ull << 63) == NULL);
	CHECK(fp_mempool_object(p, UINT64_MAX) == NULL);
}

static void index_to_object_and_back(void)
{
	with_every_shape(there_and_back);
}

static void elsewhere(fp_mempool *p)
{
	fp_mempool *q = pt_pool(10, 0, 0);
	const void *others[] = { NULL,
				 &q,
				 (const void *)UINTPTR_MAX,
				 p,
				 q,
				 fp_mempool_base(q),
				 (const void *)(uintptr_t)1,
				 (const void *)elsewhere };

	for (size_t i = 0; i < FPT_LEN(others); i++) {
		CHECK_EQ(fp_mempool_index(p, others[i]), -EFAULT);
		CHECK_EQ(fp_mempool_contains(p, others[i]), 0);
	}
	pt_end(q);
}

static void addresses_from_elsewhere(void)
{
	with_every_shape(elsewhere);
}

/* ---- iteration ---- */

struct walk {
	fp_mempool *p;
	uint32_t next, stop_at;
	int stop_with;
};

static int step(void *object, uint32_t index, void *user)
{
	struct walk *w = user;

	CHECK_EQ(index, w->next++);
	CHECK(object == fp_mempool_object(w->p, index));
	return index == w->stop_at ? w->stop_with : 0;
}

static void walk(fp_mempool *p)
{
	uint32_t n = (uint32_t)fp_mempool_capacity(p);
	struct walk w = { .p = p, .stop_at = UINT32_MAX };
	void *object = fp_mempool_get(p);

	CHECK_EQ(fp_mempool_for_each(p, step, &w), 0); /* in use or not */
	CHECK_EQ(w.next, n);
	for (w.stop_at = 0; w.stop_at < n; w.stop_at++) {
		w.next = 0;
		w.stop_with = w.stop_at % 2 ? -77 : 5;
		CHECK_EQ(fp_mempool_for_each(p, step, &w), w.stop_with);
		CHECK_EQ(w.next, w.stop_at + 1);
	}
	CHECK_EQ(fp_mempool_put(p, object), 0);
}

static void for_each_visits_all_in_order_until_told(void)
{
	with_every_shape(walk);
}

/* What is got is one of the objects, and each of them can be had. */
static void get_all(fp_mempool *p)
{
	uint32_t n = (uint32_t)fp_mempool_capacity(p);
	void *t[100];

	pt_get(p, t, n);
	pt_different(p, t, n);
	pt_put(p, t, n);
}

static void every_object_can_be_had(void)
{
	with_every_shape(get_all);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(index_and_contains_at_every_address),
		FPT_CASE(index_to_object_and_back),
		FPT_CASE(addresses_from_elsewhere),
		FPT_CASE(for_each_visits_all_in_order_until_told),
		FPT_CASE(every_object_can_be_had),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
