/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What ring_scenario.c (preparation, checks) and ring_operations.c (letters)
 * share: the ring, and what each thread did to it.
 */
#ifndef MODEL_RING_SCENARIO_INTERNAL_H
#define MODEL_RING_SCENARIO_INTERNAL_H

#include "ring_scenario.h"

#define ELEM_WORDS 4
#define MAX_TAKEN 48
#define PREFILL EX_THREADS /* "producer" of what is inside at the start */

/* What a thread did; entry EX_THREADS is the drain at the end. */
struct ring_actor {
	uint32_t sent;
	uint32_t taken[MAX_TAKEN];
	int n_taken;
	uint32_t voided;
	int closed;	      /* has closed */
	int got_epipe;	      /* from a dequeue */
	int32_t peeked;	      /* element that must come next; 0: none */
	fp_ring_span in, out; /* open spans */
};

struct ring_world {
	const struct ring_scenario *scenario;
	fp_ring *ring;
	unsigned char *memory; /* of the ring's state */
	size_t memory_used;
	struct ring_actor actors[EX_THREADS + 1];
	fp_ring_span span; /* reserved at the start */
	int committed;	   /* how often */
	uint32_t flag, told;
	int any_close, any_told, any_shut; /* some thread has such a letter */
};
extern struct ring_world ring_world;

/* ring_operations.c */
uint32_t ring_elem_words(void);
/* n elements from number v on; every word of an element is its number. */
void ring_fill(uint32_t *words, uint32_t v, uint32_t n);
/* Thread t got these n elements. */
void ring_record(int t, const uint32_t *words, uint32_t n);
/* Does what the letter says. */
void ring_operation(int t, char letter);

#endif
