/* SPDX-License-Identifier: BSD-2-Clause */
/* The size rules of option and statistics structs, from both sides of age. */
#include <errno.h>

#include "base/opts.h"
#include "check.h"

/* The struct as it was first published, as the library knows it, and newer. */
struct opts_v1 {
	uint32_t size, flags;
	uint64_t a;
};
struct opts_v2 {
	uint32_t size, flags;
	uint64_t a, b;
};
struct opts_v3 {
	uint32_t size, flags;
	uint64_t a, b, c, d;
};

static int read_v2(struct opts_v2 *dst, const void *src)
{
	memset(dst, 0xee, sizeof(*dst));
	return fpi_opts_read(dst, sizeof(*dst), sizeof(struct opts_v1), src);
}

static void same_age_is_copied(void)
{
	struct opts_v2 in = { sizeof(in), 5, 6, 7 }, out;

	CHECK_EQ(read_v2(&out, &in), 0);
	CHECK(!memcmp(&in, &out, sizeof(in)));
}

static void older_caller_gets_zeroes(void)
{
	struct opts_v1 *in = malloc(sizeof(*in)); /* ASan watches its end */
	struct opts_v2 out;

	*in = (struct opts_v1){ sizeof(*in), 5, 6 };
	CHECK_EQ(read_v2(&out, in), 0);
	free(in);
	CHECK_EQ(out.size, sizeof(out));
	CHECK_EQ(out.flags, 5);
	CHECK_EQ(out.a, 6);
	CHECK_EQ(out.b, 0);
}

static void newer_caller_is_fine_while_the_tail_is_zero(void)
{
	struct opts_v3 in = { sizeof(in), 5, 6, 7, 0, 0 };
	struct opts_v2 out;

	CHECK_EQ(read_v2(&out, &in), 0);
	CHECK_EQ(out.size, sizeof(out));
	CHECK_EQ(out.b, 7);
	in.c = 1;
	CHECK_EQ(read_v2(&out, &in), -E2BIG);
	in.c = 0;
	((unsigned char *)&in)[sizeof(in) - 1] = 1;
	CHECK_EQ(read_v2(&out, &in), -E2BIG);
}

static void bad_sizes_and_pointers_are_refused(void)
{
	uint64_t room[8] = { 0 };
	struct opts_v2 out;
	uint32_t size;

	CHECK_EQ(read_v2(&out, NULL), -EINVAL);
	CHECK_EQ(read_v2(&out, (char *)room + 4), -EINVAL);
	for (size = 0; size < sizeof(struct opts_v1); size++) {
		memcpy(room, &size, sizeof(size));
		CHECK_EQ(read_v2(&out, room), -EINVAL);
	}
	/* Neither is read beyond the size. */
	size = FPI_OPTS_SIZE_MAX + 1;
	memcpy(room, &size, sizeof(size));
	CHECK_EQ(read_v2(&out, room), -E2BIG);
	size = UINT32_MAX;
	memcpy(room, &size, sizeof(size));
	CHECK_EQ(read_v2(&out, room), -E2BIG);
}

static void largest_size_is_read_to_its_end(void)
{
	unsigned char *in = calloc(1, FPI_OPTS_SIZE_MAX);
	uint32_t size = FPI_OPTS_SIZE_MAX;
	struct opts_v2 out;

	memcpy(in, &size, sizeof(size));
	CHECK_EQ(read_v2(&out, in), 0);
	in[FPI_OPTS_SIZE_MAX - 1] = 1;
	CHECK_EQ(read_v2(&out, in), -E2BIG);
	free(in);
}

static void init_zeroes_all_and_sets_the_size(void)
{
	struct opts_v3 o;

	memset(&o, 0xee, sizeof(o));
	CHECK_EQ(fpi_opts_init(&o, sizeof(o), sizeof(struct opts_v1)), 0);
	CHECK_EQ(o.size, sizeof(o));
	CHECK_EQ(o.flags | o.a | o.b | o.c | o.d, 0);
	memset(&o, 0xee, sizeof(o));
	CHECK_EQ(fpi_opts_init(&o, sizeof(struct opts_v1), sizeof(struct opts_v1)), 0);
	CHECK_EQ(o.size, sizeof(struct opts_v1));
	CHECK_EQ(o.a, 0);
	CHECK_EQ(o.b, (int64_t)0xeeeeeeeeeeeeeeee);
}

static void init_refuses_bad_sizes(void)
{
	struct opts_v1 o;

	memset(&o, 0xee, sizeof(o));
	CHECK_EQ(fpi_opts_init(NULL, sizeof(o), sizeof(o)), -EINVAL);
	CHECK_EQ(fpi_opts_init(&o, sizeof(o) - 1, sizeof(o)), -EINVAL);
	CHECK_EQ(fpi_opts_init(&o, FPI_OPTS_SIZE_MAX + 1, sizeof(o)), -E2BIG);
	CHECK_EQ(o.size, 0xeeeeeeee);
}

static void stats_fill_what_the_caller_has_room_for(void)
{
	const struct opts_v2 full = { 0, 5, 6, 7 };
	struct opts_v3 io;

	static const struct {
		uint32_t size, filled;
	} sizes[] = { { 8, 8 },	  { 15, 8 },  { 16, 16 },	 { 23, 16 },
		      { 24, 24 }, { 40, 24 }, { UINT32_MAX, 24 } };

	for (size_t i = 0; i < FPT_LEN(sizes); i++) {
		memset(&io, 0xee, sizeof(io));
		io.size = sizes[i].size;
		CHECK_EQ(fpi_stats_write(&io, &full, sizeof(full)), 0);
		CHECK_EQ(io.size, sizes[i].filled);
		CHECK_EQ(io.flags, 5);
		CHECK_EQ(io.a, sizes[i].filled >= 16 ? 6 : (int64_t)0xeeeeeeeeeeeeeeee);
		CHECK_EQ(io.b, sizes[i].filled >= 24 ? 7 : (int64_t)0xeeeeeeeeeeeeeeee);
		CHECK_EQ(io.c, (int64_t)0xeeeeeeeeeeeeeeee);
	}
}

static void stats_refuse_bad_sizes(void)
{
	const struct opts_v2 full = { 0, 5, 6, 7 };
	struct opts_v2 io;

	CHECK_EQ(fpi_stats_write(NULL, &full, sizeof(full)), -EINVAL);
	for (uint32_t size = 0; size < 8; size++) {
		memset(&io, 0xee, sizeof(io));
		io.size = size;
		CHECK_EQ(fpi_stats_write(&io, &full, sizeof(full)), -EINVAL);
		CHECK_EQ(io.size, size);
		CHECK_EQ(io.flags, 0xeeeeeeee);
	}
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(same_age_is_copied),
		FPT_CASE(older_caller_gets_zeroes),
		FPT_CASE(newer_caller_is_fine_while_the_tail_is_zero),
		FPT_CASE(bad_sizes_and_pointers_are_refused),
		FPT_CASE(largest_size_is_read_to_its_end),
		FPT_CASE(init_zeroes_all_and_sets_the_size),
		FPT_CASE(init_refuses_bad_sizes),
		FPT_CASE(stats_fill_what_the_caller_has_room_for),
		FPT_CASE(stats_refuse_bad_sizes),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
