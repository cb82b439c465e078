/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prepares a ring scenario and checks what came out; see ring_scenario.h.
 *
 * The ring is made once per scenario, in memory of our own; before every
 * execution that memory is set back to a snapshot.
 */
#include "ring_scenario.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ring/ring_internal.h"
#include "ring_scenario_internal.h"

#define STATE_BYTES 16384

struct ring_world ring_world;

static struct ring_world *const w = &ring_world;
static _Alignas(LIBFP_RING_ALIGN) unsigned char state_memory[STATE_BYTES];
static unsigned char snapshot[STATE_BYTES];
static fp_ring handle_snapshot;

static void thread(int t)
{
	for (const char *p = w->scenario->threads[t]; *p; p++)
		ring_operation(t, *p);
}

/* ---- checks at the end ---- */

static void drain(void)
{
	uint32_t words[ELEM_WORDS];
	int32_t r;

	while ((r = fp_ring_dequeue_burst(w->ring, words, 1, NULL)) == 1)
		ring_record(EX_THREADS, words, 1);
	EX_CHECK(r == (w->any_close ? -EPIPE : 0));
	EX_CHECK(fp_ring_count(w->ring) == 0);
	EX_CHECK(fp_ring_free_count(w->ring) == (int64_t)w->scenario->capacity);
	for (int t = 0; t < EX_THREADS; t++)
		if (w->actors[t].got_epipe)
			EX_CHECK(w->actors[EX_THREADS].n_taken == 0);
}

/*
 * Every element once and in its producer's order. What is drained at the end
 * comes after everything that was consumed.
 */
static void check_elements(void)
{
	uint32_t next[EX_THREADS + 1] = { 0 }; /* per producer, for the drain */
	uint64_t seen[EX_THREADS + 1] = { 0 };

	for (int c = 0; c <= EX_THREADS; c++) {
		uint32_t least[EX_THREADS + 1] = { 0 };

		if (c == EX_THREADS)
			memcpy(least, next, sizeof(least));
		for (int i = 0; i < w->actors[c].n_taken; i++) {
			uint32_t p = w->actors[c].taken[i] / 100 - 1;
			uint32_t q = w->actors[c].taken[i] % 100;

			EX_CHECK(p <= PREFILL &&
				 q < w->actors[p].sent); /* not invented */
			EX_CHECK(q >= least[p]);	 /* in order */
			least[p] = q + 1;
			if (next[p] < q + 1)
				next[p] = q + 1;
			EX_CHECK(!(seen[p] >> q & 1)); /* not twice */
			seen[p] |= 1ull << q;
		}
	}
	for (int p = 0; p <= PREFILL; p++) /* not lost */
		EX_CHECK(seen[p] == (1ull << w->actors[p].sent) - 1);
}

static void check_counters(void)
{
	fp_ring_stats st = { .size = sizeof(st) };
	uint64_t sent = w->scenario->passed, voided = 0;

	for (int t = 0; t <= PREFILL; t++) {
		sent += w->actors[t].sent;
		voided += w->actors[t].voided;
	}
	EX_CHECK(fp_ring_get_stats(w->ring, &st) == 0);
	EX_CHECK(st.enqueued == sent && st.dequeued == sent);
	EX_CHECK(st.voided == voided);
	EX_CHECK(st.unpublished == 0 && st.void_pending == 0);
}

static void check_whole_capacity(void)
{
	uint32_t words[ELEM_WORDS], out[ELEM_WORDS];

	if (w->any_close)
		return;
	for (uint32_t i = 0; i < w->scenario->capacity; i++) {
		ring_fill(words, i, 1);
		EX_CHECK(fp_ring_enqueue(w->ring, words) == 1);
	}
	EX_CHECK(fp_ring_enqueue(w->ring, words) == 0);
	for (uint32_t i = 0; i < w->scenario->capacity; i++) {
		EX_CHECK(fp_ring_dequeue(w->ring, out) == 1);
		EX_CHECK(out[0] == i);
	}
}

static void finish(void)
{
	if (w->scenario->unborn)
		return;
	if (w->any_shut)
		fpi_ring_reopen(w->ring);
	EX_CHECK(w->committed == (w->scenario->span != 0));
	drain();
	check_elements();
	check_counters();
	check_whole_capacity();
}

/* ---- preparation ---- */

static void setup(void)
{
	static const char *const gen_names[] = { "gen[0]", "gen[1]", "gen[2]", "gen[3]" };
	struct fpi_ring_state *state = (struct fpi_ring_state *)(void *)w->memory;

	memcpy(w->memory, snapshot, w->memory_used);
	*w->ring = handle_snapshot;
	memset(w->actors, 0, sizeof(w->actors));
	w->actors[PREFILL].sent = w->scenario->fill;
	w->committed = 0;
	w->flag = 0;
	ex_statistic(&state->voided.value);
	ex_statistic(&state->voids_passed.value);
	ex_statistic(&state->spans.value); /* destroy and reset look at it */
	ex_name(&state->prod.head.value, "prod.head");
	ex_name(&state->cons.head.value, "cons.head");
	ex_name(&state->closed.value, "closed");
	for (uint32_t i = 0; i < w->scenario->capacity && i < 4 && w->ring->gens; i++)
		ex_name(&w->ring->gens[i].value, gen_names[i]);
}

static void must_be(int ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "%s: cannot prepare: %s\n", w->scenario->name, what);
		exit(2);
	}
}

void ring_scenario_prepare(const struct ring_scenario *s, struct ex_test *test)
{
	fp_ring_opts o = LIBFP_RING_OPTS_INIT;
	uint32_t words[ELEM_WORDS];

	w->scenario = s;
	o.capacity = s->capacity;
	o.flags = s->flags;
	o.elem_size = s->elem_size;
	o.producer = s->producer;
	o.consumer = s->consumer;
	if (w->ring) {
		*w->ring = handle_snapshot;
		must_be(fp_ring_destroy(w->ring) == 0, "destroy");
	}
	w->memory = state_memory;
	memset(state_memory, 0, sizeof(state_memory));
	must_be(fp_ring_memsize(&o) > 0, "size");
	w->memory_used = (size_t)fp_ring_memsize(&o);
	must_be(w->memory_used <= sizeof(state_memory), "memory");
	must_be(fp_ring_init(w->memory, w->memory_used, &o, &w->ring) == 0, "init");
	for (uint32_t i = 0; i < s->passed; i++) {
		must_be(fp_ring_enqueue(w->ring, words) == 1, "enqueue");
		must_be(fp_ring_dequeue(w->ring, words) == 1, "dequeue");
	}
	for (uint32_t i = 0; i < s->fill; i++) {
		ring_fill(words, (PREFILL + 1) * 100 + i, 1);
		must_be(fp_ring_enqueue(w->ring, words) == 1, "fill");
	}
	if (s->span) {
		must_be(fp_ring_reserve_enqueue(w->ring, s->span, 0, &w->span) ==
				(int32_t)s->span,
			"span");
		ring_fill(w->span.ptr1, (PREFILL + 1) * 100 + s->fill, w->span.n1);
		ring_fill(w->span.ptr2, (PREFILL + 1) * 100 + s->fill + w->span.n1,
			  w->span.n2);
	}
	memcpy(snapshot, w->memory, w->memory_used);
	if (s->unborn)
		memset(snapshot, 0, sizeof(snapshot));
	handle_snapshot = *w->ring;

	w->any_close = w->any_told = w->any_shut = 0;
	*test = (struct ex_test){
		.name = s->name, .setup = setup, .thread = thread, .finish = finish
	};
	while (test->threads < EX_THREADS && s->threads[test->threads]) {
		w->any_close |= strchr(s->threads[test->threads], 'c') != NULL;
		w->any_shut |= strchr(s->threads[test->threads], 'X') != NULL;
		w->any_told |= strchr(s->threads[test->threads], 'p') != NULL;
		test->threads++;
	}
}

void ring_scenario_locations(void (*atomic)(void *addr, size_t size),
			     void (*plain)(void *addr, size_t len))
{
	struct fpi_ring_state *state = w->ring->state;

	atomic(&state->prod.head.value, 8);
	atomic(&state->cons.head.value, 8);
	atomic(&state->closed.value, 4);
	atomic(&state->spans.value, 4);
	atomic(&state->voided.value, 8);
	atomic(&state->voids_passed.value, 8);
	atomic(&fpi_wakeup_nobody.state.value, 8);
	for (uint32_t i = 0; i < w->scenario->capacity && w->ring->gens; i++)
		atomic(&w->ring->gens[i].value, 1);
	atomic(&w->flag, sizeof(w->flag));
	plain(w->ring->data, (size_t)w->scenario->capacity * ring_elem_words() * 4);
	plain(&w->told, sizeof(w->told));
	/* the private words beside each head */
	plain(&state->prod.head + 1, sizeof(state->prod) - sizeof(state->prod.head));
	plain(&state->cons.head + 1, sizeof(state->cons) - sizeof(state->cons.head));
}
