/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What services and cores refuse: NULL, sizes, padding, flags and values that the library
 * does not know, names. A refusal changes nothing and writes nothing; where options are
 * at fault the log has one line about it.
 */
#include "heap.h"
#include "service_test.h"

/* ---- NULL ---- */

static void no_call_takes_null_for_a_service(void)
{
	fp_service_stats st = { .size = sizeof(st) };
	fp_service_map_stats ms = { .size = sizeof(ms) };
	fp_service_core *c = st_core(NULL);
	fp_service *found = ST_UNTOUCHED;
	int32_t result = 7;

	CHECK_EQ(fp_service_destroy(NULL, 0, 0), 0);
	CHECK_EQ(fp_service_destroy(NULL, 0x80, 0), 0);
	CHECK_EQ(fp_service_lookup(NULL, &found), -EINVAL);
	CHECK_EQ(fp_service_lookup("nobody", NULL), -EINVAL);
	CHECK_EQ(fp_service_lookup("nobody", &found), -ENOENT);
	CHECK_EQ(fp_service_unref(NULL), -EINVAL);
	CHECK(fp_service_name(NULL) == NULL);
	CHECK_EQ(fp_service_list(NULL, 1), -EINVAL);
	CHECK_EQ(fp_service_set_ready(NULL, 1, 0), -EINVAL);
	CHECK_EQ(fp_service_start(NULL), -EINVAL);
	CHECK_EQ(fp_service_stop(NULL, 0), -EINVAL);
	CHECK_EQ(fp_service_is_runnable(NULL), -EINVAL);
	CHECK_EQ(fp_service_is_active(NULL), -EINVAL);
	CHECK_EQ(fp_service_map(NULL, c), -EINVAL);
	CHECK_EQ(fp_service_unmap(NULL, c, 0), -EINVAL);
	CHECK_EQ(fp_service_is_mapped(NULL, c), -EINVAL);
	CHECK_EQ(fp_service_run_once(NULL, 0, &result), -EINVAL);
	CHECK_EQ(fp_service_run_once(NULL, 1, &result), -EINVAL);
	CHECK(fp_service_wakeup(NULL) == NULL);
	CHECK_EQ(fp_service_set_deadline(NULL, 1), -EINVAL);
	CHECK_EQ(fp_service_get_stats(NULL, &st), -EINVAL);
	CHECK_EQ(fp_service_reset_stats(NULL), -EINVAL);
	CHECK_EQ(fp_service_get_map_stats(NULL, c, &ms), -EINVAL);
	CHECK(found == ST_UNTOUCHED && result == 7);
	CHECK_EQ(st.size, sizeof(st));
	CHECK_EQ(fp_service_core_destroy(c), 0);
}

static void no_call_takes_null_for_a_core(void)
{
	const uint32_t cpus[] = { 0 };
	fp_service_core_stats st = { .size = sizeof(st) };
	fp_service_map_stats ms = { .size = sizeof(ms) };
	struct st_counter k = { 0 };
	fp_service *s = st_make(&k, NULL, 0), *list[1];
	fp_service_core *found = ST_UNTOUCHED, *one[2] = { NULL, NULL };

	CHECK_EQ(fp_service_core_destroy(NULL), 0);
	CHECK_EQ(fp_service_core_lookup(NULL, &found), -EINVAL);
	CHECK_EQ(fp_service_core_lookup("nobody", NULL), -EINVAL);
	CHECK_EQ(fp_service_core_lookup("nobody", &found), -ENOENT);
	CHECK_EQ(fp_service_core_unref(NULL), -EINVAL);
	CHECK(fp_service_core_name(NULL) == NULL);
	CHECK_EQ(fp_service_core_list(NULL, 1), -EINVAL);
	CHECK_EQ(fp_service_core_services(NULL, list, 1), -EINVAL);
	CHECK_EQ(fp_service_core_set_cpus(NULL, cpus, 1), -EINVAL);
	CHECK_EQ(fp_service_core_start(NULL), -EINVAL);
	CHECK_EQ(fp_service_core_stop(NULL, 0), -EINVAL);
	CHECK_EQ(fp_service_core_run(NULL, 0), -EINVAL);
	CHECK(fp_service_core_wakeup(NULL) == NULL);
	CHECK_EQ(fp_service_core_get_stats(NULL, &st), -EINVAL);
	CHECK_EQ(fp_service_core_reset_stats(NULL), -EINVAL);
	CHECK_EQ(fp_service_map(s, NULL), -EINVAL);
	CHECK_EQ(fp_service_unmap(s, NULL, 0), -EINVAL);
	CHECK_EQ(fp_service_is_mapped(s, NULL), -EINVAL);
	CHECK_EQ(fp_service_get_map_stats(s, NULL, &ms), -EINVAL);
	CHECK_EQ(fp_service_start_defaults(NULL, 1), -EINVAL);
	CHECK_EQ(fp_service_start_defaults(one, 0), -EINVAL);
	one[0] = st_core(NULL);
	CHECK_EQ(fp_service_start_defaults(one, 2), -EINVAL);
	/* ... and has started nothing. */
	CHECK_EQ(st_core_stats(one[0]).state, LIBFP_SERVICE_CORE_STOPPED);
	CHECK_EQ(st_stats(s).flags, LIBFP_SERVICE_IS_READY);
	CHECK_EQ(fp_service_core_services(one[0], NULL, 1), -EINVAL);
	CHECK(found == ST_UNTOUCHED);
	st_end(s);
	CHECK_EQ(fp_service_core_destroy(one[0]), 0);
}

/* ---- options of services ---- */

static fp_service_opts good(void)
{
	fp_service_opts o;

	memset(&o, 0xff, sizeof(o));
	CHECK_EQ(fp_service_opts_init(&o, sizeof(o)), 0);
	o.run = st_count;
	return o;
}

static void refused(const fp_service_opts *o, int err)
{
	fp_service *s = ST_UNTOUCHED;

	fpt_log_begin();
	CHECK_EQ(fp_service_create(o, &s), err);
	CHECK(fpt_log.lines == 1 && s == ST_UNTOUCHED);
	fpt_log_end();
	CHECK_EQ(fp_service_list(NULL, 0), 0);
}

static void options_of_services(void)
{
	struct {
		fp_service_opts o;
		uint64_t more;
	} future = { .o = good() };
	const uint32_t known =
		LIBFP_SERVICE_MT_SAFE | LIBFP_SERVICE_WAKEABLE | LIBFP_SERVICE_NOT_READY;
	fp_allocator bad = LIBFP_ALLOCATOR_INIT;
	fp_service_opts o = good();
	char block[sizeof(o) + 8] __attribute__((aligned(8)));
	char longest[LIBFP_NAME_MAX + 2];
	fp_service *s;

	CHECK(memcmp(&o.name, &(const char *){ NULL }, sizeof(o.name)) == 0);
	CHECK_EQ(fp_service_opts_init(NULL, sizeof(o)), -EINVAL);
	CHECK_EQ(fp_service_opts_init(&o, sizeof(o) - 1), -EINVAL);
	CHECK_EQ(fp_service_opts_init(&o, (1u << 20) + 1), -E2BIG);
	refused(NULL, -EINVAL);
	memcpy(block + 4, &o, sizeof(o));
	refused((const fp_service_opts *)(const void *)(block + 4), -EINVAL);
	o = good(), o.size = 0, refused(&o, -EINVAL);
	o = good(), o.size = sizeof(o) - 1, refused(&o, -EINVAL);
	o = good(), o.size = UINT32_MAX, refused(&o, -E2BIG);
	o = good(), o.run = NULL, refused(&o, -EINVAL);
	o = good(), o.reserved0 = 1, refused(&o, -EINVAL);
	o = good(), o.name = "", refused(&o, -EINVAL);
	o = good(), o.cycles = 3, refused(&o, -EOPNOTSUPP);
	o = good(), o.cycles = UINT32_MAX, refused(&o, -EOPNOTSUPP);
	for (int bit = 0; bit < 32; bit++) {
		o = good();
		o.flags = 1u << bit;
		if (o.flags & known)
			continue;
		fpt_where("flag %#x", o.flags);
		refused(&o, -EOPNOTSUPP);
	}
	o = good(), o.allocator = &bad, refused(&o, -EINVAL);
	memset(longest, 'n', sizeof(longest));
	longest[LIBFP_NAME_MAX + 1] = 0;
	o = good(), o.name = longest, refused(&o, -ENAMETOOLONG);
	future.o.size = sizeof(future);
	future.more = 1;
	refused(&future.o, -E2BIG);
	future.more = 0;
	CHECK_EQ(fp_service_create(&future.o, NULL), -EINVAL);
	CHECK_EQ(fp_service_create(&future.o, &s), 0);
	CHECK_EQ(fp_service_destroy(s, 0x2, 0), -EOPNOTSUPP);
	CHECK_EQ(fp_service_destroy(s, 0, 0), 0);
	longest[LIBFP_NAME_MAX] = 0;
	o = good(), o.name = longest, o.flags = known;
	CHECK_EQ(fp_service_create(&o, &s), 0);
	CHECK(!strcmp(fp_service_name(s), longest) && fp_service_name(s) != longest);
	fpt_log_begin();
	CHECK_EQ(fp_service_create(&o, &(fp_service *){ NULL }), -EEXIST);
	CHECK(fpt_log.lines == 1 && strstr(fpt_log.last, "nnnn"));
	fpt_log_end();
	CHECK_EQ(fp_service_destroy(s, 0, 0), 0);
}

/* ---- options of cores ---- */

static fp_service_core_opts good_core(void)
{
	fp_service_core_opts o;

	memset(&o, 0xff, sizeof(o));
	CHECK_EQ(fp_service_core_opts_init(&o, sizeof(o)), 0);
	return o;
}

static void core_refused(const fp_service_core_opts *o, int err)
{
	fp_service_core *c = ST_UNTOUCHED;

	fpt_log_begin();
	CHECK_EQ(fp_service_core_create(o, &c), err);
	CHECK(fpt_log.lines == 1 && c == ST_UNTOUCHED);
	fpt_log_end();
	CHECK_EQ(fp_service_core_list(NULL, 0), 0);
}

static void options_of_cores(void)
{
	struct {
		fp_service_core_opts o;
		uint64_t more;
	} future = { .o = good_core() };
	const uint32_t known = LIBFP_SERVICE_CORE_SPIN_NS | LIBFP_SERVICE_CORE_NAP_NS |
			       LIBFP_SERVICE_CORE_PIN;
	fp_allocator bad = LIBFP_ALLOCATOR_INIT;
	fp_service_core_opts o;
	char longest[LIBFP_NAME_MAX + 2];
	fp_service_core *c;

	CHECK_EQ(fp_service_core_opts_init(NULL, sizeof(o)), -EINVAL);
	CHECK_EQ(fp_service_core_opts_init(&o, sizeof(o) - 1), -EINVAL);
	CHECK_EQ(fp_service_core_opts_init(&o, (1u << 20) + 1), -E2BIG);
	o = good_core(), o.size = sizeof(o) - 1, core_refused(&o, -EINVAL);
	o = good_core(), o.size = UINT32_MAX, core_refused(&o, -E2BIG);
	for (int bit = 0; bit < 32; bit++) {
		o = good_core();
		o.flags = 1u << bit;
		if (o.flags & known)
			continue;
		fpt_where("flag %#x", o.flags);
		core_refused(&o, -EOPNOTSUPP);
	}
	o = good_core(), o.policy = 6, core_refused(&o, -EOPNOTSUPP);
	o = good_core(), o.policy = UINT32_MAX, core_refused(&o, -EOPNOTSUPP);
	o = good_core(), o.idle = 3, core_refused(&o, -EOPNOTSUPP);
	o = good_core(), o.idle = UINT32_MAX, core_refused(&o, -EOPNOTSUPP);
	o = good_core(), o.cpu = LIBFP_SERVICE_CORE_CPU_MAX + 1,
	core_refused(&o, -EINVAL);
	o = good_core(), o.name = "", core_refused(&o, -EINVAL);
	o = good_core(), o.allocator = &bad, core_refused(&o, -EINVAL);
	memset(longest, 'n', sizeof(longest));
	longest[LIBFP_NAME_MAX + 1] = 0;
	o = good_core(), o.name = longest, core_refused(&o, -ENAMETOOLONG);
	future.o.size = sizeof(future);
	future.more = 1ull << 63;
	core_refused(&future.o, -E2BIG);
	future.more = 0;
	CHECK_EQ(fp_service_core_create(&future.o, NULL), -EINVAL);
	CHECK_EQ(fp_service_core_create(&future.o, &c), 0);
	CHECK_EQ(fp_service_core_destroy(c), 0);
	o = good_core(), o.name = "twice", o.flags = known;
	CHECK_EQ(fp_service_core_create(&o, &c), 0);
	CHECK_EQ(fp_service_core_create(&o, &(fp_service_core *){ NULL }), -EEXIST);
	CHECK_EQ(fp_service_core_destroy(c), 0);
}

static void priorities_go_with_policies(void)
{
	static const struct {
		uint32_t policy;
		int32_t least, most;
	} ranges[] = {
		{ LIBFP_SERVICE_CORE_POLICY_NONE, 0, 0 },
		{ LIBFP_SERVICE_CORE_POLICY_OTHER, -20, 19 },
		{ LIBFP_SERVICE_CORE_POLICY_FIFO, 1, 99 },
		{ LIBFP_SERVICE_CORE_POLICY_RR, 1, 99 },
		{ LIBFP_SERVICE_CORE_POLICY_BATCH, -20, 19 },
		{ LIBFP_SERVICE_CORE_POLICY_IDLE, -20, 19 },
	};

	for (size_t i = 0; i < FPT_LEN(ranges); i++)
		for (int32_t p = -25; p <= 105; p++) {
			fp_service_core_opts o = good_core();
			fp_service_core *c;

			fpt_where("policy %zu priority %d", i, p);
			o.policy = ranges[i].policy;
			o.priority = p;
			if (p < ranges[i].least || p > ranges[i].most) {
				core_refused(&o, -EINVAL);
				continue;
			}
			CHECK_EQ(fp_service_core_create(&o, &c), 0);
			CHECK_EQ(fp_service_core_destroy(c), 0);
		}
}

static void cpus_that_cannot_be(void)
{
	const uint32_t cpus[] = { 0, LIBFP_SERVICE_CORE_CPU_MAX,
				  LIBFP_SERVICE_CORE_CPU_MAX + 1 };
	fp_service_core *c = st_core(NULL);

	CHECK_EQ(fp_service_core_set_cpus(c, NULL, 1), -EINVAL);
	CHECK_EQ(fp_service_core_set_cpus(c, cpus, 3), -EINVAL);
	CHECK_EQ(fp_service_core_set_cpus(c, cpus, 2), 0);
	CHECK_EQ(fp_service_core_set_cpus(c, cpus, 0), 0);
	CHECK_EQ(fp_service_core_set_cpus(c, NULL, 0), 0);
	CHECK_EQ(fp_service_core_destroy(c), 0);
}

/* ---- statistics of any size ---- */

static void statistics_fill_what_the_caller_has(void)
{
	struct st_counter k = { 0 };
	fp_service *s = st_make(&k, NULL, 0);
	fp_service_core *c = st_core(NULL);
	fp_service_stats st;
	fp_service_map_stats ms;
	fp_service_core_stats cs;

	CHECK_EQ(fp_service_map(s, c), 0);
	CHECK_EQ(fp_service_get_stats(s, NULL), -EINVAL);
	CHECK_EQ(fp_service_get_map_stats(s, c, NULL), -EINVAL);
	CHECK_EQ(fp_service_core_get_stats(c, NULL), -EINVAL);
	for (uint32_t size = 0; size <= sizeof(st) + 8; size++) {
		uint32_t fills = size < sizeof(st) ? size & ~7u : (uint32_t)sizeof(st);

		fpt_where("size %u", size);
		memset(&st, 0x5a, sizeof(st));
		st.size = size;
		CHECK_EQ(fp_service_get_stats(s, &st), size < 8 ? -EINVAL : 0);
		CHECK_EQ(st.size, size < 8 ? size : fills);
		for (uint32_t i = size < 8 ? 4 : fills; i < sizeof(st); i++)
			CHECK_EQ(((unsigned char *)&st)[i], 0x5a);
	}
	for (uint32_t size = 0; size <= sizeof(ms) + 8; size++) {
		memset(&ms, 0x5a, sizeof(ms));
		ms.size = size;
		CHECK_EQ(fp_service_get_map_stats(s, c, &ms), size < 8 ? -EINVAL : 0);
		CHECK_EQ(ms.flags, size < 8 ? 0x5a5a5a5a : 0);
	}
	for (uint32_t size = 0; size <= sizeof(cs) + 8; size++) {
		memset(&cs, 0x5a, sizeof(cs));
		cs.size = size;
		CHECK_EQ(fp_service_core_get_stats(c, &cs), size < 8 ? -EINVAL : 0);
		CHECK_EQ(cs.flags, size < 8 ? 0x5a5a5a5a : 0);
	}
	CHECK_EQ(fp_service_unmap(s, c, 0), 0);
	ms.size = sizeof(ms);
	CHECK_EQ(fp_service_get_map_stats(s, c, &ms), -ENOENT);
	st_end(s);
	CHECK_EQ(fp_service_core_destroy(c), 0);
}

/* All memory comes from the allocator, bindings and snapshots from the core's. */
static void memory_comes_from_the_allocator(void)
{
	struct fpt_heap heap = { .fail_at = -1 }, core_heap = { .fail_at = -1 };
	fp_allocator a = fpt_heap_allocator(&heap), ca = fpt_heap_allocator(&core_heap);
	fp_service_core_opts co = good_core();
	fp_service_opts o = good();
	struct st_counter k = { 0 };
	fp_service_core *c;
	fp_service *s;

	o.allocator = &a;
	o.user = &k;
	co.allocator = &ca;
	CHECK_EQ(fp_service_create(&o, &s), 0);
	CHECK_EQ(fp_service_core_create(&co, &c), 0);
	memset(&ca, 0, sizeof(ca)); /* it was copied */
	memset(&a, 0, sizeof(a));
	CHECK(heap.live == 1 && core_heap.live == 1);
	st_on(s, c);
	CHECK_EQ(fp_service_core_start(c), 0);
	st_await_calls(&k, 10);
	CHECK(heap.live == 1 && core_heap.live >= 4);
	for (int i = 0; i < 50; i++) {
		CHECK_EQ(fp_service_stop(s, ST_LONG), 0);
		CHECK_EQ(fp_service_start(s), 0);
	}
	CHECK(core_heap.allocs > 100);
	st_end(s);
	CHECK_EQ(heap.live, 0);
	st_end_core(c);
	CHECK_EQ(core_heap.live, 0);
	CHECK_EQ(heap.bad + core_heap.bad, 0);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(no_call_takes_null_for_a_service),
		FPT_CASE(no_call_takes_null_for_a_core),
		FPT_CASE(options_of_services),
		FPT_CASE(options_of_cores),
		FPT_CASE(priorities_go_with_policies),
		FPT_CASE(cpus_that_cannot_be),
		FPT_CASE(statistics_fill_what_the_caller_has),
		FPT_CASE(memory_comes_from_the_allocator),
	};
	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
