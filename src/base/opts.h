/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The size rules of option and statistics structs, once for all parts (they
 * are stated in libfp/base.h). Structs grow at their end only; either side may
 * be the older one.
 */
#ifndef FPI_BASE_OPTS_H
#define FPI_BASE_OPTS_H

#include <stdint.h>

/* No options struct will ever be this large: a size above is garbage. */
#define FPI_OPTS_SIZE_MAX (1u << 20)

/*
 * Reads an options struct into dst, which is `known` bytes: copies what the
 * caller has, the rest is 0, and dst's size becomes `known`. Never reads
 * beyond the caller's size.
 *
 * Returns 0; -EINVAL: src is NULL or not aligned to 8, or its size is below
 * first_published; -E2BIG: bytes beyond `known` are not zero, or the size is
 * above FPI_OPTS_SIZE_MAX. dst is undefined on failure.
 */
int fpi_opts_read(void *dst, uint32_t known, uint32_t first_published, const void *src);

/*
 * The body of every fp_<part>_opts_init(): zeroes size bytes, then stores the
 * size. Returns 0; -EINVAL: opts is NULL or size is below first_published;
 * -E2BIG: size is above FPI_OPTS_SIZE_MAX.
 */
int fpi_opts_init(void *opts, uint32_t size, uint32_t first_published);

/*
 * Writes the statistics `full` (`known` bytes, a multiple of 8) to the
 * caller's struct io: at most as much as io's size says, whole fields of 8
 * bytes, and stores in it how much that was. Returns 0; -EINVAL: io is NULL or
 * its size is below 8, and nothing is written.
 */
int fpi_stats_write(void *io, const void *full, uint32_t known);

#endif
