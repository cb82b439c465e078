/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The long way of a generation ring: claims of runs that wrap, are shorter than
 * asked for or have void slots among them, and the refusals. The algorithm and
 * its memory orders are explained at the top of ring_gens.c.
 */
#include "ring/ring_gens_claim.h"

#include "base/copy.h"
#include "base/thread_slot.h"

FPI_COLD void fpi_gens_note_owner(fp_ring *r, uint64_t from, uint64_t to)
{
	uint64_t me = (uint32_t)fpi_thread_id();

	for (; from != to; from = fpi_ring_advance(r, from, 1))
		FPI_STORE(&r->owners[fpi_ring_index(r, from)],
			  (from >> r->shift) << 32 | me, FPI_RELAXED);
}

uint32_t fpi_gens_run_from(const fp_ring *r, uint64_t pos, unsigned state, uint32_t n,
			   int order)
{
	uint32_t n1 = fpi_gens_piece(r, pos, n), run;

	run = (uint32_t)fpi_gens_run(fpi_gens_at(r, pos), fpi_gen(r, pos, state), n1,
				     order);
	if (run == n1 && n1 < n) {
		pos = fpi_ring_advance(r, pos, n1);
		if (n - n1 <= r->last + 1 - n1)
			n -= n1;
		else
			n = (uint32_t)(r->last + 1 - n1);
		run += (uint32_t)fpi_gens_run(r->gens, fpi_gen(r, pos, state), n, order);
	}
	return run;
}

/*
 * For the second look of a refused call (ring_linger.c): whether the slots from
 * pos on are so far in this state that it was worth it. Only a hint.
 */
static int worth_it(const fp_ring *r, uint64_t pos, unsigned state, uint32_t n)
{
	uint64_t k = fpi_ring_worth(n);

	if (k > r->capacity)
		return 0;
	pos = fpi_ring_advance(r, pos, k - 1);
	return FPI_LOAD(fpi_gens_at(r, pos), FPI_RELAXED) == fpi_gen(r, pos, state);
}

int32_t fpi_gens_claim_free(fp_ring *r, uint32_t n, uint32_t bulk, uint64_t *pos, int mt)
{
	int again = 0;

	for (;;) {
		uint64_t h = fpi_gens_prod_head(r, mt);
		uint32_t run;

		FPI_STEP(GENS_P_LOADED);
		if (h & FPI_RING_CLOSED)
			return -EPIPE;
		/* Partner: GENS_C_FREE, GENS_C_FREE2, GENS_C1_FREE. */
		run = fpi_gens_run_from(r, h, FPI_GEN_EMPTY, n,
					FPI_MO(GENS_P_CHECK, ACQUIRE));
		if (again)
			fpi_ring_lingered(r->prod, worth_it(r, h, FPI_GEN_EMPTY, n));
		if (run < n && (bulk || run == 0)) {
			if (mt && FPI_LOAD(&r->prod->head, FPI_RELAXED) != h)
				continue;
			if (!again && fpi_ring_linger(r->prod, h)) {
				again = 1;
				continue;
			}
			return bulk && n > r->capacity ? -EINVAL : 0;
		}
		FPI_STEP(GENS_P_CHECKED);
		if (!fpi_gens_prod_claim(r, h, fpi_ring_advance(r, h, run), mt))
			continue;
		if (FPI_UNLIKELY(r->owners != NULL))
			fpi_gens_note_owner(r, h, fpi_ring_advance(r, h, run));
		FPI_STEP(GENS_P_CLAIMED);
		*pos = h;
		return (int32_t)run;
	}
}

void fpi_gens_copy_in(fp_ring *r, uint64_t pos, const void *elems, uint32_t n)
{
	uint32_t n1 = fpi_gens_piece(r, pos, n);
	const unsigned char *from = (const unsigned char *)elems;

	fpi_copy(fpi_ring_slot(r, pos), from, (size_t)n1 * r->elem_size);
	if (n1 < n)
		fpi_copy(r->data, from + (size_t)n1 * r->elem_size,
			 (size_t)(n - n1) * r->elem_size);
}

void fpi_gens_copy_out(const fp_ring *r, uint64_t pos, void *elems, uint32_t n)
{
	uint32_t n1 = fpi_gens_piece(r, pos, n);
	unsigned char *to = (unsigned char *)elems;

	fpi_copy(to, fpi_ring_slot(r, pos), (size_t)n1 * r->elem_size);
	if (n1 < n)
		fpi_copy(to + (size_t)n1 * r->elem_size, r->data,
			 (size_t)(n - n1) * r->elem_size);
}

void fpi_gens_publish(fp_ring *r, uint64_t pos, uint32_t n, unsigned state)
{
	uint32_t n1 = fpi_gens_piece(r, pos, n);

	if (n == 0)
		return;
	/* Partner: GENS_C_CHECK, GENS_C1_CHECK. */
	fpi_gens_set(fpi_gens_at(r, pos), fpi_gen(r, pos, state), n1,
		     FPI_MO(GENS_P_PUBLISH, RELEASE), 0);
	FPI_STEP(GENS_P_HALF_PUBLISHED);
	if (n1 < n) {
		pos = fpi_ring_advance(r, pos, n1);
		fpi_gens_set(r->gens, fpi_gen(r, pos, state), n - n1,
			     FPI_MO(GENS_P_PUBLISH2, RELEASE), 0);
	}
}

void fpi_gens_release(fp_ring *r, uint64_t pos, uint32_t n)
{
	uint32_t n1 = fpi_gens_piece(r, pos, n);

	if (n == 0)
		return;
	/* Partner: GENS_P_CHECK, GENS_P1_CHECK. */
	fpi_gens_set(fpi_gens_at(r, pos), fpi_gen_next(fpi_gen(r, pos, FPI_GEN_FULL)), n1,
		     FPI_MO(GENS_C_FREE, RELEASE), 0);
	FPI_STEP(GENS_C_HALF_FREED);
	if (n1 < n) {
		pos = fpi_ring_advance(r, pos, n1);
		fpi_gens_set(r->gens, fpi_gen_next(fpi_gen(r, pos, FPI_GEN_FULL)), n - n1,
			     FPI_MO(GENS_C_FREE2, RELEASE), 0);
	}
}

FPI_COLD void fpi_gens_pass_voids(fp_ring *r, uint64_t h, int mt)
{
	/* Partner: GENS_P_PUBLISH: the slots were the voiding producer's to write. */
	uint32_t n = fpi_gens_run_from(r, h, FPI_GEN_VOID, r->capacity,
				       FPI_MO(GENS_C_VOIDS, ACQUIRE));

	if (n == 0 || !fpi_gens_cons_claim(r, h, fpi_ring_advance(r, h, n), mt))
		return;
	fpi_gens_release(r, h, n);
	FPI_FETCH_ADD(&r->state->voids_passed, n, FPI_RELAXED);
	/* The call may end without having moved anything; see ring_wake.c. */
	fpi_wakeup_signal(r->wake[FPI_RING_PRODUCER]);
}

FPI_COLD uint32_t fpi_gens_walk(const fp_ring *r, uint64_t h, uint32_t n, uint64_t *end)
{
	uint32_t full = 0;

	for (uint64_t seen = 0; full < n && seen <= r->last; seen++) {
		/* Partner: GENS_P_PUBLISH, GENS_P_PUBLISH2, GENS_P1_PUBLISH. */
		uint8_t g = FPI_LOAD(fpi_gens_at(r, h), FPI_MO(GENS_C_WALK, ACQUIRE));

		if (g == fpi_gen(r, h, FPI_GEN_FULL))
			full++;
		else if (g != fpi_gen(r, h, FPI_GEN_VOID))
			break;
		h = fpi_ring_advance(r, h, 1);
	}
	*end = h;
	return full;
}

void fpi_gens_take_walk(fp_ring *r, uint64_t pos, uint64_t end, unsigned char *elems)
{
	uint64_t voids = 0;

	for (; pos != end; pos = fpi_ring_advance(r, pos, 1)) {
		fpi_atomic_u8 *g = fpi_gens_at(r, pos);

		/* Acquired by the walk; nobody else writes it once it is ours. */
		if (FPI_LOAD(g, FPI_RELAXED) == fpi_gen(r, pos, FPI_GEN_FULL)) {
			fpi_copy(elems, fpi_ring_slot(r, pos), r->elem_size);
			elems += r->elem_size;
		} else {
			voids++;
		}
		/* Partner: GENS_P_CHECK, GENS_P1_CHECK. */
		FPI_STORE(g, fpi_gen_next(fpi_gen(r, pos, FPI_GEN_FULL)),
			  FPI_MO(GENS_C_WALK_FREE, RELEASE));
	}
	FPI_FETCH_ADD(&r->state->voids_passed, voids, FPI_RELAXED);
}

FPI_NOINLINE int32_t fpi_gens_none_left(const fp_ring *r, uint64_t end)
{
	/* Partner: GENS_CLOSE_HINT; makes the closed head visible. */
	if (!FPI_LOAD(&r->state->closed, FPI_MO(GENS_C_CLOSED, ACQUIRE)))
		return 0;
	/* Partner: GENS_CLOSE; what the closer did before is visible after -EPIPE. */
	if ((FPI_LOAD(&r->prod->head, FPI_MO(GENS_C_CLOSED_HEAD, ACQUIRE)) &
	     ~FPI_RING_CLOSED) != end)
		return 0;
	return -EPIPE;
}

int32_t fpi_gens_claim_full(fp_ring *r, uint32_t n, uint32_t bulk, int span,
			    uint64_t *pos, uint64_t *end, int mt)
{
	int again = 0;

	for (;;) {
		uint64_t h = fpi_gens_cons_head(r, mt), to, published;
		uint32_t run;

		FPI_STEP(GENS_C_LOADED);
		/* Partner: GENS_P_PUBLISH, GENS_P_PUBLISH2, GENS_P1_PUBLISH. */
		run = fpi_gens_run_from(r, h, FPI_GEN_FULL, n,
					FPI_MO(GENS_C_CHECK, ACQUIRE));
		published = to = fpi_ring_advance(r, h, run);
		if (again)
			fpi_ring_lingered(r->cons, worth_it(r, h, FPI_GEN_FULL, n));
		if (run < n && fpi_gens_is_void(r, to)) {
			uint32_t full;

			if (run == 0) {
				fpi_gens_pass_voids(r, h, mt);
				continue;
			}
			full = fpi_gens_walk(r, h, n, &published);
			if (span) {
				if (bulk && full == n)
					return -EAGAIN;
			} else {
				run = full;
				to = published;
			}
		}
		if (run < n && (bulk || run == 0)) {
			if (mt && FPI_LOAD(&r->cons->head, FPI_RELAXED) != h)
				continue;
			if (!again && fpi_ring_linger(r->cons, h)) {
				again = 1;
				continue;
			}
			return bulk && n > r->capacity ? -EINVAL :
							 fpi_gens_none_left(r, published);
		}
		FPI_STEP(GENS_C_CHECKED);
		if (!fpi_gens_cons_claim(r, h, to, mt))
			continue;
		FPI_STEP(GENS_C_CLAIMED);
		*pos = h;
		*end = to;
		return (int32_t)run;
	}
}
