/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Faults that rings of this kind have had in the field, each as a test named
 * after what it proves. The ids are those of the list the project keeps.
 *
 * In other files, since they need traffic:
 *   stress/test_ring_roles.c
 * Not applicable:
 *   R-29  no 128-bit compare-and-swap here
 * Of a lock-free stack, which libfp has not, but possible in a ring too, so
 * tested here.
 */
#include <pthread.h>

#include "hold.h"
#include "ring_test.h"

#define UNTOUCHED ((fp_ring *)(uintptr_t)0x1234)

/* */
static void a_bulk_through_the_common_call_enqueues_once(void)
{
	RT_EACH_MODE(m)
	for (uint32_t size = 4; size <= 16; size += 4) {
		fp_ring *r = rt_ring(16, size, m, 0);
		unsigned char buf[16 * 16];

		fpt_where("%s element %u", m->name, size);
		rt_fill(buf, size, 0, 6);
		CHECK_EQ(fp_ring_enqueue_bulk(r, buf, 6, NULL), 6);
		CHECK_EQ(fp_ring_count(r), 6);
		CHECK_EQ(fpi_ring_linear(r, r->prod->head.value), 6);
		CHECK_EQ(fpi_ring_linear(r, r->cons->head.value), 0);
		CHECK_EQ(rt_right(r->data, size, 0, 6), 6);
		CHECK_EQ(fp_ring_dequeue_bulk(r, buf, 6, NULL), 6);
		CHECK_EQ(fp_ring_count(r), 0);
		CHECK_EQ(fpi_ring_linear(r, r->cons->head.value), 6);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

/* */
static void a_partial_commit_moves_by_what_was_taken(void)
{
	for (int i = 0; i < 4; i += 2) {
		fp_ring *r = rt_ring(16, 8, &rt_modes[i], 0);
		uint64_t in = 0, out = 0, buf[16];
		fp_ring_span s;

		while (out < 300) {
			uint32_t room = (uint32_t)fp_ring_free_count(r);

			rt_fill(buf, 8, in, room);
			CHECK_EQ(fp_ring_enqueue_bulk(r, buf, room, NULL), room);
			in += room;
			CHECK_EQ(fp_ring_reserve_dequeue(r, 8, 0, &s), 8);
			CHECK_EQ(rt_span_right(&s, 8, out, 8), 8);
			CHECK_EQ(fp_ring_commit_dequeue(r, &s, 3), 3);
			out += 3;
		}
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

/* */
static void a_span_burst_is_best_effort_and_a_bulk_is_not(void)
{
	RT_EACH_MODE(m)
	{
		fp_ring *r = rt_ring(32, 8, m, 0);
		uint64_t buf[32] = { 0 };
		fp_ring_span s;

		CHECK_EQ(fp_ring_enqueue_bulk(r, buf, 27, NULL), 27);
		CHECK_EQ(fp_ring_reserve_enqueue(r, 32, LIBFP_RING_BULK, &s), 0);
		CHECK_EQ(fp_ring_reserve_enqueue(r, 32, 0, &s), 5);
		CHECK_EQ(fp_ring_commit_enqueue(r, &s, 5), 5);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

/* */
static void sizes_are_computed_in_64_bits(void)
{
	RT_EACH_MODE(m)
	{
		fp_ring_opts o = rt_opts(1u << 28, 64, m, 0);

		CHECK(fp_ring_memsize(&o) >= 1ll << 34);
		o.capacity = 1u << 30;
		o.elem_size = 4;
		CHECK(fp_ring_memsize(&o) >= 1ll << 32);
		CHECK(fp_ring_memsize(&o) < 3ll << 32);
	}
}

/* */
static void codes_are_negative_and_errno_is_left_alone(void)
{
	fp_ring_opts o = rt_opts(0, 8, &rt_modes[3], 0);
	fp_ring *r = UNTOUCHED;
	uint64_t e = 0;

	errno = 77;
	CHECK_EQ(fp_ring_create(&o, &r), -EINVAL);
	CHECK_EQ(fp_ring_memsize(&o), -EINVAL);
	CHECK_EQ(fp_ring_attach(NULL, 8, &r), -EINVAL);
	CHECK_EQ(fp_ring_lookup("none", &r), -ENOENT);
	o.capacity = LIBFP_RING_CAPACITY_MAX;
	o.elem_size = LIBFP_RING_ELEM_MAX;
	CHECK(fp_ring_create(&o, &r) == -ENOMEM || r != UNTOUCHED);
	CHECK_EQ(errno, 77);
	if (r != UNTOUCHED) /* an overcommitting kernel */
		CHECK_EQ(fp_ring_destroy(r), 0);
	o = rt_opts(4, 8, &rt_modes[3], LIBFP_MEM_HUGE | LIBFP_MEM_NODE);
	o.numa_node = 1000;
	CHECK_EQ(fp_ring_create(&o, &r), 0);
	CHECK_EQ(fp_ring_dequeue_u64(r, &e), 0);
	CHECK_EQ(fp_ring_destroy(r), 0);
	CHECK_EQ(errno, 77);
}

/* */
static void empty_is_0_and_bulk_is_all_or_0(void)
{
	RT_EACH_MODE(m)
	{
		fp_ring *r = rt_ring(8, 8, m, 0);
		uint64_t buf[8] = { 0 };

		CHECK_EQ(fp_ring_dequeue(r, buf), 0);
		CHECK_EQ(fp_ring_dequeue_u64(r, buf), 0);
		CHECK_EQ(fp_ring_dequeue_bulk(r, buf, 1, NULL), 0);
		CHECK_EQ(fp_ring_dequeue_burst(r, buf, 8, NULL), 0);
		CHECK_EQ(fp_ring_enqueue_bulk(r, buf, 3, NULL), 3);
		CHECK_EQ(fp_ring_dequeue_bulk(r, buf, 4, NULL), 0);
		CHECK_EQ(fp_ring_dequeue_bulk(r, buf, 3, NULL), 3);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

/* */
static void both_sides_stand_on_lines_of_their_own(void)
{
	RT_EACH_MODE(m)
	for (int own = 0; own < 2; own++) {
		struct fpt_heap heap = { .fail_at = -1 };
		fp_allocator a = fpt_heap_allocator(&heap);
		fp_ring_opts o = rt_opts(10, 8, m, 0);
		fp_ring *r = NULL;

		o.allocator = own ? &a : NULL;
		CHECK_EQ(fp_ring_create(&o, &r), 0);
		CHECK_EQ((uintptr_t)r % FPI_FALSE_SHARING, 0);
		CHECK_EQ((uintptr_t)r->state % FPI_FALSE_SHARING, 0);
		CHECK_EQ((uintptr_t)r->prod % FPI_FALSE_SHARING, 0);
		CHECK_EQ((uintptr_t)r->cons % FPI_FALSE_SHARING, 0);
		CHECK((char *)r->cons - (char *)r->prod >= FPI_FALSE_SHARING);
		CHECK_EQ((uintptr_t)r->gens % FPI_FALSE_SHARING, 0);
		CHECK_EQ((uintptr_t)r->data % FPI_FALSE_SHARING, 0);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

/* */
static void names_are_compared_whole(void)
{
	char a[65], b[65];
	fp_ring_opts o = rt_opts(4, 8, &rt_modes[3], 0);
	fp_ring *ra = NULL, *rb = NULL, *found = UNTOUCHED;

	memset(a, 'n', 64);
	a[64] = 0;
	o.name = a;
	CHECK_EQ(fp_ring_create(&o, &ra), -ENAMETOOLONG);
	CHECK_EQ(fp_ring_lookup(a, &found), -ENOENT);
	a[63] = 0;
	memcpy(b, a, sizeof(b));
	b[62] = 'x'; /* only the last character differs */
	CHECK_EQ(fp_ring_create(&o, &ra), 0);
	CHECK_EQ(fp_ring_create(&o, &rb), -EEXIST);
	o.name = b;
	CHECK_EQ(fp_ring_create(&o, &rb), 0);
	CHECK(!strcmp(fp_ring_name(ra), a) && !strcmp(fp_ring_name(rb), b));
	CHECK_EQ(fp_ring_lookup(a, &found), 0);
	CHECK(found == ra);
	CHECK_EQ(fp_ring_lookup(b, &found), 0);
	CHECK(found == rb);
	CHECK_EQ(fp_ring_unref(ra), 0);
	CHECK_EQ(fp_ring_unref(rb), 0);
	found = UNTOUCHED;
	memset(a, 'n', 64); /* 64 characters, the first 63 exist */
	CHECK_EQ(fp_ring_lookup(a, &found), -ENOENT);
	CHECK(found == UNTOUCHED);
	CHECK_EQ(fp_ring_destroy(ra), 0);
	CHECK_EQ(fp_ring_destroy(rb), 0);
}

/* */
static void a_bulk_that_ends_at_the_last_slot_does_not_wrap(void)
{
	RT_EACH_MODE(m)
	for (uint32_t cap = 2; cap <= 40; cap++)
		for (uint32_t n = 1; n < cap; n++) {
			fp_ring *r = rt_ring(cap, 8, m, 0);
			uint64_t buf[40];
			fp_ring_span s;

			fpt_where("%s capacity %u n %u", m->name, cap, n);
			CHECK_EQ(fp_ring_enqueue_bulk(r, buf, cap - n, NULL), cap - n);
			CHECK_EQ(fp_ring_dequeue_bulk(r, buf, cap - n, NULL), cap - n);
			rt_fill(buf, 8, 7, n);
			CHECK_EQ(fp_ring_enqueue_bulk(r, buf, n, NULL), n);
			CHECK_EQ(fpi_ring_index(r, r->prod->head.value), 0);
			CHECK_EQ(fp_ring_reserve_dequeue(r, n, LIBFP_RING_BULK, &s), n);
			CHECK_EQ(s.n1, n);
			CHECK_EQ(s.n2, 0);
			CHECK_EQ(rt_span_right(&s, 8, 7, n), n);
			CHECK_EQ(fp_ring_commit_dequeue(r, &s, n), n);
			rt_fill(buf, 8, 9, cap);
			CHECK_EQ(fp_ring_enqueue_bulk(r, buf, cap, NULL), cap);
			CHECK_EQ(fp_ring_dequeue_bulk(r, buf, cap, NULL), cap);
			CHECK_EQ(rt_right(buf, 8, 9, cap), cap);
			CHECK_EQ(fp_ring_destroy(r), 0);
		}
}

/* R-21, L-01 */
static void a_half_made_ring_is_never_found(void)
{
	struct fpt_heap heap = { .fail_at = -1 };
	fp_allocator a = fpt_heap_allocator(&heap);
	fp_ring_opts good = rt_opts(4, 8, &rt_modes[3], 0), bad[6];
	fp_ring *r = UNTOUCHED;

	good.name = "half made";
	good.allocator = &a;
	for (int i = 0; i < 6; i++)
		bad[i] = good;
	bad[0].flags = 1u << 31;
	bad[1].flags = 1u << 9;
	bad[2].producer = LIBFP_ST | 2;
	bad[3].consumer = 0x10;
	bad[4].elem_size = 6;
	bad[5].capacity = 0;
	for (int i = 0; i < 6; i++) {
		int rc = fp_ring_create(&bad[i], &r);

		fpt_where("case %d", i);
		CHECK_EQ(rc, i < 4 ? -EOPNOTSUPP : -EINVAL);
		CHECK(r == UNTOUCHED);
		CHECK_EQ(fp_ring_lookup("half made", &r), -ENOENT);
		CHECK_EQ(heap.live, 0);
	}
	CHECK_EQ(fp_ring_create(&good, &r), 0);
	CHECK_EQ(fp_ring_destroy(r), 0);
	CHECK_EQ(heap.live, 0);
}

/* */
static void a_ring_of_1024_holds_1024(void)
{
	RT_EACH_MODE(m)
	{
		fp_ring *r = rt_ring(1024, 8, m, 0);

		for (uint64_t i = 0; i < 1024; i++)
			CHECK_EQ(fp_ring_enqueue_u64(r, i), 1);
		CHECK_EQ(fp_ring_enqueue_u64(r, 0), 0);
		CHECK_EQ(fp_ring_count(r), 1024);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

/* ---- a thread that missed whole laps ---- */

struct sleeper {
	fp_ring *r;
	struct fpt_hold hold;
	uint64_t elem;
	int32_t got;
	int consumer, bulk;
	pthread_t thread;
};

static void *sleep_in_a_call(void *arg)
{
	struct sleeper *s = arg;

	fpt_hold_me(&s->hold);
	if (s->consumer)
		s->got = s->bulk ? fp_ring_dequeue_bulk(s->r, &s->elem, 1, NULL) :
				   fp_ring_dequeue_u64(s->r, &s->elem);
	else
		s->got = s->bulk ? fp_ring_enqueue_bulk(s->r, &s->elem, 1, NULL) :
				   fp_ring_enqueue_u64(s->r, s->elem);
	fpt_hold_done(&s->hold);
	return NULL;
}

static void start_sleeper(struct sleeper *s, const char *step)
{
	fpt_hold_init(&s->hold, step);
	CHECK_EQ(pthread_create(&s->thread, NULL, sleep_in_a_call, s), 0);
	CHECK_EQ(fpt_hold_reached(&s->hold), 1);
}

static void wake_sleeper(struct sleeper *s)
{
	fpt_hold_release(&s->hold);
	pthread_join(s->thread, NULL);
	fpt_hold_end(&s->hold);
}

/*
 * The sleeper has checked its slot and not claimed it; then the slot comes
 * round again, also after exactly as many laps as generations have. It must
 * notice, look again, and return.
 */
static void whole_laps_missed_between_check_and_claim_are_noticed(void)
{
	for (int i = 1; i < 4; i++)
		for (int bulk = 0; bulk < 2; bulk++)
			for (uint32_t laps = 1; laps <= 129; laps += laps < 3 ? 1 : 61)
				for (uint32_t cap = 1; cap <= 4; cap++) {
					struct sleeper s = { .bulk = bulk };
					uint64_t e = 0, next = 1;

					fpt_where("%s bulk %d laps %u capacity %u",
						  rt_modes[i].name, bulk, laps, cap);
					s.r = rt_ring(cap, 8, &rt_modes[i], 0);
					if (rt_modes[i].producer == LIBFP_MT) {
						s.elem = 1000;
						start_sleeper(&s, "GENS_P_CHECKED");
						for (uint32_t k = 0; k < laps * cap;
						     k++) {
							CHECK_EQ(fp_ring_enqueue_u64(s.r,
										     k),
								 1);
							CHECK_EQ(fp_ring_dequeue_u64(s.r,
										     &e),
								 1);
							CHECK_EQ(e, k);
						}
						wake_sleeper(&s);
						CHECK_EQ(s.got, 1);
						CHECK_EQ(fp_ring_count(s.r), 1);
						CHECK_EQ(fp_ring_dequeue_u64(s.r, &e), 1);
						CHECK_EQ(e, 1000);
					}
					if (rt_modes[i].consumer == LIBFP_MT) {
						s.consumer = 1;
						CHECK_EQ(fp_ring_enqueue_u64(s.r, 0), 1);
						start_sleeper(&s, "GENS_C_CHECKED");
						for (uint32_t k = 0; k < laps * cap;
						     k++) {
							CHECK_EQ(fp_ring_dequeue_u64(s.r,
										     &e),
								 1);
							CHECK_EQ(e, next - 1);
							CHECK_EQ(fp_ring_enqueue_u64(
									 s.r, next++),
								 1);
						}
						wake_sleeper(&s);
						CHECK_EQ(s.got, 1);
						CHECK_EQ(s.elem, next - 1);
						CHECK_EQ(fp_ring_count(s.r), 0);
					}
					CHECK_EQ(fp_ring_destroy(s.r), 0);
				}
}

/* what it wanted is gone: it says so, it does not look for ever. */
static void a_consumer_that_lost_the_last_element_returns(void)
{
	for (int i = 1; i < 4; i += 2) {
		struct sleeper s = { .consumer = 1 };
		uint64_t e;

		s.r = rt_ring(4, 8, &rt_modes[i], 0);
		CHECK_EQ(fp_ring_enqueue_u64(s.r, 5), 1);
		start_sleeper(&s, "GENS_C_CHECKED");
		CHECK_EQ(fp_ring_dequeue_u64(s.r, &e), 1);
		wake_sleeper(&s);
		CHECK_EQ(s.got, 0);
		CHECK_EQ(fp_ring_destroy(s.r), 0);
	}
}

/* ---- weak spots ---- */

/* L-02 */
static void limits_hold_on_every_path(void)
{
	static const uint32_t caps[] = { 0, (1u << 30) + 1, 0x80000000, UINT32_MAX - 1,
					 UINT32_MAX };
	static _Alignas(LIBFP_RING_ALIGN) unsigned char mem[1 << 16];
	fp_ring *r = UNTOUCHED;

	RT_EACH_MODE(m)
	{
		fp_ring_opts o = rt_opts(1, 8, m, 0);

		for (size_t i = 0; i < FPT_LEN(caps); i++) {
			o.capacity = caps[i];
			CHECK_EQ(fp_ring_create(&o, &r), -EINVAL);
			CHECK_EQ(fp_ring_init(mem, sizeof(mem), &o, &r), -EINVAL);
			CHECK_EQ(fp_ring_memsize(&o), -EINVAL);
		}
		CHECK(r == UNTOUCHED);
		o.capacity = 3;
		o.elem_size = 0; /* the default, not a ring of nothing */
		CHECK_EQ(fp_ring_init(mem, sizeof(mem), &o, &r), 0);
		CHECK_EQ(fp_ring_elem_size(r), 8);
		CHECK_EQ(fp_ring_destroy(r), 0);
		r = UNTOUCHED;
	}
}

/* L-03 */
static void more_than_was_reserved_is_an_error_and_keeps_the_span(void)
{
	RT_EACH_MODE(m)
	{
		fp_ring *r = rt_ring(8, 8, m, 0);
		uint64_t e = 3;
		fp_ring_span s;

		CHECK_EQ(fp_ring_reserve_enqueue(r, 2, 0, &s), 2);
		CHECK_EQ(fp_ring_commit_enqueue(r, &s, 3), -EINVAL);
		rt_span_fill(&s, 8, 0, 2);
		CHECK_EQ(fp_ring_commit_enqueue(r, &s, 2), 2);
		CHECK_EQ(fp_ring_reserve_dequeue(r, 2, 0, &s), 2);
		CHECK_EQ(fp_ring_commit_dequeue(r, &s, 3), -EINVAL);
		CHECK_EQ(fp_ring_commit_dequeue(r, &s, 2), 2);
		/* a call of the wrong mode says so instead of "empty" for ever */
		CHECK_EQ(fp_ring_peek(r, &e, 1),
			 m->consumer == LIBFP_ST ? 0 : -EOPNOTSUPP);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

/* Counters are 64 bits wide. */
static void counters_pass_2_to_the_32(void)
{
	RT_EACH_MODE(m)
	{
		fp_ring *r = rt_ring(1000, 8, m, 0);
		uint64_t e;

		fpi_ring_start_at(r, 1ull << 33);
		CHECK_EQ(fp_ring_enqueue_u64(r, 1), 1);
		CHECK_EQ(fp_ring_enqueue_u64(r, 2), 1);
		CHECK_EQ(fp_ring_dequeue_u64(r, &e), 1);
		CHECK_EQ(rt_stats(r).enqueued, (1000ull << 33) + 2);
		CHECK_EQ(rt_stats(r).dequeued, (1000ull << 33) + 1);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(a_bulk_through_the_common_call_enqueues_once),
		FPT_CASE(a_partial_commit_moves_by_what_was_taken),
		FPT_CASE(a_span_burst_is_best_effort_and_a_bulk_is_not),
		FPT_CASE(sizes_are_computed_in_64_bits),
		FPT_CASE(codes_are_negative_and_errno_is_left_alone),
		FPT_CASE(empty_is_0_and_bulk_is_all_or_0),
		FPT_CASE(both_sides_stand_on_lines_of_their_own),
		FPT_CASE(names_are_compared_whole),
		FPT_CASE(a_bulk_that_ends_at_the_last_slot_does_not_wrap),
		FPT_CASE(a_half_made_ring_is_never_found),
		FPT_CASE(a_ring_of_1024_holds_1024),
		FPT_CASE(whole_laps_missed_between_check_and_claim_are_noticed),
		FPT_CASE(a_consumer_that_lost_the_last_element_returns),
		FPT_CASE(limits_hold_on_every_path),
		FPT_CASE(more_than_was_reserved_is_an_error_and_keeps_the_span),
		FPT_CASE(counters_pass_2_to_the_32),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
