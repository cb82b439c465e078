/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs a ring scenario and checks what came out; see ring_scenario.h.
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

#define STATE_BYTES 16384
#define ELEM_WORDS 4
#define MAX_TAKEN 48
#define PREFILL EX_THREADS /* "producer" of what is inside at the start */

/* What a thread did; entry EX_THREADS is the drain at the end. */
struct actor {
	uint32_t sent;
	uint32_t taken[MAX_TAKEN];
	int n_taken;
	uint32_t voided;
	int closed;	   /* has closed */
	int got_epipe;	   /* from a dequeue */
	int32_t peeked;	   /* element that must come next; 0: none */
	fp_ring_span in, out; /* open spans */
};

static _Alignas(LIBFP_RING_ALIGN) unsigned char memory[STATE_BYTES];
static unsigned char snapshot[STATE_BYTES];
static size_t memory_used;
static fp_ring *ring;
static fp_ring handle_snapshot;
static const struct ring_scenario *scenario;
static struct actor actors[EX_THREADS + 1];
static uint32_t flag, told;
static int any_close, any_told, any_shut;

/* ---- elements: every word of element v is v ---- */

static uint32_t elem_words(void)
{
	return scenario->elem_size ? scenario->elem_size / 4 : 2;
}

static uint32_t next_value(int t)
{
	return (uint32_t)(t + 1) * 100 + actors[t].sent;
}

static void fill(uint32_t *words, uint32_t v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t w = 0; w < elem_words(); w++)
			*words++ = v + i;
}

static void record(int t, const uint32_t *words, uint32_t n)
{
	struct actor *a = &actors[t];

	for (uint32_t i = 0; i < n; i++, words += elem_words()) {
		for (uint32_t w = 1; w < elem_words(); w++)
			EX_CHECK(words[w] == words[0]); /* not torn */
		EX_CHECK(a->n_taken < MAX_TAKEN);
		a->taken[a->n_taken++] = words[0];
		if (a->peeked) {
			EX_CHECK(words[0] == (uint32_t)a->peeked);
			a->peeked = 0;
		}
	}
}

/* ---- results ---- */

/* CHECKED: another thread was inside. */
static int refused(int32_t r)
{
	return r == -EBUSY && (scenario->flags & LIBFP_CHECKED) && !scenario->must;
}

static void put_result(int t, int32_t r, uint32_t n)
{
	if (refused(r))
		return;
	if (r == -EPIPE) {
		EX_CHECK(any_close);
		return;
	}
	EX_CHECK(r >= 0 && r <= (int32_t)n);
	EX_CHECK(r == 0 || !actors[t].closed);
	EX_CHECK(!scenario->must || r == (int32_t)n);
	actors[t].sent += (uint32_t)r;
}

/*
 * -EPIPE: everything is taken (after a bulk of two, all but one may be), and
 * what the closer did before is visible.
 */
static void dequeue_epipe(int t, int bulk)
{
	EX_CHECK(any_close);
	if (!bulk)
		actors[t].got_epipe = 1;
	if (any_told)
		ex_plain(&told, sizeof(told), 0, "told");
}

static void take_result(int t, char op, int32_t r, uint32_t n, const uint32_t *words)
{
	if (refused(r))
		return;
	if (r == -EPIPE) {
		EX_CHECK(op == 'G' || !actors[t].peeked);
		dequeue_epipe(t, op == 'G');
		return;
	}
	EX_CHECK(r >= 0 && r <= (int32_t)n);
	EX_CHECK(r == 0 || !actors[t].got_epipe);
	EX_CHECK(!scenario->must || r == (int32_t)n);
	EX_CHECK(r || op == 'G' || !actors[t].peeked);
	record(t, words, (uint32_t)r);
}

/* ---- operations ---- */

static void put(int t, char op, uint32_t n)
{
	uint32_t words[3 * ELEM_WORDS];
	int32_t r;

	fill(words, next_value(t), n);
	if (op == 'e') {
		uint64_t v;

		memcpy(&v, words, 8);
		r = fp_ring_enqueue_u64(ring, v);
	} else if (op == 'B') {
		r = fp_ring_enqueue_bulk(ring, words, n, NULL);
		EX_CHECK(r <= 0 || r == (int32_t)n);
	} else {
		r = fp_ring_enqueue_burst(ring, words, n, NULL);
	}
	put_result(t, r, n);
}

static void take(int t, char op, uint32_t n)
{
	uint32_t words[3 * ELEM_WORDS] = { 0 };
	int32_t r;

	if (op == 'd') {
		uint64_t v = 0;

		r = fp_ring_dequeue_u64(ring, &v);
		memcpy(words, &v, 8);
	} else if (op == 'G') {
		r = fp_ring_dequeue_bulk(ring, words, n, NULL);
		EX_CHECK(r <= 0 || r == (int32_t)n);
	} else {
		r = fp_ring_dequeue_burst(ring, words, n, NULL);
	}
	take_result(t, op, r, n, words);
}

static unsigned char *span_at(const fp_ring_span *s, uint32_t i)
{
	unsigned char *p = i < s->n1 ? s->ptr1 : s->ptr2;

	return p + (i < s->n1 ? i : i - s->n1) * elem_words() * 4;
}

static void reserve_put(int t, uint32_t n)
{
	int32_t r = fp_ring_reserve_enqueue(ring, n, 0, &actors[t].in);

	if (r == -EPIPE)
		EX_CHECK(any_close);
	else
		EX_CHECK(r >= 0 && r <= (int32_t)n);
	EX_CHECK(!scenario->must || r == (int32_t)n);
}

/* Writes all of the open span and commits at most keep. */
static void commit_put(int t, uint32_t keep)
{
	struct actor *a = &actors[t];
	uint32_t n = a->in.n1 + a->in.n2, v = next_value(t);
	int32_t r;

	if (n == 0)
		return;
	for (uint32_t i = 0; i < n; i++) {
		ex_plain(span_at(&a->in, i), elem_words() * 4, 1, "span element");
		fill((uint32_t *)(void *)span_at(&a->in, i), v + i, 1);
	}
	if (keep > n)
		keep = n;
	r = fp_ring_commit_enqueue(ring, &a->in, keep);
	memset(&a->in, 0, sizeof(a->in));
	if (r == -EPIPE) {
		EX_CHECK(any_close && scenario->producer == LIBFP_ST);
		return;
	}
	EX_CHECK(r == (int32_t)keep);
	a->sent += keep;
	if (scenario->producer == LIBFP_MT)
		a->voided += n - keep;
}

static void reserve_take(int t, uint32_t n)
{
	int32_t r = fp_ring_reserve_dequeue(ring, n, 0, &actors[t].out);

	if (r == -EPIPE)
		dequeue_epipe(t, 0);
	else
		EX_CHECK(r >= 0 && r <= (int32_t)n);
	EX_CHECK(!scenario->must || r == (int32_t)n);
}

static void commit_take(int t, uint32_t keep)
{
	uint32_t words[3 * ELEM_WORDS];
	struct actor *a = &actors[t];
	uint32_t n = a->out.n1 + a->out.n2;

	if (n == 0)
		return;
	if (keep > n || scenario->consumer == LIBFP_MT)
		keep = n;
	for (uint32_t i = 0; i < n; i++) {
		ex_plain(span_at(&a->out, i), elem_words() * 4, 0, "span element");
		memcpy(&words[i * elem_words()], span_at(&a->out, i), elem_words() * 4);
	}
	EX_CHECK(fp_ring_commit_dequeue(ring, &a->out, keep) == (int32_t)keep);
	memset(&a->out, 0, sizeof(a->out));
	record(t, words, keep);
}

static void peek(int t)
{
	uint32_t words[ELEM_WORDS];
	int32_t r = fp_ring_peek(ring, words, 1);

	if (r == -EPIPE) {
		dequeue_epipe(t, 0);
		return;
	}
	EX_CHECK(r == 0 || r == 1);
	EX_CHECK(r || !actors[t].peeked);
	if (r)
		actors[t].peeked = (int32_t)words[0];
}

static void count(void)
{
	int64_t n = fp_ring_count(ring);
	int max = scenario->count_max ? scenario->count_max : (int)scenario->capacity;

	ex_note("count %d", (int)n);
	EX_CHECK(n >= scenario->count_min && n <= max);
}

/* What destroy and reset do: nobody else may be inside. */
static void shut(int reopen)
{
	if (fpi_ring_shut(ring, "shut"))
		return;
	ex_plain(memory, memory_used, 1, "state");
	if (reopen)
		fpi_ring_reopen(ring);
}

/* ---- a ring that one thread makes while others attach to it ---- */

static unsigned char arena[1024];

static void *arena_alloc(void *ctx, uint64_t size, uint64_t align)
{
	uintptr_t p = ((uintptr_t)ctx + align - 1) & ~(uintptr_t)(align - 1);

	EX_CHECK(p + size <= (uintptr_t)arena + sizeof(arena));
	return (void *)p;
}

static void arena_free(void *ctx, void *ptr, uint64_t size, uint64_t align)
{
	(void)ctx, (void)ptr, (void)size, (void)align;
}

static void init(void)
{
	fp_ring_opts o = LIBFP_RING_OPTS_INIT;
	fp_allocator a = LIBFP_ALLOCATOR_INIT;
	fp_ring *r;

	a.alloc = arena_alloc;
	a.free = arena_free;
	a.ctx = arena;
	o.allocator = &a;
	o.capacity = scenario->capacity;
	ex_plain(memory, memory_used, 1, "state"); /* init does it unseen */
	EX_CHECK(fp_ring_init(memory, memory_used, &o, &r) == 0);
}

static void attach(void)
{
	fp_ring *r;
	int err = fp_ring_attach(memory, memory_used, &r);

	EX_CHECK(err == 0 || err == -EPROTO);
	if (err == 0) {
		ex_plain(memory, memory_used, 0, "state");
		fp_ring_destroy(r);
	}
}

static void operation(int t, char op)
{
	switch (op) {
	case 'e': case 'i': put(t, op, 1); break;
	case 'E': case 'B': put(t, op, 2); break;
	case 'T': put(t, op, 3); break;
	case 'd': case 'j': take(t, op, 1); break;
	case 'D': case 'G': take(t, op, 2); break;
	case 'U': take(t, op, 3); break;
	case 'R': reserve_put(t, 2); commit_put(t, 2); break;
	case 'Q': reserve_put(t, 2); commit_put(t, 1); break;
	case 'A': reserve_put(t, 2); commit_put(t, 0); break;
	case 'r': reserve_put(t, 1); commit_put(t, 1); break;
	case 'a': reserve_put(t, 1); commit_put(t, 0); break;
	case 'o': reserve_put(t, 1); break;
	case 'x': commit_put(t, 1); break;
	case 'Y': reserve_take(t, 2); commit_take(t, 2); break;
	case 'y': reserve_take(t, 2); commit_take(t, 1); break;
	case 'z': reserve_take(t, 2); commit_take(t, 0); break;
	case 'q': reserve_take(t, 1); break;
	case 'v': commit_take(t, 1); break;
	case 'k': peek(t); break;
	case 'n': count(); break;
	case 'c':
		EX_CHECK(fp_ring_close(ring) == 0);
		actors[t].closed = 1;
		break;
	case 'p': ex_plain(&told, sizeof(told), 1, "told"); break;
	case 'X': case 'S': shut(op == 'S'); break;
	case 'I': init(); break;
	case 'H': attach(); break;
	case 's': ex_store(&flag, sizeof(flag), 1, EX_RELEASE, "flag"); break;
	case 'w': ex_await(&flag, sizeof(flag), 1, EX_ACQUIRE, "flag"); break;
	default: ex_fail("unknown operation", scenario->name, 0);
	}
}

static void thread(int t)
{
	for (const char *p = scenario->threads[t]; *p; p++)
		operation(t, *p);
}

/* ---- checks at the end ---- */

static void drain(void)
{
	uint32_t words[ELEM_WORDS];
	int32_t r;

	while ((r = fp_ring_dequeue_burst(ring, words, 1, NULL)) == 1)
		record(EX_THREADS, words, 1);
	EX_CHECK(r == (any_close ? -EPIPE : 0));
	EX_CHECK(fp_ring_count(ring) == 0);
	EX_CHECK(fp_ring_free_count(ring) == (int64_t)scenario->capacity);
	for (int t = 0; t < EX_THREADS; t++)
		if (actors[t].got_epipe)
			EX_CHECK(actors[EX_THREADS].n_taken == 0);
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
		for (int i = 0; i < actors[c].n_taken; i++) {
			uint32_t p = actors[c].taken[i] / 100 - 1;
			uint32_t q = actors[c].taken[i] % 100;

			EX_CHECK(p <= PREFILL && q < actors[p].sent); /* not invented */
			EX_CHECK(q >= least[p]);		      /* in order */
			least[p] = q + 1;
			if (next[p] < q + 1)
				next[p] = q + 1;
			EX_CHECK(!(seen[p] >> q & 1)); /* not twice */
			seen[p] |= 1ull << q;
		}
	}
	for (int p = 0; p <= PREFILL; p++) /* not lost */
		EX_CHECK(seen[p] == (1ull << actors[p].sent) - 1);
}

static void check_counters(void)
{
	fp_ring_stats st = { .size = sizeof(st) };
	uint64_t sent = scenario->passed, voided = 0;

	for (int t = 0; t <= PREFILL; t++) {
		sent += actors[t].sent;
		voided += actors[t].voided;
	}
	EX_CHECK(fp_ring_get_stats(ring, &st) == 0);
	EX_CHECK(st.enqueued == sent && st.dequeued == sent);
	EX_CHECK(st.voided == voided);
	EX_CHECK(st.unpublished == 0 && st.void_pending == 0);
}

static void check_whole_capacity(void)
{
	uint32_t words[ELEM_WORDS], out[ELEM_WORDS];

	if (any_close)
		return;
	for (uint32_t i = 0; i < scenario->capacity; i++) {
		fill(words, i, 1);
		EX_CHECK(fp_ring_enqueue(ring, words) == 1);
	}
	EX_CHECK(fp_ring_enqueue(ring, words) == 0);
	for (uint32_t i = 0; i < scenario->capacity; i++) {
		EX_CHECK(fp_ring_dequeue(ring, out) == 1);
		EX_CHECK(out[0] == i);
	}
}

static void finish(void)
{
	if (scenario->unborn)
		return;
	if (any_shut)
		fpi_ring_reopen(ring);
	drain();
	check_elements();
	check_counters();
	check_whole_capacity();
}

/* ---- preparation ---- */

static void setup(void)
{
	static const char *const gen_names[] = { "gen[0]", "gen[1]", "gen[2]", "gen[3]" };
	struct fpi_ring_state *state = (struct fpi_ring_state *)(void *)memory;

	memcpy(memory, snapshot, memory_used);
	*ring = handle_snapshot;
	memset(actors, 0, sizeof(actors));
	actors[PREFILL].sent = scenario->fill;
	flag = 0;
	ex_statistic(&state->voided.value);
	ex_statistic(&state->voids_passed.value);
	ex_statistic(&state->spans.value); /* destroy and reset look at it */
	ex_name(&state->prod.head.value, "prod.head");
	ex_name(&state->cons.head.value, "cons.head");
	ex_name(&state->closed.value, "closed");
	for (uint32_t i = 0; i < scenario->capacity && i < 4 && ring->gens; i++)
		ex_name(&ring->gens[i].value, gen_names[i]);
}

static void must_be(int ok, const char *what)
{
	if (!ok) {
		fprintf(stderr, "%s: cannot prepare: %s\n", scenario->name, what);
		exit(2);
	}
}

void ring_scenario_prepare(const struct ring_scenario *s, struct ex_test *test)
{
	fp_ring_opts o = LIBFP_RING_OPTS_INIT;
	uint32_t words[ELEM_WORDS];

	scenario = s;
	o.capacity = s->capacity;
	o.flags = s->flags;
	o.elem_size = s->elem_size;
	o.producer = s->producer;
	o.consumer = s->consumer;
	if (ring) {
		*ring = handle_snapshot;
		must_be(fp_ring_destroy(ring) == 0, "destroy");
	}
	memset(memory, 0, sizeof(memory));
	must_be(fp_ring_memsize(&o) > 0, "size");
	memory_used = (size_t)fp_ring_memsize(&o);
	must_be(memory_used <= sizeof(memory), "memory");
	must_be(fp_ring_init(memory, memory_used, &o, &ring) == 0, "init");
	for (uint32_t i = 0; i < s->passed; i++) {
		must_be(fp_ring_enqueue(ring, words) == 1, "enqueue");
		must_be(fp_ring_dequeue(ring, words) == 1, "dequeue");
	}
	for (uint32_t i = 0; i < s->fill; i++) {
		fill(words, (PREFILL + 1) * 100 + i, 1);
		must_be(fp_ring_enqueue(ring, words) == 1, "fill");
	}
	memcpy(snapshot, memory, memory_used);
	if (s->unborn)
		memset(snapshot, 0, sizeof(snapshot));
	handle_snapshot = *ring;

	any_close = any_told = any_shut = 0;
	*test = (struct ex_test){ s->name, 0, setup, thread, finish };
	while (test->threads < EX_THREADS && s->threads[test->threads]) {
		any_close |= strchr(s->threads[test->threads], 'c') != NULL;
		any_shut |= strchr(s->threads[test->threads], 'X') != NULL;
		any_told |= strchr(s->threads[test->threads], 'p') != NULL;
		test->threads++;
	}
}

void ring_scenario_locations(void (*atomic)(void *addr, size_t size),
			     void (*plain)(void *addr, size_t len))
{
	struct fpi_ring_state *state = ring->state;

	atomic(&state->prod.head.value, 8);
	atomic(&state->cons.head.value, 8);
	atomic(&state->closed.value, 4);
	atomic(&state->spans.value, 4);
	atomic(&state->voided.value, 8);
	atomic(&state->voids_passed.value, 8);
	for (uint32_t i = 0; i < scenario->capacity && ring->gens; i++)
		atomic(&ring->gens[i].value, 1);
	atomic(&flag, sizeof(flag));
	plain(ring->data, (size_t)scenario->capacity * elem_words() * 4);
	plain(&told, sizeof(told));
	/* the private words beside each head */
	plain(&state->prod.head + 1, sizeof(state->prod) - sizeof(state->prod.head));
	plain(&state->cons.head + 1, sizeof(state->cons) - sizeof(state->cons.head));
}
