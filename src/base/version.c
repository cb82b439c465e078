/* SPDX-License-Identifier: BSD-2-Clause */
/* What the running library is: version and features. */
#include <libfp/base.h>

#include "base/copy.h"

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

uint32_t fp_version_number(void)
{
	return LIBFP_VERSION_NUMBER;
}

const char *fp_version_string(void)
{
	return TEXT(LIBFP_VERSION_MAJOR) "." TEXT(LIBFP_VERSION_MINOR) "." TEXT(
		LIBFP_VERSION_PATCH);
}

uint64_t fp_features(void)
{
	uint64_t bits = LIBFP_FEATURE_RING | LIBFP_FEATURE_MEMPOOL |
			LIBFP_FEATURE_WAKEUP | LIBFP_FEATURE_SERVICE |
			LIBFP_FEATURE_TIMER;

	if (fpi_cpu_avx2())
		bits |= LIBFP_FEATURE_AVX2;
	return bits;
}
