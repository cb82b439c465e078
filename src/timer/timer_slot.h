/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Putting an entry into a slot: inline, because every arm does it. timer_wheel.c says how
 * levels, slots and chunks are made.
 */
#ifndef FPI_TIMER_SLOT_H
#define FPI_TIMER_SLOT_H

#include "timer/timer_internal.h"

/* Gives a slot a chunk for an entry at `exp`. */
void fpi_slot_grow(fp_timer_wheel *w, uint32_t s, uint64_t exp);

FPI_INLINE void fpi_slot_add(fp_timer_wheel *w, uint32_t s, uint32_t index, uint64_t exp)
{
	struct fpi_slot *slot = &w->slots[s];
	struct fpi_timer *t = &w->records[index];
	struct fpi_chunk *chunk = &w->chunks[slot->head];
	uint32_t place = chunk->count;

	if (FPI_UNLIKELY(place == FPI_CHUNK_ENTRIES)) {
		fpi_slot_grow(w, s, exp);
		chunk = &w->chunks[slot->head];
		place = 0;
	}
	chunk->count = place + 1;
	chunk->entry[place].exp = exp;
	chunk->entry[place].index = index;
	t->at = slot->head << FPI_CHUNK_BITS | place;
	t->slot = s;
}

/*
 * Puts an entry at `cur` or later where it belongs, in level `highest` or lower. Returns the
 * start of its slot.
 */
FPI_INLINE uint64_t fpi_slot_place(fp_timer_wheel *w, uint32_t index, uint64_t exp,
				   uint32_t highest)
{
	/* The lowest bit set, for a distance of 0: level 0. */
	uint32_t bits = 63 - (uint32_t)__builtin_clzll((exp - w->cur) | 1);
	uint32_t shift = bits & ~(FPI_LEVEL_BITS - 1u), level = bits / FPI_LEVEL_BITS;
	uint64_t number, start;

	if (level > highest) {
		level = highest;
		shift = highest * FPI_LEVEL_BITS;
	}
	number = exp >> shift;
	start = number << shift;
	fpi_slot_add(w, level * FPI_LEVEL_SLOTS + (uint32_t)number % FPI_LEVEL_SLOTS,
		     index, exp);
	if (start < w->first[level]) {
		w->first[level] = start;
		w->event_stale = 1;
	}
	return start;
}

/* As fpi_wheel_insert(). */
FPI_INLINE uint64_t fpi_slot_insert(fp_timer_wheel *w, uint32_t index, uint64_t exp)
{
	FPI_PLAIN_STORE(&w->records[index].entry_exp, exp);
	if (FPI_UNLIKELY(exp <= FPI_PLAIN_LOAD(&w->cur))) {
		fpi_slot_add(w, FPI_SLOT_LATE, index, exp);
		return 0;
	}
	return fpi_slot_place(w, index, exp, FPI_WHEEL_LEVELS - 1);
}

#endif
