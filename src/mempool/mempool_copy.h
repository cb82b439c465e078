/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies of object pointers between tables and magazines.
 *
 * put appends in the table's order. take copies from the top of the stack down, so
 * that the most recent object comes first: a copy that reverses. The inline forms
 * are for the few pointers of most calls; see mempool_copy.c for many.
 */
#ifndef FPI_MEMPOOL_COPY_H
#define FPI_MEMPOOL_COPY_H

#include <stdint.h>

#include "base/copy.h"

#define FPI_POOL_FEW 8 /* pointers: from here on through a function for the CPU */

/*
 * take copies the n pointers before `end`, the last one first; put copies n pointers
 * in order. Both return n, so that the exported calls can end in them.
 */
typedef int32_t fpi_take_objects_fn(void **to, void *const *end, uint64_t n);
typedef int32_t fpi_put_objects_fn(void **to, void *const *from, uint64_t n);

fpi_take_objects_fn fpi_take_objects;
fpi_put_objects_fn fpi_put_objects;

/* The ones to use for many pointers on this CPU. */
fpi_take_objects_fn *fpi_take_objects_for(int avx2);
fpi_put_objects_fn *fpi_put_objects_for(int avx2);

#ifdef FPI_COPY_OVERRIDDEN
#define fpi_take_few fpi_take_objects
#define fpi_put_few fpi_put_objects
#else

/* Two pointers from s, exchanged, to d. */
FPI_INLINE void fpi_swap_pair(void **d, void *const *s)
{
	fpi_vector16 v;

	memcpy(&v, s, sizeof(v));
	v = (fpi_vector16){ v[1], v[0] };
	memcpy(d, &v, sizeof(v));
}

/* 1 to FPI_POOL_FEW: the last pair overlaps where n is odd. */
FPI_INLINE void fpi_take_few(void **to, void *const *end, uint64_t n)
{
	if (n == 1) {
		to[0] = end[-1];
		return;
	}
	fpi_swap_pair(to, end - 2);
	if (n > 2) {
		if (n > 4) {
			fpi_swap_pair(to + 2, end - 4);
			if (n > 6)
				fpi_swap_pair(to + 4, end - 6);
		}
		fpi_swap_pair(to + n - 2, end - n);
	}
}

FPI_INLINE void fpi_put_few(void **to, void *const *from, uint64_t n)
{
	fpi_copy_few(to, from, n * sizeof(*to));
}

#endif /* FPI_COPY_OVERRIDDEN */

#endif
