/* SPDX-License-Identifier: BSD-2-Clause */
/* The size rules of option and statistics structs; see opts.h. */
#include <errno.h>
#include <string.h>

#include "base/opts.h"

int fpi_opts_read(void *dst, uint32_t known, uint32_t first_published, const void *src)
{
	const unsigned char *bytes = src;
	uint32_t size;

	if (!src || (uintptr_t)src % 8)
		return -EINVAL;
	memcpy(&size, src, sizeof(size));
	if (size < first_published)
		return -EINVAL;
	if (size > FPI_OPTS_SIZE_MAX)
		return -E2BIG;
	for (uint32_t i = known; i < size; i++)
		if (bytes[i])
			return -E2BIG;
	memset(dst, 0, known);
	memcpy(dst, src, size < known ? size : known);
	memcpy(dst, &known, sizeof(known));
	return 0;
}

int fpi_opts_init(void *opts, uint32_t size, uint32_t first_published)
{
	if (!opts || size < first_published)
		return -EINVAL;
	if (size > FPI_OPTS_SIZE_MAX)
		return -E2BIG;
	memset(opts, 0, size);
	memcpy(opts, &size, sizeof(size));
	return 0;
}

int fpi_stats_write(void *io, const void *full, uint32_t known)
{
	uint32_t size;

	if (!io)
		return -EINVAL;
	memcpy(&size, io, sizeof(size));
	if (size < 8)
		return -EINVAL;
	if (size > known)
		size = known;
	size &= ~7u;
	memcpy(io, full, size);
	memcpy(io, &size, sizeof(size));
	return 0;
}
