/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory model: messages and views.
 *
 * A location keeps all values ever written to it, in modification order
 * (messages). A thread has a view: for each location the oldest message that it
 * may still read, and for each thread the clock up to which it has seen that
 * thread's plain accesses. Reading message m raises the view of this location
 * to m. A release store puts the thread's view into its message, an acquire
 * load joins the message's view into the thread's. Fences do the same through
 * two more views per thread: `acquired`, what all loads so far would have
 * brought, and `released`, the view at the last release fence. A
 * read-modify-write passes on the view of the message that it replaces (release
 * sequence). The order of execution is the order of the seq_cst operations: a
 * fence sees what the fences and seq_cst stores before it had seen or stored; a
 * seq_cst load reads nothing older than that either, for its own location.
 *
 * Plain accesses keep, per granule of four bytes, the last write and the last
 * read of each thread; one that is not in the view of the next conflicting
 * access is a race.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explorer_internal.h"

#define GRANULE 4
#define GRANULES 2048

struct thread_views {
	struct ex_view current, acquired, released;
};

struct granule {
	uintptr_t addr;
	uint64_t run;
	uint8_t write_clock;
	uint8_t writer;
	uint8_t read_clock[EX_THREADS];
};

static struct ex_location locations[EX_LOCATIONS];
static int n_locations;
static struct granule granules[GRANULES];
static int n_granules;
static struct thread_views views[EX_THREADS];
static uint8_t sc_fenced[EX_LOCATIONS];	 /* seen by the last seq_cst fence */
static uint8_t sc_written[EX_LOCATIONS]; /* last seq_cst store */
static struct {
	const void *addr;
	const char *name;
} names[EX_LOCATIONS];
static int n_names;
static const void *statistics[64];
static int n_statistics;

static void raise(uint8_t *a, const uint8_t *b)
{
	for (int i = 0; i < EX_LOCATIONS; i++)
		a[i] = a[i] > b[i] ? a[i] : b[i];
}

static void join(struct ex_view *a, const struct ex_view *b)
{
	raise(a->seen, b->seen);
	for (int i = 0; i < 8; i++)
		a->clock[i] = a->clock[i] > b->clock[i] ? a->clock[i] : b->clock[i];
}

static int acquires(enum ex_order o)
{
	return o == EX_ACQUIRE || o == EX_ACQ_REL || o == EX_SEQ_CST;
}

static int releases(enum ex_order o)
{
	return o == EX_RELEASE || o == EX_ACQ_REL || o == EX_SEQ_CST;
}

/* ---- memory itself: setup, finish, initial values ---- */

static uint64_t memory_get(const void *addr, size_t size)
{
	uint64_t v = 0;

	memcpy(&v, addr, size);
	return v;
}

static void memory_set(void *addr, size_t size, uint64_t v)
{
	memcpy(addr, &v, size);
}

static uint64_t truncated(uint64_t v, size_t size)
{
	return size == 8 ? v : v & ((1ull << size * 8) - 1);
}

void ex_memory_reset(void)
{
	n_locations = 0;
	n_names = 0;
	n_statistics = 0;
}

void ex_memory_begin(int n)
{
	n_granules = 0;
	memset(sc_fenced, 0, sizeof(sc_fenced));
	memset(sc_written, 0, sizeof(sc_written));
	memset(views, 0, sizeof(views));
	ex_calls_begin();
	for (int i = 0; i < n; i++)
		views[i].current.clock[i] = 1;
}

void ex_memory_end(void)
{
	for (int i = 0; i < n_locations; i++) {
		struct ex_location *l = &locations[i];

		if (l->run == ex_run && l->n > 1)
			memory_set((void *)(uintptr_t)l->addr, l->size,
				   l->message[l->n - 1].value);
	}
}

struct ex_location *ex_location(const void *addr, size_t size, const char *what)
{
	struct ex_location *l = NULL;
	int i;

	for (i = 0; i < n_locations && !l; i++)
		if (locations[i].addr == addr)
			l = &locations[i];
	if (!l) {
		if (n_locations == EX_LOCATIONS)
			ex_limit("atomic locations");
		l = &locations[n_locations++];
		memset(l, 0, offsetof(struct ex_location, message));
		l->addr = addr;
		l->size = size;
		l->what = what;
		for (i = 0; i < n_statistics; i++)
			l->statistic |= statistics[i] == addr;
	}
	if (l->size != size)
		ex_fail("atomic accesses of different sizes", what, 0);
	if (l->run != ex_run) {
		l->run = ex_run;
		l->n = 1;
		memset(&l->message[0], 0, sizeof(l->message[0]));
		l->message[0].value = memory_get(addr, size);
	}
	return l;
}

void ex_statistic(const void *addr)
{
	for (int i = 0; i < n_statistics; i++)
		if (statistics[i] == addr)
			return;
	if (n_statistics == (int)(sizeof(statistics) / sizeof(statistics[0])))
		ex_limit("statistics");
	statistics[n_statistics++] = addr;
}

void ex_name(const void *addr, const char *name)
{
	if (ex_tracing && n_names < EX_LOCATIONS) {
		names[n_names].addr = addr;
		names[n_names++].name = name;
	}
}

const char *ex_name_of(const struct ex_location *l)
{
	for (int i = 0; i < n_names; i++)
		if (names[i].addr == l->addr)
			return names[i].name;
	return l->what;
}

/* ---- choices ---- */

uint64_t ex_memory_choices(int thread, const struct ex_pending *p)
{
	const struct thread_views *t = &views[thread];
	const struct ex_location *l = p->loc;
	uint64_t choices = 0;
	int i, oldest;

	if (p->kind == EX_WRITE || p->kind == EX_UPDATE || p->kind == EX_SC_FENCE)
		return 1ull << EX_WRITES;
	if (p->kind == EX_SLEEP || p->kind == EX_POLL || p->kind == EX_BARRIER)
		return ex_calls_choices(thread, p);
	if (p->kind == EX_TAKE)
		return l->message[l->n - 1].value == p->value ? 1ull << EX_WRITES : 0;
	i = (int)(l - locations);
	oldest = t->current.seen[i];
	if (p->sc) {
		if (sc_fenced[i] > oldest)
			oldest = sc_fenced[i];
		if (sc_written[i] > oldest)
			oldest = sc_written[i];
	}
	for (int m = oldest; m < l->n; m++) {
		int equal = l->message[m].value == p->value;

		if (p->kind == EX_READ || (p->kind == EX_AWAIT && equal) ||
		    (p->kind == EX_AWAIT_NOT && !equal) ||
		    (p->kind == EX_COMPARE && !equal))
			choices |= 1ull << m;
		else if (p->kind == EX_COMPARE && m == l->n - 1)
			choices |= 1ull << EX_WRITES;
	}
	return choices;
}

int ex_choose(struct ex_pending *p, enum ex_order order)
{
	struct ex_location *l = p->loc;

	if (l->statistic) {
		if (acquires(order) || p->kind == EX_COMPARE)
			ex_fail("a statistic is more than that", l->what, 0);
		return p->kind == EX_READ ? l->n - 1 : EX_WRITES;
	}
	if (!l->shared) {
		l->users |= (uint8_t)(1 << ex_me);
		if (p->kind != EX_READ && p->kind != EX_AWAIT && p->kind != EX_AWAIT_NOT)
			l->writers |= (uint8_t)(1 << ex_me);
		l->shared = (l->writers && (l->users & (l->users - 1))) || ex_no_pruning;
		if (l->shared || p->kind == EX_AWAIT || !ex_memory_choices(ex_me, p)) {
			l->shared = 1;
			ex_restart();
		}
		if (!p->sc) {
			uint64_t c = ex_memory_choices(ex_me, p);

			return c >> EX_WRITES ? EX_WRITES : __builtin_ctzll(c);
		}
	}
	return ex_step(p);
}

/* After what others may have seen up to here, a new clock. */
static void tick(int thread)
{
	if (views[thread].current.clock[thread]++ == UINT8_MAX - 1)
		ex_limit("stores and fences of one thread");
}

/* Clocks stay: two fences alone do not make one happen before the other. */
void ex_sc_fence(int thread)
{
	struct thread_views *t = &views[thread];

	join(&t->current, &t->acquired);
	raise(t->current.seen, sc_fenced);
	raise(t->current.seen, sc_written);
	memcpy(sc_fenced, t->current.seen, sizeof(sc_fenced));
	t->released = t->current;
	t->acquired = t->current;
	tick(thread);
}

void ex_see_all(void)
{
	for (int i = 0; i < n_locations; i++)
		if (locations[i].run == ex_run)
			views[ex_me].current.seen[i] = (uint8_t)(locations[i].n - 1);
}

uint64_t ex_read_message(struct ex_location *l, int m, enum ex_order order)
{
	struct thread_views *t = &views[ex_me];
	const struct ex_view *v = &l->message[m].view;

	t->current.seen[l - locations] = (uint8_t)m;
	if (acquires(order))
		join(&t->current, v);
	join(&t->acquired, v);
	t->acquired.seen[l - locations] = (uint8_t)m;
	return l->message[m].value;
}

static void write_message(struct ex_location *l, uint64_t v, enum ex_order order,
			  const struct ex_view *sequence)
{
	struct thread_views *t = &views[ex_me];
	int i = (int)(l - locations), m = l->n;
	struct ex_view *view = &l->message[m < EX_MESSAGES ? m : 0].view;

	if (m == EX_MESSAGES)
		ex_limit("stores to one location");
	if (order == EX_SEQ_CST)
		sc_written[i] = (uint8_t)m;
	l->n++;
	t->current.seen[i] = (uint8_t)m;
	t->acquired.seen[i] = (uint8_t)m;
	l->message[m].value = truncated(v, l->size);
	*view = releases(order) ? t->current : t->released;
	view->seen[i] = (uint8_t)m;
	if (sequence)
		join(view, sequence);
	tick(ex_me);
}

/* ---- accesses ---- */

uint64_t ex_load(const void *addr, size_t size, enum ex_order order, const char *what)
{
	struct ex_pending p = { EX_READ, NULL, 0, order == EX_SEQ_CST };
	uint64_t v;
	int m;

	if (ex_me < 0)
		return memory_get(addr, size);
	p.loc = ex_location(addr, size, what);
	m = ex_choose(&p, order);
	v = ex_read_message(p.loc, m, order);
	ex_note("load  %s -> %#llx%s", ex_name_of(p.loc), (unsigned long long)v,
		m < p.loc->n - 1 ? "  (stale)" : "");
	return v;
}

void ex_store(void *addr, size_t size, uint64_t v, enum ex_order order, const char *what)
{
	struct ex_pending p = { EX_WRITE, NULL, 0, order == EX_SEQ_CST };

	if (ex_me < 0) {
		memory_set(addr, size, v);
		return;
	}
	p.loc = ex_location(addr, size, what);
	ex_choose(&p, order);
	write_message(p.loc, v, order, NULL);
	ex_note("store %s = %#llx", ex_name_of(p.loc), (unsigned long long)v);
}

int ex_cas(void *addr, size_t size, uint64_t *expected, uint64_t v, enum ex_order order,
	   const char *what)
{
	struct ex_pending p = { EX_COMPARE, NULL, *expected, order == EX_SEQ_CST };
	int m;

	if (ex_me < 0) {
		uint64_t old = memory_get(addr, size);

		if (old == *expected) {
			memory_set(addr, size, v);
			return 1;
		}
		*expected = old;
		return 0;
	}
	p.loc = ex_location(addr, size, what);
	m = ex_choose(&p, order);
	if (m == EX_WRITES) {
		m = p.loc->n - 1;
		ex_read_message(p.loc, m, order);
		write_message(p.loc, v, order, &p.loc->message[m].view);
		ex_note("cas   %s %#llx -> %#llx", ex_name_of(p.loc),
			(unsigned long long)*expected, (unsigned long long)v);
		return 1;
	}
	v = ex_read_message(p.loc, m, EX_RELAXED);
	ex_note("cas   %s expected %#llx, saw %#llx", ex_name_of(p.loc),
		(unsigned long long)*expected, (unsigned long long)v);
	*expected = v;
	return 0;
}

void ex_cas_wait(void *addr, size_t size, uint64_t expected, uint64_t v,
		 enum ex_order order, const char *what)
{
	struct ex_pending p = { EX_TAKE, NULL, expected, order == EX_SEQ_CST };
	int m;

	if (ex_me < 0) { /* alone */
		memory_set(addr, size, v);
		return;
	}
	p.loc = ex_location(addr, size, what);
	ex_choose(&p, order);
	m = p.loc->n - 1;
	ex_read_message(p.loc, m, order);
	write_message(p.loc, v, order, &p.loc->message[m].view);
	ex_note("take  %s %#llx -> %#llx", ex_name_of(p.loc),
		(unsigned long long)expected, (unsigned long long)v);
}

static uint64_t updated(enum ex_rmw_op op, uint64_t old, uint64_t v)
{
	switch (op) {
	case EX_ADD:
		return old + v;
	case EX_SUB:
		return old - v;
	case EX_OR:
		return old | v;
	case EX_AND:
		return old & v;
	case EX_SWAP:
		return v;
	}
	return 0;
}

uint64_t ex_rmw(void *addr, size_t size, enum ex_rmw_op op, uint64_t v,
		enum ex_order order, const char *what)
{
	struct ex_pending p = { EX_UPDATE, NULL, 0, order == EX_SEQ_CST };
	uint64_t old;
	int m;

	if (ex_me < 0) {
		old = memory_get(addr, size);
		memory_set(addr, size, updated(op, old, v));
		return old;
	}
	p.loc = ex_location(addr, size, what);
	ex_choose(&p, order);
	m = p.loc->n - 1;
	old = ex_read_message(p.loc, m, order);
	write_message(p.loc, updated(op, old, v), order, &p.loc->message[m].view);
	ex_note("rmw   %s %#llx -> %#llx", ex_name_of(p.loc), (unsigned long long)old,
		(unsigned long long)p.loc->message[m + 1].value);
	return old;
}

void ex_await(const void *addr, size_t size, uint64_t v, enum ex_order order,
	      const char *what)
{
	struct ex_pending p = { EX_AWAIT, NULL, v, order == EX_SEQ_CST };

	p.loc = ex_location(addr, size, what);
	ex_read_message(p.loc, ex_choose(&p, order), order);
	ex_note("await %s == %#llx", ex_name_of(p.loc), (unsigned long long)v);
}

void ex_await_not(const void *addr, size_t size, uint64_t v, enum ex_order order,
		  const char *what)
{
	struct ex_pending p = { EX_AWAIT_NOT, NULL, v, order == EX_SEQ_CST };

	p.loc = ex_location(addr, size, what);
	ex_read_message(p.loc, ex_choose(&p, order), order);
	ex_note("await %s != %#llx", ex_name_of(p.loc), (unsigned long long)v);
}

void ex_fence(enum ex_order order)
{
	struct thread_views *t;

	if (ex_me < 0 || order == EX_RELAXED)
		return;
	t = &views[ex_me];
	if (order == EX_SEQ_CST) {
		struct ex_pending p = { EX_SC_FENCE, NULL, 0, 1 };

		ex_step(&p);
		ex_sc_fence(ex_me);
	} else {
		if (acquires(order))
			join(&t->current, &t->acquired);
		if (releases(order)) {
			t->released = t->current;
			tick(ex_me);
		}
	}
	ex_note("fence %s", order == EX_SEQ_CST ? "seq_cst" :
			    order == EX_ACQUIRE ? "acquire" :
			    order == EX_RELEASE ? "release" :
						  "acq_rel");
}

/* ---- plain accesses ---- */

static struct granule *granule(uintptr_t addr)
{
	size_t h = addr / GRANULE % GRANULES;
	struct granule *g;

	while (granules[h].run == ex_run && granules[h].addr != addr)
		h = (h + 1) % GRANULES;
	g = &granules[h];
	if (g->run == ex_run)
		return g;
	if (++n_granules == GRANULES / 2)
		ex_limit("plain locations");
	memset(g, 0, sizeof(*g));
	g->addr = addr;
	g->run = ex_run;
	return g;
}

void ex_plain(const void *addr, size_t len, int write, const char *what)
{
	uintptr_t a = (uintptr_t)addr, end = a + len;
	struct ex_view *c;

	if (ex_me < 0 || ex_on_stack(addr))
		return;
	c = &views[ex_me].current;
	ex_note("%s %s", write ? "write" : "read ", what);
	for (a -= a % GRANULE; a < end; a += GRANULE) {
		struct granule *g = granule(a);
		int race = g->write_clock > c->clock[g->writer];

		for (int i = 0; write && i < EX_THREADS; i++)
			race |= g->read_clock[i] > c->clock[i];
		if (race)
			ex_fail("data race", what, 0);
		if (write) {
			g->write_clock = c->clock[ex_me];
			g->writer = (uint8_t)ex_me;
		} else {
			g->read_clock[ex_me] = c->clock[ex_me];
		}
	}
}
