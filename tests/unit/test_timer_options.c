/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Options of a wheel: defaults, every refusal, names, how many timers it holds, where its
 * memory comes from, and what create and destroy leave behind.
 */
#include <stddef.h>

#include "timer_test.h"

#define FIRST_SIZE 56 /* of fp_timer_wheel_opts as first published */

/* Refused with this code, one line in the log, nothing written. */
static void refused(const fp_timer_wheel_opts *o, int code)
{
	fp_timer_wheel *w = TT_UNTOUCHED;

	fpt_log_begin();
	CHECK_EQ(fp_timer_wheel_create(o, &w), code);
	CHECK(w == TT_UNTOUCHED);
	CHECK_EQ(fpt_log.lines, 1);
	fpt_log_end();
}

static void init_fills_in_the_size_and_zeroes(void)
{
	fp_timer_wheel_opts o, zero = LIBFP_TIMER_WHEEL_OPTS_INIT;
	uint64_t longer[sizeof(o) / 8 + 4];
	unsigned char *bytes = (unsigned char *)longer;

	CHECK_EQ(sizeof(o), FIRST_SIZE);
	memset(&o, 0x55, sizeof(o));
	CHECK_EQ(fp_timer_wheel_opts_init(&o, sizeof(o)), 0);
	CHECK(!memcmp(&o, &zero, sizeof(o)));
	CHECK_EQ(fp_timer_wheel_opts_init(NULL, sizeof(o)), -EINVAL);
	CHECK_EQ(fp_timer_wheel_opts_init(&o, FIRST_SIZE - 1), -EINVAL);
	CHECK_EQ(fp_timer_wheel_opts_init(&o, 0), -EINVAL);
	CHECK_EQ(fp_timer_wheel_opts_init(&o, (1u << 20) + 1), -E2BIG);
	CHECK(!memcmp(&o, &zero, sizeof(o)));
	memset(longer, 0x55, sizeof(longer));
	CHECK_EQ(fp_timer_wheel_opts_init((void *)longer, sizeof(longer) - 8), 0);
	for (size_t i = 4; i < sizeof(longer); i++)
		CHECK_EQ(bytes[i], i < sizeof(longer) - 8 ? 0 : 0x55);
}

static void options_of_other_sizes(void)
{
	union {
		fp_timer_wheel_opts o;
		unsigned char bytes[sizeof(fp_timer_wheel_opts) + 64];
	} u;

	memset(&u, 0, sizeof(u));
	u.o.size = sizeof(u); /* a newer caller that asks for nothing new */
	tt_end(tt_create(&u.o));
	u.bytes[sizeof(u) - 1] = 1;
	refused(&u.o, -E2BIG);
	u.o.size = (1u << 20) + 1;
	refused(&u.o, -E2BIG);
	u.o.size = FIRST_SIZE - 1;
	refused(&u.o, -EINVAL);
	u.o.size = 0;
	refused(&u.o, -EINVAL);
	memmove(u.bytes + 4, &(fp_timer_wheel_opts){ .size = FIRST_SIZE }, FIRST_SIZE);
	refused((const void *)(u.bytes + 4), -EINVAL); /* misaligned */
	refused((const void *)(u.bytes + 1), -EINVAL);
	u.o = tt_opts(0, 10);
	CHECK_EQ(fp_timer_wheel_create(&u.o, NULL), -EINVAL);
	CHECK_EQ(fp_timer_wheel_create(NULL, NULL), -EINVAL);
}

static void bad_numbers_are_refused(void)
{
	fp_timer_wheel_opts o = tt_opts(0, 0);

	o.max_timers = LIBFP_WHEEL_TIMERS_MAX + 1;
	refused(&o, -EINVAL);
	o.max_timers = UINT32_MAX;
	refused(&o, -EINVAL);
	o = tt_opts(0, LIBFP_WHEEL_TIMERS_MAX + 1);
	refused(&o, -EINVAL);
	o = tt_opts(0, UINT32_MAX);
	refused(&o, -EINVAL);
	o.max_timers = UINT32_MAX;
	refused(&o, -EINVAL);
	o = tt_opts(0, 11);
	o.max_timers = 10;
	refused(&o, -EINVAL);
	o = tt_opts(0, 10);
	o.reserved0 = 1;
	refused(&o, -EINVAL);
	o.reserved0 = 1u << 31;
	refused(&o, -EINVAL);
}

static void undefined_flags_are_refused(void)
{
	const uint32_t known = LIBFP_STATS | LIBFP_MEM_HUGE | LIBFP_MEM_PREFAULT |
			       LIBFP_MEM_NODE | LIBFP_WHEEL_START_AT | LIBFP_WHEEL_WAIT;

	for (int bit = 0; bit < 32; bit++) {
		fp_timer_wheel_opts o = tt_opts(0, 10);

		o.flags = 1u << bit;
		fpt_where("bit %d", bit);
		if (known >> bit & 1)
			tt_end(tt_create(&o));
		else
			refused(&o, -EOPNOTSUPP);
	}
}

static void bad_allocators_are_refused(void)
{
	struct fpt_heap heap = { .fail_at = -1 };
	fp_allocator good = fpt_heap_allocator(&heap), a;
	fp_timer_wheel_opts o = tt_opts(0, 10);

	o.allocator = &a;
	a = good;
	a.size = 0;
	refused(&o, -EINVAL);
	a = good;
	a.alloc = NULL;
	refused(&o, -EINVAL);
	a = good;
	a.free = NULL;
	refused(&o, -EINVAL);
	a = good;
	a.flags = 1;
	refused(&o, -EOPNOTSUPP);
	CHECK_EQ(heap.allocs, 0);
}

/* All combinations of the flags that there are: each makes a wheel that works. */
static void every_combination_of_flags_works(void)
{
	static const uint32_t flags[] = { LIBFP_STATS,		LIBFP_MEM_HUGE,
					  LIBFP_MEM_PREFAULT,	LIBFP_MEM_NODE,
					  LIBFP_WHEEL_START_AT, LIBFP_WHEEL_WAIT };

	for (uint32_t set = 0; set < 1u << FPT_LEN(flags); set++) {
		fp_timer_wheel_opts o = LIBFP_TIMER_WHEEL_OPTS_INIT;
		fp_timer_wheel *w;
		uint64_t id;

		for (size_t i = 0; i < FPT_LEN(flags); i++)
			if (set >> i & 1)
				o.flags |= flags[i];
		fpt_where("flags %#x", o.flags);
		o.capacity = 40;
		o.max_timers = set % 3 ? 0 : 100;
		o.numa_node = set % 5 == 0 ? 5000 : 0;
		w = tt_create(&o);
		id = tt_armed(w, 7, UINT64_MAX - 1);
		CHECK_EQ(tt_stats(w).flags,
			 o.flags & LIBFP_STATS ? LIBFP_WHEEL_STATS_COUNTED : 0);
		CHECK_EQ(tt_poll(w, UINT64_MAX - 2), 0);
		CHECK_EQ(tt_poll(w, UINT64_MAX - 1), 1);
		TT_FIRED(7);
		CHECK_EQ(fp_timer_destroy(w, id), 0);
		tt_end(w);
	}
}

/* ---- how many timers ---- */

static uint64_t ids[100001];

/* Holds so many timers, and one more for each that is destroyed. */
static void holds(const fp_timer_wheel_opts *o, int32_t n)
{
	fp_timer_wheel *w = tt_create(o);
	uint64_t id = TT_NO_TICK;

	CHECK_EQ(tt_stats(w).max_timers, n);
	CHECK_EQ(tt_stats(w).timers, 0);
	CHECK_EQ(fp_timer_create_bulk(w, NULL, NULL, ids, (uint32_t)n - 1), n - 1);
	CHECK_EQ(fp_timer_create(w, tt_note, NULL, &ids[n - 1]), 0);
	CHECK_EQ(tt_stats(w).timers, n);
	CHECK_EQ(fp_timer_create(w, tt_note, NULL, &id), -ENOMEM);
	CHECK(id == TT_NO_TICK);
	CHECK_EQ(fp_timer_create_bulk(w, NULL, NULL, &id, 1), 0);
	CHECK_EQ(fp_timer_create_bulk(w, NULL, NULL, &id, 0), 0);
	CHECK(id == TT_NO_TICK);
	for (int32_t i = 0; i < n; i += 1 + n / 10) {
		CHECK_EQ(fp_timer_destroy(w, ids[i]), 0);
		CHECK_EQ(fp_timer_create_bulk(w, NULL, NULL, &ids[i], 1), 1);
		CHECK_EQ(fp_timer_create(w, tt_note, NULL, &id), -ENOMEM);
	}
	for (int32_t i = 0; i < n; i++)
		CHECK_EQ(fp_timer_arm(w, ids[i], (uint64_t)i), 0);
	CHECK_EQ(fp_timer_wheel_count(w), n);
	CHECK_EQ(tt_poll(w, UINT64_MAX), n);
	tt_forget();
	tt_end(w);
}

static void so_many_timers(void)
{
	fp_timer_wheel_opts o = LIBFP_TIMER_WHEEL_OPTS_INIT;

	o.flags = LIBFP_WHEEL_START_AT;
	holds(&o, LIBFP_WHEEL_TIMERS_DEFAULT);
	o.max_timers = 1;
	holds(&o, 1);
	o.max_timers = 100; /* fewer than are expected by default */
	holds(&o, 100);
	o.max_timers = 100000;
	holds(&o, 100000);
	o.capacity = 10;
	o.max_timers = 0;
	holds(&o, 10);
	o.max_timers = 20;
	holds(&o, 20);
	o.max_timers = 10;
	holds(&o, 10);
	o.capacity = 1;
	o.max_timers = 3000;
	o.flags |= LIBFP_MEM_PREFAULT;
	holds(&o, 3000);
	for (uint32_t n = 2; n < 70; n++) {
		o.capacity = n;
		o.max_timers = 0;
		holds(&o, (int32_t)n);
	}
}

/* Without options, with the clock. */
static void all_defaults(void)
{
	fp_timer_wheel *w = tt_create(NULL);
	uint64_t now = 0, id;

	CHECK_EQ(fp_timer_wheel_tick_ns(w), LIBFP_WHEEL_TICK_NS_DEFAULT);
	CHECK_EQ(tt_stats(w).max_timers, LIBFP_WHEEL_TIMERS_DEFAULT);
	CHECK_EQ(tt_stats(w).flags, 0);
	CHECK(fp_timer_wheel_name(w) == NULL);
	CHECK_EQ(fp_timer_wheel_now(w, &now), 0);
	id = tt_armed(w, 1, 0);
	CHECK_EQ(tt_poll(w, 0), 0); /* before the start, which was now */
	CHECK_EQ(fp_timer_is_pending(w, id), 1);
	CHECK_EQ(tt_poll(w, now), 1);
	TT_FIRED(1);
	tt_end(w);
}

/* A destroyed timer's place is taken again, whatever became of the timer before. */
static void places_are_used_again(void)
{
	for (uint32_t n = 1; n < 40; n += 6) {
		fp_timer_wheel *w = tt_wheel(0, n);
		uint64_t now = 0;

		for (int lap = 0; lap < 300; lap++) {
			CHECK_EQ(fp_timer_create_bulk(w, tt_note, NULL, ids, n), n);
			for (uint32_t i = 0; i < n; i++)
				if ((i + (uint32_t)lap) % 3)
					CHECK_EQ(fp_timer_arm(w, ids[i], now + i), 0);
			if (lap % 2)
				CHECK(tt_poll(w, now + n / 2) >= 0);
			tt_forget();
			CHECK_EQ(fp_timer_destroy_bulk(w, ids, n, NULL), n);
			CHECK_EQ(fp_timer_wheel_count(w), 0);
			now += n;
			CHECK_EQ(tt_poll(w, now), 0);
			CHECK_EQ(tt_stats(w).timers, 0);
		}
		tt_end(w);
	}
}

/* ---- memory ---- */

static void every_byte_is_given_back(void)
{
	static const uint32_t counts[] = { 1, 2, 100, 5000 };

	for (uint32_t k = 0; k < 2 * FPT_LEN(counts); k++) {
		struct fpt_heap heap = { .fail_at = -1 };
		fp_allocator a = fpt_heap_allocator(&heap);
		uint32_t n = counts[k / 2];
		fp_timer_wheel_opts o = tt_opts(0, n);
		fp_timer_wheel *w;
		uint64_t allocs;

		fpt_where("%u timers", n);
		o.flags |= k % 2 ? LIBFP_MEM_PREFAULT | LIBFP_MEM_HUGE : 0;
		o.allocator = &a;
		o.name = "of a heap";
		w = tt_create(&o);
		CHECK(heap.live > 0);
		CHECK(tt_stats(w).memory <= heap.live_bytes);
		CHECK(tt_stats(w).memory >= 64 * (uint64_t)n);
		CHECK_EQ(fp_timer_create_bulk(w, NULL, NULL, ids, n), n);
		/* From here on nothing takes memory: arming cannot fail. */
		allocs = heap.allocs;
		heap.fail_at = (int64_t)allocs;
		for (uint64_t lap = 0; lap < 5; lap++) {
			for (uint64_t i = 0; i < n; i++)
				CHECK_EQ(fp_timer_arm(w, ids[i],
						      lap * 1000000000u + (i << lap * 4)),
					 0);
			CHECK_EQ(fp_timer_wheel_poll(w, (lap + 1) * 1000000000u - 1, 1),
				 1);
			CHECK_EQ(tt_poll(w, (lap + 1) * 1000000000u - 1), n - 1);
		}
		for (uint64_t i = 0; i < n; i++)
			CHECK_EQ(fp_timer_arm(w, ids[i], UINT64_MAX - i * i), 0);
		CHECK_EQ(heap.allocs, allocs);
		CHECK(tt_stats(w).memory_used <= tt_stats(w).memory);
		CHECK(tt_stats(w).memory_used >= 64 * (uint64_t)n);
		tt_end(w); /* with timers that are armed */
		CHECK_EQ(heap.live, 0);
		CHECK_EQ(heap.live_bytes, 0);
		CHECK_EQ(heap.bad, 0);
	}
}

/* Every allocation fails once: -ENOMEM, nothing left, and the same call works later. */
static void no_memory(void)
{
	int made = 0;

	for (int64_t at = 0; !made; at++) {
		struct fpt_heap heap = { .fail_at = at };
		fp_allocator a = fpt_heap_allocator(&heap);
		fp_timer_wheel_opts o = tt_opts(0, 5000);
		fp_timer_wheel *w = TT_UNTOUCHED, *found = TT_UNTOUCHED;
		int rc;

		fpt_where("failing allocation %d", (int)at);
		o.allocator = &a;
		o.name = "no memory";
		o.flags |= LIBFP_WHEEL_WAIT;
		rc = fp_timer_wheel_create(&o, &w);
		if (rc) {
			CHECK_EQ(rc, -ENOMEM);
			CHECK(w == TT_UNTOUCHED);
			CHECK_EQ(heap.live, 0);
			CHECK_EQ(fp_timer_wheel_lookup("no memory", &found), -ENOENT);
		} else {
			int32_t n = 0, more;

			made = heap.allocs <= (uint64_t)at;
			while ((more = fp_timer_create_bulk(w, NULL, NULL, ids, 100)))
				n += more;
			CHECK_EQ(n, 5000);
			made |= heap.allocs <= (uint64_t)at;
			tt_end(w);
		}
		CHECK_EQ(heap.live, 0);
		CHECK_EQ(heap.bad, 0);
		CHECK(at < 1000);
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

static void wheels_come_and_go_in_flat_memory(void)
{
	static const uint32_t flags[] = { 0, LIBFP_STATS, LIBFP_WHEEL_WAIT };
	int laps = (int)fpt_scale(10000, 100000);
	long before = 0;

	for (int i = 0; i < laps + 1000; i++) {
		fp_timer_wheel_opts o = tt_opts(0, 200);
		fp_timer_wheel *w;
		uint64_t id;

		o.flags |= flags[i % (int)FPT_LEN(flags)];
		w = tt_create(&o);
		id = tt_armed(w, 1, 100);
		CHECK_EQ(tt_poll(w, i % 2 ? 100 : 99), i % 2);
		if (i % 5 == 0)
			CHECK_EQ(fp_timer_destroy(w, id), i % 2 == 0);
		tt_forget();
		tt_end(w);
		if (i == 1000)
			before = resident_pages();
	}
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	printf("  resident memory is not looked at in this build: sanitizers keep what "
	       "was freed\n");
	(void)before;
#else
	/* A wheel of these is at least two pages. */
	CHECK(resident_pages() - before < 2000);
#endif
}

/* ---- names ---- */

static void names_are_found_and_given_back(void)
{
	char text[LIBFP_NAME_MAX + 2];
	fp_timer_wheel_opts o = tt_opts(0, 10);
	fp_timer_wheel *w, *found = TT_UNTOUCHED;

	o.name = "wheel of names";
	w = tt_create(&o);
	CHECK(!strcmp(fp_timer_wheel_name(w), "wheel of names"));
	CHECK(fp_timer_wheel_name(w) != o.name);
	refused(&o, -EEXIST);
	CHECK_EQ(fp_timer_wheel_lookup("wheel of name", &found), -ENOENT);
	CHECK_EQ(fp_timer_wheel_lookup(NULL, &found), -EINVAL);
	CHECK_EQ(fp_timer_wheel_lookup("wheel of names", NULL), -EINVAL);
	CHECK(found == TT_UNTOUCHED);
	CHECK_EQ(fp_timer_wheel_unref(w), -EINVAL);
	CHECK_EQ(fp_timer_wheel_lookup("wheel of names", &found), 0);
	CHECK(found == w);
	CHECK_EQ(fp_timer_wheel_lookup("wheel of names", &found), 0);
	CHECK_EQ(fp_timer_wheel_destroy(w), -EBUSY);
	CHECK_EQ(fp_timer_wheel_unref(w), 0);
	CHECK_EQ(fp_timer_wheel_destroy(w), -EBUSY);
	tt_armed(w, 3, 1); /* nothing changed */
	CHECK_EQ(tt_poll(w, 1), 1);
	TT_FIRED(3);
	CHECK_EQ(fp_timer_wheel_unref(w), 0);
	CHECK_EQ(fp_timer_wheel_unref(w), -EINVAL);
	tt_end(w);
	CHECK_EQ(fp_timer_wheel_lookup("wheel of names", &found), -ENOENT);

	memset(text, 'n', sizeof(text));
	text[sizeof(text) - 1] = 0;
	o.name = text;
	refused(&o, -ENAMETOOLONG);
	text[LIBFP_NAME_MAX] = 0;
	w = tt_create(&o);
	CHECK(!strcmp(fp_timer_wheel_name(w), text));
	tt_end(w);
	o.name = "";
	refused(&o, -EINVAL);
	o.name = NULL;
	w = tt_create(&o);
	CHECK(fp_timer_wheel_name(w) == NULL);
	CHECK_EQ(fp_timer_wheel_unref(w), -EINVAL);
	tt_end(w);
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(init_fills_in_the_size_and_zeroes),
		FPT_CASE(options_of_other_sizes),
		FPT_CASE(bad_numbers_are_refused),
		FPT_CASE(undefined_flags_are_refused),
		FPT_CASE(bad_allocators_are_refused),
		FPT_CASE(every_combination_of_flags_works),
		FPT_CASE(so_many_timers),
		FPT_CASE(all_defaults),
		FPT_CASE(places_are_used_again),
		FPT_CASE(every_byte_is_given_back),
		FPT_CASE(no_memory),
		FPT_CASE(wheels_come_and_go_in_flat_memory),
		FPT_CASE(names_are_found_and_given_back),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
