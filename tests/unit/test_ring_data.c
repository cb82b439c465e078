/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What goes in comes out: every mode pair, element size, alignment of the
 * caller's table, burst length and kind of call, with both copy routines; the
 * wraps of the index, the lap and the generation, by starting near them.
 */
#include "base/copy.h"
#include "ring_test.h"

/* How elements are moved. */
enum how { SINGLE, BULK, BURST, HOWS };

static int32_t put(fp_ring *r, enum how how, const unsigned char *elems, uint32_t n,
		   uint32_t *free_after)
{
	if (how == BULK)
		return fp_ring_enqueue_bulk(r, elems, n, free_after);
	if (how == BURST)
		return fp_ring_enqueue_burst(r, elems, n, free_after);
	for (uint32_t i = 0; i < n; i++)
		if (fp_ring_enqueue(r, elems + (size_t)i * r->elem_size) != 1)
			return (int32_t)i;
	*free_after = (uint32_t)fp_ring_free_count(r);
	return (int32_t)n;
}

static int32_t get(fp_ring *r, enum how how, unsigned char *elems, uint32_t n,
		   uint32_t *left_after)
{
	if (how == BULK)
		return fp_ring_dequeue_bulk(r, elems, n, left_after);
	if (how == BURST)
		return fp_ring_dequeue_burst(r, elems, n, left_after);
	for (uint32_t i = 0; i < n; i++)
		if (fp_ring_dequeue(r, elems + (size_t)i * r->elem_size) != 1)
			return (int32_t)i;
	*left_after = (uint32_t)fp_ring_count(r);
	return (int32_t)n;
}

/*
 * Keeps `level` elements inside and moves n in and n out, until `rounds` are
 * done. *next is the number of the next element; the ring is empty before and
 * after.
 */
static void pump(fp_ring *r, struct rt_table *t, enum how how, uint32_t level, uint32_t n,
		 uint32_t rounds, uint64_t *next)
{
	uint32_t cap = (uint32_t)fp_ring_capacity(r), size = r->elem_size, after;
	uint64_t out = *next;

	if (level) {
		rt_fill(t->at, size, *next, level);
		CHECK_EQ(put(r, how, t->at, level, &after), level);
		*next += level;
	}
	for (uint32_t i = 0; i < rounds; i++) {
		rt_fill(t->at, size, *next, n);
		after = UINT32_MAX;
		CHECK_EQ(put(r, how, t->at, n, &after), n);
		CHECK_EQ(after, cap - level - n);
		*next += n;
		CHECK_EQ(fp_ring_count(r), level + n);
		CHECK_EQ(fp_ring_free_count(r), cap - level - n);
		CHECK_EQ(fp_ring_is_full(r), level + n == cap);
		CHECK_EQ(fp_ring_is_empty(r), 0);

		rt_table_wipe(t);
		after = UINT32_MAX;
		CHECK_EQ(get(r, how, t->at, n, &after), n);
		CHECK_EQ(after, level);
		CHECK_EQ(rt_right(t->at, size, out, n), n);
		CHECK(rt_table_clean(t, (size_t)n * size));
		out += n;
	}
	if (level) {
		CHECK_EQ(get(r, how, t->at, level, &after), level);
		CHECK_EQ(rt_right(t->at, size, out, level), level);
	}
	CHECK_EQ(fp_ring_count(r), 0);
	CHECK_EQ(fp_ring_is_empty(r), 1);
	CHECK_EQ(get(r, how, t->at, 1, &after), 0);
}

static const uint32_t lengths[] = { 1,	2,  3,	7,  8,	9,  15,	 16,  17,
				    31, 32, 33, 63, 64, 65, 127, 256, 257 };

static void pump_lengths(fp_ring *r, struct rt_table *t, uint64_t *next)
{
	uint32_t cap = (uint32_t)fp_ring_capacity(r);
	uint32_t more[] = { cap / 2, cap - 1, cap };

	for (int how = 0; how < HOWS; how++) {
		for (size_t i = 0; i < FPT_LEN(lengths); i++)
			if (lengths[i] < cap)
				pump(r, t, (enum how)how, (cap - lengths[i]) / 2,
				     lengths[i], 3 + (cap > 64 ? 0 : cap / lengths[i]),
				     next);
		for (size_t i = 0; i < FPT_LEN(more); i++)
			if (more[i])
				pump(r, t, (enum how)how, 0, more[i], 3, next);
	}
}

static void all_sizes_and_alignments(int baseline)
{
	static const uint32_t sizes[] = { 4, 8, 12, 16, 20, 64, 4096 };
	static const uint32_t caps[] = { 1, 2, 3, 33, 1000, 1024 };
	static const size_t offsets[] = { 0, 1, 4, 8 };

	fpi_cpu_override(baseline ? 0 : -1);
	RT_EACH_MODE(m)
	for (size_t s = 0; s < FPT_LEN(sizes); s++)
		for (size_t c = 0; c < FPT_LEN(caps); c++)
			for (size_t o = 0; o < FPT_LEN(offsets); o++) {
				uint32_t cap = caps[c], size = sizes[s];
				uint64_t next = 0;
				struct rt_table t;
				fp_ring *r;

				/* one of the larger kind is as good as four */
				if ((size_t)cap * size > (o < 2 ? 1u << 17 : 1u << 12) ||
				    (FPT_SAMPLE && (o != 1 || cap > 33)))
					continue;
				fpt_where("%s capacity %u element %u offset %zu", m->name,
					  cap, size, offsets[o]);
				r = rt_ring(cap, size, m, 0);
				t = rt_table_new((size_t)cap * size, offsets[o]);
				pump_lengths(r, &t, &next);
				rt_table_free(&t);
				CHECK_EQ(fp_ring_destroy(r), 0);
			}
	fpi_cpu_override(-1);
}

static void every_size_and_alignment_baseline_copy(void)
{
	all_sizes_and_alignments(1);
}

static void every_size_and_alignment_best_copy(void)
{
	all_sizes_and_alignments(0);
}

/* ---- wraps ---- */

/* Laps before which something wraps: 6-bit generation, 32 bits, all bits. */
static void wraps(int baseline, uint32_t flags)
{
	static const uint32_t caps[] = { 1, 2, 3, 7, 8, 64, 100 };
	static const uint32_t sizes[] = { 4, 20, 8 };

	fpi_cpu_override(baseline ? 0 : -1);
	RT_EACH_MODE(m)
	for (size_t c = 0; c < FPT_LEN(caps); c++)
		for (size_t s = FPT_SAMPLE * 2; s < FPT_LEN(sizes); s++) {
			uint32_t cap = caps[c], size = sizes[s];
			fp_ring *r = rt_ring(cap, size, m, flags);
			struct rt_table t = rt_table_new((size_t)cap * size, 0);
			uint64_t top = 1ull << (63 - r->shift);
			uint64_t laps[] = { 62,
					    63,
					    64,
					    127,
					    (1ull << 31) - 2,
					    (1ull << 32) - 2,
					    (1ull << 32) - 65,
					    top - 40 };

			for (size_t l = 0; l < FPT_LEN(laps); l++) {
				uint64_t next = 0;

				fpt_where("%s capacity %u element %u lap %" PRIu64,
					  m->name, cap, size, laps[l]);
				fpi_ring_start_at(r, laps[l]);
				CHECK_EQ(fp_ring_count(r), 0);
				for (int how = 0; how < HOWS; how++) {
					uint32_t n = cap > 2 ? cap - 2 : 1;

					/* three or four laps each */
					pump(r, &t, (enum how)how, 0, cap, 2, &next);
					pump(r, &t, (enum how)how, cap - n, n, 1, &next);
					pump(r, &t, (enum how)how, cap / 2, 1, cap,
					     &next);
				}
			}
			rt_table_free(&t);
			CHECK_EQ(fp_ring_destroy(r), 0);
		}
	fpi_cpu_override(-1);
}

static void laps_and_generations_wrap(void)
{
	wraps(0, 0);
	wraps(1, 0);
}

static void laps_and_generations_wrap_when_checked_and_counted(void)
{
	wraps(0, LIBFP_CHECKED | LIBFP_STATS);
}

static void two_hundred_laps_through_every_generation(void)
{
	static const uint32_t caps[] = { 1, 2, 3, 5, 16, 33 };

	RT_EACH_MODE(m)
	for (size_t c = 0; c < FPT_LEN(caps); c++) {
		fp_ring *r = rt_ring(caps[c], 8, m, 0);
		uint64_t in = 0, out = 0, seed = 7, v = 0;

		fpt_where("%s capacity %u", m->name, caps[c]);
		while (out < 200ull * caps[c]) {
			uint64_t k = fpt_random(&seed) % (caps[c] + 1);

			for (; k && in - out < caps[c]; k--)
				CHECK_EQ(fp_ring_enqueue_u64(r, rt_u64(in++)), 1);
			if (in - out == caps[c])
				CHECK_EQ(fp_ring_enqueue_u64(r, 0), 0);
			k = fpt_random(&seed) % (caps[c] + 1);
			for (; k && out < in; k--) {
				CHECK_EQ(fp_ring_dequeue_u64(r, &v), 1);
				CHECK_EQ(v, rt_u64(out++));
			}
			if (in == out)
				CHECK_EQ(fp_ring_dequeue_u64(r, &v), 0);
		}
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

static void a_million_and_one_elements(void)
{
	const uint32_t cap = (1u << 20) + 1;
	struct rt_table t = rt_table_new((size_t)cap * 8, 0);

	for (int i = 0; i < 4; i += FPT_SAMPLE ? 3 : 1) {
		fp_ring *r = rt_ring(cap, 8, &rt_modes[i], 0);
		uint64_t next = 0;

		fpt_where("%s", rt_modes[i].name);
		pump(r, &t, BURST, 0, cap, 1, &next);
		if (!FPT_SAMPLE)
			pump(r, &t, BULK, 3, cap - 4, 2, &next);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
	rt_table_free(&t);
}

/* ---- boundaries ---- */

static void boundaries_of_n(void)
{
	static const uint32_t caps[] = { 1, 2, 3, 8, 9, 16, 17, 1000, 1024 };

	RT_EACH_MODE(m)
	for (size_t c = 0; c < FPT_LEN(caps); c++) {
		uint32_t cap = caps[c], after = 77;
		fp_ring *r = rt_ring(cap, 8, m, 0);
		struct rt_table t = rt_table_new(((size_t)cap + 2) * 8, 0);

		fpt_where("%s capacity %u", m->name, cap);
		rt_fill(t.at, 8, 0, cap + 2);
		/* more than the capacity can never succeed as bulk */
		CHECK_EQ(fp_ring_enqueue_bulk(r, t.at, cap + 1, &after), -EINVAL);
		CHECK_EQ(fp_ring_dequeue_bulk(r, t.at, cap + 1, &after), -EINVAL);
		CHECK_EQ(fp_ring_enqueue_bulk(r, t.at, INT32_MAX, &after), -EINVAL);
		CHECK_EQ(after, 77);
		CHECK_EQ(fp_ring_count(r), 0);
		/* a burst takes what fits, from the first on */
		CHECK_EQ(fp_ring_enqueue_burst(r, t.at, cap + 1, &after), cap);
		CHECK_EQ(after, 0);
		CHECK_EQ(fp_ring_enqueue_burst(r, t.at, 1, &after), 0);
		CHECK_EQ(after, 0);
		CHECK_EQ(fp_ring_enqueue(r, t.at), 0);
		CHECK_EQ(fp_ring_enqueue_u64(r, 1), 0);
		CHECK_EQ(fp_ring_enqueue_bulk(r, t.at, cap, &after), 0);
		CHECK_EQ(fp_ring_enqueue_bulk(r, t.at, cap + 1, &after), -EINVAL);
		CHECK_EQ(fp_ring_count(r), cap);
		rt_table_wipe(&t);
		CHECK_EQ(fp_ring_dequeue_bulk(r, t.at, cap + 1, &after), -EINVAL);
		CHECK(rt_table_clean(&t, 0));
		CHECK_EQ(fp_ring_dequeue_burst(r, t.at, cap + 2, &after), cap);
		CHECK_EQ(after, 0);
		CHECK_EQ(rt_right(t.at, 8, 0, cap), cap);
		CHECK(rt_table_clean(&t, (size_t)cap * 8));
		/* bulk: all or nothing, one short of it */
		if (cap > 1) {
			CHECK_EQ(fp_ring_enqueue_bulk(r, t.at, cap - 1, &after), cap - 1);
			CHECK_EQ(after, 1);
			CHECK_EQ(fp_ring_enqueue_bulk(r, t.at, 2, &after), 0);
			CHECK_EQ(after, 1);
			rt_table_wipe(&t);
			CHECK_EQ(fp_ring_dequeue_bulk(r, t.at, cap, &after), 0);
			CHECK_EQ(after, cap - 1);
			CHECK(rt_table_clean(&t, 0));
			CHECK_EQ(fp_ring_dequeue_bulk(r, t.at, cap - 1, &after), cap - 1);
			CHECK_EQ(after, 0);
		}
		rt_table_free(&t);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

static void nothing_is_written_when_there_is_nothing(void)
{
	RT_EACH_MODE(m)
	{
		fp_ring *r = rt_ring(4, 8, m, 0);
		uint64_t elems[4] = { 9, 9, 9, 9 };
		uint32_t after = 77;

		CHECK_EQ(fp_ring_dequeue(r, elems), 0);
		CHECK_EQ(fp_ring_dequeue_u64(r, elems), 0);
		CHECK_EQ(fp_ring_dequeue_burst(r, elems, 4, &after), 0);
		CHECK_EQ(after, 0);
		CHECK_EQ(fp_ring_dequeue_bulk(r, elems, 1, NULL), 0);
		for (int i = 0; i < 4; i++)
			CHECK_EQ(elems[i], 9);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

static void zero_elements_are_no_operation(void)
{
	RT_EACH_MODE(m)
	for (int full = 0; full < 2; full++) {
		fp_ring *r = rt_ring(1, 8, m, LIBFP_STATS);
		uint32_t after = 9;
		uint64_t e = 5;

		if (full)
			CHECK_EQ(fp_ring_enqueue_u64(r, 1), 1);
		CHECK_EQ(fp_ring_enqueue_bulk(r, &e, 0, NULL), 0);
		CHECK_EQ(fp_ring_enqueue_burst(r, &e, 0, &after), 0);
		CHECK_EQ(after, 1 - full);
		CHECK_EQ(fp_ring_dequeue_bulk(r, &e, 0, &after), 0);
		CHECK_EQ(after, full);
		CHECK_EQ(fp_ring_dequeue_burst(r, &e, 0, NULL), 0);
		CHECK_EQ(e, 5);
		CHECK_EQ(fp_ring_count(r), full);
		CHECK_EQ(rt_stats(r).refused_full, 0);
		CHECK_EQ(rt_stats(r).refused_empty, 0);
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

static void single_calls_and_bursts_mix(void)
{
	RT_EACH_MODE(m)
	{
		fp_ring *r = rt_ring(10, 8, m, 0);
		uint64_t buf[10], v = 0, in = 0, out = 0;

		fpt_where("%s", m->name);
		for (int i = 0; i < 500; i++) {
			CHECK_EQ(fp_ring_enqueue_u64(r, rt_u64(in++)), 1);
			rt_fill(buf, 8, in, 5);
			CHECK_EQ(fp_ring_enqueue(r, buf), 1);
			CHECK_EQ(fp_ring_enqueue_bulk(r, buf + 1, 4, NULL), 4);
			in += 5;
			CHECK_EQ(fp_ring_dequeue_burst(r, buf, 3, NULL), 3);
			CHECK_EQ(rt_right(buf, 8, out, 3), 3);
			CHECK_EQ(fp_ring_dequeue_u64(r, &v), 1);
			CHECK_EQ(v, rt_u64(out + 3));
			CHECK_EQ(fp_ring_dequeue(r, &v), 1);
			CHECK_EQ(v, rt_u64(out + 4));
			CHECK_EQ(fp_ring_dequeue_bulk(r, buf, 1, NULL), 1);
			CHECK_EQ(rt_right(buf, 8, out + 5, 1), 1);
			out += 6;
		}
		CHECK_EQ(fp_ring_destroy(r), 0);
	}
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(every_size_and_alignment_baseline_copy),
		FPT_CASE(every_size_and_alignment_best_copy),
		FPT_CASE(laps_and_generations_wrap),
		FPT_CASE(laps_and_generations_wrap_when_checked_and_counted),
		FPT_CASE(two_hundred_laps_through_every_generation),
		FPT_CASE(a_million_and_one_elements),
		FPT_CASE(boundaries_of_n),
		FPT_CASE(nothing_is_written_when_there_is_nothing),
		FPT_CASE(zero_elements_are_no_operation),
		FPT_CASE(single_calls_and_bursts_mix),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
