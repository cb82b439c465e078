/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ring_fp.c - libfp's rings, through the exported functions of the shared
 * library; and the floor: two calls of the same form that do nothing.
 */
#include "ring_contestant.h"

#include "floor.h"

#include <string.h>

#include <libfp/ring.h>

static void *fp_open(const struct ring_shape *shape)
{
	fp_ring_opts opts = LIBFP_RING_OPTS_INIT;
	fp_ring *ring;

	opts.capacity = shape->capacity;
	opts.elem_size = shape->elem;
	opts.producer = shape->sync == RING_ST ? LIBFP_ST : LIBFP_MT;
	opts.consumer = opts.producer;
	return fp_ring_create(&opts, &ring) ? NULL : ring;
}

static void fp_close(void *ring)
{
	fp_ring_destroy(ring);
}

#define PUT(ring, table, n) fp_ring_enqueue_burst(ring, table, n, NULL)
#define GET(ring, table, n) fp_ring_dequeue_burst(ring, table, n, NULL)
RING_LOOPS(fp_burst, PUT, GET)
RING_LOOPS_ONE(fp_one, fp_ring_enqueue_u64, fp_ring_dequeue_u64)

static const struct ring_loops *fp_loops(const struct ring_shape *shape, uint32_t burst)
{
	return burst == 1 && shape->elem == 8 ? &fp_one : &fp_burst;
}

static uint32_t fp_put(void *ring, uint32_t n)
{
	return (uint32_t)PUT(ring, ring_source, n);
}

static uint32_t fp_take(void *ring, uint32_t n)
{
	return (uint32_t)GET(ring, ring_target, n);
}

_Static_assert(sizeof(fp_ring_span) <= sizeof(struct ring_hold), "a hold keeps a span");

static int fp_hold(void *ring, struct ring_hold *hold)
{
	fp_ring_span span;

	if (fp_ring_reserve_enqueue(ring, 8, LIBFP_RING_BULK, &span) != 8)
		return 0;
	memcpy(span.ptr1, ring_source, span.n1 * sizeof(uint64_t));
	if (span.n2)
		memcpy(span.ptr2, ring_source, span.n2 * sizeof(uint64_t));
	memcpy(hold, &span, sizeof(span));
	return 1;
}

static void fp_release(void *ring, struct ring_hold *hold)
{
	fp_ring_span span;

	memcpy(&span, hold, sizeof(span));
	fp_ring_commit_enqueue(ring, &span, 8);
}

static const struct ring_stall fp_stall = { fp_put, fp_take, fp_hold, fp_release };

static const char *fp_start(int cpu)
{
	(void)cpu;
	return NULL;
}

static const struct ring_contestant fp_contestants[] = {
	{ "libfp", RING_ST | RING_MT, fp_open, fp_close, fp_loops, &fp_stall, NULL },
};

static const struct ring_loops *plt_loops(const struct ring_shape *shape, uint32_t burst)
{
	return burst == 1 ? bench_plt_loops() : fp_loops(shape, burst);
}

const struct ring_contestant ring_fp_plt = {
	"libfp via PLT", RING_ST | RING_MT, fp_open, fp_close, plt_loops, NULL, NULL,
};

const struct ring_library ring_fp = {
	.peer = { "libfp", "", NULL },
	.start = fp_start,
	.contestants = fp_contestants,
	.n = sizeof(fp_contestants) / sizeof(fp_contestants[0]),
};

/* ---- the floor ---- */

RING_LOOPS_ONE(floor_one, bench_floor_enqueue, bench_floor_dequeue)

const struct ring_loops *bench_floor_loops(void)
{
	return &floor_one;
}
