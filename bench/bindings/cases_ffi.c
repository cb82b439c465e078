/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cases_ffi.c - the ring through libffi, for the comparison of languages: what a
 * language pays that calls C without a compiler. Its own cost comes on top.
 *
 * The call interfaces are prepared once, as such languages do; the array of
 * pointers to arguments is made for each call.
 */
#include "worker.h"

#include <ffi.h>
#include <stdlib.h>

struct function {
	void (*address)(void);
	ffi_cif cif;
	ffi_type *arguments[4];
};

static struct function enqueue_burst = {
	.address = FFI_FN(fp_ring_enqueue_burst),
	.arguments = { &ffi_type_pointer, &ffi_type_pointer, &ffi_type_uint32,
		       &ffi_type_pointer },
};
static struct function dequeue_burst = {
	.address = FFI_FN(fp_ring_dequeue_burst),
	.arguments = { &ffi_type_pointer, &ffi_type_pointer, &ffi_type_uint32,
		       &ffi_type_pointer },
};
static struct function enqueue_u64 = {
	.address = FFI_FN(fp_ring_enqueue_u64),
	.arguments = { &ffi_type_pointer, &ffi_type_uint64 },
};
static struct function dequeue_u64 = {
	.address = FFI_FN(fp_ring_dequeue_u64),
	.arguments = { &ffi_type_pointer, &ffi_type_pointer },
};

static void prepare(struct function *f, unsigned n)
{
	if (ffi_prep_cif(&f->cif, FFI_DEFAULT_ABI, n, &ffi_type_sint32, f->arguments) !=
	    FFI_OK)
		exit(1);
}

/* libffi widens a result to a register. */
static uint32_t call(struct function *f, void **arguments)
{
	ffi_arg result;

	ffi_call(&f->cif, f->address, &result, arguments);
	return (uint32_t)result;
}

static uint32_t burst_of(struct function *f, fp_ring *ring, uint64_t *table,
			 uint32_t burst)
{
	void *after = NULL;
	void *arguments[] = { &ring, &table, &burst, &after };

	return call(f, arguments);
}

static uint64_t pairs(fp_ring *ring, uint32_t burst, uint64_t units)
{
	uint64_t done = 0;

	for (uint64_t i = 0; i < units; i += burst) {
		burst_of(&enqueue_burst, ring, worker_source, burst);
		done += burst_of(&dequeue_burst, ring, worker_target, burst);
	}
	return done;
}

static uint64_t singles(fp_ring *ring, uint64_t units)
{
	uint64_t *target = worker_target, done = 0;

	for (uint64_t i = 0; i < units; i++) {
		void *in[] = { &ring, &i }, *out[] = { &ring, &target };

		call(&enqueue_u64, in);
		done += call(&dequeue_u64, out);
	}
	return done;
}

int main(int argc, char **argv)
{
	static const struct worker_way way = { "libffi", "libffi, single calls", pairs,
					       singles };

	prepare(&enqueue_burst, 4);
	prepare(&dequeue_burst, 4);
	prepare(&enqueue_u64, 2);
	prepare(&dequeue_u64, 2);
	return worker_main(argc, argv, BENCH_FFI_VERSION ", " WORKER_COMPILER, &way);
}
