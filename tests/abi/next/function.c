/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program of tomorrow: it calls a function that a library of today has not. There it
 * ends with the linker's message: linked -z now at load, else at the call.
 */
#include <inttypes.h>
#include <stdio.h>

#include <libfp.h>

int main(void)
{
	printf("started\n");
	fflush(stdout);
	printf("%" PRId64 "\n", fp_ring_capacity_max());
	return 0;
}
