/* SPDX-License-Identifier: BSD-2-Clause */
/* Version, features, names of status codes. */
#include <errno.h>
#include <limits.h>

#include <libfp/base.h>

#include "base/copy.h"
#include "check.h"

static void library_and_header_agree_on_the_version(void)
{
	char text[32];

	CHECK_EQ(fp_version_number(), LIBFP_VERSION_NUMBER);
	snprintf(text, sizeof(text), "%d.%d.%d", LIBFP_VERSION_MAJOR, LIBFP_VERSION_MINOR,
		 LIBFP_VERSION_PATCH);
	CHECK(!strcmp(fp_version_string(), text));
}

#if !LIBFP_VERSION_AT_LEAST(0, 0, 1) || LIBFP_VERSION_AT_LEAST(255, 0, 0)
#error "the comparison is for #if too"
#endif

static void version_comparison_orders_by_major_minor_patch(void)
{
	CHECK(LIBFP_VERSION_AT_LEAST(0, 0, 0));
	CHECK(LIBFP_VERSION_AT_LEAST(LIBFP_VERSION_MAJOR, LIBFP_VERSION_MINOR,
				     LIBFP_VERSION_PATCH));
	CHECK(!LIBFP_VERSION_AT_LEAST(LIBFP_VERSION_MAJOR, LIBFP_VERSION_MINOR,
				      LIBFP_VERSION_PATCH + 1));
	CHECK(LIBFP_VERSION_ENCODE(1, 0, 0) > LIBFP_VERSION_ENCODE(0, 255, 255));
	CHECK(LIBFP_VERSION_ENCODE(0, 1, 0) > LIBFP_VERSION_ENCODE(0, 0, 255));
}

static void features_name_the_parts_and_the_cpu(void)
{
	CHECK(fp_features() & LIBFP_FEATURE_RING);
	CHECK_EQ(!!(fp_features() & LIBFP_FEATURE_AVX2), fpi_cpu_avx2());
	fpi_cpu_override(0);
	CHECK(!(fp_features() & LIBFP_FEATURE_AVX2));
	fpi_cpu_override(1);
	CHECK(fp_features() & LIBFP_FEATURE_AVX2);
	fpi_cpu_override(-1);
}

static void every_returned_code_has_a_name(void)
{
	static const struct {
		int code;
		const char *name;
	} codes[] = {
		{ E2BIG, "E2BIG: " },	{ EAGAIN, "EAGAIN: " },
		{ EBUSY, "EBUSY: " },	{ EEXIST, "EEXIST: " },
		{ EINVAL, "EINVAL: " }, { ENAMETOOLONG, "ENAMETOOLONG: " },
		{ ENOENT, "ENOENT: " }, { ENOMEM, "ENOMEM: " },
		{ ENOSPC, "ENOSPC: " }, { EOPNOTSUPP, "EOPNOTSUPP: " },
		{ EPIPE, "EPIPE: " },	{ EPROTO, "EPROTO: " },
	};

	for (size_t i = 0; i < FPT_LEN(codes); i++) {
		const char *text = fp_strerror(-codes[i].code);
		size_t prefix = strlen(codes[i].name);

		CHECK(!strncmp(text, codes[i].name, prefix));
		CHECK(text[prefix]);
		CHECK(text == fp_strerror(codes[i].code));
	}
	CHECK(!strcmp(fp_strerror(-EINVAL), "EINVAL: invalid argument"));
	CHECK(!strcmp(fp_strerror(0), "success"));
}

static void other_codes_are_unknown(void)
{
	static const int codes[] = { EPERM, -EDOM, 4096, INT_MAX, -INT_MAX, INT_MIN };

	for (size_t i = 0; i < FPT_LEN(codes); i++)
		CHECK(!strcmp(fp_strerror(codes[i]), "unknown error"));
}

int main(int argc, char **argv)
{
	static const struct fpt_case cases[] = {
		FPT_CASE(library_and_header_agree_on_the_version),
		FPT_CASE(version_comparison_orders_by_major_minor_patch),
		FPT_CASE(features_name_the_parts_and_the_cpu),
		FPT_CASE(every_returned_code_has_a_name),
		FPT_CASE(other_codes_are_unknown),
	};

	return fpt_main(argc, argv, cases, FPT_LEN(cases));
}
