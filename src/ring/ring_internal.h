/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shape of a ring, shared by the files of src/ring.
 *
 * A ring is a *state* (position independent: header, one pair of lines per
 * side, generations, elements; it may live in shared memory) and a *handle*
 * (struct fp_ring, local to the process, holds pointers and the functions
 * chosen at create).
 *
 * Position word
 * -------------
 * A side's place in the ring is one 64-bit word:
 *
 *     63        62 .. shift    shift-1 .. 0
 *     closed    lap            index
 *
 * shift = ceil(log2(capacity)), at least 2; mask = 2^shift - 1. A step past index
 * capacity-1 adds `carry` = 2^shift - capacity, so that the lap grows and the
 * index starts at 0: any capacity is exact, words only ever grow (no ABA), and
 * for a power of two the carry is 0. The closed bit is used in the producer
 * head only.
 */
#ifndef FPI_RING_INTERNAL_H
#define FPI_RING_INTERNAL_H

#include <libfp/ring.h>

#include "base/atomic.h"
#include "base/compiler.h"
#include "base/guard.h"
#include "base/memory.h"
#include "base/registry.h"
#include "wakeup/wakeup.h"

/* Code for CPUs on which fpi_cpu_avx2() is true. */
#if defined(__x86_64__)
#define FPI_AVX2_TARGET __attribute__((target("avx2,bmi2")))
#define FPI_AVX2_OR_BASE(name) name##_avx2
#else
#define FPI_AVX2_OR_BASE(name) name
#endif

#define FPI_RING_MAGIC 0x676e697270662d31ull /* layout 1 */
#define FPI_RING_CLOSED (1ull << 63)

/* One side of a ring, on lines of its own. Only that side writes it. */
struct fpi_ring_side {
	fpi_atomic_u64 head;	/* index ring: published; gens: next to claim */
	uint64_t cached;	/* index ring, private: opposite head as last seen */
	uint64_t span_pos;	/* ST side, private: the open span */
	uint32_t span_n;	/* its slots; 0: none is open */
	fpi_atomic_u32 owner;	/* CHECKED: thread inside this ST side, 0: none */
	fpi_atomic_u32 span_by; /* CHECKED: thread that reserved the last span */
	/* Hints of ring_linger.c. */
	fpi_atomic_u32 linger_skip; /* refusals that still do not linger */
	fpi_atomic_u32 linger_pass; /* what skip was last set to */
	fpi_atomic_u64 refused_at;  /* head at the last refusal */
} FPI_OWN_LINES;

struct fpi_ring_state {
	/* Written at init, then read only, but for closed and spans. */
	fpi_atomic_u64 magic; /* stored last (release), partner: attach */
	uint64_t total;	      /* bytes of the whole state */
	uint64_t gens_offset; /* 0: index ring */
	uint64_t data_offset;
	uint64_t owners_offset; /* 0: not CHECKED */
	uint32_t flags;		/* LIBFP_STATS | LIBFP_CHECKED */
	uint32_t capacity;
	uint32_t elem_size;
	uint32_t producer;
	uint32_t consumer;
	fpi_atomic_u32 closed; /* hint on a line that producers do not write */
	fpi_atomic_u32 spans;  /* a span was ever reserved on an MT side */

	struct fpi_ring_side prod;
	struct fpi_ring_side cons;

	/* Cold counters. */
	fpi_atomic_u64 voided;	      /* slots given up by producers */
	fpi_atomic_u64 voids_passed;  /* of these, passed by consumers */
	fpi_atomic_u64 refused_full;  /* LIBFP_STATS */
	fpi_atomic_u64 refused_empty; /* LIBFP_STATS */
	fpi_atomic_u64 high_water;    /* LIBFP_STATS */
	fpi_atomic_u64 blocked_pos;   /* head position last seen blocked, + 1 */
	fpi_atomic_u64 blocked_since; /* when it was first seen, ns */
} FPI_OWN_LINES;

/*
 * ring_linger.c: 1 if a call that is about to be refused at this head has paused
 * and should look once more, and say with fpi_ring_lingered() what that brought.
 */
int fpi_ring_linger(struct fpi_ring_side *s, uint64_t at);
void fpi_ring_lingered(struct fpi_ring_side *s, int worth_it);

/* A second look for n elements is worth it if it finds so many: a batch. */
FPI_INLINE uint64_t fpi_ring_worth(uint64_t n)
{
	return n < 8 ? 8 : n > 32 ? 32 : n;
}

enum fpi_ring_side_name { FPI_RING_PRODUCER, FPI_RING_CONSUMER };

/* How a side is driven; decides what the single calls have inline. */
enum fpi_ring_kind {
	FPI_RING_CALL = 0, /* through the handle's functions */
	FPI_RING_INDEX8,   /* index ring, 8-byte elements */
	FPI_RING_GENS8,	   /* generation ring, MT side, 8-byte elements */
};

/*
 * Moves up to n (bulk: exactly n) elements; 1 <= n <= INT32_MAX, table not
 * NULL. Returns as the public calls. Few arguments, and n as wide as a register:
 * the common path then needs no callee-saved one.
 */
typedef int32_t fpi_ring_enqueue_fn(fp_ring *r, const void *elems, uint64_t n,
				    uint32_t bulk);
typedef int32_t fpi_ring_dequeue_fn(fp_ring *r, void *elems, uint64_t n, uint32_t bulk);
typedef int32_t fpi_ring_reserve_fn(fp_ring *r, uint32_t n, uint32_t bulk,
				    fp_ring_span *span);
typedef int32_t fpi_ring_commit_fn(fp_ring *r, fp_ring_span *span, uint32_t k);
typedef int32_t fpi_ring_peek_fn(fp_ring *r, void *elems, uint32_t n);
/*
 * Whether a call on this side would find something: 1; 0; -EPIPE. On the consumer side
 * it passes void slots, as a dequeue that finds nothing does.
 */
typedef int fpi_ring_ready_fn(fp_ring *r, enum fpi_ring_side_name side);

#ifndef FPI_RING_FEW   /* the model uses fewer, so that small bursts take both paths */
#define FPI_RING_FEW 8 /* bursts up to here have functions of their own */
#endif

struct fpi_ring_ops {
	fpi_ring_enqueue_fn *enqueue[2]; /* [n > FPI_RING_FEW] */
	fpi_ring_dequeue_fn *dequeue[2];
	fpi_ring_reserve_fn *reserve_enqueue;
	fpi_ring_reserve_fn *reserve_dequeue;
	fpi_ring_commit_fn *commit_enqueue;
	fpi_ring_commit_fn *commit_dequeue;
	fpi_ring_peek_fn *peek; /* NULL: consumer side is MT */
	fpi_ring_ready_fn *ready;
};

struct fp_ring {
	/* Read on every call; never written after create. */
	uint8_t prod_kind; /* enum fpi_ring_kind */
	uint8_t cons_kind;
	uint8_t shift;	   /* of the lap in a position word */
	uint8_t gen_shift; /* shift - 2: brings the lap to where a generation has it */
	uint32_t elem_size;
	uint64_t mask;
	uint64_t last; /* capacity - 1 */
	uint64_t carry;
	struct fpi_ring_side *prod;
	struct fpi_ring_side *cons;
	fpi_atomic_u8 *gens;
	unsigned char *data;
	fp_wakeup *
		wake[2]; /* whom to signal, [side that may sleep]; or fpi_wakeup_nobody */
	struct fpi_ring_ops ops;
	struct fpi_ring_ops raw; /* what the guards of CHECKED and STATS call */
	struct fpi_ring_state *state;
	fpi_atomic_u64 *owners; /* CHECKED: who claimed each slot */
	uint32_t capacity;
	uint32_t generation; /* fork generation of this handle */
	/* Copies of the state's: a call that comes during destroy reads them here. */
	uint32_t flags;
	uint32_t sync[2];	   /* [enum fpi_ring_side_name] */
	struct fpi_guard guard;	   /* CHECKED */
	fp_wakeup *own;		   /* LIBFP_RING_WAIT: two, [side] */
	fpi_atomic_u32 waiting[2]; /* threads inside a waiting call, [side] */

	struct fpi_mem mem;	  /* this handle */
	struct fpi_mem state_mem; /* none: the state is the caller's memory */
	struct fpi_name name;
} FPI_OWN_LINES;

/* ---- position words ---- */

FPI_INLINE uint64_t fpi_ring_index(const fp_ring *r, uint64_t pos)
{
	return pos & r->mask;
}

/* pos + n slots, n <= capacity */
FPI_INLINE uint64_t fpi_ring_advance(const fp_ring *r, uint64_t pos, uint64_t n)
{
	uint64_t end = pos + n;

	if (FPI_UNLIKELY((pos & r->mask) + n > r->last))
		end += r->carry;
	return end;
}

/* Slots from `from` to `to`; at most one lap apart, neither closed. */
FPI_INLINE uint64_t fpi_ring_distance(const fp_ring *r, uint64_t from, uint64_t to)
{
	uint64_t d = to - from;

	return (to ^ from) > r->mask ? d - r->carry : d;
}

/* Slots passed since position 0. */
FPI_INLINE uint64_t fpi_ring_linear(const fp_ring *r, uint64_t pos)
{
	return (pos >> r->shift) * r->capacity + (pos & r->mask);
}

/* Whether a thread is inside a waiting call on this side. */
FPI_INLINE int fpi_ring_is_waited_for(const fp_ring *r, uint32_t side)
{
	/* Partner: RING_WAIT_DONE: whoever waited has left the ring. */
	return FPI_LOAD(&r->waiting[side], FPI_MO(RING_WAITED, ACQUIRE)) != 0;
}

/* ---- slots ---- */

FPI_INLINE uint64_t *fpi_ring_slot8(const fp_ring *r, uint64_t index)
{
	return (uint64_t *)(void *)(r->data + index * 8);
}

FPI_INLINE unsigned char *fpi_ring_slot(const fp_ring *r, uint64_t pos)
{
	return r->data + (pos & r->mask) * r->elem_size;
}

/* ---- span tokens: position, side, "open" bit ---- */

#define FPI_SPAN_OPEN 1u
#define FPI_SPAN_DEQUEUE 2u

FPI_INLINE uint64_t fpi_span_token(uint64_t pos, uint64_t side)
{
	return pos << 2 | side | FPI_SPAN_OPEN;
}

/* Describes slots [pos, pos + n) in span. */
void fpi_ring_span_set(const fp_ring *r, fp_ring_span *span, uint64_t pos, uint32_t n,
		       uint64_t side);
/* True if the span has the form of an open one of this side; sets *pos, *n. */
int fpi_ring_span_get(const fp_ring *r, const fp_ring_span *span, uint64_t side,
		      uint64_t *pos, uint32_t *n);

/* ---- the algorithms ---- */

/* ring_spsc.c, ring_gens.c: fill r->ops (avx2: may use AVX2 copies). */
void fpi_ring_spsc_ops(fp_ring *r, int avx2);
void fpi_ring_gens_ops(fp_ring *r, int avx2);

/* Set the closed bit; ST producer: on the producing thread. */
void fpi_spsc_close(fp_ring *r);
void fpi_gens_close(fp_ring *r);

/* ring_gens_span.c: whether an MT side has a span open. */
int fpi_ring_gens_spans_open(const fp_ring *r);
/* Unpublished and void slots among those in use. */
void fpi_ring_gens_survey(const fp_ring *r, uint64_t *unpublished, uint64_t *voids);
/* Whether the slot at the consumer head is claimed but not published; *pos is
 * the head, *by the thread that claimed it, 0 if not known. */
int fpi_ring_gens_blocked(const fp_ring *r, uint64_t *pos, int64_t *by);

/* ring_guard.c: puts the guards of LIBFP_CHECKED and LIBFP_STATS around r->ops. */
void fpi_ring_guard_ops(fp_ring *r);
/* CHECKED: keeps calls out for destroy or reset; -EBUSY if one is inside. */
int fpi_ring_shut(fp_ring *r, const char *what);
void fpi_ring_reopen(fp_ring *r);
/* CHECKED: lets calls that came during destroy find their way out of the handle. */
void fpi_ring_let_out(fp_ring *r);
/* fp_ring_close() of a CHECKED ring. */
int fpi_ring_guarded_close(fp_ring *r);
/* Notes when the head is first seen blocked; returns that time, 0 if it is not. */
uint64_t fpi_ring_note_blocked(const fp_ring *r, uint64_t pos);

/* Somebody sleeps: signals, returns got. */
FPI_COLD int32_t fpi_ring_signal_slow(fp_wakeup *w, uint64_t state, int32_t got);

/*
 * The end of a call that moved elements: signals who may sleep on `side`, returns got.
 * With tail calls only, so that the common path saves no registers.
 */
FPI_INLINE int32_t fpi_ring_signalled(const fp_ring *r, enum fpi_ring_side_name side,
				      int32_t got)
{
	fp_wakeup *w = r->wake[side];
	uint64_t state = fpi_wakeup_sleepers(w);

	return FPI_LIKELY(state == 0) ? got : fpi_ring_signal_slow(w, state, got);
}

/* The end of a call that may have moved nothing. */
FPI_INLINE int32_t fpi_ring_signal_after(const fp_ring *r, enum fpi_ring_side_name side,
					 int32_t got)
{
	return FPI_LIKELY(got > 0) ? fpi_ring_signalled(r, side, got) : got;
}
/* Wakes all that wait on the ring: it was closed. */
void fpi_ring_wake_closed(fp_ring *r);
/* The wake-ups of LIBFP_RING_WAIT, or nobody's; lets go of bound ones, before the end. */
void fpi_ring_wake_init(fp_ring *r);
void fpi_ring_wake_drop(fp_ring *r);

/* ring.c: slots in use, clamped to 0..capacity. */
uint64_t fpi_ring_used(const fp_ring *r);
/* ring.c: sets the closed bit. */
void fpi_ring_set_closed(fp_ring *r);

#ifdef FPI_TEST_STEPS
/* For tests: an empty ring whose position starts at this lap. */
void fpi_ring_start_at(fp_ring *r, uint64_t lap);
#endif

#endif
