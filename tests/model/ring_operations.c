/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The letters of ring scenarios (see ring_scenario.h): each makes one public
 * call, or two for a span, and checks what it returns at once.
 */
#include <errno.h>
#include <string.h>

#include "ring/ring_internal.h"
#include "ring_scenario_internal.h"

static struct ring_world *const w = &ring_world;

/* ---- elements: every word of element v is v ---- */

uint32_t ring_elem_words(void)
{
	return w->scenario->elem_size ? w->scenario->elem_size / 4 : 2;
}

static uint32_t next_value(int t)
{
	return (uint32_t)(t + 1) * 100 + w->actors[t].sent;
}

void ring_fill(uint32_t *words, uint32_t v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < ring_elem_words(); k++)
			*words++ = v + i;
}

void ring_record(int t, const uint32_t *words, uint32_t n)
{
	struct ring_actor *a = &w->actors[t];

	for (uint32_t i = 0; i < n; i++, words += ring_elem_words()) {
		for (uint32_t k = 1; k < ring_elem_words(); k++)
			EX_CHECK(words[k] == words[0]); /* not torn */
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
	return r == -EBUSY && (w->scenario->flags & LIBFP_CHECKED) && !w->scenario->must;
}

static void put_result(int t, int32_t r, uint32_t n)
{
	if (refused(r))
		return;
	if (r == -EPIPE) {
		EX_CHECK(w->any_close);
		return;
	}
	EX_CHECK(r >= 0 && r <= (int32_t)n);
	EX_CHECK(r == 0 || !w->actors[t].closed);
	EX_CHECK(!w->scenario->must || r == (int32_t)n);
	w->actors[t].sent += (uint32_t)r;
}

/*
 * -EPIPE: everything is taken (after a bulk of two, all but one may be), and
 * what the closer did before is visible.
 */
static void dequeue_epipe(int t, int bulk)
{
	EX_CHECK(w->any_close);
	if (!bulk)
		w->actors[t].got_epipe = 1;
	if (w->any_told)
		ex_plain(&w->told, sizeof(w->told), 0, "told");
}

static void take_result(int t, char op, int32_t r, uint32_t n, const uint32_t *words)
{
	if (refused(r))
		return;
	if (r == -EPIPE) {
		EX_CHECK(op == 'G' || !w->actors[t].peeked);
		dequeue_epipe(t, op == 'G');
		return;
	}
	EX_CHECK(r >= 0 && r <= (int32_t)n);
	EX_CHECK(r == 0 || !w->actors[t].got_epipe);
	EX_CHECK(!w->scenario->must || r == (int32_t)n);
	EX_CHECK(r || op == 'G' || !w->actors[t].peeked);
	ring_record(t, words, (uint32_t)r);
}

/* ---- operations ---- */

static void put(int t, char op, uint32_t n)
{
	uint32_t words[3 * ELEM_WORDS];
	int32_t r;

	ring_fill(words, next_value(t), n);
	if (op == 'e') {
		uint64_t v;

		memcpy(&v, words, 8);
		r = fp_ring_enqueue_u64(w->ring, v);
	} else if (op == 'B') {
		r = fp_ring_enqueue_bulk(w->ring, words, n, NULL);
		EX_CHECK(r <= 0 || r == (int32_t)n);
	} else {
		r = fp_ring_enqueue_burst(w->ring, words, n, NULL);
	}
	put_result(t, r, n);
}

static void take(int t, char op, uint32_t n)
{
	uint32_t words[3 * ELEM_WORDS] = { 0 };
	int32_t r;

	if (op == 'd') {
		uint64_t v = 0;

		r = fp_ring_dequeue_u64(w->ring, &v);
		memcpy(words, &v, 8);
	} else if (op == 'G') {
		r = fp_ring_dequeue_bulk(w->ring, words, n, NULL);
		EX_CHECK(r <= 0 || r == (int32_t)n);
	} else {
		r = fp_ring_dequeue_burst(w->ring, words, n, NULL);
	}
	take_result(t, op, r, n, words);
}

static unsigned char *span_at(const fp_ring_span *s, uint32_t i)
{
	unsigned char *p = i < s->n1 ? s->ptr1 : s->ptr2;

	return p + (i < s->n1 ? i : i - s->n1) * ring_elem_words() * 4;
}

static void reserve_put(int t, uint32_t n)
{
	int32_t r = fp_ring_reserve_enqueue(w->ring, n, 0, &w->actors[t].in);

	if (r == -EPIPE)
		EX_CHECK(w->any_close);
	else
		EX_CHECK(r >= 0 && r <= (int32_t)n);
	EX_CHECK(!w->scenario->must || r == (int32_t)n);
}

/* Writes all of the open span and commits at most keep. */
static void commit_put(int t, uint32_t keep)
{
	struct ring_actor *a = &w->actors[t];
	uint32_t n = a->in.n1 + a->in.n2, v = next_value(t);
	int32_t r;

	if (n == 0)
		return;
	for (uint32_t i = 0; i < n; i++) {
		ex_plain(span_at(&a->in, i), ring_elem_words() * 4, 1, "span element");
		ring_fill((uint32_t *)(void *)span_at(&a->in, i), v + i, 1);
	}
	if (keep > n)
		keep = n;
	r = fp_ring_commit_enqueue(w->ring, &a->in, keep);
	memset(&a->in, 0, sizeof(a->in));
	if (r == -EPIPE) {
		EX_CHECK(w->any_close && w->scenario->producer == LIBFP_ST);
		return;
	}
	EX_CHECK(r == (int32_t)keep);
	a->sent += keep;
	if (w->scenario->producer == LIBFP_MT)
		a->voided += n - keep;
}

/* The span of the start: of all who try, one succeeds. */
static void commit_shared(void)
{
	fp_ring_span copy = w->span;
	int32_t r = fp_ring_commit_enqueue(w->ring, &copy, w->scenario->span);

	if (r == -EINVAL)
		return;
	EX_CHECK(r == (int32_t)w->scenario->span);
	EX_CHECK(w->committed++ == 0);
	w->actors[PREFILL].sent += w->scenario->span;
}

static void reserve_take(int t, uint32_t n)
{
	int32_t r = fp_ring_reserve_dequeue(w->ring, n, 0, &w->actors[t].out);

	if (r == -EPIPE)
		dequeue_epipe(t, 0);
	else
		EX_CHECK(r >= 0 && r <= (int32_t)n);
	EX_CHECK(!w->scenario->must || r == (int32_t)n);
}

static void commit_take(int t, uint32_t keep)
{
	uint32_t words[3 * ELEM_WORDS];
	struct ring_actor *a = &w->actors[t];
	uint32_t n = a->out.n1 + a->out.n2;

	if (n == 0)
		return;
	if (keep > n || w->scenario->consumer == LIBFP_MT)
		keep = n;
	for (uint32_t i = 0; i < n; i++) {
		ex_plain(span_at(&a->out, i), ring_elem_words() * 4, 0, "span element");
		memcpy(&words[i * ring_elem_words()], span_at(&a->out, i),
		       ring_elem_words() * 4);
	}
	EX_CHECK(fp_ring_commit_dequeue(w->ring, &a->out, keep) == (int32_t)keep);
	memset(&a->out, 0, sizeof(a->out));
	ring_record(t, words, keep);
}

static void peek(int t)
{
	uint32_t words[ELEM_WORDS];
	int32_t r = fp_ring_peek(w->ring, words, 1);

	if (r == -EPIPE) {
		dequeue_epipe(t, 0);
		return;
	}
	EX_CHECK(r == 0 || r == 1);
	EX_CHECK(r || !w->actors[t].peeked);
	if (r)
		w->actors[t].peeked = (int32_t)words[0];
}

static void count(void)
{
	int64_t n = fp_ring_count(w->ring);
	int max = w->scenario->count_max ? w->scenario->count_max :
					   (int)w->scenario->capacity;

	ex_note("count %d", (int)n);
	EX_CHECK(n >= w->scenario->count_min && n <= max);
}

/* What destroy and reset do: nobody else may be inside. */
static void shut(int reopen)
{
	if (fpi_ring_shut(w->ring, "shut"))
		return;
	ex_plain(w->memory, w->memory_used, 1, "state");
	if (reopen)
		fpi_ring_reopen(w->ring);
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
	o.capacity = w->scenario->capacity;
	ex_plain(w->memory, w->memory_used, 1, "state"); /* init does it unseen */
	EX_CHECK(fp_ring_init(w->memory, w->memory_used, &o, &r) == 0);
}

static void attach(void)
{
	fp_ring *r;
	int err = fp_ring_attach(w->memory, w->memory_used, &r);

	EX_CHECK(err == 0 || err == -EPROTO);
	if (err == 0) {
		ex_plain(w->memory, w->memory_used, 0, "state");
		fp_ring_destroy(r);
	}
}

/* clang-format off */
void ring_operation(int t, char op)
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
	case 'm': commit_shared(); break;
	case 'Y': reserve_take(t, 2); commit_take(t, 2); break;
	case 'y': reserve_take(t, 2); commit_take(t, 1); break;
	case 'z': reserve_take(t, 2); commit_take(t, 0); break;
	case 'q': reserve_take(t, 1); break;
	case 'v': commit_take(t, 1); break;
	case 'k': peek(t); break;
	case 'n': count(); break;
	case 'c':
		EX_CHECK(fp_ring_close(w->ring) == 0);
		w->actors[t].closed = 1;
		break;
	case 'p': ex_plain(&w->told, sizeof(w->told), 1, "told"); break;
	case 'X': case 'S': shut(op == 'S'); break;
	case 'I': init(); break;
	case 'H': attach(); break;
	case 's': ex_store(&w->flag, sizeof(w->flag), 1, EX_RELEASE, "flag"); break;
	case 'w': ex_await(&w->flag, sizeof(w->flag), 1, EX_ACQUIRE, "flag"); break;
	default: ex_fail("unknown operation", w->scenario->name, 0);
	}
}
/* clang-format on */
