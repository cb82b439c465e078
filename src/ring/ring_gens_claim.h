/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Claiming runs of slots of a generation ring that may wrap, be shorter than
 * asked for, or have void slots among them; publishing and freeing them. Shared
 * by the long way of ring_gens.c and the spans of ring_gens_span.c. The
 * algorithm is explained at the top of ring_gens.c.
 */
#ifndef FPI_RING_GENS_CLAIM_H
#define FPI_RING_GENS_CLAIM_H

#include "ring/ring_gens.h"

/* Which kind of side a function is told to work for. */
#define FPI_GENS_ST 0
#define FPI_GENS_MT 1

FPI_INLINE uint64_t fpi_gens_prod_head(const fp_ring *r, int mt)
{
	return mt ? FPI_LOAD(&r->prod->head, FPI_MO(GENS_P_HEAD, ACQUIRE)) :
		    FPI_LOAD(&r->prod->head, FPI_RELAXED);
}

FPI_INLINE uint64_t fpi_gens_cons_head(const fp_ring *r, int mt)
{
	return mt ? FPI_LOAD(&r->cons->head, FPI_MO(GENS_C_HEAD, ACQUIRE)) :
		    FPI_LOAD(&r->cons->head, FPI_RELAXED);
}

/* Moves the producer head from h to `to`; 0 if another producer was first. */
FPI_INLINE int fpi_gens_prod_claim(fp_ring *r, uint64_t h, uint64_t to, int mt)
{
	if (mt)
		return FPI_CAS(&r->prod->head, &h, to, FPI_MO(GENS_P_CLAIM, RELEASE));
	FPI_STORE(&r->prod->head, to, FPI_RELAXED);
	return 1;
}

FPI_INLINE int fpi_gens_cons_claim(fp_ring *r, uint64_t h, uint64_t to, int mt)
{
	if (mt)
		return FPI_CAS(&r->cons->head, &h, to, FPI_MO(GENS_C_CLAIM, RELEASE));
	/* Partner: RING_USED_CONS. */
	FPI_STORE(&r->cons->head, to, FPI_MO(GENS_SC_HEAD, RELEASE));
	return 1;
}

/* Slots from pos to the end of the array, at most n. */
FPI_INLINE uint32_t fpi_gens_piece(const fp_ring *r, uint64_t pos, uint32_t n)
{
	uint64_t room = r->last + 1 - fpi_ring_index(r, pos);

	return n < room ? n : (uint32_t)room;
}

/* Length of the run of slots in this state from pos on, at most n. */
uint32_t fpi_gens_run_from(const fp_ring *r, uint64_t pos, unsigned state, uint32_t n,
			   int order);

/*
 * Claims up to n (bulk: all n) free slots. Returns how many, 0 or negative;
 * *pos is the first.
 */
int32_t fpi_gens_claim_free(fp_ring *r, uint32_t n, uint32_t bulk, uint64_t *pos, int mt);

/* CHECKED: remembers that this thread claimed the slots (lap << 32 | thread). */
void fpi_gens_note_owner(fp_ring *r, uint64_t from, uint64_t to);

/* Publishes n claimed slots from pos on, as FULL or VOID. */
void fpi_gens_publish(fp_ring *r, uint64_t pos, uint32_t n, unsigned state);

/*
 * Claims up to n (bulk: all n) FULL slots; [*pos, *end) is what was claimed,
 * with the VOID slots among them. span: stop at a VOID, since a span's elements
 * are contiguous (-EAGAIN for a bulk that a VOID divides). Returns the number
 * of FULL, 0 or negative.
 */
int32_t fpi_gens_claim_full(fp_ring *r, uint32_t n, uint32_t bulk, int span,
			    uint64_t *pos, uint64_t *end, int mt);

/* Delivers the FULL slots of a claimed walk [pos, end) and frees all of it. */
void fpi_gens_take_walk(fp_ring *r, uint64_t pos, uint64_t end, unsigned char *elems);

/* Gives n read slots from pos on to the producers of the next lap. */
void fpi_gens_release(fp_ring *r, uint64_t pos, uint32_t n);

/* Claims and frees the void slots at the consumer head h. */
void fpi_gens_pass_voids(fp_ring *r, uint64_t h, int mt);

/*
 * Walks FULL and VOID slots from h on until n FULL ones are found. Returns the
 * number of FULL, *end the position behind the last slot walked.
 */
uint32_t fpi_gens_walk(const fp_ring *r, uint64_t h, uint32_t n, uint64_t *end);

/*
 * Too little is published for a dequeue: 0, or -EPIPE if nothing will ever
 * come. `end` is how far the ring is published from the consumer head on.
 */
int32_t fpi_gens_none_left(const fp_ring *r, uint64_t end);

/* A hint: whoever acts on it looks again with acquire. */
FPI_INLINE int fpi_gens_is_void(const fp_ring *r, uint64_t pos)
{
	return FPI_LOAD(fpi_gens_at(r, pos), FPI_RELAXED) ==
	       fpi_gen(r, pos, FPI_GEN_VOID);
}

/* Copies between n slots from pos on and a table. */
void fpi_gens_copy_in(fp_ring *r, uint64_t pos, const void *elems, uint32_t n);
void fpi_gens_copy_out(const fp_ring *r, uint64_t pos, void *elems, uint32_t n);

/* ring_gens_span.c: fills the span functions of r->ops. */
void fpi_gens_span_ops(fp_ring *r);

#endif
