/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ring_rte.c - DPDK's rte_ring, inlined into this file with the flags that
 * its pkg-config file gives. The calls are the ones of the ring's own mode
 * (rte_ring_sp_..., rte_ring_mp_...), which do without the run-time choice of
 * the general ones.
 *
 * A producer that stops inside an enqueue: HTS has a public zero-copy API.
 * MP/MC and RTS are stopped between the two internal halves of their enqueue,
 * which are called, not copied; releases that changed these leave the row out.
 */
#include "eal.h"
#include "ring_contestant.h"

#include <stdio.h>
#include <string.h>

#include <rte_ring.h>
#include <rte_ring_peek_zc.h>
#include <rte_version.h>

static void *open_ring(const struct ring_shape *shape, unsigned flags)
{
	static unsigned number;
	char name[32];

	snprintf(name, sizeof(name), "bench%u", number++);
	/* Without EXACT_SZ the usable size is one less than a power of two. */
	if (shape->capacity & (shape->capacity - 1))
		flags |= RING_F_EXACT_SZ;
	return rte_ring_create_elem(name, shape->elem, shape->capacity, SOCKET_ID_ANY,
				    flags);
}

static void *open_sp(const struct ring_shape *shape)
{
	return open_ring(shape, RING_F_SP_ENQ | RING_F_SC_DEQ);
}

static void *open_mp(const struct ring_shape *shape)
{
	return shape->elem == 8 ? open_ring(shape, 0) : NULL;
}

static void *open_rts(const struct ring_shape *shape)
{
	return shape->elem == 8 ?
		       open_ring(shape, RING_F_MP_RTS_ENQ | RING_F_MC_RTS_DEQ) :
		       NULL;
}

static void *open_hts(const struct ring_shape *shape)
{
	return shape->elem == 8 ?
		       open_ring(shape, RING_F_MP_HTS_ENQ | RING_F_MC_HTS_DEQ) :
		       NULL;
}

static void close_ring(void *ring)
{
	rte_ring_free(ring);
}

/* ---- bursts ---- */

#define TABLE(t) ((void **)(void *)(t))

#define SP_PUT(r, t, n) rte_ring_sp_enqueue_burst(r, TABLE(t), n, NULL)
#define SC_GET(r, t, n) rte_ring_sc_dequeue_burst(r, TABLE(t), n, NULL)
RING_LOOPS(sp_burst, SP_PUT, SC_GET)

#define SP_PUT16(r, t, n) rte_ring_sp_enqueue_burst_elem(r, t, 16, n, NULL)
#define SC_GET16(r, t, n) rte_ring_sc_dequeue_burst_elem(r, t, 16, n, NULL)
RING_LOOPS(sp_burst16, SP_PUT16, SC_GET16)

#define SP_PUT64(r, t, n) rte_ring_sp_enqueue_burst_elem(r, t, 64, n, NULL)
#define SC_GET64(r, t, n) rte_ring_sc_dequeue_burst_elem(r, t, 64, n, NULL)
RING_LOOPS(sp_burst64, SP_PUT64, SC_GET64)

#define MP_PUT(r, t, n) rte_ring_mp_enqueue_burst(r, TABLE(t), n, NULL)
#define MC_GET(r, t, n) rte_ring_mc_dequeue_burst(r, TABLE(t), n, NULL)
RING_LOOPS(mp_burst, MP_PUT, MC_GET)

#define RTS_PUT(r, t, n) rte_ring_mp_rts_enqueue_burst(r, TABLE(t), n, NULL)
#define RTS_GET(r, t, n) rte_ring_mc_rts_dequeue_burst(r, TABLE(t), n, NULL)
RING_LOOPS(rts_burst, RTS_PUT, RTS_GET)

#define HTS_PUT(r, t, n) rte_ring_mp_hts_enqueue_burst(r, TABLE(t), n, NULL)
#define HTS_GET(r, t, n) rte_ring_mc_hts_dequeue_burst(r, TABLE(t), n, NULL)
RING_LOOPS(hts_burst, HTS_PUT, HTS_GET)

/*
 * The same with a burst size that the compiler knows, as in a caller that always
 * moves full bursts: the copy loses its remainder and is unrolled. `n` is the
 * size that the loop is asked for.
 */
#define KNOWN(name, size, PUT, GET)                                           \
	static inline uint32_t name##_put(void *r, const void *t, uint32_t n) \
	{                                                                     \
		(void)n;                                                      \
		return PUT(r, t, size);                                       \
	}                                                                     \
	static inline uint32_t name##_get(void *r, void *t, uint32_t n)       \
	{                                                                     \
		(void)n;                                                      \
		return GET(r, t, size);                                       \
	}                                                                     \
	RING_PAIR(name, name##_put, name##_get)                               \
	static const struct ring_loops name = { name##_pair, NULL, NULL };

KNOWN(sp_known8, 8, SP_PUT, SC_GET)
KNOWN(sp_known32, 32, SP_PUT, SC_GET)
KNOWN(sp_known256, 256, SP_PUT, SC_GET)
KNOWN(mp_known8, 8, MP_PUT, MC_GET)
KNOWN(mp_known32, 32, MP_PUT, MC_GET)
KNOWN(mp_known256, 256, MP_PUT, MC_GET)

/* ---- single objects ---- */

#define OBJECT(v) ((void *)(uintptr_t)(v))
#define INTO(p) ((void **)(void *)(p))

static inline int sp_put1(void *r, uint64_t v)
{
	return rte_ring_sp_enqueue(r, OBJECT(v)) == 0;
}
#define SC_GET1(r, p) (rte_ring_sc_dequeue(r, INTO(p)) == 0)
RING_LOOPS_ONE(sp_one, sp_put1, SC_GET1)

static inline int mp_put1(void *r, uint64_t v)
{
	return rte_ring_mp_enqueue(r, OBJECT(v)) == 0;
}
#define MC_GET1(r, p) (rte_ring_mc_dequeue(r, INTO(p)) == 0)
RING_LOOPS_ONE(mp_one, mp_put1, MC_GET1)

/* RTS and HTS have no single call of their own: a bulk of one. */
static inline unsigned rts_put1(void *r, uint64_t v)
{
	void *object = OBJECT(v);

	return rte_ring_mp_rts_enqueue_bulk(r, &object, 1, NULL);
}
#define RTS_GET1(r, p) rte_ring_mc_rts_dequeue_bulk(r, INTO(p), 1, NULL)
RING_LOOPS_ONE(rts_one, rts_put1, RTS_GET1)

static inline unsigned hts_put1(void *r, uint64_t v)
{
	void *object = OBJECT(v);

	return rte_ring_mp_hts_enqueue_bulk(r, &object, 1, NULL);
}
#define HTS_GET1(r, p) rte_ring_mc_hts_dequeue_bulk(r, INTO(p), 1, NULL)
RING_LOOPS_ONE(hts_one, hts_put1, HTS_GET1)

static const struct ring_loops *sp_loops(const struct ring_shape *shape, uint32_t burst)
{
	if (shape->elem == 16)
		return &sp_burst16;
	if (shape->elem == 64)
		return &sp_burst64;
	return burst == 1 ? &sp_one : &sp_burst;
}

static const struct ring_loops *mp_loops(const struct ring_shape *shape, uint32_t burst)
{
	(void)shape;
	return burst == 1 ? &mp_one : &mp_burst;
}

static const struct ring_loops *sp_known_loops(const struct ring_shape *shape,
					       uint32_t burst)
{
	(void)shape;
	return burst == 8 ? &sp_known8 : burst == 32 ? &sp_known32 : &sp_known256;
}

static const struct ring_loops *mp_known_loops(const struct ring_shape *shape,
					       uint32_t burst)
{
	(void)shape;
	return burst == 8 ? &mp_known8 : burst == 32 ? &mp_known32 : &mp_known256;
}

static const struct ring_loops *rts_loops(const struct ring_shape *shape, uint32_t burst)
{
	(void)shape;
	return burst == 1 ? &rts_one : &rts_burst;
}

static const struct ring_loops *hts_loops(const struct ring_shape *shape, uint32_t burst)
{
	(void)shape;
	return burst == 1 ? &hts_one : &hts_burst;
}

/* ---- stopping inside an enqueue ---- */

#define STALL_CALLS(name, PUT, GET)                      \
	static uint32_t name##_put(void *r, uint32_t n)  \
	{                                                \
		return PUT(r, ring_source, n);           \
	}                                                \
	static uint32_t name##_take(void *r, uint32_t n) \
	{                                                \
		return GET(r, ring_target, n);           \
	}                                                \
	static const struct ring_stall name##_stall = {  \
		name##_put,                              \
		name##_take,                             \
		name##_hold,                             \
		name##_release,                          \
	};

static int hts_hold(void *r, struct ring_hold *hold)
{
	struct rte_ring_zc_data zcd;

	(void)hold;
	if (rte_ring_enqueue_zc_bulk_start(r, 8, &zcd, NULL) != 8)
		return 0;
	memcpy(zcd.ptr1, ring_source, zcd.n1 * sizeof(void *));
	if (zcd.n1 < 8)
		memcpy(zcd.ptr2, ring_source, (8 - zcd.n1) * sizeof(void *));
	return 1;
}

static void hts_release(void *r, struct ring_hold *hold)
{
	(void)hold;
	rte_ring_enqueue_zc_finish(r, 8);
}
STALL_CALLS(hts, HTS_PUT, HTS_GET)

#if RTE_VERSION < RTE_VERSION_NUM(24, 11, 0, 0)

static int mp_hold(void *ring, struct ring_hold *hold)
{
	struct rte_ring *r = ring;
	uint32_t head, next, room;

	if (__rte_ring_move_prod_head(r, 0, 8, RTE_RING_QUEUE_FIXED, &head, &next,
				      &room) != 8)
		return 0;
	__rte_ring_enqueue_elems(r, head, ring_source, sizeof(void *), 8);
	hold->words[0] = head;
	hold->words[1] = next;
	return 1;
}

static void mp_release(void *ring, struct ring_hold *hold)
{
	struct rte_ring *r = ring;

	__rte_ring_update_tail(&r->prod, (uint32_t)hold->words[0],
			       (uint32_t)hold->words[1], 0, 1);
}
STALL_CALLS(mp, MP_PUT, MC_GET)

static int rts_hold(void *ring, struct ring_hold *hold)
{
	struct rte_ring *r = ring;
	uint32_t head, room;

	(void)hold;
	if (__rte_ring_rts_move_prod_head(r, 8, RTE_RING_QUEUE_FIXED, &head, &room) != 8)
		return 0;
	__rte_ring_enqueue_elems(r, head, ring_source, sizeof(void *), 8);
	return 1;
}

static void rts_release(void *ring, struct ring_hold *hold)
{
	struct rte_ring *r = ring;

	(void)hold;
	__rte_ring_rts_update_tail(&r->rts_prod);
}
STALL_CALLS(rts, RTS_PUT, RTS_GET)

#define INTERNAL_STALL(name) (&name##_stall)
#else
#define INTERNAL_STALL(name) NULL
#endif

/* ---- the library ---- */

static const struct ring_contestant contestants[] = {
	{ "rte SP/SC", RING_ST, open_sp, close_ring, sp_loops, NULL, NULL },
	{ "rte MP/MC", RING_MT, open_mp, close_ring, mp_loops, INTERNAL_STALL(mp), NULL },
	{ "rte RTS", RING_MT, open_rts, close_ring, rts_loops, INTERNAL_STALL(rts),
	  NULL },
	{ "rte HTS", RING_MT, open_hts, close_ring, hts_loops, &hts_stall, NULL },
	{ "rte SP/SC const n", RING_ST, open_sp, close_ring, sp_known_loops, NULL,
	  "one_thread" },
	{ "rte MP/MC const n", RING_MT, open_mp, close_ring, mp_known_loops, NULL,
	  "one_thread" },
};

const struct ring_library ring_rte = {
	.peer = { "rte_ring", BENCH_RTE_VERSION, NULL },
	.start = bench_eal_start,
	.contestants = contestants,
	.n = sizeof(contestants) / sizeof(contestants[0]),
};
